/* Experiments: recordings of power, in folders laid out as AIPowerMeter's, which trackers write. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_EXPERIMENT_H
#define GPU_TRACKER_EXPERIMENT_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* Energy of the processors ("cpu") or power of GPUs ("gpu") can be measured here: 1 or 0, and in *ret (free with free())
 * where from, or what stands in the way and what would help. */
int gt_power_source(const char *device, const char *machine_root, char **ret, struct gt_error *error);

/* The processors' energy counters as they are now, by zone. -EACCES, -ENODEV: why there are none. */
struct gt_energy_sample;
int gt_energy_sample_take(struct gt_energy_sample **ret, const char *machine_root, struct gt_error *error);
/* What they counted between two samples, their wraps taken into account: itself a sample. */
int gt_energy_sample_between(struct gt_energy_sample **ret, const struct gt_energy_sample *earlier,
                             const struct gt_energy_sample *later, struct gt_error *error);
void gt_energy_sample_free(struct gt_energy_sample *sample);
struct gt_energy_zone {
    const char *
        name; /* "package-0", "package-0/dram", "psys"; zones contain each other, so their joules are not to be added */
    double joules; /* as the counter stands, or between the two samples; NaN: it could not be read */
};
/* Zone number `index`; 0 or -ENOENT. */
int gt_energy_sample_zone(const struct gt_energy_sample *sample, size_t index, struct gt_energy_zone *ret);
/* Seconds since the epoch, and in *ret_seconds those between the two samples, NaN for one. */
double gt_energy_sample_time(const struct gt_energy_sample *sample, double *ret_seconds);
/* Of a difference: "intel_power" (all packages), "psys_power", "cpu_power" (their cores), "dram_power", "uncore_power" in watts; NaN
 * without such a zone. */
double gt_energy_sample_watts(const struct gt_energy_sample *sample, const char *name);

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

/* Read: a folder, ours or AIPowerMeter's, or a tracking file. */
struct gt_experiment;
int gt_experiment_open(struct gt_experiment **ret, const char *path, struct gt_error *error);
void gt_experiment_free(struct gt_experiment *experiment);
/* Or put together from curves read elsewhere: new, put for each point, by segments from 0 up, then complete, which offers figures
 * under the names of other versions, too, or says -ENODATA. `window`: seconds before the date that the value is the mean of; NaN:
 * straight between points. -EINVAL: no such group. */
int gt_experiment_new(struct gt_experiment **ret, struct gt_error *error);
int gt_experiment_put(struct gt_experiment *experiment, const struct gt_experiment_curve *curve, size_t segment,
                      const struct gt_experiment_point *point, double window, struct gt_error *error);
int gt_experiment_complete(struct gt_experiment *experiment, const char *name, struct gt_error *error);
/* The summary of a model, a JSON object as model_summary.json has it, for the summary of the experiment. */
int gt_experiment_set_model(struct gt_experiment *experiment, const char *json, struct gt_error *error);

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
/* Joules of the machine's processors and GPUs, those that were measured; NaN without any. */
double gt_experiment_total_power(const struct gt_experiment *experiment, double start, double end);
/* What was measured, by group, for people (free with free()). */
int gt_experiment_listing(const struct gt_experiment *experiment, char **ret, struct gt_error *error);
/* Duration, totals and averages. */
int gt_experiment_summary(const struct gt_experiment *experiment, double start, double end, struct gt_report **ret,
                          struct gt_error *error);

#endif
