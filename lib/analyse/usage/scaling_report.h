/* A report sets figures of several runs against the size of what they were given. */
#ifndef GT_ANALYSE_USAGE_SCALING_REPORT_H
#define GT_ANALYSE_USAGE_SCALING_REPORT_H

#include "analyse/usage/usage_sources.h"
#include "report/report.h"

struct gt_scaling_report;

/* Begin the report of `count` runs at most. `variable` names their size, as of gt_run_size, and is borrowed. */
int gt_scaling_report_open(struct gt_scaling_report **ret, const char *variable, size_t count, struct gt_error *error);
/* Add a run. Returns gt_run_size's errors. */
int gt_scaling_report_add(struct gt_scaling_report *report, const char *path, const struct gt_usage_sources *sources,
                          struct gt_error *error);
/* Hand over the report; with a `size` that is not NaN also what is to be expected there. Returns -EINVAL where the runs are too few
 * to tell. */
int gt_scaling_report_finish(struct gt_scaling_report *report, double size, struct gt_report **ret,
                             struct gt_error *error);
void gt_scaling_report_close(struct gt_scaling_report *report);

#endif
