/* What was recorded of one run, the figures of it that several parts of its report rest on, where each comes from, and why others are
 * missing. A figure that is not known is NaN. */
#ifndef GT_ANALYSE_USAGE_FIGURES_H
#define GT_ANALYSE_USAGE_FIGURES_H

#include "aggregate/summary.h"
#include "report/report.h"
#include "sample/machine.h"

struct gt_usage {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    const char *recording; /* the path of its tracking file; NULL: there is none */
    const char *address;   /* of its job on a server, to which it is sent; NULL: it stays where it is */
    double ram_unit, gpu_ram_unit,
        time_unit; /* bytes and seconds in one of the report's units, filled in for its parts */
};

/* The largest memory of a scope, bytes: the best estimate, and what it certainly was not above. */
double gt_usage_scope_peak(const struct gt_usage *usage, enum gt_scope scope);
double gt_usage_peak(const struct gt_usage *usage); /* of the whole job */
double gt_usage_peak_bound(const struct gt_usage *usage);
/* Returns the largest shared memory and tmpfs that no process mapped, bytes; 0: not known. */
double gt_usage_unmapped(const struct gt_usage *usage);
/* Cores busy in the mean, no more than there are. */
double gt_usage_cores(const struct gt_usage *usage, enum gt_scope scope);
/* Cores that the job may use: what it was given, or all there are. */
double gt_usage_cores_given(const struct gt_usage *usage);
/* The most memory charged to its own control group, page cache included. */
double gt_usage_group_peak(const struct gt_usage *usage);
/* A counter or a peak at the end. */
double gt_usage_final(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Returns true for joules of a counter that was read once, and never again. */
bool gt_usage_energy_is_unknown(const struct gt_usage *usage, enum gt_metric_id metric);
/* A counter of seconds as a share of the time of the run. */
double gt_usage_share(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* The energy at the end. */
void gt_usage_energy(const struct gt_usage *usage, struct gt_energy_reading *ret);

/* Returns how exact a metric is; GT_MISSING: it was not measured, or the recording does not say. */
enum gt_exactness gt_usage_exactness(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Returns a clause that says why a metric was not measured. */
const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Adds the tables "provenance" and "missing", for programs only. */
void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root);

#endif
