/* The capacity of a machine is its memory and its cores; control groups may leave a job less memory. */
#ifndef GT_COLLECT_CAPACITY_H
#define GT_COLLECT_CAPACITY_H

#include "base/root.h"
#include "collect/cgroup/limits.h"

/* Returns bytes of memory: MemTotal, or the smallest limit of the groups where that is smaller. NULL: no group is asked. NaN: neither
 * can be read. */
double gt_capacity_memory(const struct gt_root *root, const struct gt_control_group groups[GT_CONTROLLERS]);
/* How many numbers a list such as "0-3,8,10-11" has. */
int gt_capacity_list_length(const char *list);
/* Returns the number of online logical cores, 0 where it is not known. */
int gt_capacity_cores(const struct gt_root *root);

#endif
