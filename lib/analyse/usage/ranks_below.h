/* The ranks that were started below the tracker, each with what its processes used. */
#ifndef GT_ANALYSE_USAGE_RANKS_BELOW_H
#define GT_ANALYSE_USAGE_RANKS_BELOW_H

#include "analyse/usage/usage_sources.h"
#include "report/report.h"

/* Add the table; none where there are no such ranks. */
void gt_ranks_below_add(const struct gt_usage *usage, struct gt_node *root);

#endif
