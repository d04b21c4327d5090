/* Inside a tracker: shared by the files of this folder. */
#ifndef GT_API_TRACKER_H
#define GT_API_TRACKER_H

#include <pthread.h>
#include <stdbool.h>

#include "aggregate/combine.h"
#include "aggregate/energy_curve.h"
#include "aggregate/summary.h"
#include "sample/schedule.h"
#include "store/store.h"

struct gt_tracker {
    struct gt_tracker_options options; /* its strings are copies */
    char path[4096];                   /* of the tracking file, placeholders filled in */
    struct gt_sampler sampler;
    struct gt_combiner combiner;
    struct gt_summary summary;
    struct gt_machine machine;
    struct gt_store *store;
    struct gt_energy_curve energy; /* since gt_tracker_drawn was called */
    struct gt_sample sample;       /* the latest; its rows belong to the combiner */
    struct gt_outcome outcome;     /* once finished */
    bool is_finished;
    struct gt_error store_failure; /* why there is no store */
    char store_trouble[700];       /* what the caller was told last */
    char **complaint;              /* sentences for the caller that wait until the lock is free */
    size_t complaint_count, complaint_capacity;
    bool gap_warned[GT_ENERGY_DEVICES];
    int pidfd;
    int own_window; /* of collect/process/own_peak.h, when the process tracks itself; else 0 */

    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t end_ns;   /* when the main process was seen to have ended; 0: it lives */
    struct gt_schedule schedule;
    uint64_t born; /* gt_sampler_born and the sum of resident sets, as of the last look */
    double rss;

    bool is_dedicated; /* this process does nothing but track: all its CPU time is our cost */
    double own_cpu_base, own_cpu_spent, slowest_sample;
    int exit_status; /* -1 unknown */

    pthread_t thread;
    pthread_mutex_t mutex; /* between the caller and the sampling thread */
    int stop_fd;           /* eventfd that ends the sampling thread's wait, or -1 */
    bool has_thread, stop;
    struct gt_error thread_error;
};

/* Options: defaults filled in, strings copied; the check without side effects. */
int gt_tracker_options_copy(struct gt_tracker_options *ret, const struct gt_tracker_options *options,
                            struct gt_error *error);
/* The place of the tracking file. */
int gt_tracker_path(const struct gt_tracker_options *options, pid_t pid, char *ret, size_t size,
                    struct gt_error *error);
/* All but the machine and the tracking file's place. */
int gt_tracker_check_values(const struct gt_tracker_options *options, struct gt_error *error);
void gt_tracker_options_release(struct gt_tracker_options *options);

/* The facts that do not change. */
int gt_tracker_describe(struct gt_tracker *tracker, struct gt_error *error);

/* The figures so far, as a finished run has them. */
int gt_tracker_outcome(struct gt_tracker *tracker, struct gt_outcome *ret, struct gt_error *error);
void gt_outcome_release(struct gt_outcome *outcome);

double gt_tracker_own_cpu(const struct gt_tracker *tracker);
int gt_tracker_sample_locked(struct gt_tracker *tracker, bool record, struct gt_error *error);
int gt_tracker_tick_locked(struct gt_tracker *tracker, struct gt_error *error);
/* Give up the lock, and tell the caller what there is to tell. -ECANCELED: the caller has closed the tracker, which is gone. */
int gt_tracker_unlock(struct gt_tracker *tracker);

#endif
