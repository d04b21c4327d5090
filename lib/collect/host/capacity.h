/* The capacity of a machine is its memory and its cores; control groups may leave a job less: see collect/cgroup/limits.h. */
#ifndef GT_COLLECT_HOST_CAPACITY_H
#define GT_COLLECT_HOST_CAPACITY_H

#include "base/root.h"

/* Returns the bytes of memory, NaN where they cannot be read. */
double gt_capacity_memory(const struct gt_root *root);
/* Returns how many numbers a list such as "0-3,8,10-11" has. */
int gt_capacity_list_length(const char *list);
/* Returns the number of online logical cores, 0 where it is not known. */
int gt_capacity_cores(const struct gt_root *root);

#endif
