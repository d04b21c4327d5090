#include "collect/cgroup/control_group.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/map.h"
#include "base/number.h"
#include "collect/host/host.h"
#include "collect/process/memory.h"

/* ---- The place of a process -------------------------------------------------------------------------------------- */

static const char *const controllers[GT_CGROUP_HIERARCHIES] = {
    [GT_CGROUP_UNIFIED] = "", [GT_CGROUP_MEMORY] = "memory", [GT_CGROUP_CPUACCT] = "cpuacct", [GT_CGROUP_CPU] = "cpu"};

/* "memory" is in "rw,memory" and in "cpu,memory", not in "memory_recursiveprot". */
bool gt_cgroup_lists(const char *list, const char *controller)
{
    size_t length = strlen(controller);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, controller, length) && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* Spaces and the like stand in mountinfo as backslash and three octal digits. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++, to++) {
        unsigned code;
        if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 3;
        } else {
            *to = *from;
        }
    }
    *to = '\0';
}

/* Returns what follows `root` in `group` ("/docker/x" and "/docker/x/y": "/y"); NULL when it does not lie below. */
static const char *below(const char *root, const char *group)
{
    size_t length = strlen(root);
    if (length == 1 && *root == '/')
        return group;
    if (strncmp(group, root, length) || (group[length] && group[length] != '/'))
        return NULL;
    return group + length;
}

static bool leaves_view(const char *group)
{
    const char *suffix = strstr(group, " (deleted)");
    return !strncmp(group, "/..", 3) || (suffix && !suffix[10]);
}

/* Where a mount shows a hierarchy. */
struct mount {
    bool is_unified;         /* version 2 */
    const char *controllers; /* of version 1, among other options */
    const char *group;       /* which group of the hierarchy is mounted, "/" for the top */
    const char *point;       /* where */
};

/* Read a line of /proc/PID/mountinfo, which is changed and kept: "31 23 0:28 ROOT POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS". Returns
 * false for anything but control groups. */
static bool read_mount(struct mount *ret, char *line)
{
    char *field[5], *rest = line;
    for (size_t i = 0; i < 5; i++) {
        field[i] = strsep(&rest, " ");
        if (!rest)
            return false;
    }
    char *source = strstr(rest, " - ");
    if (!source)
        return false;
    source += 3;
    const char *type = strsep(&source, " ");
    bool is_unified = !strcmp(type, "cgroup2");
    if (!source || (!is_unified && strcmp(type, "cgroup") != 0))
        return false;
    const char *options = source + strcspn(source, " ");
    *ret = (struct mount){is_unified, options + (*options == ' '), field[3], field[4]};
    unescape(field[3]);
    unescape(field[4]);
    return true;
}

/* Only the part of the hierarchy below `mount->group` is visible, at the mount point. The first mount that shows the group counts. */
static void place_group(struct gt_cgroup_place *place, int hierarchy, const struct mount *mount, const char *group)
{
    const char *rest = leaves_view(group) ? NULL : below(mount->group, group);
    char *path = place->path[hierarchy];
    if (*path && (!rest || !place->is_outside[hierarchy]))
        return;
    bool is_top = !rest || !strcmp(rest, "/");
    if (snprintf(path, GT_CGROUP_PATH, "%s%s", mount->point + 1, is_top ? "" : rest) >= GT_CGROUP_PATH)
        *path = '\0';
    place->mount_length[hierarchy] = strlen(mount->point) - 1;
    place->is_outside[hierarchy] = !rest;
}

bool gt_cgroup_line_read(struct gt_cgroup_line *ret, const char *text)
{
    size_t length = strcspn(text, "\n");
    const char *list = memchr(text, ':', length);
    const char *path = list ? memchr(list + 1, ':', length - (size_t)(list + 1 - text)) : NULL;
    if (!path || path[1] != '/' || (size_t)(path - list) > sizeof ret->controllers)
        return false;
    snprintf(ret->controllers, sizeof ret->controllers, "%.*s", (int)(path - list - 1), list + 1);
    ret->path = path + 1;
    ret->length = length - (size_t)(path + 1 - text);
    return true;
}

/* The group of a hierarchy in the text of /proc/PID/cgroup, into `group`. */
static bool find_group(const char *text, int hierarchy, char *group, size_t size, bool *schedules)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        struct gt_cgroup_line line;
        if (!gt_cgroup_line_read(&line, at) || line.length >= size)
            continue;
        if (hierarchy == GT_CGROUP_UNIFIED ? *line.controllers
                                           : !gt_cgroup_lists(line.controllers, controllers[hierarchy]))
            continue;
        snprintf(group, size, "%.*s", (int)line.length, line.path);
        *schedules = gt_cgroup_lists(line.controllers, "cpu");
        return true;
    }
    return false;
}

