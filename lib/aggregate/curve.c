#include "aggregate/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

void gt_curve_init(struct gt_curve *curve, size_t width)
{
    *curve = (struct gt_curve){.width = width};
}

void gt_curve_release(struct gt_curve *curve)
{
    free(curve->point);
    *curve = (struct gt_curve){.width = curve->width};
}

static size_t size_of_point(const struct gt_curve *curve)
{
    return (curve->width + 1) * sizeof *curve->point;
}

static double *point_of(const struct gt_curve *curve, size_t point)
{
    return curve->point + point * (curve->width + 1);
}

double gt_curve_time(const struct gt_curve *curve, size_t point)
{
    return *point_of(curve, point);
}

double gt_curve_value(const struct gt_curve *curve, size_t point, size_t quantity)
{
    return point_of(curve, point)[1 + quantity];
}

void gt_curve_bound(struct gt_curve *curve, const struct gt_curve_moments *moments, double around)
{
    curve->moments = moments;
    curve->around = around;
    curve->limit = GT_CURVE_POINTS;
}

/* The limit rises with the points that must stay, so that a point costs the same however many there are. */
static void thin(struct gt_curve *curve)
{
    const struct gt_curve_moments *moments = curve->moments;
    size_t kept = 1, moment = 0;
    double before; /* the time of the point before, kept or not */
    gt_curve_finish(curve);
    before = gt_curve_time(curve, 0);
    for (size_t i = 1; i < curve->count; i++) {
        bool is_last = i + 2 >= curve->count;
        double after = is_last ? INFINITY : gt_curve_time(curve, i + 1), time = gt_curve_time(curve, i);
        while (moment < moments->count && moments->time[moment] < before - curve->around)
            moment++;
        bool is_near = moment < moments->count && moments->time[moment] <= after + curve->around;
        if (is_last || is_near || i % 2)
            memmove(point_of(curve, kept++), point_of(curve, i), size_of_point(curve));
        before = time;
    }
    curve->count = kept;
    if (kept > curve->limit / 4 * 3)
        curve->limit *= 2;
}

int gt_curve_add(struct gt_curve *curve, double time, const double *values)
{
    if (isnan(time))
        return 0;
    if (curve->moments && curve->count >= curve->limit)
        thin(curve);
    if (gt_grow_to((void **)&curve->point, &curve->capacity, curve->count + 1, size_of_point(curve)) < 0)
        return -ENOMEM;
    double *point = point_of(curve, curve->count);
    *point = time;
    memcpy(point + 1, values, curve->width * sizeof *values);
    curve->is_unsorted |= curve->count && time < gt_curve_time(curve, curve->count - 1);
    curve->count++;
    return 0;
}

void gt_curve_remove(struct gt_curve *curve, size_t point)
{
    memmove(point_of(curve, point), point_of(curve, point + 1),
            (curve->count - point - 1) * (curve->width + 1) * sizeof *curve->point);
    curve->count--;
}

void gt_curve_finish(struct gt_curve *curve)
{
    if (curve->is_unsorted)
        qsort(curve->point, curve->count, size_of_point(curve), gt_order_doubles);
    curve->is_unsorted = false;
}

size_t gt_curve_find(const struct gt_curve *curve, double time)
{
    size_t low = 0, high = curve->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gt_curve_time(curve, middle) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double gt_curve_at(const struct gt_curve *curve, double time, size_t quantity)
{
    size_t after = isnan(time) ? 0 : gt_curve_find(curve, time);
    if (!after)
        return NAN;
    double begin = gt_curve_time(curve, after - 1), value = gt_curve_value(curve, after - 1, quantity);
    if (begin == time)
        return value;
    if (after == curve->count)
        return NAN;
    double share = (time - begin) / (gt_curve_time(curve, after) - begin);
    return value + share * (gt_curve_value(curve, after, quantity) - value);
}
