/* The tracking report: what a run used, in the layout of gpu_tracker's report and with further sections after it. */
#ifndef GT_ANALYSE_USAGE_H
#define GT_ANALYSE_USAGE_H

#include "aggregate/summary.h"
#include "report/report.h"

int gt_usage_report(struct gt_report **ret, const struct gt_machine *machine, const struct gt_summary *summary,
                    const struct gt_outcome *outcome, struct gt_error *error);

#endif
