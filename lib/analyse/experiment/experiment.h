/* A recording of power as curves under AIPowerMeter's names, read from its folders and from our tracking files. */
#ifndef GT_ANALYSE_EXPERIMENT_H
#define GT_ANALYSE_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gpu_tracker.h"

enum gt_experiment_group {
    GT_EXPERIMENT_CPU,
    GT_EXPERIMENT_GPU,
    GT_EXPERIMENT_RESULTS,
    GT_EXPERIMENT_METER,
    GT_EXPERIMENT_GROUPS
};

/* The meaning of a value for the time before it. */
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

/* Add a point to the curve of this name, which is made where it is not there yet. A value or date that is NaN is left out.
 * 0 or -ENOMEM. */
int gt_experiment_add(struct gt_experiment *experiment, enum gt_experiment_group group, const char *name,
                      const char *device, struct gt_experiment_point point, double window);
const char *gt_experiment_group_name(enum gt_experiment_group group);
/* NULL when there is none. */
const struct gt_experiment_line *gt_experiment_find(const struct gt_experiment *experiment, const char *name,
                                                    const char *device);

/* "2026-03-04 05:06:07.123456" in local time, or with "T", "Z", "+01:00": seconds since the epoch, NaN when it is none. */
double gt_experiment_date(const char *text);

/* Files of a folder; one that is not there is no error. */
int gt_experiment_read_power(struct gt_experiment *experiment, const char *path, struct gt_error *error);
int gt_experiment_read_results(struct gt_experiment *experiment, const char *path, struct gt_error *error);
int gt_experiment_read_meter(struct gt_experiment *experiment, const char *path, struct gt_error *error);
/* A tracking file. */
int gt_experiment_read_recording(struct gt_experiment *experiment, const char *path, struct gt_error *error);

#endif
