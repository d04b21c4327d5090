/* Control groups that the job makes for its own processes, below its own or beside it: containers, scopes, scripts. Of each it is known
 * which process had the most memory there, and how many the kernel killed for it. */
#ifndef GT_RECORD_MADE_GROUPS_H
#define GT_RECORD_MADE_GROUPS_H

#include "collect/cgroup/limits.h"
#include "sample/tree.h"

enum { GT_MADE_GROUPS = 32, GT_MADE_MEMBERSHIPS = 64 };

struct gt_made_group {
    struct gt_control_group group;
    bool is_below;           /* the job's own group counts its kills, too */
    bool is_gone;            /* it was taken away before it could be read again */
    double begin, oom_kills; /* as counted when it was met, and since then; NaN: not told */
    double limit;            /* bytes: the least of its own and of the groups above that the job is not in; NaN: none */
    struct {
        pid_t pid;
        double ram, peak; /* bytes: of a reading, and of its own high-water mark */
        bool is_gone;
    } largest;
    char largest_name[32];
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

/* The main process may have gone elsewhere since its groups were found. `lines_hash` is what finding them returned, or 0. */
void gt_made_groups_begin(struct gt_made_groups *groups, const struct gt_control_group own[GT_CONTROLLERS],
                          uint64_t lines_hash);
void gt_made_groups_release(struct gt_made_groups *groups);
/* After each look at the processes. A process is asked for its group when it is met, when it has become another program, and whenever
 * its memory has doubled. */
void gt_made_groups_look(struct gt_made_groups *groups, const struct gt_tree *tree);
/* Kills that were counted meanwhile by the job's own group, and by those above and the whole machine. */
struct gt_made_kills {
    double own, above;
};
/* Read them all again. Returns the group in which the kernel killed a process for memory, that of the largest, or NULL. Where the group was
 * taken away, its `oom_kills` is as it was before, and there was a kill probably. */
const struct gt_made_group *gt_made_groups_end(struct gt_made_groups *groups, const struct gt_tree *tree,
                                               const struct gt_made_kills *counted);

#endif
