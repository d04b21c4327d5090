/* A report sets figures of several runs against the size of what they were given, which a text names:
 *
 *   name          the last number in the name of its recording: 1000 of "run-1000.sqlite"
 *   name:TEXT     the number behind TEXT there: "name:n=" finds 200 in "n=200,p=3.sqlite"
 *   command:WORD  the number behind WORD in its command: "command:--rows" in "sort --rows 1000" or "--rows=1000"
 *   size          the bytes of all files that its command names, as they are now
 *   anything else a static field of the recording that is a number: "n_expected_cores" */
#ifndef GT_ANALYSE_USAGE_SCALING_H
#define GT_ANALYSE_USAGE_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/usage/usage.h"
#include "report/report.h"

/* ---- The fit ---- */

/* A figure of several runs grows with the size of what they were given: by a line, or a power of the size, whichever is nearer.
 *
 * Both are fitted by the median of the slopes between all pairs of runs (Theil 1950, Sen 1968), which a few odd runs do not move.
 * The interval of the slope is that of Sen's, from the distribution of Kendall's tau; that of a figure adds the largest distance of a run
 * from the fit, and grows with the distance from the runs. */

enum { GT_SCALING_LEAST = 4 }; /* runs, of three sizes at least */

struct gt_scaling_point {
    double x, y;
};

/* y = begin + slope * x; with is_power log(y) = begin + slope * log(x). */
struct gt_scaling {
    bool is_power;
    double slope, begin;
    double slope_low, slope_high;
    double centre; /* the median of x, or of its logarithm */
    double spread; /* the largest distance of a run, or of its logarithm */
    double least_x, most_x;
};

struct gt_scaling_range {
    double low, best, high;
};

/* 0; -EDOM: there are too few runs, or sizes, to tell; -ENOMEM. */
int gt_scaling_fit(struct gt_scaling *ret, const struct gt_scaling_point *points, size_t count);
/* The figure at x, which is positive, with the interval in which it is to be expected. */
struct gt_scaling_range gt_scaling_at(const struct gt_scaling *scaling, double x);

struct gt_scaling_report;

/* Begin the report of `count` runs at most. `variable` names their size and is borrowed. */
int gt_scaling_report_open(struct gt_scaling_report **ret, const char *variable, size_t count, struct gt_error *error);
/* Add a run. The error of -EINVAL says why it has no size. */
int gt_scaling_report_add(struct gt_scaling_report *report, const char *path, const struct gt_usage *usage,
                          struct gt_error *error);
/* Hand over the report; with a `size` that is not NaN also what is to be expected there. Returns -EINVAL where the runs are too few
 * to tell. */
int gt_scaling_report_finish(struct gt_scaling_report *report, double size, struct gt_report **ret,
                             struct gt_error *error);
void gt_scaling_report_close(struct gt_scaling_report *report);

#endif
