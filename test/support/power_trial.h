/* Trials of the stated error: processors and a board whose power, load and readings are made up millisecond by millisecond, so that
 * the truth is known for any stretch of time.
 *
 * Eight cores are counted as the kernel counts them: at each clock tick (10 ms) a core is busy or not. The counters show what was
 * drawn up to their last refresh; busy time and the job's CPU time are read a moment after them, and samples come late. */
#ifndef TEST_SUPPORT_POWER_TRIAL_H
#define TEST_SUPPORT_POWER_TRIAL_H

#include "aggregate/energy_curve.h"

enum { TRIAL_SHAPES = 12, TRIAL_LOADS = 5, TRIAL_CORES = 8, TRIAL_MS = 12000 };
extern const char *const trial_shape_names[TRIAL_SHAPES];
extern const char *const trial_load_names[TRIAL_LOADS];

struct trial_setting {
    int shape, load;
    double period; /* seconds */
    unsigned seed;
};

struct trial {
    struct trial_setting setting;
    /* Up to each millisecond: joules of the package and of the board, of those the job's, and those of the job's first thread. */
    double cpu[TRIAL_MS + 1], cpu_job[TRIAL_MS + 1], cpu_thread[TRIAL_MS + 1];
    double gpu[TRIAL_MS + 1];
    double job_seconds[TRIAL_MS + 1], thread_seconds[TRIAL_MS + 1]; /* of CPU time */
    double ticks[TRIAL_MS + 1];                                     /* busy, seconds as counted */
    struct gt_machine machine;
    struct gt_energy_curve curve;
    struct gt_energy_reading reading; /* the last */
    struct gt_counter_fields counter[GT_ENERGY_DEVICES];
    double seconds;
};

/* Make one up, and take its samples. The trial is large: keep it static. */
void trial_run(struct trial *trial, struct trial_setting setting);
void trial_end(struct trial *trial);
/* A number from 0 to 1. */
double trial_random(struct trial *trial);
/* The value of one of the sums at a moment, seconds. */
double trial_at(const double sum[TRIAL_MS + 1], double seconds);

#endif
