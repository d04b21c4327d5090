#include "collect/cgroup/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/host/capacity.h"
#include "collect/process/memory.h"

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* "max" is no limit in version 2; in version 1 it is a number above all memory there is. */
static double memory_of(const struct gt_root *root, const struct gt_control_group *group, const char *file)
{
    char text[64];
    if (gt_control_group_read(root, group, file, text, sizeof text) <= 0 || text[0] < '0' || text[0] > '9')
        return NAN;
    double bytes = (double)strtoull(text, NULL, 10);
    return bytes < 0x1p62 ? bytes : NAN;
}

static void take_smaller(struct gt_limit *limit, double value, const char *source)
{
    if (isnan(value) || value >= limit->value)
        return;
    limit->value = value;
    snprintf(limit->source, sizeof limit->source, "%s", source);
}

static const char *limit_file(const struct gt_control_group *group)
{
    return group->version == 2 ? "memory.max" : "memory.limit_in_bytes";
}

void gt_limit_memory(struct gt_limit *ret, const struct gt_root *root,
                     const struct gt_control_group groups[GT_CONTROLLERS])
{
    struct gt_control_group group = groups[GT_CONTROLLER_MEMORY];
    *ret = (struct gt_limit){.value = NAN};
    if (!group.version)
        return;
    do
        take_smaller(ret, memory_of(root, &group, limit_file(&group)), limit_file(&group));
    while (gt_control_group_up(&group));
}

double gt_limit_capacity(struct gt_limit *ret, const struct gt_root *root,
                         const struct gt_control_group groups[GT_CONTROLLERS])
{
    double machine = gt_capacity_memory(root);
    gt_limit_memory(ret, root, groups);
    double capacity = fmin(machine, ret->value); /* fmin passes over NaN */
    if (!(ret->value < machine))
        *ret = (struct gt_limit){.value = NAN};
    return capacity;
}

void gt_limit_memory_apart(struct gt_limit *ret, const struct gt_root *root, const struct gt_control_group *group,
                           const struct gt_control_group *apart)
{
    struct gt_control_group at = *group;
    *ret = (struct gt_limit){.value = NAN};
    while (at.version && !gt_control_group_holds(&at, apart)) {
        take_smaller(ret, memory_of(root, &at, limit_file(&at)), limit_file(&at));
        if (!gt_control_group_up(&at))
            break;
    }
}

/* Version 2 "cpu.max" is "QUOTA PERIOD" or "max PERIOD"; version 1 has two files, and -1 is no quota. */
static double quota_of(const struct gt_root *root, const struct gt_control_group *group)
{
    char text[64], period[64];
    char *rest = text;
    if (group->version == 2) {
        if (gt_control_group_read(root, group, "cpu.max", text, sizeof text) <= 0)
            return NAN;
        double quota = strtod(text, &rest), length = strtod(rest, NULL);
        return rest > text && quota > 0 && length > 0 ? quota / length : NAN;
    }
    if (gt_control_group_read(root, group, "cpu.cfs_quota_us", text, sizeof text) <= 0 ||
        gt_control_group_read(root, group, "cpu.cfs_period_us", period, sizeof period) <= 0)
        return NAN;
    double quota = strtod(text, NULL), length = strtod(period, NULL);
    return quota > 0 && length > 0 ? quota / length : NAN;
}

/* Where the process may run, whoever narrowed it: a cpuset, or it itself. */
static int cpus_allowed(const struct gt_root *root, pid_t pid)
{
    static const char NAME[] = "Cpus_allowed_list:";
    char text[16384];
    if (gt_root_read_process(root, pid, "status", text, sizeof text) <= 0)
        return 0;
    const char *at = strstr(text, NAME);
    return at ? gt_capacity_list_length(at + strlen(NAME) + strspn(at + strlen(NAME), " \t")) : 0;
}

void gt_limit_cores(struct gt_limit *ret, const struct gt_root *root,
                    const struct gt_control_group groups[GT_CONTROLLERS], pid_t pid, int cores)
{
    struct gt_control_group group = groups[GT_CONTROLLER_CPU];
    *ret = (struct gt_limit){.value = NAN};
    if (pid <= 0)
        return;
    if (group.version)
        do
            take_smaller(ret, quota_of(root, &group), group.version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
        while (gt_control_group_up(&group));
    int allowed = cpus_allowed(root, pid);
    if (allowed > 0 && allowed < cores)
        take_smaller(ret, allowed, "Cpus_allowed");
    if (ret->value >= cores)
        *ret = (struct gt_limit){.value = NAN};
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* The number behind a word at the begin of a line. */
static double number_in(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, word, length) && line[length] == ' ')
            return strtod(line + length, NULL);
    return NAN;
}

static double add_known(double sum, double value)
{
    return isnan(sum) ? value : isnan(value) ? sum : sum + value;
}

double gt_group_oom_kills(const struct gt_root *root, const struct gt_control_group *group)
{
    char text[2048];
    const char *file = group->version == 2 ? "memory.events" : "memory.oom_control";
    return gt_control_group_read(root, group, file, text, sizeof text) > 0 ? number_in(text, "oom_kill") : NAN;
}

static void read_memory(struct gt_control_group group, const struct gt_root *root, struct gt_group_events *ret)
{
    char *text = gt_root_text(root, "proc/vmstat");
    do {
        double kills = gt_group_oom_kills(root, &group);
        if (isnan(ret->oom_kills))
            ret->oom_kills = kills; /* the first group that has the controller */
        else
            ret->oom_kills_above = add_known(ret->oom_kills_above, kills);
    } while (gt_control_group_up(&group));
    if (text)
        ret->oom_kills_above = add_known(ret->oom_kills_above, number_in(text, "oom_kill"));
    free(text);
}

/* Tells of the group whose quota held the job back the longest. */
static void read_processor(struct gt_control_group group, const struct gt_root *root, struct gt_group_events *ret)
{
    char text[2048];
    do {
        if (gt_control_group_read(root, &group, "cpu.stat", text, sizeof text) <= 0)
            continue;
        double seconds = group.version == 2 ? number_in(text, "throttled_usec") / 1e6
                                            : number_in(text, "throttled_time") / 1e9;
        if (isnan(seconds) || seconds <= ret->throttled)
            continue;
        ret->throttled = seconds;
        ret->periods = number_in(text, "nr_periods");
        ret->throttled_periods = number_in(text, "nr_throttled");
    } while (gt_control_group_up(&group));
}

void gt_group_events_read(const struct gt_control_group groups[GT_CONTROLLERS], const struct gt_root *root,
                          struct gt_group_events *ret)
{
    *ret = (struct gt_group_events){NAN, NAN, NAN, NAN, NAN};
    if (groups[GT_CONTROLLER_MEMORY].version)
        read_memory(groups[GT_CONTROLLER_MEMORY], root, ret);
    if (groups[GT_CONTROLLER_CPU].version)
        read_processor(groups[GT_CONTROLLER_CPU], root, ret);
}
