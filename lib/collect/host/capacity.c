#include "collect/host/capacity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

double gt_capacity_memory(const struct gt_root *root)
{
    char text[256]; /* MemTotal is the first line */
    if (gt_root_read(root, "proc/meminfo", text, sizeof text) < 0)
        return NAN;
    const char *total = strstr(text, "MemTotal:");
    return total ? 1024.0 * (double)strtoull(total + strlen("MemTotal:"), NULL, 10) : NAN;
}

int gt_capacity_list_length(const char *list)
{
    int count = 0;
    for (long first, last; gt_number_range_next(&list, &first, &last) > 0;)
        count += last >= first ? (int)(last - first + 1) : 0;
    return count;
}

int gt_capacity_cores(const struct gt_root *root)
{
    char text[4096];
    if (gt_root_read(root, "sys/devices/system/cpu/online", text, sizeof text) > 0)
        return gt_capacity_list_length(text);
    static char const line[] = "\ncpu";
    char *stat = gt_root_text(root, "proc/stat");
    int count = 0;
    for (const char *at = stat ? strstr(stat, line) : NULL; at; at = strstr(at + 1, line))
        count += at[sizeof line - 1] >= '0' && at[sizeof line - 1] <= '9';
    free(stat);
    return count;
}
