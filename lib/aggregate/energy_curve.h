/* Energy over time. The curve is fed with readings and answers how many joules a device drew from one moment to another: of blocks,
 * calls, steps, phases, cells, experiments and gauges, and up to the moments of another time base.
 *
 * A gap lies between two readings in which the device's counter has moved; in it energy is taken to grow linearly. Where the CPU
 * time that a stretch used is known, its CPU energy is instead that of the job in the same time x CPU time of the stretch / CPU
 * time of the job.
 *
 * Errors are bounds, not deviations, in joules (docs/energy.md). They are the sum of
 *   Interpolation: counters only grow, so of a gap's energy D a stretch that covers the part f of it drew between 0 and D,
 *     and the figure f D is off by at most max(f, 1 - f) D. Gaps that are covered whole add nothing. By CPU time, a second
 *     of the stretch is taken to draw between nothing and twice what the job's seconds around it draw in the mean.
 *   Lag: at either end the curve is behind by up to its counter's refresh r, and where samples come faster than the stretch w
 *     that the job's share is a mean of (gt_energy_share_seconds), by the rest of w; so by (r + max(0, w - gap)) x power of
 *     the gap. Lags at both ends only work against each other: the larger counts. Stretches of which one begins in the gap
 *     in which another ends add that gap's.
 *   Share: the job's CPU energy may be off because of clock ticks and of when things were read. Errors of parts are
 *     independent: between two samples it is the root of the difference of the squares of what it was up to either.
 *   Placement: the job's share may be off because it is not known on which of several packages CPU time was used.
 * Nobody knows the error of a model's estimate: NaN. */
#ifndef GT_AGGREGATE_ENERGY_CURVE_H
#define GT_AGGREGATE_ENERGY_CURVE_H

#include "aggregate/curve.h"
#include "sample/machine.h"
#include "sample/outcome.h"

/* The parts, seconds that are missing; of CPUs also CPU seconds of the job, and errors of its share. */
enum { GT_ENERGY_QUANTITIES = GT_ENERGY_PARTS + 4 };

/* One device: a point for each reading in which its counter had moved. */
struct gt_device_curve {
    struct gt_curve curve; /* quantities */
    double refresh;        /* seconds, 0: not known */
    double share_seconds;  /* the job's share is a mean over this time at least */
    bool is_estimated;     /* by a model of the user's */
    bool is_measured;
    size_t guessed;                          /* points from this one on are not readings */
    double time, last[GT_ENERGY_QUANTITIES]; /* the latest reading */
    double missing;                          /* seconds, as of the latest sample */
    double unread_from;                      /* the first sample without a reading; NaN: there was none */
};

struct gt_energy_curve {
    struct gt_device_curve device[GT_ENERGY_DEVICES];
    bool is_live;       /* only the time from `since` to the latest sample is asked for: memory does not grow */
    double since, time; /* seconds; of the latest sample */
};

struct gt_time_stretch {
    double start, stop;
};

/* Joules. NaN: not measured, or outside of the recording; of the error: not known. */
struct gt_spent {
    double joules, error;
    bool is_estimated; /* by a model of the user's, as a whole or in part */
    double missing; /* part of the time in which it is not known what was drawn; then the error is not known either */
};

void gt_energy_curve_init(struct gt_energy_curve *curve, const struct gt_machine *machine);
/* Bounds its memory, see gt_curve_bound: stretches begin and end at `moments`. Within a stretch of many points, the rate of CPU energy
 * is then compared over longer parts. */
void gt_energy_curve_bound(struct gt_energy_curve *curve, const struct gt_curve_moments *moments);
void gt_energy_curve_release(struct gt_energy_curve *curve);
/* `time` in seconds on the clock of the stretches. 0 or -ENOMEM. */
int gt_energy_curve_add(struct gt_energy_curve *curve, double time, const struct gt_energy_reading *reading);
/* After the last reading of a recording, before the first question. 0 or -ENOMEM. */
int gt_energy_curve_finish(struct gt_energy_curve *curve);

/* Some energy was counted. */
bool gt_energy_curve_is_measured(const struct gt_energy_curve *curve);
/* The marks that some of the energy has: bits. */
enum gt_energy_mark { GT_ENERGY_IS_ESTIMATED = 1, GT_ENERGY_IS_PARTIAL = 2 };
unsigned gt_energy_curve_marks(const struct gt_energy_curve *curve);

/* A part of the joules that a device drew in stretches that are in order and do not overlap. */
struct gt_spent gt_energy_curve_over(const struct gt_energy_curve *curve, enum gt_energy_device device,
                                     enum gt_energy_part part, const struct gt_time_stretch *stretch, size_t count);
/* CPU energy of the job in one stretch in which it used `cpu_seconds`; NaN: not known, the same as above. */
struct gt_spent gt_energy_curve_of_cpu(const struct gt_energy_curve *curve, struct gt_time_stretch stretch,
                                       double cpu_seconds);
/* Joules since tracking began, at a moment; NaN outside of the recording. GT_ENERGY_DEVICES: all that were measured. */
double gt_energy_curve_at(const struct gt_energy_curve *curve, enum gt_energy_device device, enum gt_energy_part part,
                          double time);

/* A curve that is asked for the time since the last question alone, the first time since `since`. */
void gt_energy_curve_follow(struct gt_energy_curve *curve, const struct gt_machine *machine, double since);
/* The joules of all devices since then, up to the latest sample. Power after a counter's last move is taken to be as before it, for one
 * refresh at most. */
void gt_energy_curve_take(struct gt_energy_curve *curve, struct gt_energy_drawn *ret);

/* Add one value to another, either of which may be unknown. */
void gt_spent_add(struct gt_spent *sum, struct gt_spent part);
/* Put stretches in order and make those that touch one; returns how many are left. */
size_t gt_time_stretches_merge(struct gt_time_stretch *stretch, size_t count);

/* A device over a whole run. */
struct gt_energy_run {
    const struct gt_energy_source *source;
    const struct gt_counter_fields *counter; /* NULL: unknown */
    enum gt_energy_device device;
    const struct gt_energy_reading *end;
    double seconds, period; /* of the run, and between samples; NaN or 0: not known */
};
/* Joules by which its total may be off, or the job's part of it; NaN: not known. */
double gt_energy_run_error(const struct gt_energy_run *run, bool of_job);
/* Returns true if a model of the user's replaces a counter. */
bool gt_energy_is_estimated(const struct gt_energy_source *source);

#endif
