/* Most analyses collect numbers, or spans of time that bear keys, sort them, and walk over runs of equal keys. Functions
 * that can fail return 0 or -ENOMEM. */
#ifndef GT_ANALYSE_GPU_LISTS_H
#define GT_ANALYSE_GPU_LISTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/trace/analysis.h"
#include "analyse/trace/shown.h"
#include "base/grow.h"

/* A list of numbers has percentiles. They are exact, with linear interpolation between the closest ranks (numpy's and
 * pandas' default; type 7 of Hyndman and Fan, The American Statistician 50, 1996). Those of an empty list are NaN. */
struct gt_numbers {
    double *value;
    size_t count, capacity;
    bool is_sorted;
};

int gt_numbers_add(struct gt_numbers *values, double value);
double gt_numbers_percentile(struct gt_numbers *values, double percent); /* sorts the list */
/* Returns how few of the values hold GT_FEW_HOLD percent of all that is above 0; changes their order. */
enum { GT_FEW_HOLD = 90 };
size_t gt_numbers_few(struct gt_numbers *values);
void gt_numbers_clear(struct gt_numbers *values);
void gt_numbers_release(struct gt_numbers *values);

/* Returns a part in percent of the whole, NaN where there is none. */
static inline double gt_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

/* Statistics, without a unit or in microseconds. */
#define GT_NUMBERS_COLUMNS "number:mean number:min number:max number:p50 number:p95 number:p99"
#define GT_NUMBERS_COLUMNS_US "number:mean_us number:min_us number:max_us number:p50_us number:p95_us number:p99_us"
/* Adds a count that is held as a double: an integer, or a missing one where it is NaN. */
void gt_list_whole(struct gt_table *table, double count);

/* Returns the two-sided p of the rank sum test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947) by
 * the normal approximation, with corrections for ties and continuity. It is NaN when a list has fewer than 4 values,
 * or all values are equal. The lists are sorted. */
double gt_significance(struct gt_numbers *a, struct gt_numbers *b);

/* Corrects many values of p by Holm's method (Scandinavian Journal of Statistics 6, 1979): those that stay at or
 * below 0.05 differ, and the chance that any of them does by accident is 5 % at most. NaN stays, and counts for
 * nothing. Returns 0 or -ENOMEM. */
int gt_significance_correct(double *p, size_t count);

enum { GT_SPAN_KEYS = 4 };

/* A span of time bears keys. */
struct gt_keyed_span {
    uint32_t key[GT_SPAN_KEYS];
    int64_t start, end; /* ns, half-open */
    size_t event;       /* that it comes from */
};

struct gt_spans {
    struct gt_keyed_span *span;
    size_t count, capacity;
};

/* Returns a list with room for `capacity` spans, whose memory the query owns: it is not released and does not grow. */
struct gt_spans gt_spans_room(struct gt_query *query, size_t capacity);
int gt_spans_add(struct gt_spans *spans, struct gt_keyed_span span);
/* Adds the time of an event, which bears GT_SPAN_KEY(first, second, ...); the other keys are 0. */
int gt_spans_add_event(struct gt_spans *spans, const struct gt_trace *trace, size_t event,
                       const uint32_t key[GT_SPAN_KEYS]);
#define GT_SPAN_KEY(...) ((const uint32_t[GT_SPAN_KEYS]){__VA_ARGS__})
/* Sorts them in an order of qsort. */
void gt_spans_sort_by(struct gt_spans *spans, int (*order)(const void *a, const void *b));
/* Sorts by key, start, end and event. */
void gt_spans_sort(struct gt_spans *spans);
/* Sorts by the first key, then outer spans before those inside them: by start, the longer first. */
void gt_spans_sort_nested(struct gt_spans *spans);
/* Returns the index behind the last span whose first `keys` keys are those of span `from`. */
size_t gt_spans_run(const struct gt_spans *spans, size_t from, int keys);
/* Goes on from the spans *from..*to, which begin as 0..0, to the next run of such. Returns false behind the last one. */
bool gt_spans_next(const struct gt_spans *spans, int keys, size_t *from, size_t *to);
/* Returns the index behind the last span with this first key that begins no later than `time`, of spans sorted by both. */
size_t gt_spans_behind(const struct gt_spans *spans, uint32_t key, int64_t time);
/* Makes one span of those that touch or overlap and share the first `keys` keys; they are sorted by these and by
 * start. */
void gt_spans_unite(struct gt_spans *spans, int keys);
/* Returns how long spans from..to last in all. */
int64_t gt_spans_total(const struct gt_spans *spans, size_t from, size_t to);
/* Returns how much of [start, end) lies in spans from..to, which are sorted and do not overlap. */
int64_t gt_spans_overlap(const struct gt_spans *spans, size_t from, size_t to, int64_t start, int64_t end);
void gt_spans_release(struct gt_spans *spans);

#define GT_LIST_KEYS "total|count|mean|max|name" /* values of options->key, as help has them */
#define GT_LIST_SELF "self"
enum { GT_LIST_SHOWN = 20 }; /* rows of lists that people see unless they ask for more */
/* Returns options->top, `standard` where it is 0, SIZE_MAX where it is negative. */
size_t gt_list_top(const struct gt_analysis_input *input, size_t standard);

#endif
