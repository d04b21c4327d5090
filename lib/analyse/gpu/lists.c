#include "analyse/gpu/lists.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "report/report.h"

/* ---- numbers ---- */

int gt_numbers_add(struct gt_numbers *values, double value)
{
    values->is_sorted = false;
    return GT_APPEND(values, value, value);
}

double gt_numbers_percentile(struct gt_numbers *values, double percent)
{
    if (!values->count)
        return NAN;
    if (!values->is_sorted)
        GT_SORT(values->value, values->count, gt_order_doubles);
    values->is_sorted = true;
    double rank = percent / 100 * (double)(values->count - 1);
    double low = values->value[(size_t)floor(rank)], high = values->value[(size_t)ceil(rank)];
    return low + (high - low) * (rank - floor(rank));
}

void gt_list_whole(struct gt_table *table, double count)
{
    if (isnan(count))
        gt_table_missing(table);
    else
        gt_table_integer(table, llround(count));
}

static int by_most(const void *a, const void *b)
{
    return GT_ORDER(*(const double *)b, *(const double *)a);
}

size_t gt_numbers_few(struct gt_numbers *values)
{
    double sum = 0, part = 0;
    size_t few = 0;
    GT_SORT(values->value, values->count, by_most);
    values->is_sorted = false;
    for (size_t i = 0; i < values->count; i++)
        sum += fmax(values->value[i], 0);
    while (few < values->count && part < GT_FEW_HOLD / 100.0 * sum)
        part += values->value[few++];
    return few;
}

void gt_numbers_clear(struct gt_numbers *values)
{
    values->count = 0;
    values->is_sorted = false;
}

void gt_numbers_release(struct gt_numbers *values)
{
    free(values->value);
    *values = (struct gt_numbers){0};
}

/* ---- do two lists differ? ---- */

double gt_significance(struct gt_numbers *a, struct gt_numbers *b)
{
    enum { FEWEST = 4 };
    if (a->count < FEWEST || b->count < FEWEST)
        return NAN;
    gt_numbers_percentile(a, 0);
    gt_numbers_percentile(b, 0);
    double n = (double)a->count, m = (double)b->count, all = n + m, ranks = 0, ties = 0, rank = 1;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        double value = j >= b->count || (i < a->count && a->value[i] <= b->value[j]) ? a->value[i] : b->value[j];
        double of_a = 0, of_b = 0;
        for (; i < a->count && a->value[i] == value; i++)
            of_a++;
        for (; j < b->count && b->value[j] == value; j++)
            of_b++;
        double tied = of_a + of_b;
        ranks += of_a * (rank + (tied - 1) / 2);
        ties += tied * tied * tied - tied;
        rank += tied;
    }
    double statistic = ranks - n * (n + 1) / 2, mean = n * m / 2;
    double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (!(variance > 0))
        return NAN;
    double distance = fmax(fabs(statistic - mean) - 0.5, 0);
    return erfc(distance / sqrt(2 * variance));
}

static int compare_values(const void *a, const void *b)
{
    double x = **(double *const *)a, y = **(double *const *)b;
    return GT_ORDER(x, y);
}

int gt_significance_correct(double *p, size_t count)
{
    double **sorted = calloc(count + 1, sizeof *sorted), least = 0;
    size_t known = 0;
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            sorted[known++] = &p[i];
    GT_SORT(sorted, known, compare_values);
    for (size_t i = 0; i < known; i++)
        *sorted[i] = least = fmax(least, fmin(1, *sorted[i] * (double)(known - i)));
    free(sorted);
    return 0;
}

/* ---- spans ---- */

struct gt_spans gt_spans_room(struct gt_query *query, size_t capacity)
{
    struct gt_keyed_span *span = gt_query_memory(query, capacity, sizeof *span);
    return (struct gt_spans){.span = span, .capacity = span ? capacity : 0};
}

int gt_spans_add(struct gt_spans *spans, struct gt_keyed_span span)
{
    return GT_APPEND(spans, span, span);
}

int gt_spans_add_event(struct gt_spans *spans, const struct gt_trace *trace, size_t event,
                       const uint32_t key[GT_SPAN_KEYS])
{
    int64_t start = trace->events.start[event];
    struct gt_keyed_span span = {
        .start = start, .end = start + gt_trace_duration(&trace->events, event), .event = event};
    memcpy(span.key, key, sizeof span.key);
    return gt_spans_add(spans, span);
}

void gt_spans_sort_by(struct gt_spans *spans, int (*order)(const void *a, const void *b))
{
    GT_SORT(spans->span, spans->count, order);
}

static int by_key(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, GT_SPAN_KEYS), GT_ORDER(x->start, y->start),
                       GT_ORDER(x->end, y->end), GT_ORDER(x->event, y->event));
}

static int by_nesting(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    int order = GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start), GT_ORDER(y->end, x->end));
    return order ? order : by_key(a, b);
}

void gt_spans_sort(struct gt_spans *spans)
{
    gt_spans_sort_by(spans, by_key);
}

void gt_spans_sort_nested(struct gt_spans *spans)
{
    gt_spans_sort_by(spans, by_nesting);
}

size_t gt_spans_run(const struct gt_spans *spans, size_t from, int keys)
{
    size_t to = from;
    while (to < spans->count && gt_order_lists(spans->span[from].key, spans->span[to].key, (size_t)keys) == 0)
        to++;
    return to;
}

bool gt_spans_next(const struct gt_spans *spans, int keys, size_t *from, size_t *to)
{
    *from = *to;
    *to = gt_spans_run(spans, *from, keys);
    return *from < spans->count;
}

size_t gt_spans_behind(const struct gt_spans *spans, uint32_t key, int64_t time)
{
    return GT_SEARCH(0, spans->count, middle,
                     spans->span[middle].key[0] != key ? spans->span[middle].key[0] < key
                                                       : spans->span[middle].start <= time);
}

void gt_spans_unite(struct gt_spans *spans, int keys)
{
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++) {
        struct gt_keyed_span *last = count ? &spans->span[count - 1] : NULL, *next = &spans->span[i];
        if (!last || gt_order_lists(last->key, next->key, (size_t)keys) != 0 || next->start > last->end)
            spans->span[count++] = *next;
        else if (next->end > last->end)
            last->end = next->end;
    }
    spans->count = count;
}

int64_t gt_spans_total(const struct gt_spans *spans, size_t from, size_t to)
{
    int64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += spans->span[i].end - spans->span[i].start;
    return sum;
}

int64_t gt_spans_overlap(const struct gt_spans *spans, size_t from, size_t to, int64_t start, int64_t end)
{
    int64_t overlap = 0;
    for (size_t i = GT_SEARCH(from, to, middle, spans->span[middle].end <= start); i < to && spans->span[i].start < end;
         i++) {
        int64_t first = spans->span[i].start > start ? spans->span[i].start : start;
        int64_t last = spans->span[i].end < end ? spans->span[i].end : end;
        overlap += last > first ? last - first : 0;
    }
    return overlap;
}

void gt_spans_release(struct gt_spans *spans)
{
    free(spans->span);
    *spans = (struct gt_spans){0};
}

/* ---- lists of what took how long ---- */

size_t gt_list_top(const struct gt_analysis_input *input, size_t standard)
{
    int top = input->options->top;
    return top < 0 ? SIZE_MAX : top == 0 ? standard : (size_t)top;
}
