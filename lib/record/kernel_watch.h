/* A kernel watch counts how often the kernel killed or throttled processes of a job for using more than it was given, from the begin
 * of its tracking on, and remembers its largest process, which the kernel kills first. */
#ifndef GT_RECORD_KERNEL_WATCH_H
#define GT_RECORD_KERNEL_WATCH_H

#include "collect/cgroup/limits.h"
#include "record/made_groups.h"
#include "sample/outcome.h"
#include "sample/tree.h"

struct gt_kernel_watch {
    struct gt_control_group groups[GT_CONTROLLERS];
    uint64_t lines_hash; /* what finding them returned; 0: they are not those of the main process */
    struct gt_group_events begin;
    struct gt_made_groups made;
    pid_t largest_pid;
    double largest_ram, largest_peak; /* bytes: of a reading, and of its own high-water mark */
    char largest_name[32];
};

/* Count from now on; `groups` have been found. */
void gt_kernel_watch_begin(struct gt_kernel_watch *watch, const struct gt_root *root);
void gt_kernel_watch_release(struct gt_kernel_watch *watch);
/* Find the largest process; called after each look at the processes. */
void gt_kernel_watch_look(struct gt_kernel_watch *watch, const struct gt_tree *tree);
/* Fill *ret with what has happened since the begin. */
void gt_kernel_watch_read(struct gt_kernel_watch *watch, const struct gt_tree *tree, struct gt_kernel_events *ret);

#endif
