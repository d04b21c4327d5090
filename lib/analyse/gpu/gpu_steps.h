/* Steps with the work that they launched on GPUs: a step of the host ends no earlier than that work, and the next begins no
 * earlier than that. */
#ifndef GT_ANALYSE_GPU_GPU_STEPS_H
#define GT_ANALYSE_GPU_GPU_STEPS_H

#include "analyse/gpu/gpu.h"

struct gt_gpu_step {
    struct gt_keyed_span span;    /* keys: node, mode, number */
    int64_t host_start, host_end; /* of the host alone */
    int64_t first, last;          /* of its work on GPUs */
    size_t work;
    bool is_whole_node; /* no step, but all that the node did */
};

struct gt_gpu_steps {
    struct gt_gpu_step *step; /* node by node, by start */
    size_t count;
    size_t *owner; /* of each piece of work: the number of the step that launched it, or SIZE_MAX */
};

/* Work is that of gt_gpu_spans, with its calls (gt_gpu_launches; NULL: found here). Nodes without steps are looked at as a whole, from the
 * first to the last span of `all`, which are sorted and bear the node as their first key. Returns 0 or -ENOMEM. */
int gt_gpu_steps_find(const struct gt_analysis_input *input, const struct gt_spans *all, const struct gt_spans *work,
                      const size_t *call, struct gt_gpu_steps *steps);
/* Returns true for a step that reaches beyond the times that were asked for. */
bool gt_is_read_in_part(const struct gt_trace *trace, const struct gt_keyed_span *step);
/* Returns the last step of the node that began on the host at `time` or before it, SIZE_MAX without. */
size_t gt_gpu_step_at(const struct gt_gpu_steps *steps, uint32_t node, int64_t time);
void gt_gpu_steps_release(struct gt_gpu_steps *steps);

#endif
