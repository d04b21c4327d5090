/* Processor packages (sockets), where there are several and each has energy counters of its own, and the CPUs on them.
 *
 * The package of a CPU is /sys/devices/system/cpu/cpuN/topology/physical_package_id, which an offline CPU does not have: it is
 * asked when the CPU is first seen. Machines with one package, and those whose counters tell no packages apart, have none in
 * the frame, and nothing is read for them. */
#ifndef GT_COLLECT_TOPOLOGY_H
#define GT_COLLECT_TOPOLOGY_H

#include "collect/collector.h"

struct gt_topology {
    size_t package_count;        /* as in the frame */
    int number[GT_PACKAGES];     /* physical_package_id of each */
    signed char *package_of_cpu; /* index of each CPU seen so far, else -1 */
    size_t cpu_capacity;
    char why_no_packages[80]; /* where there seem to be several, one clause */
};

/* While opening: the packages whose energy is counted apart, by their numbers. -ENOMEM. */
int gt_packages_declare(struct gt_frame *frame, struct gt_topology *topology, const int *numbers, int count);
/* The packages cannot be told apart, one clause says why: the machine counts as a whole. */
void gt_packages_forget(struct gt_frame *frame, struct gt_topology *topology, const char *why);
/* Set all figures of the packages to NaN. */
void gt_packages_clear(struct gt_frame *frame);
/* Free both; topology->why_no_packages stays. */
void gt_packages_release(struct gt_frame *frame, struct gt_topology *topology);

/* True for a machine with several packages. Each CPU up to the first of another package is asked. */
bool gt_packages_are_several(const struct gt_root *root);

/* The index of the package of a CPU; -1: not known. The first asks /sys about a CPU that is not known; -ENOMEM. */
int gt_package_learn(struct gt_topology *topology, const struct gt_root *root, int cpu);
int gt_package_of_cpu(const struct gt_topology *topology, int cpu);
/* The one package that has all CPUs of a list like "0-3,8", those of unknown package left out; -1: there are several. */
int gt_package_of_list(const struct gt_topology *topology, const char *list);

#endif
