/* The report tells where each figure comes from, and why others are missing. */
#ifndef GT_ANALYSE_USAGE_PROVENANCE_H
#define GT_ANALYSE_USAGE_PROVENANCE_H

#include "analyse/usage/usage_sources.h"
#include "report/report.h"

/* Returns false for the machine's CPU time over less than some clock ticks. */
bool gt_usage_is_told(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Returns a clause that says why a metric was not measured. */
const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Adds the tables "provenance" and "missing", for programs only. */
void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root);

#endif
