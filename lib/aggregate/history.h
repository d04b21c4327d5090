/* The course of a recording in bounded memory, for pictures: a few metrics in at most GT_HISTORY_SPANS spans of equal length. When
 * they are used up, neighbours are joined and spans become twice as long. */
#ifndef GT_AGGREGATE_HISTORY_H
#define GT_AGGREGATE_HISTORY_H

#include "sample/sample.h"

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
    int64_t first_ns, span_ns;        /* monotonic moment of the first sample; length of a span */
    size_t spans;                     /* in use */
    double counted[GT_HISTORY_LINES]; /* counters at the sample before */
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

#endif
