/* Samples of system metrics as rows. */
#ifndef GT_ANALYSE_TRACE_UTILIZATION_H
#define GT_ANALYSE_TRACE_UTILIZATION_H

#include "analyse/trace/analysis.h"

/* Returns all samples: node resource device dimension time value, and what is_wanted has_statistics is_share tell of these. The first four
 * are places, and series that share them are of one resource, whatever files they come from. Values are those of the trace, ratios of our
 * recordings in percent. `is_wanted`: options->device allows it, its resource, or its device or dimension begins so. */
struct gt_rows gt_rows_of_samples(const struct gt_analysis_input *input);
#define GT_RESOURCE_KEYS "node resource device dimension"

#endif
