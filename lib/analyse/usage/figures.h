/* Figures of a run that several parts of its report rest on. NaN: not known. */
#ifndef GT_ANALYSE_FIGURES_H
#define GT_ANALYSE_FIGURES_H

#include "analyse/usage/usage_sources.h"

/* The largest memory of a scope, bytes: the best estimate, and what it certainly was not above. */
double gt_usage_scope_peak(const struct gt_usage *usage, enum gt_scope scope);
double gt_usage_peak(const struct gt_usage *usage); /* of the whole job */
double gt_usage_peak_bound(const struct gt_usage *usage);
/* Cores busy in the mean, no more than there are. */
double gt_usage_cores(const struct gt_usage *usage, enum gt_scope scope);
/* Cores that the job may use: what it was given, or all there are. */
double gt_usage_cores_given(const struct gt_usage *usage);
/* The most memory charged to its own control group, page cache included. */
double gt_usage_group_peak(const struct gt_usage *usage);
/* A counter or a peak at the end. */
double gt_usage_final(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* A counter of seconds as a share of the time of the run. */
double gt_usage_share(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* The energy at the end. */
void gt_usage_energy(const struct gt_usage *usage, struct gt_energy_reading *ret);

#endif
