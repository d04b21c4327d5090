/* The launch that a rank is part of, told by the process that started all ranks of this machine: where no variable names it. */
#ifndef GT_BASE_RANK_LAUNCH_H
#define GT_BASE_RANK_LAUNCH_H

#include <sys/types.h>

#include "base/root.h"

struct gt_rank_launch {
    pid_t pid;                /* of the nearest process around the rank that is no rank itself */
    unsigned long long start; /* in ticks since the machine started, as no two processes of one number have it */
};

/* `variable` is what each rank has in its environment. `root` NULL: this machine. Returns 0 or negative errno. */
int gt_rank_launch_find(struct gt_rank_launch *ret, const struct gt_root *root, pid_t pid, const char *variable);

#endif
