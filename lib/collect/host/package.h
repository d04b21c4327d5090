/* Processor packages (sockets), where there are several and each has energy counters of its own: who is on which.
 *
 * The package of a CPU is /sys/devices/system/cpu/cpuN/topology/physical_package_id, which an offline CPU does not have: it is
 * asked when the CPU is first seen. Machines with one package, and those whose counters tell no packages apart, have none in
 * the frame, and nothing is read for them. */
#ifndef GT_COLLECT_PACKAGE_H
#define GT_COLLECT_PACKAGE_H

#include "collect/collector.h"

/* While opening: the packages whose energy is counted apart, by their numbers. -ENOMEM. */
int gt_packages_declare(struct gt_frame *frame, const int *numbers, int count);
/* The packages cannot be told apart, one clause says why: the machine counts as a whole. */
void gt_packages_forget(struct gt_frame *frame, const char *why);
void gt_packages_clear(struct gt_frame *frame);
void gt_packages_release(struct gt_frame *frame);

/* Has this machine several? It is asked about each CPU up to the first of another package. */
bool gt_packages_are_several(const struct gt_root *root);

/* Index in the frame's packages, -1: not known. The first asks /sys about a CPU that is not known; -ENOMEM. */
int gt_package_learn(struct gt_frame *frame, const struct gt_root *root, int cpu);
int gt_package_of_cpu(const struct gt_frame *frame, int cpu);
/* The one package that has all CPUs of a list like "0-3,8", those of unknown package left out; -1: there are several. */
int gt_package_of_list(const struct gt_frame *frame, const char *list);

#endif
