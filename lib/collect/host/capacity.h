/* Memory and cores of the machine, and the memory that the job may use. */
#ifndef GT_COLLECT_CAPACITY_H
#define GT_COLLECT_CAPACITY_H

#include "base/root.h"

/* Bytes of memory: MemTotal, or the smallest limit of the control groups of `pid` (0: none are asked) when that is smaller.
 * NaN when neither can be read. */
double gt_capacity_memory(const struct gt_root *root, pid_t pid);
/* How many numbers a list such as "0-3,8,10-11" has. */
int gt_capacity_list_length(const char *list);
/* Online logical cores; 0 when unknown. */
int gt_capacity_cores(const struct gt_root *root);

#endif
