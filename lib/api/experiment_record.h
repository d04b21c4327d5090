/* Recording experiments: power, in folders laid out as AIPowerMeter's. For Python. */
#ifndef GT_API_EXPERIMENT_RECORD_H
#define GT_API_EXPERIMENT_RECORD_H

#include "gpu_tracker.h"

struct gt_experiment_options {
    size_t size;
    const char *folder;      /* where power_metrics.json is, or is made; NULL: nothing is written */
    const char *description; /* for metadata.json of a new folder; may be NULL */
    const pid_t *pids;       /* these processes, and all below them */
    size_t pid_count;
    int everyone;              /* on GPUs, all who use them count as the experiment's */
    double period;             /* seconds between two readings; 0: 1.0 */
    double measurement_period; /* seconds that a record tells of, at least; 0: 2.0 */
    const char *machine_root;
    const char *const *libraries; /* as of trackers */
    /* May be NULL: called with the "metrics" of each record, JSON text; negative errno when it cannot be taken. */
    int (*record)(void *context, const char *metrics);
    void *context;
};

/* Record: begin, tick when it is due (CLOCK_MONOTONIC, ns), end. Records tell of windows of time that touch each other. */
struct gt_experiment_recorder;
int gt_experiment_begin(struct gt_experiment_recorder **ret, const struct gt_experiment_options *options,
                        struct gt_error *error);
int64_t gt_experiment_due(const struct gt_experiment_recorder *recorder);
/* 1: some of the processes live; 0: all have ended, and the last record is written. */
int gt_experiment_tick(struct gt_experiment_recorder *recorder, struct gt_error *error);
/* The last record, up to now, and the end of the segment. */
int gt_experiment_end(struct gt_experiment_recorder *recorder, struct gt_error *error);
/* The figures since the last record, or the last call: the "metrics" of a record as JSON text (free with free()). Without a folder. */
int gt_experiment_metrics(struct gt_experiment_recorder *recorder, char **ret, struct gt_error *error);
void gt_experiment_close(struct gt_experiment_recorder *recorder);

/* 1: energy of the processors ("cpu") or power of GPUs ("gpu") can be measured here; 0: it cannot. *ret (free with free()) names the
 * source, or what stands in the way and what would help. */
int gt_experiment_source(const char *device, const struct gt_experiment_options *options, char **ret,
                         struct gt_error *error);

#endif
