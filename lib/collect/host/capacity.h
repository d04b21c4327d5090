/* How much memory and how many cores there are, and how many of them the job may use. */
#ifndef GT_COLLECT_CAPACITY_H
#define GT_COLLECT_CAPACITY_H

#include "base/root.h"

/* Bytes of memory: MemTotal, or the smallest limit of the control groups of `pid` (0: none are asked) when that is smaller.
 * NaN when neither can be read. */
double gt_capacity_memory(const struct gt_root *root, pid_t pid);
/* Online logical cores; 0 when unknown. */
int gt_capacity_cores(const struct gt_root *root);
/* Cores that `pid` may keep busy: its affinity, or its control groups' quota of CPU time when that is smaller. A quota may be a
 * fraction. NaN when unknown. */
double gt_capacity_usable_cores(const struct gt_root *root, pid_t pid);

#endif
