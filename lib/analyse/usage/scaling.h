/* A figure of several runs grows with the size of what they were given: by a line, or a power of the size, whichever is nearer.
 *
 * Both are fitted by the median of the slopes between all pairs of runs (Theil 1950, Sen 1968), which a few odd runs do not move.
 * The interval of the slope is that of Sen's, from the distribution of Kendall's tau; that of a figure adds the largest distance of a run
 * from the fit, and grows with the distance from the runs. */
#ifndef GT_ANALYSE_USAGE_SCALING_H
#define GT_ANALYSE_USAGE_SCALING_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
