/* A machine may have several processor packages (sockets) with energy counters of their own. Each CPU lies on one of them.
 *
 * /sys/devices/system/cpu/cpuN/topology/physical_package_id tells the package of a CPU. An offline CPU has no such file, so it is
 * read when the CPU is first seen. A snapshot has no packages where there is only one, or where the counters do not tell them apart;
 * nothing is read for them then. */
#ifndef GT_COLLECT_TOPOLOGY_H
#define GT_COLLECT_TOPOLOGY_H

#include "collect/collector.h"

struct gt_topology {
    size_t package_count;        /* as in the snapshot */
    int number[GT_PACKAGES];     /* physical_package_id of each */
    signed char *package_of_cpu; /* index of each CPU seen so far, else -1 */
    size_t cpu_capacity;
    char why_no_packages[80]; /* where there seem to be several, one clause */
};

/* A collector that counts the energy of packages apart calls this while it opens, with their numbers. Returns 0 or -ENOMEM. */
int gt_packages_declare(struct gt_snapshot *snapshot, struct gt_topology *topology, const int *numbers, int count);
/* Let the machine count as a whole, because the packages cannot be told apart; `why` is one clause. */
void gt_packages_forget(struct gt_snapshot *snapshot, struct gt_topology *topology, const char *why);
/* Set all figures of the packages to NaN. */
void gt_packages_clear(struct gt_snapshot *snapshot);
/* Free both; topology->why_no_packages stays. */
void gt_packages_release(struct gt_snapshot *snapshot, struct gt_topology *topology);

/* Returns physical_package_id of a CPU, -1 if it is offline or unknown. */
int gt_package_number(const struct gt_root *root, int cpu);
/* Returns true for a machine with several packages. It asks each CPU up to the first of another package. */
bool gt_packages_are_several(const struct gt_root *root);

/* Both return the index of the package of a CPU, or -1 where it is not known. The first also asks /sys about a CPU that was not seen
 * before, and may return -ENOMEM. */
int gt_package_learn(struct gt_topology *topology, const struct gt_root *root, int cpu);
int gt_package_of_cpu(const struct gt_topology *topology, int cpu);
/* Returns the one package that has all CPUs of a list like "0-3,8", or -1 where they lie on several. CPUs of unknown package are left
 * out. */
int gt_package_of_list(const struct gt_topology *topology, const char *list);

#endif
