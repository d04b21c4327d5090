#include "collect/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

enum { UNKNOWN = -1, MOST_CPUS = 1 << 16 };

int gt_packages_declare(struct gt_snapshot *snapshot, struct gt_topology *topology, const int *numbers, int count)
{
    gt_packages_release(snapshot, topology);
    snapshot->package = calloc((size_t)count, sizeof *snapshot->package);
    if (!snapshot->package)
        return -ENOMEM;
    snapshot->package_count = topology->package_count = (size_t)count;
    for (int i = 0; i < count; i++)
        snapshot->package[i].number = topology->number[i] = numbers[i];
    gt_packages_clear(snapshot);
    return 0;
}

void gt_packages_clear(struct gt_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->package_count; i++)
        gt_values_clear(snapshot->package[i].value);
}

void gt_packages_release(struct gt_snapshot *snapshot, struct gt_topology *topology)
{
    free(snapshot->package);
    snapshot->package = NULL;
    snapshot->package_count = topology->package_count = 0;
    free(topology->package_of_cpu);
    topology->package_of_cpu = NULL;
    topology->cpu_capacity = 0;
}

void gt_packages_forget(struct gt_snapshot *snapshot, struct gt_topology *topology, const char *why)
{
    gt_packages_release(snapshot, topology);
    snprintf(topology->why_no_packages, sizeof topology->why_no_packages, "%s", why);
}

static int make_room(struct gt_topology *topology, size_t cpu)
{
    size_t before = topology->cpu_capacity;
    if (GT_GROW_TO(topology->package_of_cpu, topology->cpu_capacity, cpu + 1) < 0)
        return -ENOMEM;
    memset(topology->package_of_cpu + before, UNKNOWN, topology->cpu_capacity - before);
    return 0;
}

int gt_package_of_cpu(const struct gt_topology *topology, int cpu)
{
    return cpu < 0 || (size_t)cpu >= topology->cpu_capacity ? UNKNOWN : topology->package_of_cpu[cpu];
}

int gt_package_number(const struct gt_root *root, int cpu)
{
    char path[128];
    unsigned long long number;
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return gt_root_read_u64(root, path, &number) < 0 ? UNKNOWN : (int)number;
}

bool gt_packages_are_several(const struct gt_root *root)
{
    int first = gt_package_number(root, 0), number = first;
    for (int cpu = 1; cpu < MOST_CPUS && number == first && number != UNKNOWN; cpu++)
        number = gt_package_number(root, cpu);
    return number != first && number != UNKNOWN;
}

int gt_package_learn(struct gt_topology *topology, const struct gt_root *root, int cpu)
{
    if (cpu < 0 || cpu >= MOST_CPUS || gt_package_of_cpu(topology, cpu) != UNKNOWN)
        return gt_package_of_cpu(topology, cpu);
    int number = gt_package_number(root, cpu);
    if (number == UNKNOWN)
        return UNKNOWN;
    if (make_room(topology, (size_t)cpu) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < topology->package_count; i++)
        if (topology->number[i] == number)
            topology->package_of_cpu[cpu] = (signed char)i;
    return topology->package_of_cpu[cpu];
}

int gt_package_of_list(const struct gt_topology *topology, const char *list)
{
    int found = UNKNOWN;
    for (long first, last; gt_number_range_next(&list, &first, &last) > 0;) {
        for (long cpu = first; cpu <= last && cpu < MOST_CPUS; cpu++) {
            int package = gt_package_of_cpu(topology, (int)cpu);
            if (package != UNKNOWN && found != UNKNOWN && package != found)
                return UNKNOWN;
            found = package == UNKNOWN ? found : package;
        }
    }
    return found;
}
