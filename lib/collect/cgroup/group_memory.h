/* The anonymous memory of a job, each page once, as the kernel counts it for the control group in which the job lies. Nothing else tells
 * how much of the memory that processes inherited they have copied. Anybody may read it.
 *
 * Sources: memory.stat of both versions (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst in the kernel's sources). */
#ifndef GT_COLLECT_CGROUP_GROUP_MEMORY_H
#define GT_COLLECT_CGROUP_GROUP_MEMORY_H

#include <stdint.h>

#include "collect/cgroup/control_group.h"

/* All zero is one that has not been opened. */
struct gt_group_memory {
    const struct gt_root *root;
    struct gt_control_group group;
    bool is_open, is_own;
    int stat;              /* descriptor of memory.stat; negative: it tells nothing */
    double late;           /* bytes: by so much the kernel's sum may be late */
    double stray;          /* bytes that were charged to the group when it was opened, and are none of its processes' */
    int64_t not_before_ns; /* too many others were in it */
};

/* At least and at most so many bytes; NaN: it does not tell. */
struct gt_group_anonymous {
    double least, most;
};

/* A process of the job? */
typedef bool gt_group_member(const void *job, pid_t pid);

/* Take the group of `pid`; `own_path` is that of the group that was made for the job, or empty. Without a group in reach it tells
 * nothing. */
void gt_group_memory_open(struct gt_group_memory *memory, const struct gt_root *root, pid_t pid, const char *own_path);
/* Read it now. Where others are in the group, what they have is left out of what there is at least, and nothing is known of the most. */
struct gt_group_anonymous gt_group_memory_read(struct gt_group_memory *memory, gt_group_member *is_member,
                                               const void *job, int64_t now_ns);
void gt_group_memory_close(struct gt_group_memory *memory);

#endif
