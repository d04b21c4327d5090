/* Spans of time that bear a key, in a list; what most analyses are made of: collect, sort, walk over runs of one key. */
#ifndef GT_ANALYSE_SPANS_H
#define GT_ANALYSE_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "analyse/trace/analysis.h"
#include "analyse/trace/numbers.h"

enum { GT_SPAN_KEYS = 4 };

struct gt_keyed_span {
    uint32_t key[GT_SPAN_KEYS];
    int64_t start, end; /* ns, half-open */
    size_t event;       /* where it comes from */
};

struct gt_spans {
    struct gt_keyed_span *span;
    size_t count, capacity;
};

int gt_spans_add(struct gt_spans *spans, struct gt_keyed_span span);
/* By key, start, end, event. */
void gt_spans_sort(struct gt_spans *spans);
/* By start, end, key, event. */
void gt_spans_sort_by_time(struct gt_spans *spans);
/* By the first key; then outer spans before those inside them: by start, the longer first; then by the other keys, event. */
void gt_spans_sort_nested(struct gt_spans *spans);
/* Past the last span whose first `keys` keys are those of span number `from`. */
size_t gt_spans_run(const struct gt_spans *spans, size_t from, int keys);
/* Make one of those that touch or overlap and share the first `keys` keys, by which and by start they are sorted. */
void gt_spans_unite(struct gt_spans *spans, int keys);
/* How much of [start, end) lies in spans from..to, which are sorted and do not overlap. O(log n + hits). */
int64_t gt_spans_overlap(const struct gt_spans *spans, size_t from, size_t to, int64_t start, int64_t end);
void gt_spans_release(struct gt_spans *spans);

/* Lists of what took how long, longest first: kernels and operators. */

/* All spans that share the first keys. */
struct gt_list_row {
    size_t from, to;
    double total;
};

/* Rows of sorted spans by their first `keys` keys, ordered by total length or, by options->key, by "count", "mean", "max" or
 * "name"; *count of them, no more than options->top for each value of key 0. NULL without memory. -EINVAL in *status names an
 * unknown order. To be freed. */
struct gt_list_row *gt_list_rows(const struct gt_analysis_input *input, const struct gt_spans *spans, int keys,
                                 size_t *count, int *status, struct gt_error *error);
/* options->top, or `standard` when it is 0; SIZE_MAX when it is negative. */
size_t gt_list_top(const struct gt_analysis_input *input, size_t standard);
/* The lengths of spans in microseconds. */
int gt_list_lengths(struct gt_numbers *values, const struct gt_spans *spans, size_t from, size_t to);

#endif
