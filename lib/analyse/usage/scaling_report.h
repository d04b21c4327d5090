/* A report sets figures of several runs against the size of what they were given, which a text names:
 *
 *   name          the last number in the name of its recording: 1000 of "run-1000.sqlite"
 *   name:TEXT     the number behind TEXT there: "name:n=" finds 200 in "n=200,p=3.sqlite"
 *   command:WORD  the number behind WORD in its command: "command:--rows" in "sort --rows 1000" or "--rows=1000"
 *   size          the bytes of all files that its command names, as they are now
 *   anything else a static field of the recording that is a number: "n_expected_cores" */
#ifndef GT_ANALYSE_USAGE_SCALING_REPORT_H
#define GT_ANALYSE_USAGE_SCALING_REPORT_H

#include "analyse/usage/usage_sources.h"
#include "report/report.h"

struct gt_scaling_report;

/* Begin the report of `count` runs at most. `variable` names their size and is borrowed. */
int gt_scaling_report_open(struct gt_scaling_report **ret, const char *variable, size_t count, struct gt_error *error);
/* Add a run. The error of -EINVAL says why it has no size. */
int gt_scaling_report_add(struct gt_scaling_report *report, const char *path, const struct gt_usage_sources *sources,
                          struct gt_error *error);
/* Hand over the report; with a `size` that is not NaN also what is to be expected there. Returns -EINVAL where the runs are too few
 * to tell. */
int gt_scaling_report_finish(struct gt_scaling_report *report, double size, struct gt_report **ret,
                             struct gt_error *error);
void gt_scaling_report_close(struct gt_scaling_report *report);

#endif
