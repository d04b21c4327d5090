#include "collect/host/capacity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cgroup/control_group.h"

static double total_memory(const struct gt_root *root)
{
    char text[256]; /* MemTotal is the first line */
    if (gt_root_read(root, "proc/meminfo", text, sizeof text) < 0)
        return NAN;
    const char *total = strstr(text, "MemTotal:");
    return total ? 1024.0 * (double)strtoull(total + strlen("MemTotal:"), NULL, 10) : NAN;
}

/* "max" is no limit in version 2; in version 1 it is a number above all memory there is. */
static double memory_limit(const struct gt_root *root, const struct gt_control_group *group)
{
    char text[64];
    const char *name = group->version == 2 ? "memory.max" : "memory.limit_in_bytes";
    if (gt_control_group_read(root, group, name, text, sizeof text) <= 0 || text[0] < '0' || text[0] > '9')
        return NAN;
    return (double)strtoull(text, NULL, 10);
}

/* A limit of any group above binds as well. */
static double smallest_limit(const struct gt_root *root, pid_t pid)
{
    struct gt_control_group group;
    double least = NAN;
    if (pid <= 0 || gt_control_group_find(root, pid, "memory", &group) < 0)
        return NAN;
    do
        least = fmin(least, memory_limit(root, &group)); /* fmin passes over NaN */
    while (gt_control_group_up(&group));
    return least;
}

double gt_capacity_memory(const struct gt_root *root, pid_t pid)
{
    return fmin(total_memory(root), smallest_limit(root, pid));
}

/* How many numbers a list such as "0-3,8,10-11" has. */
static int list_length(const char *list)
{
    int count = 0;
    while (*list >= '0' && *list <= '9') {
        char *end;
        long first = strtol(list, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        count += last >= first ? (int)(last - first + 1) : 0;
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}

int gt_capacity_cores(const struct gt_root *root)
{
    char text[4096];
    if (gt_root_read(root, "sys/devices/system/cpu/online", text, sizeof text) > 0)
        return list_length(text);
    static char const line[] = "\ncpu";
    char stat[65536];
    int count = 0;
    if (gt_root_read(root, "proc/stat", stat, sizeof stat) > 0)
        for (const char *at = strstr(stat, line); at; at = strstr(at + 1, line))
            count += at[sizeof line - 1] >= '0' && at[sizeof line - 1] <= '9';
    return count;
}
