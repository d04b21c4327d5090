/* The state from which attribute.c and attribute_cpu.c divide the energy of a counter; nobody else writes it.
 *
 * CPU seconds of the job on a package are bound where they cannot have been used elsewhere, loose where living threads used them
 * that may also run on another package, and firm where they count as known to be on the package: all that are bound, and of the others
 * as many as gt_attribution.moved leaves. */
#ifndef GT_AGGREGATE_CPU_SHARE_H
#define GT_AGGREGATE_CPU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/energy_reading.h"

/* The idle power of a device: the least that it was seen to draw while idle, from one move of its counter to a later one. Readings
 * in which it did not move tell nothing. */
struct gt_idle_power {
    double watts;        /* NaN: not seen yet */
    int64_t since_ns;    /* where the present stretch began, with a move */
    double joules, busy; /* then */
    double shown;        /* joules that the counter had at the last reading */
    double untaken;      /* seconds of which the counter has not shown yet what was drawn */
    bool is_begun;
};

/* Counting begins, with 0 joules. */
void gt_idle_power_init(struct gt_idle_power *power, int64_t start_ns);
/* A reading: joules and busy CPU seconds since the start. `is_idle`: the device was idle since the reading before, as far as that is
 * known without the busy time. The stretch must have `least` seconds, and at most `allowance` busy CPU seconds for each. */
void gt_idle_power_see(struct gt_idle_power *power, int64_t now_ns, double joules, double busy, bool is_idle,
                       double least, double allowance);

/* Idle energy in the joules that a counter shows after so many seconds more; 0 where idle power is not known. */
double gt_idle_power_take(struct gt_idle_power *power, double joules, double seconds);

/* Counters up to one moment, since tracking began; NaN: not known. */
struct gt_cpu_use {
    int64_t at_ns;
    double busy, job; /* CPU seconds of the machine, or of a package, and of the job on it */
    double firm;      /* of the job's: see above */
    double late;      /* seconds after the counter that all of this was read */
};

/* One stretch of time: joules for each busy CPU second, and the job's part of these. */
struct gt_cpu_look {
    double rate, ratio, busy;
};

/* CPUs that share a counter: a package, or the machine. */
struct gt_cpu_share {
    struct gt_energy energy;
    struct gt_cpu_use anchor[2]; /* where the present and the next stretch for the ratio of CPU times begin */
    int64_t at_ns;               /* of the last energy reading */
    struct gt_idle_power idle;
    double joules;                /* the job's, in the last window */
    double joules_per_cpu_second; /* of the job, in the last window */
    /* The error of the job's joules: a variance for errors to either side, joules for those to one side. */
    double variance, leaning;
    struct gt_cpu_look look[2]; /* of the stretches before, the latest first */
    struct gt_cpu_use looked;   /* up to where */
    double looked_joules;
};

/* One package of several. */
struct gt_package_share {
    int number; /* physical_package_id */
    struct gt_cpu_share cpu;
    double job;                  /* CPU seconds of the job on it since tracking began */
    double bound, firm;          /* of them */
    double recent, recent_bound; /* of the job's and of the bound ones, since the last reading */
    double recent_loose;         /* since the last reading */
};

#endif
