/* What the job drew up to each sample, and from that what it drew in stretches of time that begin and end between samples.
 *
 * Between two samples in which the device's counter has moved (a gap) energy is taken to grow linearly. Where the CPU time that a stretch used is known,
 * its CPU energy is instead that of the job in the same time x CPU time of the stretch / CPU time of the job.
 *
 * The error is a bound, not a deviation: counters only grow, so of a gap's energy D a stretch that covers the part f of it
 * drew between 0 and D, and the figure f D is off by at most max(f, 1 - f) D. To that comes what the counter may lag behind
 * at the readings around it, its refresh x the power in the gap. Gaps that are covered whole add nothing. By CPU time, a
 * second of the stretch is taken to draw between nothing and twice what the job's seconds around it draw in the mean. */
#ifndef GT_AGGREGATE_ENERGY_COURSE_H
#define GT_AGGREGATE_ENERGY_COURSE_H

#include "aggregate/curve.h"
#include "sample/sample.h"

/* Of one device: a point for each sample in which its counter had moved. */
struct gt_device_course {
    struct gt_curve curve; /* joules and CPU seconds of the job */
    double refresh;        /* seconds, 0: not known */
    double total;          /* of the device, at the last point */
    double time, last[2];  /* the latest sample */
    bool is_measured;
};

struct gt_energy_course {
    struct gt_device_course device[GT_ENERGY_DEVICES];
};

struct gt_time_stretch {
    double start, stop;
};

/* Joules, NaN: not measured, or outside of the recording. */
struct gt_spent {
    double joules, error;
};

void gt_energy_course_init(struct gt_energy_course *course, const struct gt_machine *machine);
/* `time` in seconds on the clock of the stretches; the values of the rows of the machine and of the job. 0 or -ENOMEM. */
int gt_energy_course_add(struct gt_energy_course *course, double time, const double *system, const double *job);
/* 0 or -ENOMEM. */
int gt_energy_course_finish(struct gt_energy_course *course);
/* Did anything count energy? */
bool gt_energy_course_is_measured(const struct gt_energy_course *course);
/* What a device drew for the job in stretches that are in order and do not overlap. */
struct gt_spent gt_energy_course_over(const struct gt_energy_course *course, enum gt_energy_device device,
                                      const struct gt_time_stretch *stretch, size_t count);
/* CPU energy of one stretch in which `cpu_seconds` were used; NaN: not known, the same as above. */
struct gt_spent gt_energy_course_of_cpu(const struct gt_energy_course *course, struct gt_time_stretch stretch,
                                        double cpu_seconds);
void gt_energy_course_release(struct gt_energy_course *course);

#endif
