/* A stretch of time to be drawn: one picture for each dimension of system metrics, with the events as bands behind
 * it. */
#include "analyse/trace/window.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/gpu/lists.h"
#include "base/number.h"
#include "trace/tables.h"

enum { MOST_BANDS = 500 };

struct window {
    const struct gt_trace *trace;
    int64_t start, end;
    struct gt_spans events, bands; /* key: name */
    struct gt_node *root;
};

static double seconds(const struct window *window, int64_t time)
{
    return (double)(time - window->start) / 1e9;
}

/* Events by name; what lasts longer than the window is cut at its ends. */
static int take_events(struct window *window, const char *const *names, struct gt_error *error)
{
    const struct gt_trace_events *events = &window->trace->events;
    struct gt_trace_rows rows = {window->start, window->end, false, names, true};
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, window->trace, &rows, 1, error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        int64_t start = events->start[i], end = start + gt_trace_duration(events, i);
        if (gt_row_filter_event(&filter, i))
            status = gt_spans_add(&window->events,
                                  (struct gt_keyed_span){.key = {events->name[i]},
                                                         .start = start > window->start ? start : window->start,
                                                         .end = end < window->end ? end : window->end,
                                                         .event = i});
    }
    gt_row_filter_release(&filter);
    gt_spans_sort(&window->events);
    return status < 0 ? gt_error_system(error, -status, "profile") : 0;
}

static void add_event_table(struct window *window)
{
    struct gt_table *table = gt_analysis_table(window->root, "events", "Events",
                                               "text:framework_metric integer:count number:total_us number:longest_us");
    for (size_t from = 0, to = 0; gt_spans_next(&window->events, 1, &from, &to);) {
        double total = 0, longest = 0;
        for (size_t i = from; i < to; i++) {
            double length = (double)(window->events.span[i].end - window->events.span[i].start) / 1e3;
            total += length;
            longest = fmax(longest, length);
        }
        GT_CELLS(table, gt_trace_text(window->trace, window->events.span[from].key[0]), to - from, total, longest);
    }
    gt_analysis_empty(window->root, table, "no events of that name in this time");
}

static int by_length(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    int64_t one = x->end - x->start, other = y->end - y->start;
    return GT_ORDER_BY(GT_ORDER(other, one), GT_ORDER(x->start, y->start));
}

static int by_time(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->start, y->start), GT_ORDER(x->end, y->end), GT_ORDER(x->key[0], y->key[0]),
                       GT_ORDER(x->event, y->event));
}

/* Events that touch become one band; where there are many bands the longest are drawn. */
static int make_bands(struct window *window)
{
    int status = 0;
    for (size_t i = 0; i < window->events.count && status >= 0; i++)
        status = gt_spans_add(&window->bands, window->events.span[i]);
    if (status < 0)
        return status;
    gt_spans_unite(&window->bands, 1);
    gt_spans_sort_by(&window->bands, by_length);
    if (window->bands.count > MOST_BANDS)
        window->bands.count = MOST_BANDS;
    gt_spans_sort_by(&window->bands, by_time);
    return 0;
}

static void add_bands(const struct window *window, struct gt_node *picture)
{
    for (size_t i = 0; i < window->bands.count; i++) {
        const struct gt_keyed_span *band = &window->bands.span[i];
        gt_series_band(picture, 0, gt_trace_text(window->trace, band->key[0]), seconds(window, band->start),
                       seconds(window, band->end));
    }
}

/* ---- samples ---- */

/* The picture of each dimension and the line of each series in it, made when first met. */
struct pictures {
    struct gt_node **of_string;
    int *line; /* of a series, + 1 */
};

