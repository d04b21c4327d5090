/* What the job drew up to each sample, and from that what it drew in stretches of time that begin and end between samples:
 * code blocks, their calls, steps, phases. How sure such a figure is is worked out here, and here alone (docs/energy.md).
 *
 * Between two samples in which the device's counter has moved (a gap) energy is taken to grow linearly. Where the CPU time that a stretch used is known,
 * its CPU energy is instead that of the job in the same time x CPU time of the stretch / CPU time of the job.
 *
 * The error is a bound, not a deviation, and the sum of two parts:
 *   Interpolation: counters only grow, so of a gap's energy D a stretch that covers the part f of it drew between 0 and D,
 *     and the figure f D is off by at most max(f, 1 - f) D. Gaps that are covered whole add nothing. By CPU time, a second
 *     of the stretch is taken to draw between nothing and twice what the job's seconds around it draw in the mean.
 *   Lag: at either end the curve is behind by up to its counter's refresh r, and where samples come faster than the stretch w
 *     that the job's share is a mean of (gt_energy_share_seconds), by the rest of w; so by (r + max(0, w - gap)) x power of
 *     the gap. Lags at both ends only work against each other: the larger counts. Stretches of which one begins in the gap
 *     in which another ends add that gap's.
 *   Share: what the job's CPU energy may be off by because of clock ticks and of when things were read. Errors of parts are
 *     independent: of a stretch between two samples that is the root of the difference of the squares of what it was up to either.
 *   Placement: what the job's share may be off by because it is not known on which of several packages CPU time was used.
 * What a model estimates has no error that anybody knows: NaN. */
#ifndef GT_AGGREGATE_ENERGY_CURVE_H
#define GT_AGGREGATE_ENERGY_CURVE_H

#include "aggregate/curve.h"
#include "sample/sample.h"

/* Of the job: joules, CPU seconds, and how far off its share may be; of the device: time of which nothing is known. */
enum gt_course_quantity {
    GT_COURSE_JOULES,
    GT_COURSE_CPU_SECONDS,
    GT_COURSE_PLACEMENT_ERROR,
    GT_COURSE_SHARE_ERROR,
    GT_COURSE_MISSING,
    GT_COURSE_QUANTITIES
};

/* Of one device: a point for each sample in which its counter had moved. */
struct gt_device_curve {
    struct gt_curve curve;                   /* quantities */
    double refresh;                          /* seconds, 0: not known */
    double share_seconds;                    /* of which the job's share is a mean at least */
    bool is_estimated;                       /* by a model of the user's */
    double total;                            /* of the device, at the last point */
    double time, last[GT_COURSE_QUANTITIES]; /* the latest sample with a figure */
    double unread_from;                      /* the first sample, where that had none; else NaN */
    double unread_to, unread_missing;        /* the latest sample, where that had none and time is missing; else NaN */
    bool has_packages;                       /* the job's share may rest on where its CPU time was used */
    bool is_measured;
};

struct gt_energy_curve {
    struct gt_device_curve device[GT_ENERGY_DEVICES];
};

struct gt_time_stretch {
    double start, stop;
};

/* Joules. NaN: not measured, or outside of the recording; of the error: not known. */
struct gt_spent {
    double joules, error;
    bool is_estimated; /* by a model of the user's, as a whole or in part */
    double
        missing; /* the part of the time of which it is not known what was drawn; then the error is not known either */
};

void gt_energy_curve_init(struct gt_energy_curve *curve, const struct gt_machine *machine);
/* `time` in seconds on the clock of the stretches; the values of the rows of the machine and of the job. 0 or -ENOMEM. */
int gt_energy_curve_add(struct gt_energy_curve *curve, double time, const double *system, const double *job);
/* 0 or -ENOMEM. */
int gt_energy_curve_finish(struct gt_energy_curve *curve);
/* Did anything count energy? */
bool gt_energy_curve_is_measured(const struct gt_energy_curve *curve);
/* What is to be said of some of it: bits. */
enum gt_energy_mark { GT_ENERGY_IS_ESTIMATED = 1, GT_ENERGY_IS_PARTIAL = 2 };
unsigned gt_energy_curve_marks(const struct gt_energy_curve *curve);
/* What a device drew for the job in stretches that are in order and do not overlap. */
struct gt_spent gt_energy_curve_over(const struct gt_energy_curve *curve, enum gt_energy_device device,
                                     const struct gt_time_stretch *stretch, size_t count);
/* CPU energy of one stretch in which `cpu_seconds` were used; NaN: not known, the same as above. */
struct gt_spent gt_energy_curve_of_cpu(const struct gt_energy_curve *curve, struct gt_time_stretch stretch,
                                       double cpu_seconds);
/* Add one figure to another, either of which may be unknown. */
void gt_spent_add(struct gt_spent *sum, struct gt_spent part);
/* Put stretches in order and make those that touch one; returns how many are left. */
size_t gt_time_stretches_merge(struct gt_time_stretch *stretch, size_t count);
/* A device over a whole run. */
struct gt_energy_run {
    const struct gt_energy_source *source;
    const struct gt_counter_fields *counter; /* NULL: not told */
    enum gt_energy_device device;
    const double *system, *job; /* the final values */
    double seconds, period;     /* of the run, and between samples; NaN or 0: not known */
};
/* How far off its total is, or the job's part of it; NaN: not known. */
double gt_energy_run_error(const struct gt_energy_run *run, bool of_job);
/* Of joules that were drawn in `seconds` between two readings: how far both together may be behind. NaN: not known. */
double gt_energy_lag(const struct gt_energy_source *source, double joules, double seconds);
/* Is it a model of the user's? */
bool gt_energy_is_estimated(const struct gt_energy_source *source);
void gt_energy_curve_release(struct gt_energy_curve *curve);

#endif
