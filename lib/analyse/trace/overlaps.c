/* Events in given spans of time: sums over spans by two look-ups for each event, however many spans there are. */
#include "analyse/trace/overlaps.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/trace/spans.h"
#include "base/table.h"
#include "base/number.h"
#include "trace/rows.h"

__extension__ typedef __int128 wide; /* sums of times over many spans */

static const struct gt_column_kind columns[] = {
    {"framework_metric", GT_CELL_TEXT, false},
    {"process", GT_CELL_TEXT, false},
    {"overlap_us", GT_CELL_NUMBER, true},
};

/* Sorted times, each with the sum of all up to it. */
struct bounds {
    int64_t *time;
    wide *sum;
    size_t count;
};

/* Spans, and moments, which are spans without length. */
struct spans {
    struct bounds start, end, moment;
};

static int open_bounds(struct bounds *bounds, size_t capacity)
{
    bounds->time = calloc(capacity + 1, sizeof *bounds->time);
    bounds->sum = calloc(capacity + 1, sizeof *bounds->sum);
    return bounds->time && bounds->sum ? 0 : -ENOMEM;
}

static void sort_bounds(struct bounds *bounds)
{
    if (bounds->count)
        qsort(bounds->time, bounds->count, sizeof *bounds->time, gt_order_int64s);
    for (size_t i = 0; i < bounds->count; i++)
        bounds->sum[i + 1] = bounds->sum[i] + bounds->time[i];
}

/* How many lie before a moment. */
static size_t before(const struct bounds *bounds, int64_t moment)
{
    size_t low = 0, high = bounds->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bounds->time[middle] < moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int open_spans(struct spans *ret, const int64_t (*span)[2], size_t count)
{
    struct bounds *const all[] = {&ret->start, &ret->end, &ret->moment};
    for (size_t i = 0; i < 3; i++)
        if (open_bounds(all[i], count) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (span[i][0] == span[i][1])
            ret->moment.time[ret->moment.count++] = span[i][0];
        if (span[i][0] >= span[i][1])
            continue;
        ret->start.time[ret->start.count++] = span[i][0];
        ret->end.time[ret->end.count++] = span[i][1];
    }
    for (size_t i = 0; i < 3; i++)
        sort_bounds(all[i]);
    return 0;
}

static void close_spans(struct spans *spans)
{
    struct bounds *const all[] = {&spans->start, &spans->end, &spans->moment};
    for (size_t i = 0; i < 3; i++) {
        free(all[i]->time);
        free(all[i]->sum);
    }
}

/* How much of all spans lies before a moment. */
static wide covered(const struct spans *spans, int64_t moment)
{
    size_t begun = before(&spans->start, moment), ended = before(&spans->end, moment);
    return (wide)moment * (wide)(begun - ended) - spans->start.sum[begun] + spans->end.sum[ended];
}

static double overlap(const struct spans *spans, int64_t start, int64_t end)
{
    size_t moments = before(&spans->moment, end) - before(&spans->moment, start);
    return (double)(covered(spans, end) - covered(spans, start)) + (double)moments * (double)(end - start);
}

/* Does it touch a span at all? Events without length lie in spans, too, and take no time. */
static bool touches(const struct spans *spans, int64_t start, int64_t end)
{
    int64_t after = end > start ? end : start + 1;
    return before(&spans->start, after) > before(&spans->end, start + 1) ||
           before(&spans->moment, after) > before(&spans->moment, start);
}

/* Keys: process, name; one for each event that touches a span. */
static int collect(const struct gt_trace *trace, const struct spans *spans, const char *const *names,
                   struct gt_spans *found, struct gt_error *error)
{
    const struct gt_trace_events *events = &trace->events;
    struct gt_trace_rows all = {.start = INT64_MIN, .end = INT64_MAX, .names = names};
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, trace, &all, 1, error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        int64_t start = events->start[i], end = start + events->duration[i];
        if (gt_row_filter_event(&filter, i) && touches(spans, start, end))
            status = gt_spans_add(found,
                                  (struct gt_keyed_span){.key = {gt_trace_process_of(trace, i)->name, events->name[i]},
                                                         .start = start,
                                                         .end = end,
                                                         .event = i});
    }
    gt_row_filter_release(&filter);
    gt_spans_sort(found);
    return status < 0 ? gt_error_system(error, -status, "profile") : 0;
}

int gt_trace_overlaps(const struct gt_trace *trace, const int64_t (*span)[2], size_t count, const char *const *names,
                      struct gt_table **ret, struct gt_error *error)
{
    enum { COLUMNS = sizeof columns / sizeof *columns };
    struct spans spans = {0};
    struct gt_spans found = {0};
    int status = open_spans(&spans, span, count);
    status = status < 0 ? gt_error_system(error, -status, "profile") : collect(trace, &spans, names, &found, error);
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, columns, COLUMNS);
    for (size_t from = 0, to; from < found.count && status >= 0; from = to) {
        double sum = 0;
        to = gt_spans_run(&found, from, 2);
        for (size_t i = from; i < to; i++)
            sum += overlap(&spans, found.span[i].start, found.span[i].end);
        for (int key = 1; key >= 0; key--)
            gt_table_choice(data, found.span[from].key[key], gt_trace_text(trace, found.span[from].key[key]));
        gt_table_number(data, sum / 1e3);
    }
    gt_spans_release(&found);
    close_spans(&spans);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, columns, COLUMNS, "profile", error);
    gt_table_free(data);
    return status;
}
