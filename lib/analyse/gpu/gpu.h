/* The analyses of GPUs take their work as spans. Times are in ns; functions that can fail return 0 or -ENOMEM. */
#ifndef GT_ANALYSE_GPU_GPU_H
#define GT_ANALYSE_GPU_GPU_H

#include "analyse/gpu/lists.h"

/* The keys of the spans: node, device (Kineto's pid) and stream (its tid) are places. */
enum { GT_GPU_NODE, GT_GPU_DEVICE, GT_GPU_STREAM, GT_GPU_USE };

#define GT_NO_GPU_WORK "no events of GPUs (kernel, gpu_memcpy, gpu_memset)" /* why a table is empty */

/* Return kernels, copies and fills of memory, in the order of events; gt_gpu_all_spans also what is not selected. They are the query's. */
struct gt_spans gt_gpu_spans(const struct gt_analysis_input *input);
struct gt_spans gt_gpu_all_spans(const struct gt_analysis_input *input);
bool gt_gpu_is_work(const struct gt_analysis_input *input, size_t event);
enum gt_use gt_gpu_use(const struct gt_analysis_input *input, size_t event); /* of work */
/* Tells of each node, by place, whether work of its GPUs was recorded, selected or not: of one without it nothing that GPUs did is known.
 * The node GT_TRACE_NONE is the one behind the last place. It is the query's; NULL: it has failed. */
bool *gt_gpu_nodes(const struct gt_analysis_input *input);
bool gt_gpu_has_node(const struct gt_analysis_input *input, const bool *nodes, uint32_t node);
/* Returns "GPU 0", as the process is labelled, or its number. */
const char *gt_gpu_device(const struct gt_analysis_input *input, const struct gt_keyed_span *span);
/* Returns "7", also where the trace has "stream 7". */
const char *gt_gpu_stream(const struct gt_analysis_input *input, uint32_t place);

/* Finds the runtime call that launched each piece of work, by correlation id and file by file, so that ids of other
 * ranks do not mix. The i-th is the event that launched spans->span[i], or SIZE_MAX; the latest that began before
 * the work did counts. They are the query's; NULL: it has failed. */
const size_t *gt_gpu_launches(const struct gt_analysis_input *input, const struct gt_spans *spans);

/* Steps with the work that they launched on GPUs: a step of the host ends no earlier than that work, and the next begins no
 * earlier than that. */

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
 * first to the last span of `all`, which are sorted and bear the node as their first key. The steps are the query's. */
struct gt_gpu_steps gt_gpu_steps_find(const struct gt_analysis_input *input, const struct gt_spans *all,
                                      const struct gt_spans *work, const size_t *call);
/* Returns true for a step that reaches beyond the times that were asked for. */
bool gt_is_read_in_part(const struct gt_trace *trace, const struct gt_keyed_span *step);
/* Returns the last step of the node that began on the host at `time` or before it, SIZE_MAX without. */
size_t gt_gpu_step_at(const struct gt_gpu_steps *steps, uint32_t node, int64_t time);

/* What the host does while the GPUs of a node wait for it and not for its data loader: the range, function of Python, outermost
 * operator or synchronization on the threads that launch work in which most of that time lies. */
struct gt_host_wait {
    uint32_t node, name, range; /* places; name GT_TRACE_NONE: between operators; range around it or GT_TRACE_NONE */
    double time, share;         /* ns of the node's GPUs; the part of it in the name, from 0 to 1 */
    size_t few, steps;          /* of `steps` steps of the node `few` hold most of that part */
    bool is_synchronization;    /* most of that part lies before the end of synchronizations */
    bool is_pause;              /* it is a range or function that launches little */
};

struct gt_host_waits {
    struct gt_host_wait *wait; /* by node; nodes whose GPUs never wait for the host are left out */
    size_t count, capacity;
};

/* Finds one for each node whose GPUs wait for the host, once for an analysis, which keeps them. A synchronization has the part of a gap
 * before its end. Returns 0 or -ENOMEM. */
int gt_host_waits_find(const struct gt_analysis_input *input, const struct gt_host_waits **ret);
const struct gt_host_wait *gt_host_wait_of(const struct gt_host_waits *waits, uint32_t node); /* or NULL */

#endif
