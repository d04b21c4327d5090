/* What a training does over time: its steps, and the parts of its data loaders. */
#ifndef GT_ANALYSE_TRACE_TRAINING_H
#define GT_ANALYSE_TRACE_TRAINING_H

#include "analyse/gpu/lists.h"

/* ---- steps ---- */

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

/* ---- data loaders ---- */

/* A batch is no event: it lasts from the start of one fetch to the start of the next of the same process. The pause
 * in which a new iterator is made (between epochs) is none. */
enum gt_loader_part { GT_LOADER_INITIALIZATION, GT_LOADER_WORKER, GT_LOADER_NEXT, GT_LOADER_BATCH, GT_LOADER_PARTS };

/* Returns the part that an event is, GT_LOADER_BATCH for none. */
enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event);
/* Finds when the training waits for data: initialization and fetching, united, with the node as key 0. Returns 0 or
 * -ENOMEM. */
int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans);

#endif
