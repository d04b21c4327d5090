/* Steps with the work that they launched on GPUs: a step of the host ends no earlier than that work, and the next begins no
 * earlier than that. */
#ifndef GT_ANALYSE_TRACE_GPU_STEPS_H
#define GT_ANALYSE_TRACE_GPU_STEPS_H

#include "analyse/trace/lists.h"

struct gt_gpu_step {
    struct gt_keyed_span span; /* keys: node, mode, number */
    int64_t begin, end;        /* on the host */
    int64_t first, last;       /* of its work on GPUs */
    size_t work;
    bool is_whole_node; /* no step, but all that the node did */
};

struct gt_gpu_steps {
    struct gt_gpu_step *step; /* node by node, by begin */
    size_t count;
};

/* Finds them from the work of GPUs; a node without steps is looked at as a whole, from the first to the last of its spans in
 * `all` (key: node; sorted, without overlap). Returns 0 or -ENOMEM. */
int gt_gpu_steps_find(struct gt_gpu_steps *steps, const struct gt_analysis_input *input, const struct gt_spans *all,
                      const struct gt_spans *work);
/* Returns the last step of the node that began on the host at `time` or before it, SIZE_MAX without. */
size_t gt_gpu_step_at(const struct gt_gpu_steps *steps, uint32_t node, int64_t time);
void gt_gpu_steps_release(struct gt_gpu_steps *steps);

#endif
