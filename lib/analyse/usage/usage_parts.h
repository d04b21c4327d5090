/* The parts of the tracking report; private to lib/analyse/usage*.c. */
#ifndef GT_ANALYSE_USAGE_PARTS_H
#define GT_ANALYSE_USAGE_PARTS_H

#include "analyse/usage/usage.h"

struct gt_usage {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    double ram_unit, gpu_ram_unit, time_unit; /* bytes and seconds in one of the report's units */
};

/* The kernel's high-water mark, or the best estimate for several processes, bytes. */
double gt_usage_peak(const struct gt_usage *usage, enum gt_scope scope);

/* Can this figure of the whole run be told? The machine's CPU time cannot over less than some clock ticks. */
bool gt_usage_is_told(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);

/* The sections that the original's report has. */
void gt_usage_original(const struct gt_usage *usage, struct gt_node *root);
/* What it does not have. Sections in which nothing was measured are for programs only. */
void gt_usage_further(const struct gt_usage *usage, struct gt_node *root);
/* With detail: each process, in the order in which they began. 0 or -ENOMEM. */
int gt_usage_processes(const struct gt_usage *usage, struct gt_node *root);
/* What the devices drew, and whose it is. */
void gt_usage_energy(const struct gt_usage *usage, struct gt_node *root);
/* Why a metric was not measured, one clause. */
const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Where each figure comes from, and which are missing. For programs only. */
void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root);

#endif
