#include "collect/host/package.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { UNKNOWN = -1, MOST_CPUS = 1 << 16 };

int gt_packages_declare(struct gt_frame *frame, const int *numbers, int count)
{
    gt_packages_release(frame);
    frame->package = calloc((size_t)count, sizeof *frame->package);
    if (!frame->package)
        return -ENOMEM;
    frame->package_count = (size_t)count;
    for (int i = 0; i < count; i++)
        frame->package[i].number = numbers[i];
    gt_packages_clear(frame);
    return 0;
}

void gt_packages_clear(struct gt_frame *frame)
{
    for (size_t i = 0; i < frame->package_count; i++)
        gt_values_clear(frame->package[i].value);
}

void gt_packages_release(struct gt_frame *frame)
{
    free(frame->package);
    free(frame->package_of_cpu);
    frame->package = NULL;
    frame->package_of_cpu = NULL;
    frame->package_count = frame->cpu_capacity = 0;
}

void gt_packages_forget(struct gt_frame *frame, const char *why)
{
    gt_packages_release(frame);
    snprintf(frame->why_no_packages, sizeof frame->why_no_packages, "%s", why);
}

static int make_room(struct gt_frame *frame, size_t cpu)
{
    size_t before = frame->cpu_capacity;
    if (GT_GROW_TO(frame->package_of_cpu, frame->cpu_capacity, cpu + 1) < 0)
        return -ENOMEM;
    memset(frame->package_of_cpu + before, UNKNOWN, frame->cpu_capacity - before);
    return 0;
}

int gt_package_of_cpu(const struct gt_frame *frame, int cpu)
{
    return cpu < 0 || (size_t)cpu >= frame->cpu_capacity ? UNKNOWN : frame->package_of_cpu[cpu];
}

static int read_number(const struct gt_root *root, int cpu, unsigned long long *ret)
{
    char path[128];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return gt_root_read_u64(root, path, ret);
}

bool gt_packages_are_several(const struct gt_root *root)
{
    unsigned long long first, number;
    if (read_number(root, 0, &first) < 0)
        return false;
    for (int cpu = 1; cpu < MOST_CPUS && read_number(root, cpu, &number) >= 0; cpu++)
        if (number != first)
            return true;
    return false;
}

int gt_package_learn(struct gt_frame *frame, const struct gt_root *root, int cpu)
{
    unsigned long long number;
    if (cpu < 0 || cpu >= MOST_CPUS || gt_package_of_cpu(frame, cpu) != UNKNOWN)
        return gt_package_of_cpu(frame, cpu);
    if (read_number(root, cpu, &number) < 0)
        return UNKNOWN;
    if (make_room(frame, (size_t)cpu) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < frame->package_count; i++)
        if (frame->package[i].number == (int)number)
            frame->package_of_cpu[cpu] = (signed char)i;
    return frame->package_of_cpu[cpu];
}

int gt_package_of_list(const struct gt_frame *frame, const char *list)
{
    int found = UNKNOWN;
    for (const char *at = list; *at >= '0' && *at <= '9';) {
        char *end;
        long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && cpu < MOST_CPUS; cpu++) {
            int package = gt_package_of_cpu(frame, (int)cpu);
            if (package != UNKNOWN && found != UNKNOWN && package != found)
                return UNKNOWN;
            found = package == UNKNOWN ? found : package;
        }
        at = *end == ',' ? end + 1 : "";
    }
    return found;
}
