/* Steps as spans, for several analyses. */
#ifndef GT_ANALYSE_STEPS_H
#define GT_ANALYSE_STEPS_H

#include "analyse/trace/spans.h"

/* Steps of wanted phases, sorted. Keys: node, mode, number. Where a trace has whole steps ("Step:...", ProfilerStep), only those. */
int gt_step_spans(const struct gt_analysis_input *input, struct gt_spans *spans);

/* The same steps put beside each other. Keys: mode, number, node; sorted. Nodes whose clock is unknown are left out when others'
 * are known. */
int gt_skewed_steps(const struct gt_analysis_input *input, struct gt_spans *spans);

/* One step on several nodes, ns. */
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
