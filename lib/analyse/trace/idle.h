/* Why GPUs stood still. */
#ifndef GT_ANALYSE_IDLE_H
#define GT_ANALYSE_IDLE_H

#include "analyse/trace/gpu_spans.h"

enum gt_idle_cause { GT_IDLE_HOST, GT_IDLE_KERNEL, GT_IDLE_OTHER, GT_IDLE_CAUSES };

struct gt_idle_time {
    const struct gt_keyed_span *span; /* the first of the device or stream */
    int64_t whole;                    /* first start to last end */
    int64_t idle[GT_IDLE_CAUSES];
    int64_t loading; /* of GT_IDLE_HOST, while a data loader was at work on the node */
    uint64_t gaps;
};

/* Called for every device (`keys` 2) or stream (3). Spans are sorted again. 0 or -ENOMEM. */
int gt_idle_walk(const struct gt_analysis_input *input, struct gt_spans *spans, int keys,
                 void (*take)(void *context, const struct gt_idle_time *time), void *context);

#endif
