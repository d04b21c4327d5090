/* While a GPU waits for its host, the host does something: what it is, by the operators on the thread that launches the
 * next work. */
#ifndef GT_ANALYSE_GPU_HOST_WAITS_H
#define GT_ANALYSE_GPU_HOST_WAITS_H

#include "analyse/gpu/gpu.h"

/* What takes the most of the time in which the GPUs of a node wait for the host and not for its data loader. */
struct gt_host_wait {
    uint32_t node, owner; /* places; owner GT_TRACE_NONE: no operator runs */
    double share;         /* of that time, from 0 to 1 */
};

struct gt_host_waits {
    struct gt_host_wait *wait; /* by node; nodes whose GPUs never wait for the host are left out */
    size_t count, capacity;
};

/* The outermost operator counts. Where the host was in a synchronization when the GPU ran dry, all of the gap belongs to
 * that, and so to the operator around it: it drained the queue. Returns 0 or -ENOMEM. */
int gt_host_waits_find(const struct gt_analysis_input *input, struct gt_host_waits *ret);
const struct gt_host_wait *gt_host_wait_of(const struct gt_host_waits *waits, uint32_t node); /* or NULL */
void gt_host_waits_release(struct gt_host_waits *waits);

#endif
