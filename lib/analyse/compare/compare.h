/* A comparison puts results of several sessions side by side, and judges rules that a session must keep. */
#ifndef GT_ANALYSE_COMPARE_H
#define GT_ANALYSE_COMPARE_H

#include "report/report.h"

/* Builds a report of type "comparison_results" with gpu_tracker's keys and layout, and further keys after them.
 * Returns how many rules are broken. */
int gt_compare_report(struct gt_report **ret, const struct gt_compare_options *options, struct gt_error *error);

#endif
