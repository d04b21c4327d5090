/* Inside the attribution: a counter of CPUs is divided by CPU time. */
#ifndef GT_AGGREGATE_ATTRIBUTE_CPU_H
#define GT_AGGREGATE_ATTRIBUTE_CPU_H

#include "aggregate/attribute.h"

/* CPU times are compared over at least this time. */
extern const int64_t gt_cpu_stretch_ns;

/* Joules since the last reading. A counter never goes back. */
double gt_energy_advance(struct gt_energy *energy, double joules);
/* Divide a window's joules, of which `idle` is idle energy, when the job has `ratio` of the active part; the job's joules. */
double gt_energy_divide(struct gt_energy *energy, enum gt_idle policy, double joules, double idle, double ratio,
                        bool takes_idle);

void gt_cpu_share_init(struct gt_cpu_share *share, int64_t now_ns);

/* The time between two moments. */
struct gt_cpu_stretch {
    double seconds;   /* of the stretch that the ratio is taken over */
    double busy, job; /* CPU seconds in it; NaN: not known */
    double firm;      /* at most `job` */
};

/* The stretch that ends with a reading. */
struct gt_cpu_stretch gt_cpu_share_stretch(const struct gt_cpu_share *share, const struct gt_cpu_use *use);
/* Divide the joules up to a reading, and begin the next stretch when this one is long enough; joules that are divided by CPU time. */
double gt_cpu_share_charge(struct gt_cpu_share *share, const struct gt_attribution *attribution, int core_count,
                           double joules, const struct gt_cpu_use *use, struct gt_cpu_stretch stretch);

#endif
