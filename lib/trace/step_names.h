/* Ranges that a program names by its steps, and how those names stand for modes and numbers. */
#ifndef GT_TRACE_STEP_NAMES_H
#define GT_TRACE_STEP_NAMES_H

#include "trace/input/walk.h"
#include "trace/trace.h"

/* Returns the number of a step that a range is named by, with what stands before it, or GT_TRACE_NO_STEP. Ranges are named
 * "step 12", "train_step_12", "Iteration: 12" or "ProfilerStep#12", but not "timestep 12". */
int32_t gt_step_number(struct gt_span label, struct gt_span *before);
/* Returns true where steps are counted anew in each epoch, which the name tells: "epoch 1 step". */
bool gt_step_is_of_epoch(struct gt_span before);

/* Returns the mode of the steps that a string names, "step" of "epoch 1 step 12", as a string; GT_TRACE_NONE: it names none. */
uint32_t gt_step_kind(const struct gt_trace *trace, uint32_t label);

/* The last step of each mode on each track of a file. All zero is empty. */
struct gt_step_rounds {
    struct gt_step_round {
        uint32_t track, mode, round;
        int32_t number;
        int64_t end; /* ns */
    } * round;
    size_t count, capacity;
};

/* Returns how often the steps of a mode were begun anew on a track until this one, the next of the file: where a lower number
 * begins after all before it have ended, as in the second epoch. -ENOMEM. */
int64_t gt_step_round(struct gt_step_rounds *rounds, struct gt_step_round step, int64_t start);

#endif
