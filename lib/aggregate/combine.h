/* From one reading of everything to one sample: rows for the system, the main process, its descendants, both together,
 * each GPU, and each process when detail is wanted. Rates and running peaks are computed here, and nowhere else. */
#ifndef GT_AGGREGATE_COMBINE_H
#define GT_AGGREGATE_COMBINE_H

#include "aggregate/attribute.h"
#include "aggregate/rate.h"
#include "sample/sampler.h"

struct gt_combiner {
    bool detail;
    int core_count;
    int64_t shortest_ns;       /* an interval of utilisation is at least this long */
    double system_utilization; /* of the last interval long enough to tell */
    struct gt_rate cpu[GT_FIXED_ROWS];
    double peak[GT_FIXED_ROWS][GT_METRIC_COUNT]; /* running values of the metrics of kind PEAK */
    bool has_main_mark;          /* the main process's high-water mark is of the time of tracking, not of before */
    double job[GT_METRIC_COUNT]; /* what the whole job has used so far: gt_account_totals */
    struct gt_attribution attribution;
    double cpu_joules;                    /* the job's, not yet divided among its processes, */
    double divided_seconds;               /* for its CPU time has not grown since it was this */
    struct gt_process_rate *process_rate; /* of PROCESS rows, sorted by pid */
    size_t process_rate_count, process_rate_capacity, next_rate;
    struct gt_row *row;
    size_t row_capacity;
};

struct gt_combine_options {
    bool detail;
    int core_count;
    double period; /* seconds between samples asked for */
    enum gt_idle idle;
    int64_t start_ns;                  /* CLOCK_MONOTONIC: since when counters count */
    double refresh[GT_ENERGY_DEVICES]; /* seconds between new values at their sources; 0: not known */
};

void gt_combine_init(struct gt_combiner *combine, const struct gt_combine_options *options);
void gt_combine_release(struct gt_combiner *combine);
/* `ret` is borrowed until the next call. -ENOMEM. */
int gt_combine(struct gt_combiner *combine, const struct gt_sampler *sampler, struct gt_sample *ret);
/* Only what is kept from reading to reading, running peaks and energy, for readings that are not recorded. -ENOMEM. */
int gt_combine_keep(struct gt_combiner *combine, const struct gt_sampler *sampler);
/* After gt_sampler_look: peaks alone. */
void gt_combine_look(struct gt_combiner *combine, const struct gt_sampler *sampler);

#endif
