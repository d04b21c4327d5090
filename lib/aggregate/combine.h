/* The combiner makes one sample of one reading of everything: rows for the system, the main process, its descendants, both together,
 * each GPU, and each process when detail is wanted. It computes the running peaks, and rates from counters by struct gt_rate, which
 * groups of jobs use as well. */
#ifndef GT_AGGREGATE_COMBINE_H
#define GT_AGGREGATE_COMBINE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/attribute.h"
#include "collect/collector.h"
#include "sample/sampler.h"

/* Utilisation from a counter of CPU seconds.
 *
 * The CPU time of short-lived children becomes known only when their parent waits for them, so one interval may be charged
 * with work of an earlier one. No interval can use more than all cores: what is above that is carried into the next. */

/* The CPU time of the machine comes in clock ticks of 10 ms: over less than this (50 ms, and some lateness) it is noise. */
enum { GT_RATE_TICKS_NS = 45 * 1000 * 1000 };

struct gt_rate {
    double last;   /* counter at the end of the last interval, seconds */
    double carry;  /* seconds not yet shown */
    int64_t at_ns; /* end of the last interval, CLOCK_MONOTONIC; 0: none yet */
};

/* Returns the mean number of cores in use since the last call; NaN in the first call or when nothing was measured. A call less than
 * `shortest_ns` after the last interval's end returns NaN and lets the interval go on. */
double gt_rate_next(struct gt_rate *rate, double counter, int64_t now_ns, int64_t shortest_ns, double ceiling);

/* Returns the origin of a value that the combiner makes of readings; NULL: a collector gives it as it is. */
const struct gt_origin *gt_combined_origin(enum gt_metric_id metric);
/* Returns the way a part of a device's energy was found, beside the source of the counter; NULL: it is as counted. */
const char *gt_energy_note(enum gt_scope scope, enum gt_metric_id metric, bool by_package);
/* Returns the counter that a part of a device's energy is taken from; any other metric is its own. */
enum gt_metric_id gt_energy_whole(enum gt_metric_id metric);

struct gt_combiner {
    size_t living;                                 /* processes at the last reading, */
    double sum[GT_FIXED_ROWS][GT_PROCESS_METRICS]; /* and sums over them; NaN: missing of all */
    bool detail;
    int core_count;
    int64_t shortest_ns;       /* an interval of utilisation is at least this long */
    double system_utilization; /* of the last interval that was long enough */
    struct gt_rate cpu[GT_FIXED_ROWS];
    double peak[GT_FIXED_ROWS][GT_METRIC_COUNT]; /* running values of the metrics of kind PEAK */
    pid_t main_pid;                              /* 0: not seen */
    double gpu_hwms[GT_FIXED_ROWS];     /* the most that those met alive together can have had; NaN: none had a mark */
    bool lacks_gpu_hwms[GT_FIXED_ROWS]; /* a process used a GPU of whose memory its driver has no mark */
    bool has_main_hwm;           /* the main process's high-water mark is of the time of tracking, not of before */
    double job[GT_METRIC_COUNT]; /* what the whole job has used so far: gt_account_totals */
    struct gt_attribution attribution;
    double recorded_joules[GT_ENERGY_DEVICES]; /* see gt_combine_hide_old; NaN: none yet */
    double cpu_joules;                         /* the job's, not yet divided among its processes, */
    double divided_seconds;                    /* for its CPU time has not grown since it was this */
    struct gt_process_rate *process_rate;      /* by slot */
    size_t process_rate_capacity;
    struct gt_row *row;
    size_t row_capacity;
};

struct gt_combine_options {
    bool detail;
    int core_count;
    double period; /* seconds between samples asked for */
    enum gt_idle_policy idle;
    int64_t start_ns; /* CLOCK_MONOTONIC: since when counters count */
};

/* Returns the joules of a device that a process has drawn so far; with detail, or below a rank. */
double gt_combined_joules(const struct gt_combiner *combine, const struct gt_process *process,
                          enum gt_energy_device device);

void gt_combine_init(struct gt_combiner *combine, const struct gt_combine_options *options);
void gt_combine_release(struct gt_combiner *combine);
/* Make the sample; its rows are borrowed until the next call. -ENOMEM. */
int gt_combine(struct gt_combiner *combine, const struct gt_sampler *sampler, struct gt_sample *ret);
/* Fill in the rows that every sample has, as of now but for rates. */
void gt_combine_fixed(const struct gt_combiner *combine, const struct gt_sampler *sampler,
                      struct gt_row row[GT_FIXED_ROWS], struct gt_energy_reading *energy);
/* Clear the energy counters of a sample that have no new value since the sample before: their source is slower than the samples. Rates
 * and power are then computed from one value of the source to the next. */
void gt_combine_hide_old(struct gt_combiner *combine, struct gt_sample *sample);
/* Bring up to date only what is kept from reading to reading, running peaks and energy, for readings that are not recorded. -ENOMEM. */
int gt_combine_keep(struct gt_combiner *combine, const struct gt_sampler *sampler);
/* Bring the peaks alone up to date, after gt_sampler_look. */
void gt_combine_look(struct gt_combiner *combine, const struct gt_sampler *sampler);

#endif
