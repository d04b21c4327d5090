/* The power of processors as the user says it depends on their use, where nothing counts it.
 *
 * A model is a file of lines "key = value"; # begins a comment.
 *   name        = what it is of, for the report (optional)
 *   idle_watts  = power of an idle machine's processors
 *   max_watts   = power with every core busy
 *   point       = RATIO WATTS, power at that ratio of busy cores between 0 and 1; may be repeated
 *   dram_watts  = power of the memory, whatever its use (optional)
 * Between the points the power is interpolated. A TDP alone is a model from 0 W to TDP in proportion to use. */
#ifndef GT_COLLECT_MODEL_H
#define GT_COLLECT_MODEL_H

#include "base/error.h"

enum { GT_MODEL_POINTS = 32 };

struct gt_model {
    char name[64];
    double ratio[GT_MODEL_POINTS], watts[GT_MODEL_POINTS]; /* by rising ratio */
    int count;
    double dram_watts; /* NaN: not told */
};

/* -EINVAL names file and line. `path` NULL: that of a TDP. */
int gt_model_read(struct gt_model *ret, const char *path, double tdp, struct gt_error *error);
double gt_model_watts(const struct gt_model *model, double ratio);

#endif
