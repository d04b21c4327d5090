/* An occupancy is a histogram: the seconds for which so many cores of a job were busy, and for which its GPUs were idle or starved.
 * It takes one sample at a time, in bounded memory. */
#ifndef GT_AGGREGATE_OCCUPANCY_H
#define GT_AGGREGATE_OCCUPANCY_H

#include "sample/sample.h"

/* Steps of 2 % from a hundredth of a core on, 0 below. */
enum { GT_OCCUPANCY_STEPS = 800 };

/* Seconds. A GPU may be starved while it is idle. */
struct gt_gpu_use_time {
    double known;   /* in which its use is known */
    double idle;    /* below 5 % */
    double starved; /* below 30 % while the job kept at least one core busy */
    double told;    /* in which the driver told whether it slowed down: */
    double hot, powered_down, slowed;
};

struct gt_occupancy {
    int64_t last_ns;                  /* the sample before */
    int64_t window_ns;                /* begin of a window of a second or more, and the job's CPU time there */
    double window_cpu;                /* NaN: not known */
    double windowed;                  /* seconds in windows */
    double cores[GT_OCCUPANCY_STEPS]; /* seconds of windows with so many cores busy */
    struct gt_gpu_use_time all_gpus;  /* their mean use: all that recordings without detail tell */
    struct gt_gpu_use_time *gpu;
    size_t gpus;
};

void gt_occupancy_init(struct gt_occupancy *occupancy);
void gt_occupancy_release(struct gt_occupancy *occupancy);
/* Count a sample. 0 or -ENOMEM, which only the first sample with GPU rows can meet. */
int gt_occupancy_add(struct gt_occupancy *occupancy, const struct gt_sample *sample);
/* Returns the cores that were busy at most in this share (0 to 1) of the windows, within 2 %; NaN without a window. */
double gt_occupancy_cores(const struct gt_occupancy *occupancy, double share);

#endif
