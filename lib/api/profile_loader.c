/* What stands out of a data loader's work. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/dataloader.h"
#include "analyse/trace/numbers.h"
#include "base/table.h"
#include "api/profile.h"
#include "base/order.h"

static const struct gt_column_kind columns[] = {
    {"previous_start", GT_CELL_TIME, false}, {"start_time", GT_CELL_TIME, false},
    {"end_time", GT_CELL_TIME, false},       {"duration_us", GT_CELL_NUMBER, true},
    {"worker_id", GT_CELL_INTEGER, false},   {"framework_metric", GT_CELL_TEXT, false},
    {"nodeID", GT_CELL_TEXT, false},
};

static int by_length(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    int64_t one = x->end - x->start, other = y->end - y->start;
    if (one != other)
        return one > other ? -1 : 1;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : GT_ORDER(x->key[0], y->key[0]);
}

/* Keep those of one part that take twice the median of their node. */
static int keep_outliers(struct gt_spans *spans, uint32_t part)
{
    struct gt_numbers lengths = {0};
    size_t kept = 0;
    int status = 0;
    for (size_t from = 0, to; from < spans->count && status >= 0; from = to) {
        to = gt_spans_run(spans, from, 2);
        if (spans->span[from].key[1] != part)
            continue;
        gt_numbers_clear(&lengths);
        for (size_t i = from; i < to && status >= 0; i++)
            status = gt_numbers_add(&lengths, (double)(spans->span[i].end - spans->span[i].start));
        double least = 2 * gt_numbers_percentile(&lengths, 50);
        for (size_t i = from; i < to; i++)
            if (least > 0 && (double)(spans->span[i].end - spans->span[i].start) >= least)
                spans->span[kept++] = spans->span[i];
    }
    gt_numbers_release(&lengths);
    spans->count = kept;
    return status;
}

static int64_t worker_of(const struct gt_trace *trace, size_t event)
{
    const struct gt_trace_argument *argument = gt_trace_argument(trace, event, GT_PROFILE_WORKER_ID);
    return argument && argument->text == GT_TRACE_NONE && fabs(argument->number) < 9e15 ? (int64_t)argument->number
                                                                                        : -1;
}

/* A batch is told by the fetch that ends it. */
static void put_row(struct gt_table *data, const struct gt_trace *trace, const struct gt_keyed_span *span)
{
    const struct gt_trace_events *events = &trace->events;
    size_t event = span->key[1] == GT_LOADER_BATCH ? span->key[3] : span->event;
    uint32_t node = gt_trace_node_of(trace, gt_trace_process_of(trace, event)->file);
    gt_table_time(data, span->start);
    gt_table_time(data, events->start[event]);
    gt_table_time(data, events->start[event] + events->duration[event]);
    gt_table_number(data, (double)(span->end - span->start) / 1e3);
    gt_table_integer(data, worker_of(trace, event));
    gt_table_choice(data, events->name[event], gt_trace_text(trace, events->name[event]));
    gt_table_choice(data, node, gt_trace_text(trace, node));
}

static int part_number(const char *part, struct gt_error *error)
{
    for (int i = 0; i < GT_LOADER_PARTS; i++)
        if (strcmp(gt_loader_part_names[i], part) == 0)
            return i;
    return gt_error_set(error, EINVAL, "a data loader has no part '%s': initialization, worker, get_next, batch", part);
}

int gt_profile_loader_outliers(const struct gt_profile *profile, const char *part, struct gt_table **ret,
                               struct gt_error *error)
{
    static const struct gt_profile_options defaults = {.size = sizeof defaults};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    struct gt_analysis_input input;
    struct gt_spans spans = {0};
    int number = part_number(part, error);
    if (number < 0)
        return number;
    int status = gt_analysis_open(&input, profile->trace, &defaults);
    if (status >= 0)
        status = gt_loader_spans(&input, &spans);
    gt_analysis_close(&input);
    if (status >= 0)
        status = keep_outliers(&spans, (uint32_t)number);
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, columns, COLUMNS);
    if (spans.count)
        qsort(spans.span, spans.count, sizeof *spans.span, by_length);
    for (size_t i = 0; i < spans.count && status >= 0; i++)
        put_row(data, profile->trace, &spans.span[i]);
    gt_spans_release(&spans);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, columns, COLUMNS, "profile", error);
    gt_table_free(data);
    return gt_error_system(error, -status, "profile");
}
