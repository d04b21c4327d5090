/* What was drawn in the stretch of time between two readings, now: the cells of notebooks. Windows touch: one begins with the
 * reading the last one ended with.
 *
 * The rules are those of energy_course.h, with the readings so far. A reading in which a counter has not moved is none: at
 * the window's begin its counter is interpolated between the moves around it; at the end it grows with the power before its
 * last move, for one refresh at most. */
#ifndef GT_AGGREGATE_ENERGY_WINDOW_H
#define GT_AGGREGATE_ENERGY_WINDOW_H

#include "aggregate/attribute.h"

struct gt_energy_reading {
    double time; /* seconds */
    double joules[GT_ENERGY_PARTS];
    double placement_error, share_error; /* of the job's part, joules since tracking began */
};

struct gt_energy_window {
    double begin, end; /* seconds */
    struct gt_window_device {
        bool is_measured;
        struct gt_energy_reading before;         /* the last move up to the begin */
        struct gt_energy_reading after;          /* the first one behind it */
        struct gt_energy_reading previous, last; /* the latest moves */
        bool has_moved;                          /* since the begin */
        double missing, missing_at_begin;        /* seconds of which it is not known what was drawn */
    } device[GT_ENERGY_DEVICES];
};

/* Of all devices that tell; NaN: not known. */
struct gt_window_energy {
    double part[GT_ENERGY_PARTS];
    double error, job_error; /* of the total, and of the job's part */
    bool is_estimated;       /* by a model of the user's, as a whole or in part */
};

/* A reading, with the values of the machine's and the job's row. `time` grows. */
void gt_energy_window_add(struct gt_energy_window *window, double time, const double *system, const double *job);
/* The window that ends with the last reading; the next begins there. */
struct gt_window_energy gt_energy_window_end(struct gt_energy_window *window,
                                             const struct gt_energy_source source[GT_ENERGY_DEVICES]);

#endif