static struct gt_node *picture_of(struct window *window, struct pictures *pictures, uint32_t series)
{
    const struct gt_trace *trace = window->trace;
    const struct gt_trace_series *about = &trace->series[series];
    struct gt_node **picture = &pictures->of_string[about->dimension];
    const char *dimension = gt_trace_text(trace, about->dimension);
    if (!*picture) {
        *picture = gt_report_series(window->root, dimension, dimension, "seconds", "", 0);
        add_bands(window, *picture);
    }
    if (!pictures->line[series]) {
        char title[200];
        snprintf(title, sizeof title, "%s %s", gt_trace_text(trace, about->node), gt_trace_text(trace, about->name));
        pictures->line[series] = 1 + gt_series_line(*picture, title, title);
    }
    return *picture;
}

static int by_series_and_time(const void *a, const void *b, void *context)
{
    const struct gt_trace_samples *samples = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return GT_ORDER_BY(GT_ORDER(samples->series[x], samples->series[y]), GT_ORDER(samples->time[x], samples->time[y]),
                       GT_ORDER(x, y));
}

static void draw(struct window *window, struct pictures *pictures, uint32_t *order, const struct gt_row_filter *filter)
{
    const struct gt_trace_samples *samples = &window->trace->samples;
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (gt_row_filter_sample(filter, i) && samples->series[i] != GT_TRACE_NONE)
            order[count++] = (uint32_t)i;
    if (count)
        qsort_r(order, count, sizeof *order, by_series_and_time, (void *)(uintptr_t)samples);
    for (size_t i = 0; i < count; i++) {
        uint32_t series = samples->series[order[i]];
        struct gt_node *picture = picture_of(window, pictures, series);
        gt_series_point(picture, pictures->line[series] - 1, seconds(window, samples->time[order[i]]),
                        samples->value[order[i]]);
    }
    if (!count)
        gt_report_text(window->root, "reason", "Utilization", "no system metrics of that dimension in this time");
}

static int draw_samples(struct window *window, const char *const *dimensions, struct gt_error *error)
{
    const struct gt_trace *trace = window->trace;
    struct gt_trace_rows rows = {window->start, window->end, false, dimensions, true};
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, window->trace, &rows, 1, error);
    if (status < 0)
        return status;
    struct pictures pictures = {calloc(trace->strings.count + (size_t)1, sizeof *pictures.of_string),
                                calloc(trace->series_count + 1, sizeof *pictures.line)};
    uint32_t *order = calloc(trace->samples.count + 1, sizeof *order);
    bool has_memory = pictures.of_string && pictures.line && order;
    if (has_memory)
        draw(window, &pictures, order, &filter);
    free(pictures.of_string);
    free(pictures.line);
    free(order);
    gt_row_filter_release(&filter);
    return has_memory ? 0 : gt_error_system(error, ENOMEM, "profile");
}

int gt_trace_window(const struct gt_trace *trace, int64_t start, int64_t end, const char *const *events,
                    const char *const *dimensions, struct gt_report **ret, struct gt_error *error)
{
    struct window window = {.trace = trace, .start = start, .end = end};
    struct gt_report *report = NULL;
    if (start >= end)
        return gt_error_set(error, EINVAL, "the window ends before it starts");
    int status = gt_report_new(&report, "profile_window", error);
    if (status >= 0) {
        window.root = &report->root;
        status = take_events(&window, events, error);
    }
    if (status >= 0 && make_bands(&window) < 0)
        status = gt_error_system(error, ENOMEM, "profile");
    if (status >= 0)
        status = draw_samples(&window, dimensions, error);
    if (status >= 0) {
        add_event_table(&window);
        status = gt_report_failed(report) ? gt_error_system(error, ENOMEM, "profile") : 0;
    }
    gt_spans_release(&window.events);
    gt_spans_release(&window.bands);
    if (status >= 0)
        *ret = report;
    else
        gt_report_free(report);
    return status;
}

/* ---- overlaps ----
 * Events in given spans of time: sums over spans by two look-ups for each event, however many spans there are. */

__extension__ typedef __int128 wide; /* sums of times over many asked_spans */

