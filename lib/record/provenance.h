/* The provenance tells how each figure of a run came about, and why a missing one is missing. */
#ifndef GT_RECORD_PROVENANCE_H
#define GT_RECORD_PROVENANCE_H

#include "record/recorder_state.h"

/* Fill outcome->provenance from its values and the state of the sources. -ENOMEM. */
int gt_provenance_fill(const struct gt_recorder *recorder, struct gt_outcome *outcome);

/* The source that fills a metric, a ready one before others; NULL without. */
const struct gt_sampler_source *gt_provenance_source(const struct gt_recorder *recorder, enum gt_metric_id metric);

#endif
