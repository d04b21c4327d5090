#include "analyse/trace/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

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
