/* A model of the user's gives the power of processors from their use, where nothing counts it.
 *
 * A model is a file of lines "key = value"; # begins a comment.
 *   name        = what it is of, for the report (optional)
 *   idle_watts  = power of an idle machine's processors
 *   max_watts   = power with every core busy
 *   point       = RATIO WATTS, power at that ratio of busy cores between 0 and 1; may be repeated
 *   tdp_watts   = instead of these: the processors' thermal design power
 *   dram_watts  = power of the memory, whatever its use (optional)
 * Or a JSON object with the same keys, points as "points": [[RATIO, WATTS], ...].
 * Between the points the power is interpolated.
 *
 * By a TDP alone the processors draw 12 % of it when idle, 32 % with a tenth of the cores busy, 75 % with half of them and 102 %
 * with all. The figures are those that B. Davy measured by RAPL on Xeons under load ("Building an AWS EC2 Carbon Emissions
 * Dataset", Teads Engineering, 2021), as the Green Software Foundation's Impact Framework has them in its "TDP curve". */
#ifndef GT_COLLECT_ENERGY_MODEL_H
#define GT_COLLECT_ENERGY_MODEL_H

#include <stddef.h>

#include "base/error.h"

enum { GT_MODEL_POINTS = 32 };

struct gt_model {
    char name[64];
    double ratio[GT_MODEL_POINTS], watts[GT_MODEL_POINTS]; /* by rising ratio */
    int count;
    double dram_watts; /* NaN: missing */
};

/* Read a model from a file, or make one of a TDP where `path` is NULL. -EINVAL names file and line. */
int gt_model_read(struct gt_model *ret, const char *path, double tdp, struct gt_error *error);
/* Read a model from a text, which ends in '\0' behind `length` characters and is written over. `path` is for messages. */
int gt_model_parse(struct gt_model *ret, const char *path, char *text, size_t length, struct gt_error *error);
double gt_model_watts(const struct gt_model *model, double ratio);

#endif
