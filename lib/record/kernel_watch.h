/* A kernel watch counts how often the kernel killed or throttled processes of a job for using more than it was given, from the begin
 * of its tracking on, and remembers its largest process, which the kernel kills first. */
#ifndef GT_RECORD_KERNEL_WATCH_H
#define GT_RECORD_KERNEL_WATCH_H

#include "collect/cgroup/control_group.h"
#include "sample/outcome.h"
#include "sample/tree.h"

/* Control groups that the job makes for its own processes, below its own or beside it: containers, scopes, scripts. */
enum { GT_MADE_GROUPS = 32, GT_MADE_MEMBERSHIPS = 64, GT_LARGEST_NAME = 32 };

/* The largest process of a group, or of the job. */
struct gt_largest_process {
    pid_t pid;        /* 0: none yet */
    double ram, peak; /* bytes: of a reading, and of its own high-water mark */
    bool is_gone;
    char name[GT_LARGEST_NAME];
};

struct gt_made_group {
    struct gt_control_group group;
    bool is_below;           /* the job's own group counts its kills, too */
    bool is_gone;            /* it was taken away before it could be read again */
    double begin, oom_kills; /* as counted when it was met, and since then; NaN: not told */
    double limit;            /* bytes: the least of its own and of the groups above that the job is not in; NaN: none */
    struct gt_largest_process largest;
};

struct gt_made_groups {
    struct gt_control_group own; /* that in which the main process was found */
    size_t count;                /* at most GT_MADE_GROUPS: later ones are not watched */
    struct gt_made_group *made;
    /* /proc/PID/cgroup was found to say this: a hash, and the group, -1 where it is the job's own or one that is not watched. */
    size_t memberships;
    struct {
        uint64_t hash;
        int group;
    } membership[GT_MADE_MEMBERSHIPS];
};

struct gt_kernel_watch {
    struct gt_control_group groups[GT_CONTROLLERS];
    uint64_t lines_hash; /* what finding them returned; 0: they are not those of the main process */
    struct gt_group_events begin;
    struct gt_made_groups made;
    struct gt_largest_process largest;
};

/* Count from now on; `groups` have been found. */
void gt_kernel_watch_begin(struct gt_kernel_watch *watch, const struct gt_root *root);
void gt_kernel_watch_release(struct gt_kernel_watch *watch);
/* Find the largest process; called after each look at the processes. */
void gt_kernel_watch_look(struct gt_kernel_watch *watch, const struct gt_tree *tree);
/* Fill *ret with what has happened since the begin. */
void gt_kernel_watch_read(struct gt_kernel_watch *watch, const struct gt_tree *tree, struct gt_kernel_events *ret);

#endif
