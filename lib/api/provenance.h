/* How each figure of a run came about, and why a missing one is missing. */
#ifndef GT_API_PROVENANCE_H
#define GT_API_PROVENANCE_H

#include "api/tracker.h"

/* Fill outcome->provenance from its values and the state of the sources. -ENOMEM. */
int gt_provenance_fill(const struct gt_tracker *tracker, struct gt_outcome *outcome);

#endif