/* Find the groups that the text of /proc/PID/cgroup names in the mounts. Returns 0 or the negative errno of reading these. */
static int find_places(struct gt_cgroup_place *ret, const struct gt_root *root, pid_t pid, const char *groups)
{
    char buffer[8192], path[64], *line;
    struct mount mount;
    struct gt_line_reader reader = {
        .fd = gt_root_open_file(root, "proc/self/mountinfo"), .buffer = buffer, .size = sizeof buffer};
    memset(ret, 0, sizeof *ret);
    snprintf(path, sizeof path, "proc/%d/mountinfo", (int)pid);
    if (reader.fd == -ENOENT)
        reader.fd = gt_root_open_file(root, path);
    if (reader.fd < 0)
        return reader.fd;
    while (gt_line_reader_next(&reader, &line) > 0) {
        if (!read_mount(&mount, line))
            continue;
        for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
            char group[GT_CGROUP_PATH];
            bool is_shown = mount.is_unified ? i == GT_CGROUP_UNIFIED
                                             : *controllers[i] && gt_cgroup_lists(mount.controllers, controllers[i]);
            if (is_shown && find_group(groups, i, group, sizeof group, &ret->schedules[i]))
                place_group(ret, i, &mount, group);
        }
    }
    close(reader.fd);
    return 0;
}

int gt_cgroup_locate(struct gt_cgroup_place *ret, const struct gt_root *root, pid_t pid, struct gt_error *error)
{
    char groups[4096];
    bool has_any = false;
    ssize_t length = gt_root_read_process(root, pid, "cgroup", groups, sizeof groups);
    if (length < 0)
        return gt_error_system(error, (int)-length, "/proc/%d/cgroup", (int)pid);
    int status = find_places(ret, root, pid, groups);
    if (status < 0)
        return gt_error_system(error, -status, "mounts of control groups");
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
        if (ret->is_outside[i])
            *ret->path[i] = '\0';
        has_any |= *ret->path[i];
    }
    return has_any ? 0 : gt_error_set(error, ENOENT, "process %d has no control group in reach", (int)pid);
}

/* ---- The group that limits a process ------------------------------------------------------------------------------ */

/* In a container that sees its own group as the mount point, that is the group meant. */
uint64_t gt_control_groups_find(const struct gt_root *root, pid_t pid, struct gt_control_group ret[GT_CONTROLLERS])
{
    static const enum gt_cgroup_hierarchy own[GT_CONTROLLERS] = {GT_CGROUP_MEMORY, GT_CGROUP_CPU};
    char groups[4096], group[GT_CGROUP_PATH];
    struct gt_cgroup_place place;
    bool schedules;
    memset(ret, 0, GT_CONTROLLERS * sizeof *ret);
    if (pid <= 0 || gt_root_read_process(root, pid, "cgroup", groups, sizeof groups) <= 0)
        return 0;
    bool is_placed = find_places(&place, root, pid, groups) >= 0;
    for (int i = 0; i < GT_CONTROLLERS && is_placed; i++) {
        bool is_first = find_group(groups, own[i], group, sizeof group, &schedules);
        enum gt_cgroup_hierarchy hierarchy = is_first ? own[i] : GT_CGROUP_UNIFIED;
        if (!*place.path[hierarchy])
            continue;
        ret[i] = (struct gt_control_group){.version = is_first ? 1 : 2, .mount_length = place.mount_length[hierarchy]};
        memcpy(ret[i].path, place.path[hierarchy], sizeof ret[i].path);
    }
    return gt_hash(groups, strlen(groups));
}

bool gt_control_group_up(struct gt_control_group *group)
{
    char *slash = strrchr(group->path, '/');
    if (!slash || (size_t)(slash - group->path) < group->mount_length)
        return false;
    *slash = '\0';
    return true;
}

bool gt_control_group_holds(const struct gt_control_group *group, const struct gt_control_group *below)
{
    size_t length = strlen(group->path);
    return !strncmp(group->path, below->path, length) && (!below->path[length] || below->path[length] == '/');
}

ssize_t gt_control_group_read(const struct gt_root *root, const struct gt_control_group *group, const char *name,
                              char *text, size_t size)
{
    char path[sizeof group->path + 64];
    snprintf(path, sizeof path, "%s/%s", group->path, name);
    return gt_root_read(root, path, text, size);
}

/* ---- The memory of a group ---------------------------------------------------------------------------------------- */

/* The number after `key` at the beginning of a line, or NaN. */
static double number_after(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (!strncmp(line, key, length) && line[length] == ' ')
            return (double)strtoull(line + length + 1, NULL, 10);
    return NAN;
}

static int open_counter(const struct gt_group_memory *memory, const char *second, const char *first)
{
    char path[sizeof memory->group.path + 64];
    if (!memory->group.version)
        return -1;
    snprintf(path, sizeof path, "%s/%s", memory->group.path, memory->group.version == 2 ? second : first);
    return gt_root_open_file(memory->root, path);
}

