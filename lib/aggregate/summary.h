/* Minimum, maximum, sum, first and last of every metric of the fixed scopes and of each GPU, one sample at a time. */
#ifndef GT_AGGREGATE_SUMMARY_H
#define GT_AGGREGATE_SUMMARY_H

#include "aggregate/occupancy.h"
#include "aggregate/whole_course.h"
#include "sample/sample.h"

/* The course of a recording in bounded memory, for pictures: a few metrics in at most GT_HISTORY_SPANS spans of equal length. When
 * they are used up, neighbours are joined and spans become twice as long. */

enum { GT_HISTORY_SPANS = 512, GT_HISTORY_LINES = 12 };

struct gt_history_line {
    enum gt_scope scope;
    enum gt_metric_id metric;
};

/* The metrics kept. A span holds the largest value of a size in bytes, the mean of a rate, and the mean growth a second of a
 * counter: the power of an energy. */
extern const struct gt_history_line gt_history_line[GT_HISTORY_LINES];

struct gt_history_cell {
    uint32_t count; /* samples that had the metric; 0: nothing known */
    double value;   /* largest value, or sum */
};

struct gt_history {
    int64_t first_ns, span_ns;                /* monotonic moment of the first sample; length of a span */
    size_t spans;                             /* in use */
    uint64_t is_known[GT_HISTORY_SPANS / 64]; /* a bit for each span: a sample fell into it */
    double counted[GT_HISTORY_LINES];         /* counters at the sample before */
    int64_t counted_ns;
    struct gt_history_cell (*of)[GT_HISTORY_LINES];  /* GT_HISTORY_SPANS of them, made at the first sample */
    struct gt_history_cell (*gpu)[GT_HISTORY_SPANS]; /* utilisation of each GPU, as far as samples tell */
    size_t gpus;
};

void gt_history_init(struct gt_history *history);
void gt_history_release(struct gt_history *history);
/* 0 or -ENOMEM, which only the first sample can meet, and the first with GPU rows. */
int gt_history_add(struct gt_history *history, const struct gt_sample *sample);
/* The value of a line in a span, NaN where nothing is known. */
double gt_history_value(const struct gt_history *history, size_t line, size_t span);
double gt_history_gpu(const struct gt_history *history, size_t gpu, size_t span);
/* The line of a metric; GT_HISTORY_LINES: it is not kept. */
size_t gt_history_find(enum gt_scope scope, enum gt_metric_id metric);
/* The middle of a span, in seconds from the first sample. */
double gt_history_time(const struct gt_history *history, size_t span);

struct gt_statistic {
    uint64_t count; /* samples that had the metric */
    double min, max, sum, first, last;
};

struct gt_summary {
    uint64_t samples;
    int64_t first_real_ns, last_real_ns;
    struct gt_statistic of[GT_FIXED_ROWS][GT_METRIC_COUNT]; /* [scope][metric] */
    double shared_at_peak[GT_FIXED_ROWS];                   /* RAM_SHARED in the sample with the largest RAM */
    struct gt_statistic (*gpu)[GT_METRIC_COUNT];            /* [index in gt_machine.gpu][metric] */
    size_t gpu_count;
    struct gt_history history;
    struct gt_whole_course *course; /* NULL unless the owner wants one */
    struct gt_occupancy occupancy;
};

void gt_summary_init(struct gt_summary *summary);
void gt_summary_release(struct gt_summary *summary);
/* 0 or -ENOMEM, which without a course only the first sample with GPU rows can meet. */
int gt_summary_add(struct gt_summary *summary, const struct gt_sample *sample);
/* NaN when nothing was measured. */
double gt_summary_mean(const struct gt_summary *summary, enum gt_scope scope, enum gt_metric_id metric);

/* The outcome as far as samples alone tell it: last counters and peaks, elapsed from first to last sample.
 * For recordings whose tracker was killed, and the original's. */
void gt_summary_outcome(const struct gt_summary *summary, struct gt_outcome *outcome);

#endif
