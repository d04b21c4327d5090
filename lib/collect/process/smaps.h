/* The kernel adds up the memory of one process in /proc/PID/smaps_rollup (Linux 4.14); before that we add up /proc/PID/smaps. */
#ifndef GT_COLLECT_SMAPS_H
#define GT_COLLECT_SMAPS_H

#include <stdint.h>

#include "base/root.h"

struct gt_smaps {
    double rss, pss, private_bytes, shared_bytes, swap; /* bytes; PSS: each page over the number of its mappings */
    double faults;                                      /* minor and major page faults before the reading */
};

/* Returns -EACCES or -EPERM for another user's process; -ESRCH where it has gone, has no memory, or `start` (0: any) is not its start time;
 * -ENOENT where this kernel has neither file. */
int gt_smaps_read(const struct gt_root *root, pid_t pid, uint64_t start, struct gt_smaps *ret);

#endif