void gt_group_memory_open(struct gt_group_memory *memory, const struct gt_root *root, pid_t pid, const char *own_path)
{
    struct gt_control_group group[GT_CONTROLLERS];
    gt_control_groups_find(root, pid, group);
    *memory = (struct gt_group_memory){.root = root, .group = group[GT_CONTROLLER_MEMORY], .is_open = true};
    memory->is_own = memory->group.version && *own_path && !strcmp(own_path, memory->group.path);
    memory->stat = open_counter(memory, "memory.stat", "memory.stat");
    memory->usage = memory->is_own ? open_counter(memory, "memory.current", "memory.usage_in_bytes") : -1;
    memory->peak = memory->is_own ? open_counter(memory, "memory.peak", "memory.max_usage_in_bytes") : -1;
}

void gt_group_memory_close(struct gt_group_memory *memory)
{
    const int fd[] = {memory->stat, memory->usage, memory->peak};
    for (size_t i = 0; memory->is_open && i < sizeof fd / sizeof *fd; i++)
        gt_close_fd(fd[i]);
    *memory = (struct gt_group_memory){0};
}

static double read_counter(int fd)
{
    char text[64];
    return fd >= 0 && gt_root_reread_piece(fd, text, sizeof text) > 0 ? (double)strtoull(text, NULL, 10) : NAN;
}

/* Version 1 has one sum for the group and another, "total_", that includes the groups below it. */
struct gt_group_reading gt_group_memory_read(const struct gt_group_memory *memory)
{
    struct gt_group_reading ret = {NAN, NAN, NAN, NAN, NAN};
    char text[8192];
    bool is_second = memory->group.version == 2;
    if (!memory->is_open)
        return ret;
    ret.usage = read_counter(memory->usage);
    if (memory->stat < 0 || gt_root_reread_piece(memory->stat, text, sizeof text) <= 0)
        return ret;
    ret.anonymous = number_after(text, is_second ? "anon" : "total_rss");
    ret.mapped = number_after(text, is_second ? "file_mapped" : "total_mapped_file");
    ret.shmem = number_after(text, is_second ? "shmem" : "total_shmem");
    ret.peak = read_counter(memory->peak);
    return ret;
}

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

/* Of the group and those above it, up to one that `apart` lies in, too; NULL: to the top. */
static void limit_memory(struct gt_limit *ret, const struct gt_root *root, struct gt_control_group group,
                         const struct gt_control_group *apart)
{
    const char *file = group.version == 2 ? "memory.max" : "memory.limit_in_bytes";
    *ret = (struct gt_limit){.value = NAN};
    if (!group.version)
        return;
    do {
        if (apart && gt_control_group_holds(&group, apart))
            return;
        take_smaller(ret, memory_of(root, &group, file), file);
    } while (gt_control_group_up(&group));
}

void gt_limit_memory(struct gt_limit *ret, const struct gt_root *root,
                     const struct gt_control_group groups[GT_CONTROLLERS])
{
    limit_memory(ret, root, groups[GT_CONTROLLER_MEMORY], NULL);
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
    limit_memory(ret, root, *group, apart);
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

double gt_group_oom_kills(const struct gt_root *root, const struct gt_control_group *group)
{
    char text[2048];
    const char *file = group->version == 2 ? "memory.events" : "memory.oom_control";
    return gt_control_group_read(root, group, file, text, sizeof text) > 0 ? number_after(text, "oom_kill") : NAN;
}

static void read_memory(struct gt_control_group group, const struct gt_root *root, struct gt_group_events *ret)
{
    char *text = gt_root_text(root, "proc/vmstat");
    do {
        double kills = gt_group_oom_kills(root, &group);
        if (isnan(ret->oom_kills))
            ret->oom_kills = kills; /* the first group that has the controller */
        else
            gt_add_known(&ret->oom_kills_above, kills);
    } while (gt_control_group_up(&group));
    if (text)
        gt_add_known(&ret->oom_kills_above, number_after(text, "oom_kill"));
    free(text);
}

/* Tells of the group whose quota held the job back the longest. */
static void read_processor(struct gt_control_group group, const struct gt_root *root, struct gt_group_events *ret)
{
    char text[2048];
    do {
        if (gt_control_group_read(root, &group, "cpu.stat", text, sizeof text) <= 0)
            continue;
        double seconds = group.version == 2 ? number_after(text, "throttled_usec") / 1e6
                                            : number_after(text, "throttled_time") / 1e9;
        if (isnan(seconds) || seconds <= ret->throttled)
            continue;
        ret->throttled = seconds;
        ret->periods = number_after(text, "nr_periods");
        ret->throttled_periods = number_after(text, "nr_throttled");
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
