/* The list of earlier runs is a table, and tells what a run has changed against those before it. */
#ifndef GT_ANALYSE_PAST_RUNS_H
#define GT_ANALYSE_PAST_RUNS_H

#include "base/buffer.h"
#include "report/report.h"
#include "store/past_runs.h"

/* Earlier runs that a run is held against: no more than the latest so many, no fewer than so many. */
enum { GT_CHANGE_RUNS_MOST = 10, GT_CHANGE_RUNS_LEAST = 3 };

/* Appends what is different from `earlier` runs of the same command: "peak memory +12 %, time -30 % against your last 5 runs". A figure
 * is told when it lies outside all of theirs, farther from their median than three median deviations, and by 5 % or more. Nothing is
 * appended where there is nothing to tell. Returns 0 or -ENOMEM. */
int gt_past_runs_change(struct gt_buffer *out, const struct gt_past_run *run, const struct gt_past_runs *earlier);

/* Seconds that runs of this command, in this folder (NULL: any) and on this machine, took when they succeeded: the median of the last
 * five. NaN: there is none, or the list cannot be read. */
double gt_past_runs_usual(const char *command, const char *folder, const char *host);

/* Makes a report with a table of them, a row each. */
int gt_past_runs_table(struct gt_report **ret, const struct gt_past_runs *runs, struct gt_error *error);

#endif
