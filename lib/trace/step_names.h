/* Ranges that a program names by its steps, and how those names stand for modes and numbers. */
#ifndef GT_TRACE_STEP_NAMES_H
#define GT_TRACE_STEP_NAMES_H

#include "trace/trace.h"
#include "trace/walk.h"

/* Returns the number of a step that a range is named by, with what stands before it, or GT_TRACE_NO_STEP. Ranges are named
 * "step 12", "train_step_12", "Iteration: 12" or "ProfilerStep#12", but not "timestep 12". */
int32_t gt_step_number(struct gt_span label, struct gt_span *before);
/* Returns true where steps are counted anew in each epoch, which the name tells: "epoch 1 step". */
bool gt_step_is_of_epoch(struct gt_span before);

#endif
