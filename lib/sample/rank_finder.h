/* Ranks of a parallel job that were started below one tracker, as torchrun and mpirun do on one machine: each process is asked once, when
 * it has executed its program, for the place that its environment tells, and a child of a rank belongs to that rank. */
#ifndef GT_SAMPLE_RANK_FINDER_H
#define GT_SAMPLE_RANK_FINDER_H

#include "base/os/rank.h"
#include "sample/outcome.h"
#include "sample/tree.h"

struct gt_rank_group {
    struct gt_local_rank figures; /* without its GPUs' names */
    char visible[256];            /* CUDA_VISIBLE_DEVICES; "": not told */
    double ended_cpu;             /* seconds of its processes whose parent is none of it */
    uint64_t devices;             /* bits of the snapshot's: its processes have had memory there */
    double utilization;           /* sum over readings */
    uint64_t readings;
};

struct gt_rank_finder {
    struct gt_rank_group **group; /* in the order in which they were met */
    size_t count;
    struct gt_rank_place base; /* of the main process: ranks below it have another */
    bool has_base;
    struct gt_rank_place own; /* of a tracker that launched the main process, which has it, too */
    bool has_own;
};

/* Set the rank of each process of the tree. Returns 0 or -ENOMEM. */
int gt_rank_finder_look(struct gt_rank_finder *finder, const struct gt_root *root, const struct gt_tree *tree);
/* Take in a reading, all but energy, after gt_account_totals. */
void gt_rank_finder_add(const struct gt_rank_finder *finder, const struct gt_snapshot *snapshot,
                        const struct gt_tree *tree);
/* Fill in the ranks so far, in the order of their numbers; the caller frees them. Returns 0 or -ENOMEM. */
int gt_rank_finder_list(const struct gt_rank_finder *finder, const struct gt_snapshot *snapshot,
                        struct gt_local_rank **ret, size_t *count);
void gt_rank_finder_close(struct gt_rank_finder *finder);

#endif
