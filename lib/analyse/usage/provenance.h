/* The tracking report tells programs where each figure comes from, and why others are missing. */
#ifndef GT_ANALYSE_PROVENANCE_H
#define GT_ANALYSE_PROVENANCE_H

#include "aggregate/summary.h"
#include "report/report.h"

/* The sources of the tracking report. */
struct gt_usage {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    const char *recording;                    /* the path of its tracking file; NULL: there is none */
    double ram_unit, gpu_ram_unit, time_unit; /* bytes and seconds in one of the report's units */
};

/* Returns false for the machine's CPU time over less than some clock ticks. */
bool gt_usage_is_told(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Returns a clause that says why a metric was not measured. */
const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Adds the tables "provenance" and "missing", for programs only. */
void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root);

#endif
