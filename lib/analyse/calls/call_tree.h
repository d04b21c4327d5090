/* The call tree tells what runs inside what on the threads of the host: annotations, operators, and the calls of the CUDA runtime that they
 * make; and which of the operators each piece of GPU work, and each backward operator, belongs to. */
#ifndef GT_ANALYSE_CALLS_CALL_TREE_H
#define GT_ANALYSE_CALLS_CALL_TREE_H

#include "analyse/gpu/lists.h"

struct gt_call_tree {
    struct gt_spans spans; /* thread by thread, outer ones before those inside them; key 0: track */
    uint32_t *parent;      /* of each span: the one directly around it, or GT_TRACE_NONE */
    int64_t *self;         /* ns without the spans directly inside */
    bool *is_repeat; /* nothing else is in one of its own name: an operator that calls itself again, told by that */
};

/* Returns the tree of annotations, operators and calls of the runtime, which is made once and kept. Spans that begin and end
 * together lie in each other as they were begun, by External id, or else by name: the order of the file says nothing. Without
 * memory the query fails, here and below, and the tree has no spans. */
const struct gt_call_tree *gt_call_tree(const struct gt_analysis_input *input);
/* Makes the tree of the events that `is_wanted` selects; gt_call_tree_is_call selects those above. */
struct gt_call_tree gt_call_tree_of(const struct gt_analysis_input *input,
                                    bool (*is_wanted)(const struct gt_analysis_input *input, size_t event));
bool gt_call_tree_is_call(const struct gt_analysis_input *input, size_t event);
/* Returns the innermost operator, no repeat, that is `span` or lies around it, or GT_TRACE_NONE, which may also be asked
 * for. */
uint32_t gt_call_tree_operator(const struct gt_call_tree *tree, const struct gt_analysis_input *input, uint32_t span);
/* Returns the innermost span of the track that begins at `time` or before it and does not end before it, or
 * GT_TRACE_NONE. */
uint32_t gt_call_tree_at(const struct gt_call_tree *tree, uint32_t track, int64_t time);

/* Adds up what operators did on GPUs, for each span of the tree; ns. */
struct gt_operator_times {
    int64_t *gpu;       /* work that was launched in the operator itself */
    int64_t *gpu_total; /* and in those inside it */
    int64_t *backward;  /* gpu_total of the backward operators of it and of those inside it */
};
/* Work belongs to the innermost operator around the runtime call that launched it; work whose call is not in the trace
 * to the operator whose External id it bears. */
struct gt_operator_times gt_operator_times(const struct gt_analysis_input *input, const struct gt_call_tree *tree);

/* Adds to times->backward what is known from flows ("fwdbwd") or, in files without them, sequence numbers. The reader
 * keeps GT_BACKWARD_ARGUMENTS, first. */
#define GT_BACKWARD_ARGUMENTS "Sequence number", "Fwd thread id"
void gt_backward_times(struct gt_operator_times *times, const struct gt_call_tree *tree,
                       const struct gt_analysis_input *input);
/* Returns of each span whether these say that it is backward; what lies in such a span is, too. */
bool *gt_backward_spans(const struct gt_call_tree *tree, const struct gt_analysis_input *input);

#endif
