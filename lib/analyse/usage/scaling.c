#include "analyse/usage/scaling.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"

static bool is_enough(const struct gt_scaling_point *points, size_t count)
{
    double first = count ? points[0].x : 0, second = first;
    if (count < GT_SCALING_LEAST)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (points[i].x != first && points[i].x != second && second != first)
            return true;
        second = points[i].x != first && second == first ? points[i].x : second;
    }
    return false;
}

/* Sen's interval: so many ranks on both sides of the median of the slopes, which are sorted. */
static void bound_slope(struct gt_scaling *ret, const double *slopes, size_t pairs, size_t count)
{
    double n = (double)count, half = 1.96 * sqrt(n * (n - 1) * (2 * n + 5) / 18);
    double low = floor(((double)pairs - half) / 2), high = ceil(((double)pairs + half) / 2);
    ret->slope_low = slopes[low > 0 ? (size_t)low : 0];
    ret->slope_high = slopes[high < (double)pairs ? (size_t)high : pairs - 1];
}

static void fit_line(struct gt_scaling *ret, const struct gt_scaling_point *points, size_t count, double *scratch)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (points[k].x != points[i].x)
                scratch[pairs++] = (points[k].y - points[i].y) / (points[k].x - points[i].x);
    ret->slope = gt_median(scratch, pairs);
    bound_slope(ret, scratch, pairs, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = points[i].y - ret->slope * points[i].x;
    ret->begin = gt_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = points[i].x;
    ret->centre = gt_median(scratch, count);
    ret->spread = 0;
    for (size_t i = 0; i < count; i++)
        ret->spread = fmax(ret->spread, fabs(points[i].y - ret->begin - ret->slope * points[i].x));
}

/* The median distance of a run from the fit, as a share of its figure. */
static double misfit(const struct gt_scaling *scaling, const struct gt_scaling_point *points, size_t count,
                     double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(gt_scaling_at(scaling, points[i].x).best / points[i].y - 1);
    return gt_median(scratch, count);
}

static bool are_positive(const struct gt_scaling_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(points[i].x > 0) || !(points[i].y > 0))
            return false;
    return true;
}

static void fit_power(struct gt_scaling *ret, const struct gt_scaling_point *points, size_t count,
                      struct gt_scaling_point *logarithms, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        logarithms[i] = (struct gt_scaling_point){log(points[i].x), log(points[i].y)};
    fit_line(ret, logarithms, count, scratch);
    ret->is_power = true;
}

int gt_scaling_fit(struct gt_scaling *ret, const struct gt_scaling_point *points, size_t count)
{
    struct gt_scaling power = {0};
    if (!is_enough(points, count))
        return -EDOM;
    *ret = (struct gt_scaling){.least_x = INFINITY, .most_x = -INFINITY};
    double *scratch = calloc(count * count, sizeof *scratch);
    struct gt_scaling_point *logarithms = calloc(count, sizeof *logarithms);
    if (!scratch || !logarithms) {
        free(scratch);
        free(logarithms);
        return -ENOMEM;
    }
    fit_line(ret, points, count, scratch);
    if (are_positive(points, count)) {
        fit_power(&power, points, count, logarithms, scratch);
        double line = misfit(ret, points, count, scratch);
        if (misfit(&power, points, count, scratch) < 0.9 * line)
            *ret = power;
    }
    ret->least_x = INFINITY;
    ret->most_x = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        ret->least_x = fmin(ret->least_x, points[i].x);
        ret->most_x = fmax(ret->most_x, points[i].x);
    }
    free(scratch);
    free(logarithms);
    return 0;
}

struct gt_scaling_range gt_scaling_at(const struct gt_scaling *scaling, double x)
{
    double at = scaling->is_power ? log(x) : x, away = at - scaling->centre;
    double best = scaling->begin + scaling->slope * at;
    double low = (scaling->slope_low - scaling->slope) * away, high = (scaling->slope_high - scaling->slope) * away;
    struct gt_scaling_range range = {best + fmin(low, high) - scaling->spread, best,
                                     best + fmax(low, high) + scaling->spread};
    if (scaling->is_power)
        return (struct gt_scaling_range){exp(range.low), exp(range.best), exp(range.high)};
    range.low = fmax(range.low, 0);
    return range;
}
