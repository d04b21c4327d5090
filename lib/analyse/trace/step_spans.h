/* Several analyses take steps as spans. Functions that can fail return 0 or -ENOMEM. */
#ifndef GT_ANALYSE_TRACE_STEP_SPANS_H
#define GT_ANALYSE_TRACE_STEP_SPANS_H

#include "analyse/gpu/lists.h"

/* Adds the steps of wanted phases, sorted by their keys: node, mode, number. Where a trace has whole steps ("Step:...",
 * ProfilerStep), only those count. */
int gt_step_spans(const struct gt_analysis_input *input, struct gt_spans *spans);

/* From the first step of a node to its last; longest 0: it has none. Whatever phases are wanted. */
struct gt_step_hull {
    int64_t first, last, longest;
};
struct gt_step_hull gt_step_hull(const struct gt_analysis_input *input, uint32_t node);
/* Takes from a gap between work what lies outside of the hull, if that is longer than each step: a stray event did it. Returns how much. */
int64_t gt_step_hull_cut(const struct gt_step_hull *hull, int64_t *from, int64_t *to);

/* Puts the same steps beside each other: their keys are mode, number, node, by which they are sorted. Nodes whose
 * clock is unknown are left out when others' are known. */
int gt_skewed_steps(const struct gt_analysis_input *input, struct gt_spans *spans);

/* A step differs among nodes by this, in ns. */
struct gt_skew {
    size_t nodes;
    int64_t hull;   /* first start to last end */
    int64_t start;  /* last start less first start */
    int64_t length; /* longest less shortest */
    uint32_t slowest;
    int64_t shortest;
};
struct gt_skew gt_step_skew(const struct gt_spans *spans, size_t from, size_t to);

#endif
