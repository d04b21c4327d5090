/* A summary keeps minimum, maximum, sum and last of every metric of the fixed scopes and of each GPU, one sample at a time. */
#ifndef GT_AGGREGATE_SUMMARY_H
#define GT_AGGREGATE_SUMMARY_H

#include "aggregate/course.h"
#include "sample/outcome.h"
#include "sample/sample.h"

/* Steps of 2 % from a hundredth of a core on, 0 below. */
enum { GT_UTILIZATION_STEPS = 800 };

/* Seconds. A GPU may be starved while it is idle. */
struct gt_gpu_use_time {
    double known;    /* in which its use is known */
    double idle;     /* below 5 % */
    double starved;  /* below 30 % while the job kept at least one core busy */
    double reported; /* in which the driver reported whether it slowed down: */
    double hot, powered_down, slowed;
};

/* A histogram of the cores of a job that were busy, in seconds, and seconds in which its GPUs were idle or starved. */
struct gt_utilization {
    int64_t last_ns;                    /* the sample before */
    int64_t window_ns;                  /* begin of a window of a second or more, and the job's CPU time there */
    double window_cpu;                  /* NaN: not known */
    double windowed;                    /* seconds in windows */
    double cores[GT_UTILIZATION_STEPS]; /* seconds of windows, by busy cores */
    struct gt_gpu_use_time all_gpus;    /* their mean use, which recordings without detail have alone */
    struct gt_gpu_use_time *gpu;
    size_t gpus;
};

/* Returns the cores that were busy at most in this share (0 to 1) of the windows, within 2 %; NaN without a window. */
double gt_utilization_cores(const struct gt_utilization *utilization, double share);

struct gt_statistic {
    uint64_t count; /* samples that had the metric */
    double min, max, sum, last;
};

struct gt_summary {
    uint64_t samples;
    int64_t first_real_ns, last_real_ns;
    struct gt_statistic of[GT_FIXED_ROWS][GT_METRIC_COUNT]; /* [scope][metric] */
    double shared_at_peak[GT_FIXED_ROWS];                   /* RAM_SHARED in the sample with the largest RAM */
    struct gt_statistic (*gpu)[GT_METRIC_COUNT];            /* [index in gt_machine.gpu][metric] */
    size_t gpu_count;
    struct gt_sample_course course;
    struct gt_utilization utilization;
};

void gt_summary_init(struct gt_summary *summary);
void gt_summary_release(struct gt_summary *summary);
/* 0 or -ENOMEM. */
int gt_summary_add(struct gt_summary *summary, const struct gt_sample *sample);
/* NaN when nothing was measured. */
double gt_summary_mean(const struct gt_summary *summary, enum gt_scope scope, enum gt_metric_id metric);

/* Take in the health of the GPUs as of the last reading, which no sample has. */
void gt_summary_end(struct gt_summary *summary, const struct gt_snapshot *snapshot);
/* The outcome as far as samples alone have it: last counters and peaks, elapsed from first to last sample.
 * For recordings whose tracker was killed, and the original's. */
void gt_summary_outcome(const struct gt_summary *summary, struct gt_outcome *outcome);

#endif
