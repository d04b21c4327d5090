/* A machine may have several processor packages (sockets) with energy counters of their own. Each CPU lies on one of them.
 *
 * /sys/devices/system/cpu/cpuN/topology/physical_package_id tells the package of a CPU. An offline CPU has no such file, so it is
 * read when the CPU is first seen. A snapshot has no packages where there is only one, or where the counters do not tell them apart;
 * nothing is read for them then. */
#ifndef GT_COLLECT_HOST_HOST_H
#define GT_COLLECT_HOST_HOST_H

#include <stddef.h>

#include "base/os/root.h"
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

/* The capacity of a machine is its memory and its cores; control groups may leave a job less: see collect/cgroup/control_group.h. */

/* Returns the bytes of memory, NaN where they cannot be read. */
double gt_capacity_memory(const struct gt_root *root);
/* Returns how many numbers a list such as "0-3,8,10-11" has. */
int gt_capacity_list_length(const char *list);
/* Returns the number of online logical cores, 0 where it is not known. */
int gt_capacity_cores(const struct gt_root *root);

/* The kernel's hwmon drivers show the temperatures of a machine's sensors.
 *
 * Documentation/hwmon/sysfs-interface.rst in the kernel's sources describes the files: tempN_input, _max and _crit hold thousandths
 * of a degree. */

struct gt_temperature {
    char chip[32];         /* "coretemp" */
    char label[48];        /* "Package id 0", empty without */
    double current;        /* degrees Celsius */
    double high, critical; /* NaN: missing */
};

/* Fill in up to `most` sensors that can be read now, by device and number. Returns how many. */
size_t gt_temperatures_read(const struct gt_root *root, struct gt_temperature *list, size_t most);

#endif