static const struct gt_column_kind overlap_columns[] = {
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

/* Spans, and moments, which are asked_spans without length. */
struct asked_spans {
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
    GT_SORT(bounds->time, bounds->count, gt_order_int64s);
    for (size_t i = 0; i < bounds->count; i++)
        bounds->sum[i + 1] = bounds->sum[i] + bounds->time[i];
}

/* How many lie count_before a moment. */
static size_t count_before(const struct bounds *bounds, int64_t moment)
{
    return GT_SEARCH(0, bounds->count, middle, bounds->time[middle] < moment);
}

static int open_spans(struct asked_spans *ret, const int64_t (*span)[2], size_t count)
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

static void close_spans(struct asked_spans *asked_spans)
{
    struct bounds *const all[] = {&asked_spans->start, &asked_spans->end, &asked_spans->moment};
    for (size_t i = 0; i < 3; i++) {
        free(all[i]->time);
        free(all[i]->sum);
    }
}

/* How much of all asked_spans lies count_before a moment. */
static wide covered(const struct asked_spans *asked_spans, int64_t moment)
{
    size_t begun = count_before(&asked_spans->start, moment), ended = count_before(&asked_spans->end, moment);
    return (wide)moment * (wide)(begun - ended) - asked_spans->start.sum[begun] + asked_spans->end.sum[ended];
}

static double overlap(const struct asked_spans *asked_spans, int64_t start, int64_t end)
{
    size_t moments = count_before(&asked_spans->moment, end) - count_before(&asked_spans->moment, start);
    return (double)(covered(asked_spans, end) - covered(asked_spans, start)) + (double)moments * (double)(end - start);
}

/* Does it touch a span at all? Events without length lie in asked_spans, too, and take no time. */
static bool touches(const struct asked_spans *asked_spans, int64_t start, int64_t end)
{
    int64_t after = end > start ? end : start + 1;
    return count_before(&asked_spans->start, after) > count_before(&asked_spans->end, start + 1) ||
           count_before(&asked_spans->moment, after) > count_before(&asked_spans->moment, start);
}

/* Keys: process, name; one for each event that touches a span. */
static int collect_touching(const struct gt_trace *trace, const struct asked_spans *asked_spans,
                            const char *const *names, struct gt_spans *found, struct gt_error *error)
{
    const struct gt_trace_events *events = &trace->events;
    struct gt_trace_rows all = {.start = INT64_MIN, .end = INT64_MAX, .names = names};
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, trace, &all, 1, error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        int64_t start = events->start[i], end = start + gt_trace_duration(events, i);
        if (gt_row_filter_event(&filter, i) && touches(asked_spans, start, end))
            status = gt_spans_add_event(found, trace, i,
                                        GT_SPAN_KEY(gt_trace_process_of(trace, i)->name, events->name[i]));
    }
    gt_row_filter_release(&filter);
    gt_spans_sort(found);
    return status < 0 ? gt_error_system(error, -status, "profile") : 0;
}

int gt_trace_overlaps(const struct gt_trace *trace, const int64_t (*span)[2], size_t count, const char *const *names,
                      struct gt_table **ret, struct gt_error *error)
{
    enum { COLUMNS = sizeof overlap_columns / sizeof *overlap_columns };
    struct asked_spans asked_spans = {0};
    struct gt_spans found = {0};
    int status = open_spans(&asked_spans, span, count);
    status = status < 0 ? gt_error_system(error, -status, "profile")
                        : collect_touching(trace, &asked_spans, names, &found, error);
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, overlap_columns, COLUMNS);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&found, 2, &from, &to);) {
        double sum = 0;
        for (size_t i = from; i < to; i++)
            sum += overlap(&asked_spans, found.span[i].start, found.span[i].end);
        for (int key = 1; key >= 0; key--)
            gt_table_choice(data, found.span[from].key[key], gt_trace_text(trace, found.span[from].key[key]));
        gt_table_number(data, sum / 1e3);
    }
    gt_spans_release(&found);
    close_spans(&asked_spans);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, overlap_columns, COLUMNS, "profile", error);
    gt_table_free(data);
    return status;
}
