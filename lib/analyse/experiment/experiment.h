/* A recording of power as curves under AIPowerMeter's names, read from its folders and from our tracking files. */
#ifndef GT_ANALYSE_EXPERIMENT_EXPERIMENT_H
#define GT_ANALYSE_EXPERIMENT_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gpu_tracker.h"

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

enum gt_experiment_group {
    GT_EXPERIMENT_CPU,
    GT_EXPERIMENT_GPU,
    GT_EXPERIMENT_RESULTS,
    GT_EXPERIMENT_METER,
    GT_EXPERIMENT_GROUPS
};

/* A value is about a part of the time before it. */
enum gt_experiment_kind {
    GT_EXPERIMENT_RATE,   /* the mean over its window: power, ratios of time */
    GT_EXPERIMENT_STATE,  /* as it was at that moment: memory */
    GT_EXPERIMENT_AMOUNT, /* the sum over its window: CPU seconds */
};

struct gt_experiment_line {
    enum gt_experiment_group group;
    enum gt_experiment_kind kind;
    char *name;
    char *device; /* NULL: not of one device */
    size_t count, capacity;
    struct gt_experiment_point *point; /* by time within each segment */
    double *window;                    /* seconds that each value is about; NaN: not recorded */
    size_t segment_count, segment_capacity;
    struct gt_experiment_stretch { /* points with the same number in the file */
        size_t first, count;
        uint32_t number;
    } * segment;
};

struct gt_experiment {
    struct gt_experiment_line *line;
    size_t count, capacity;
    uint32_t segment;  /* the one that points are added to */
    uint64_t bad_rows; /* that could not be understood */
    char *model;       /* JSON; NULL: none */
};

/* Adds a point to the curve of this name, which is made where it is not there yet. A value or date that is NaN is
 * left out. Returns 0 or -ENOMEM. */
int gt_experiment_add(struct gt_experiment *experiment, enum gt_experiment_group group, const char *name,
                      const char *device, struct gt_experiment_point point, double window);
/* Returns NULL when there is none. */
const struct gt_experiment_line *gt_experiment_find(const struct gt_experiment *experiment, const char *name,
                                                    const char *device);

/* Read a file of a folder; one that is not there is no error. */
int gt_experiment_read_power(struct gt_experiment *experiment, const char *path, struct gt_error *error);
int gt_experiment_read_results(struct gt_experiment *experiment, const char *path, struct gt_error *error);
int gt_experiment_read_meter(struct gt_experiment *experiment, const char *path, struct gt_error *error);
/* Reads a tracking file. */
int gt_experiment_read_recording(struct gt_experiment *experiment, const char *path, struct gt_error *error);

/* ---- For Python ------------------------------------------------------------------------------------------------- */
/* Reads a folder, ours or AIPowerMeter's, or a tracking file. */
int gt_experiment_open(struct gt_experiment **ret, const char *path, struct gt_error *error);
void gt_experiment_free(struct gt_experiment *experiment);
/* An experiment may also be put together from curves read elsewhere: new; put for each point, by segments from 0 up;
 * then complete, which offers figures under the names of other versions, too, or returns -ENODATA. A value is the
 * mean of `window` seconds before its date; NaN: the curve is straight between points. -EINVAL: there is no such
 * group. */
int gt_experiment_new(struct gt_experiment **ret, struct gt_error *error);
int gt_experiment_put(struct gt_experiment *experiment, const struct gt_experiment_curve *curve, size_t segment,
                      const struct gt_experiment_point *point, double window, struct gt_error *error);
int gt_experiment_complete(struct gt_experiment *experiment, const char *name, struct gt_error *error);
/* Keeps the summary of a model, a JSON object as model_summary.json has it, for the summary of the experiment. */
int gt_experiment_set_model(struct gt_experiment *experiment, const char *json, struct gt_error *error);

/* A curve has these figures in a stretch of time, in seconds; NaN where there are none. */
struct gt_experiment_figures {
    double duration, start, end;
    double total; /* integral over time: watts give joules. CPU seconds are added up */
    double average, maximum;
};

/* Describes curve number `index`. Returns 0 or -ENOENT. */
int gt_experiment_curve(const struct gt_experiment *experiment, size_t index, struct gt_experiment_curve *ret);
/* Tells the points of a segment, which stay the experiment's, and returns how many there are. */
size_t gt_experiment_points(const struct gt_experiment *experiment, size_t curve, size_t segment,
                            const struct gt_experiment_point **ret);
/* Tells the figures between `start` and `end`; NaN: no bound. */
void gt_experiment_figures(const struct gt_experiment *experiment, size_t curve, double start, double end,
                           struct gt_experiment_figures *ret);
/* Tells duration, start and end of the recording as a whole. */
void gt_experiment_span(const struct gt_experiment *experiment, double start, double end,
                        struct gt_experiment_figures *ret);
/* Tells the values of a curve at given moments, or its total up to them with `cumulative`: accuracy of each epoch
 * against joules. They are NaN before the first and after the last; a total stays as it is between segments, other
 * figures are NaN there. */
void gt_experiment_interpolate(const struct gt_experiment *experiment, size_t curve, int cumulative,
                               const double *times, size_t count, double *values);
/* Returns the joules of the machine's processors and GPUs, those that were measured; NaN without any. */
double gt_experiment_total_power(const struct gt_experiment *experiment, double start, double end);
/* Lists the curves by group, for people. The caller frees it. */
int gt_experiment_listing(const struct gt_experiment *experiment, char **ret, struct gt_error *error);
/* Makes a report of duration, totals and averages. */
int gt_experiment_summary(const struct gt_experiment *experiment, double start, double end, struct gt_report **ret,
                          struct gt_error *error);

#endif
