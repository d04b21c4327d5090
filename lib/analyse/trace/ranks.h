/* The ranks of a job beside one another, each in a few figures. Times are in ns; NaN is not known. */
#ifndef GT_ANALYSE_TRACE_RANKS_H
#define GT_ANALYSE_TRACE_RANKS_H

#include "analyse/gpu/lists.h"
#include "base/buffer.h"
#include "trace/input/walk.h"

/* A rank is compared by one of these. */
enum gt_rank_figure {
    GT_RANK_STEP,          /* median length of a step */
    GT_RANK_COMPUTE,       /* the others are parts of the time of its GPUs, from their first work to their last */
    GT_RANK_COMMUNICATION, /* that no computation hides */
    GT_RANK_IDLE,
    GT_RANK_LOADING, /* idle, while the host waits for data; of a rank without GPUs a part of all its time */
    GT_RANK_HOST,    /* idle, while the host does something else */
    GT_RANK_KERNEL,  /* mean length of a computing kernel */
    GT_RANK_FIGURES
};

struct gt_rank_figures {
    uint32_t node; /* a place */
    size_t steps;
    double step_p95, step_total;
    double figure[GT_RANK_FIGURES];
    double whole; /* of its GPUs; of a rank without GPUs all its time */
    bool has_gpu;
    double memory;  /* copies and fills that nothing else hides */
    size_t kernels; /* computing ones */
    size_t gpus;
};

/* Returns all ranks that have events or steps, by place; the query owns them. */
struct gt_rank_figures *gt_ranks_find(const struct gt_analysis_input *input, size_t *count);
/* Returns the host of a rank, by the name of its file ("<host>_<pid>.<time>.pt.trace.json") or else its folder; empty without. */
struct gt_span gt_rank_host(const struct gt_analysis_input *input, uint32_t node);
/* Appends the numbers of the ranks that a job has and of which there is no trace, "3, 5-7"; returns how many, of how many. 0: none, or
 * no trace tells how many ranks there are. */
size_t gt_ranks_absent(const struct gt_analysis_input *input, struct gt_buffer *out, size_t *of);
/* Returns the median over all ranks but `except` of a length as it is, or of a time as a share of the rank's own, as traces
 * differ in length; NaN where none has it. */
double gt_ranks_median(const struct gt_rank_figures *ranks, size_t count, size_t except, enum gt_rank_figure figure);
/* Returns the rank with the greatest figure if it is at least 5 % greater than the median of the others, and by 1 % of the
 * time of its GPUs where it is a part of that; else SIZE_MAX. */
size_t gt_ranks_worst(const struct gt_rank_figures *ranks, size_t count, enum gt_rank_figure figure);

#endif
