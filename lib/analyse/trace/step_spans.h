/* Several analyses take steps as spans. */
#ifndef GT_ANALYSE_TRACE_STEP_SPANS_H
#define GT_ANALYSE_TRACE_STEP_SPANS_H

#include "analyse/gpu/lists.h"

/* Returns the steps of wanted phases, sorted by their keys: node, mode, number; they are the query's. Where a trace has whole
 * steps ("Step:...", ProfilerStep), only those count. */
struct gt_spans gt_step_spans(const struct gt_analysis_input *input);

/* From the first step of a node to its last; longest 0: it has none. Whatever phases are wanted. */
struct gt_step_hull {
    int64_t first, last, longest;
};
struct gt_step_hull gt_step_hull(const struct gt_analysis_input *input, uint32_t node);
/* Takes from a gap between work what lies outside of the hull, if that is longer than each step: a stray event did it. Returns how much. */
int64_t gt_step_hull_cut(const struct gt_step_hull *hull, int64_t *from, int64_t *to);

#endif
