/* A curve holds several quantities over time, linear between two points. Times are seconds, values in the base units of whoever adds
 * them. */
#ifndef GT_AGGREGATE_CURVE_H
#define GT_AGGREGATE_CURVE_H

#include <stdbool.h>
#include <stddef.h>

enum { GT_CURVE_POINTS = 1 << 16 };

/* The moments at which a curve is asked, when they are known before it is drawn. */
struct gt_curve_moments {
    const double *time; /* [count], sorted; borrowed */
    size_t count;
};

struct gt_curve {
    size_t width; /* quantities */
    size_t count, capacity;
    double *point; /* [count]: time, then the values */
    bool is_unsorted;
    const struct gt_curve_moments *moments; /* NULL: every point is kept */
    double around;                          /* seconds around each moment in which every point is kept */
    size_t limit;                           /* the number of points at which they are thinned again */
};

void gt_curve_init(struct gt_curve *curve, size_t width);
/* Bounds the memory of a curve that is asked at known moments. From GT_CURVE_POINTS points on, every second one is dropped, except
 * those next to a moment: values at the moments stay exact. `moments` must outlive the last point. */
void gt_curve_bound(struct gt_curve *curve, const struct gt_curve_moments *moments, double around);
/* Add a point. Points may come in any order; one whose time is NaN is left out. 0 or -ENOMEM. */
int gt_curve_add(struct gt_curve *curve, double time, const double *values);
/* Sort the points; called after the last one, before the first question. */
void gt_curve_finish(struct gt_curve *curve);
double gt_curve_time(const struct gt_curve *curve, size_t point);
double gt_curve_value(const struct gt_curve *curve, size_t point, size_t quantity);
void gt_curve_remove(struct gt_curve *curve, size_t point);
/* Returns the number of points at or before `time`. */
size_t gt_curve_find(const struct gt_curve *curve, double time);
/* Returns the value at `time`, linear between the points around it; NaN before the first and after the last, and where one of them is
 * missing. */
double gt_curve_at(const struct gt_curve *curve, double time, size_t quantity);
void gt_curve_release(struct gt_curve *curve);

#endif
