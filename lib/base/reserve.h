/* Descriptors are held back while others are opened that can be done without, so that some are left for what cannot. */
#ifndef GT_BASE_RESERVE_H
#define GT_BASE_RESERVE_H

#include <stddef.h>

enum { GT_RESERVE_MOST = 20 };

struct gt_reserve {
    int fd[GT_RESERVE_MOST];
    size_t count;
};

/* Hold back up to `wanted` descriptors, at most GT_RESERVE_MOST. Returns how many the process could still open. */
size_t gt_reserve_take(struct gt_reserve *reserve, size_t wanted);
/* Let go of all but `kept`. */
void gt_reserve_release(struct gt_reserve *reserve, size_t kept);

#endif
