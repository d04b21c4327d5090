/* Experiments: recordings of power, in folders laid out as AIPowerMeter's. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_EXPERIMENT_H
#define GPU_TRACKER_EXPERIMENT_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

struct gt_experiment_options {
    size_t size;
    const char *folder;      /* where power_metrics.json is, or is made; NULL: nothing is written */
    const char *description; /* for metadata.json of a new folder; may be NULL */
    const pid_t *pids;       /* these processes, and all below them */
    size_t pid_count;
    double period;             /* seconds between two readings; 0: 1.0 */
    double measurement_period; /* seconds that a record tells of, at least; 0: 2.0 */
    const char *machine_root;
    const char *const *libraries; /* as of trackers */
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

/* Whether energy of the processors ("cpu") or power of GPUs ("gpu") can be measured here: 1 or 0, and in *ret (free with free())
 * where from, or what stands in the way and what would help. */
int gt_experiment_source(const char *device, const struct gt_experiment_options *options, char **ret,
                         struct gt_error *error);

/* Read: a folder, ours or AIPowerMeter's, or a tracking file. */
struct gt_experiment;
int gt_experiment_open(struct gt_experiment **ret, const char *path, struct gt_error *error);
void gt_experiment_free(struct gt_experiment *experiment);

struct gt_experiment_curve {
    const char *group;  /* "CPU", "GPU", "Experiment", "wattmeter" */
    const char *name;   /* "intel_power" */
    const char *device; /* "0": of one GPU; NULL */
    size_t segments;    /* stretches of recording; in each, points by time */
};
struct gt_experiment_point {
    double date; /* seconds since the epoch */
    double value;
};
/* What was measured over a stretch of time: seconds, and the figures of a curve in it, NaN where there are none. */
struct gt_experiment_figures {
    double duration, start, end;
    double total; /* integral over time: watts give joules. CPU seconds are added up */
    double average, maximum;
};

/* Curve number `index`; 0 or -ENOENT. */
int gt_experiment_curve(const struct gt_experiment *experiment, size_t index, struct gt_experiment_curve *ret);
/* Points of a segment; borrowed. */
size_t gt_experiment_points(const struct gt_experiment *experiment, size_t curve, size_t segment,
                            const struct gt_experiment_point **ret);
/* Between `start` and `end`; NaN: no bound. */
void gt_experiment_figures(const struct gt_experiment *experiment, size_t curve, double start, double end,
                           struct gt_experiment_figures *ret);
/* Of the recording as a whole; only duration, start and end. */
void gt_experiment_span(const struct gt_experiment *experiment, double start, double end,
                        struct gt_experiment_figures *ret);
/* What a curve was at moments of your choosing, or its total up to them with `cumulative`: accuracy of each epoch against joules.
 * NaN before the first and after the last; a total stays as it is between segments, and other figures are NaN there. */
void gt_experiment_interpolate(const struct gt_experiment *experiment, size_t curve, int cumulative,
                               const double *times, size_t count, double *values);
/* Duration, totals and averages. */
int gt_experiment_summary(const struct gt_experiment *experiment, double start, double end, struct gt_report **ret,
                          struct gt_error *error);

#endif
