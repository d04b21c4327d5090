/* A summary keeps minimum, maximum, sum and last of every metric of the fixed scopes and of each GPU, one sample at a time. */
#ifndef GT_AGGREGATE_SUMMARY_H
#define GT_AGGREGATE_SUMMARY_H

#include "aggregate/occupancy.h"
#include "aggregate/sample_course.h"
#include "sample/outcome.h"
#include "sample/sample.h"

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
    struct gt_occupancy occupancy;
};

void gt_summary_init(struct gt_summary *summary);
void gt_summary_release(struct gt_summary *summary);
/* 0 or -ENOMEM. */
int gt_summary_add(struct gt_summary *summary, const struct gt_sample *sample);
/* NaN when nothing was measured. */
double gt_summary_mean(const struct gt_summary *summary, enum gt_scope scope, enum gt_metric_id metric);

/* The outcome as far as samples alone tell it: last counters and peaks, elapsed from first to last sample.
 * For recordings whose tracker was killed, and the original's. */
/* Take in the health of the GPUs as of the last reading, which no sample has. */
void gt_summary_end(struct gt_summary *summary, const struct gt_frame *frame);
void gt_summary_outcome(const struct gt_summary *summary, struct gt_outcome *outcome);

#endif
