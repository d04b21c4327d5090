/* Where each figure of the tracking report comes from, and why others are missing. */
#ifndef GT_ANALYSE_PROVENANCE_H
#define GT_ANALYSE_PROVENANCE_H

#include "aggregate/summary.h"
#include "report/report.h"

/* What the tracking report is made of. */
struct gt_usage {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    double ram_unit, gpu_ram_unit, time_unit; /* bytes and seconds in one of the report's units */
};

/* False for the machine's CPU time over less than some clock ticks. */
bool gt_usage_is_told(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* One clause that says why a metric was not measured. */
const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Adds the tables "provenance" and "missing", for programs only. */
void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root);

#endif
