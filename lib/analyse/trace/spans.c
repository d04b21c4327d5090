#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/spans.h"
#include "base/grow.h"
#include "base/order.h"

int gt_spans_add(struct gt_spans *spans, struct gt_keyed_span span)
{
    struct gt_keyed_span *place = GT_GROW_LIST(spans, span);
    if (!place)
        return -ENOMEM;
    *place = span;
    return 0;
}

static int compare_keys(const struct gt_keyed_span *a, const struct gt_keyed_span *b, int keys)
{
    for (int i = 0; i < keys; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

static int compare_times(const struct gt_keyed_span *a, const struct gt_keyed_span *b)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return GT_ORDER(a->end, b->end);
}

static int by_key(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    int order = compare_keys(x, y, GT_SPAN_KEYS);
    if (!order)
        order = compare_times(x, y);
    return order ? order : GT_ORDER(x->event, y->event);
}

static int by_time(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    int order = compare_times(x, y);
    return order ? order : by_key(a, b);
}

static int by_nesting(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    int order = compare_keys(x, y, 1);
    if (!order && x->start != y->start)
        order = x->start < y->start ? -1 : 1;
    if (!order)
        order = GT_ORDER(y->end, x->end);
    return order ? order : by_key(a, b);
}

void gt_spans_sort(struct gt_spans *spans)
{
    if (spans->count)
        qsort(spans->span, spans->count, sizeof *spans->span, by_key);
}

void gt_spans_sort_by_time(struct gt_spans *spans)
{
    if (spans->count)
        qsort(spans->span, spans->count, sizeof *spans->span, by_time);
}

void gt_spans_sort_nested(struct gt_spans *spans)
{
    if (spans->count)
        qsort(spans->span, spans->count, sizeof *spans->span, by_nesting);
}

size_t gt_spans_run(const struct gt_spans *spans, size_t from, int keys)
{
    size_t to = from;
    while (to < spans->count && compare_keys(&spans->span[from], &spans->span[to], keys) == 0)
        to++;
    return to;
}

void gt_spans_unite(struct gt_spans *spans, int keys)
{
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++) {
        struct gt_keyed_span *last = count ? &spans->span[count - 1] : NULL, *next = &spans->span[i];
        if (!last || compare_keys(last, next, keys) != 0 || next->start > last->end)
            spans->span[count++] = *next;
        else if (next->end > last->end)
            last->end = next->end;
    }
    spans->count = count;
}

int64_t gt_spans_overlap(const struct gt_spans *spans, size_t from, size_t to, int64_t start, int64_t end)
{
    size_t low = from, high = to;
    int64_t overlap = 0;
    while (low < high) { /* the first that ends behind `start` */
        size_t middle = low + (high - low) / 2;
        if (spans->span[middle].end <= start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < to && spans->span[low].start < end; low++) {
        int64_t first = spans->span[low].start > start ? spans->span[low].start : start;
        int64_t last = spans->span[low].end < end ? spans->span[low].end : end;
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

static double longest(const struct gt_spans *spans, size_t from, size_t to)
{
    int64_t longest = 0;
    for (size_t i = from; i < to; i++)
        if (spans->span[i].end - spans->span[i].start > longest)
            longest = spans->span[i].end - spans->span[i].start;
    return (double)longest;
}

static double total(const struct gt_spans *spans, size_t from, size_t to)
{
    int64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += spans->span[i].end - spans->span[i].start;
    return (double)sum;
}

static double mean(const struct gt_spans *spans, size_t from, size_t to)
{
    return total(spans, from, to) / (double)(to - from);
}

static double number_of(const struct gt_spans *spans, size_t from, size_t to)
{
    (void)spans;
    return (double)(to - from);
}

static double no_weight(const struct gt_spans *spans, size_t from, size_t to)
{
    (void)spans, (void)from, (void)to;
    return 0;
}

static const struct {
    const char *name;
    double (*weight)(const struct gt_spans *spans, size_t from, size_t to);
} orders[] = {{"total", total}, {"count", number_of}, {"mean", mean}, {"max", longest}, {"name", no_weight}};

struct weighed {
    struct gt_list_row row;
    uint32_t group;
    double weight;
};

static int compare_rows(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return GT_ORDER(x->row.from, y->row.from);
}

size_t gt_list_top(const struct gt_analysis_input *input, size_t standard)
{
    int top = input->options->top;
    return top < 0 ? SIZE_MAX : top == 0 ? standard : (size_t)top;
}

static int find_order(const struct gt_analysis_input *input, struct gt_error *error)
{
    const char *key = input->options->key;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (!key || strcmp(orders[i].name, key) == 0)
            return (int)i;
    return gt_error_set(error, EINVAL, "key '%s' is not one of total, count, mean, max, name", key);
}

struct gt_list_row *gt_list_rows(const struct gt_analysis_input *input, const struct gt_spans *spans, int keys,
                                 size_t *count, int *status, struct gt_error *error)
{
    size_t rows = 0, kept = 0, in_group = 0;
    int order = find_order(input, error);
    struct weighed *row = malloc((spans->count + 1) * sizeof *row);
    struct gt_list_row *ret = order < 0 || !row ? NULL : malloc((spans->count + 1) * sizeof *ret);
    *status = order < 0 ? order : ret ? 0 : -ENOMEM;
    for (size_t from = 0, to; ret && from < spans->count; from = to) {
        to = gt_spans_run(spans, from, keys);
        row[rows++] = (struct weighed){
            {from, to, total(spans, from, to)}, spans->span[from].key[0], orders[order].weight(spans, from, to)};
    }
    if (ret)
        qsort(row, rows, sizeof *row, compare_rows);
    for (size_t i = 0; ret && i < rows; i++) {
        in_group = i && row[i].group == row[i - 1].group ? in_group + 1 : 0;
        if (in_group < gt_list_top(input, 20))
            ret[kept++] = row[i].row;
    }
    free(row);
    *count = kept;
    return ret;
}

int gt_list_lengths(struct gt_numbers *values, const struct gt_spans *spans, size_t from, size_t to)
{
    int status = 0;
    gt_numbers_clear(values);
    for (size_t i = from; i < to && status >= 0; i++)
        status = gt_numbers_add(values, (double)(spans->span[i].end - spans->span[i].start) / 1e3);
    return status;
}
