/* The data loader: how long initialization, workers, fetching and whole batches take, and which stand out. */
#include "analyse/trace/dataloader.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/step_spans.h"
#include "base/number.h"
#include "trace/tables.h"

/* ---- spans ---- */

static const char *const part_names[GT_LOADER_PARTS] = {"initialization", "worker", "get_next", "batch"};

/* By the event's name or its process's (the phase, in SMDebug's files). The last are TensorFlow's. */
static const struct {
    const char *pattern;
    enum gt_loader_part part;
} names[] = {
    {"DataLoaderIterInitialize", GT_LOADER_INITIALIZATION},
    {"*DataLoaderIter.__init__", GT_LOADER_INITIALIZATION},
    {"DataLoaderWorker", GT_LOADER_WORKER},
    {"*DataLoaderIter::GetNext", GT_LOADER_NEXT},
    {"enumerate(DataLoader)*", GT_LOADER_NEXT},
    {"enumerate(DataPipe)*", GT_LOADER_NEXT},
    {"DataIterator", GT_LOADER_NEXT},
    {"IteratorGetNext*", GT_LOADER_NEXT},
};

/* A trace has few names and many events: what was found is kept. */
static enum gt_loader_part part_of(const struct gt_analysis_input *input, uint32_t string)
{
    if (string >= input->trace->strings.count)
        return GT_LOADER_BATCH;
    const char *name = gt_trace_text(input->trace, string);
    if (input->loader[string])
        return (enum gt_loader_part)(input->loader[string] - 1);
    input->loader[string] = 1 + GT_LOADER_BATCH;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fnmatch(names[i].pattern, name, 0) == 0) {
            input->loader[string] = (unsigned char)(1 + names[i].part);
            break;
        }
    return (enum gt_loader_part)(input->loader[string] - 1);
}

enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    bool is_other = work == GT_WORK_OTHER || work == GT_WORK_ANNOTATION;
    if (!gt_trace_lasts(input->trace, event) || (!is_other && work != GT_WORK_OPERATOR))
        return GT_LOADER_BATCH;
    enum gt_loader_part part = part_of(input, input->trace->events.name[event]);
    if (part != GT_LOADER_BATCH || !is_other) /* ranges of programs were operators until PyTorch 1.12 */
        return part;
    return part_of(input, gt_trace_process_of(input->trace, event)->name);
}

/* In SMDebug's timelines a process is a phase, and the node tells the process, unless the event tells it itself. */
static uint32_t process_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_track *track = &input->trace->track[input->trace->events.track[event]];
    if (track->real_process != GT_TRACE_NONE)
        return gt_analysis_place(input, track->real_process);
    if (strcmp(gt_trace_file_of(input->trace, event)->format, "smdebug") == 0)
        return GT_TRACE_NONE;
    return gt_analysis_place(input, input->trace->process[track->process].own);
}

/* Keys: node, process, part. */
static int collect(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        enum gt_loader_part part = gt_loader_part(input, i);
        if (part == GT_LOADER_BATCH || !gt_trace_is_slice(input->trace, i))
            continue;
        status = gt_spans_add_event(spans, input->trace, i,
                                    GT_SPAN_KEY(gt_analysis_node(input, i), process_of(input, i), part));
    }
    return status;
}

/* ---- ends of epochs, which tools do not write down ---- */

struct fetch {
    uint32_t track;
    int64_t start, end;
    size_t number; /* in the list that was given */
    bool has_operators, by_workers;
    size_t step; /* that it begins in; SIZE_MAX: none */
};

static int by_track(const void *a, const void *b)
{
    const struct fetch *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->track, y->track), GT_ORDER(x->start, y->start));
}

/* The last fetch of the track that begins before a time. */
static struct fetch *fetch_before(struct fetch *fetch, size_t count, uint32_t track, int64_t time)
{
    struct fetch wanted = {.track = track, .start = time};
    size_t low = GT_SEARCH(0, count, middle, by_track(&fetch[middle], &wanted) <= 0);
    return low && fetch[low - 1].track == track ? &fetch[low - 1] : NULL;
}

static void find_operators(const struct gt_analysis_input *input, struct fetch *fetch, size_t count)
{
    const struct gt_trace_events *events = &input->trace->events;
    for (size_t i = 0; i < events->count; i++) {
        if (gt_analysis_work(input, i) != GT_WORK_OPERATOR || !gt_trace_lasts(input->trace, i))
            continue;
        struct fetch *before = fetch_before(fetch, count, events->track[i], events->start[i]);
        if (before && events->start[i] < before->end)
            before->has_operators = true;
    }
}

static int by_node(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start));
}

static size_t step_at(const struct gt_spans *steps, uint32_t node, int64_t time)
{
    size_t low = gt_spans_behind(steps, node, time);
    bool is_in = low && steps->span[low - 1].key[0] == node && steps->span[low - 1].end > time;
    return is_in ? low - 1 : SIZE_MAX;
}

/* Fetches from..to are of one process. Where most of them do work (that of workers is elsewhere), one that does none had nothing to
 * fetch; where most steps have one fetch, one that is followed by another in its step had none either. */
static void judge_fetches(const struct fetch *const *of, size_t from, size_t to, bool *is_end)
{
    size_t working = 0, alone = 0, followed = 0;
    for (size_t i = from; i < to; i++) {
        bool is_followed = i + 1 < to && of[i]->step == of[i + 1]->step;
        working += of[i]->has_operators && !of[i]->by_workers;
        followed += of[i]->step != SIZE_MAX && is_followed;
        alone += of[i]->step != SIZE_MAX && !is_followed;
    }
    for (size_t i = from; i < to; i++)
        is_end[i] = 2 * working > to - from ? !of[i]->has_operators
                                            : alone > 2 * followed && of[i]->step != SIZE_MAX && i + 1 < to &&
                                                  of[i]->step == of[i + 1]->step;
}

/* Which fetches found nothing more: the epoch ended. They are sorted by keys 0 and 1, node and process, and by start.
 * Returns 0 or -ENOMEM. */
static int find_ends(const struct gt_analysis_input *input, const struct gt_spans *fetches, bool *is_end)
{
    struct fetch *fetch = calloc(fetches->count + 1, sizeof *fetch);
    const struct fetch **of = calloc(fetches->count + 1, sizeof *of);
    struct gt_spans steps = gt_step_spans(input);
    int status = fetch && of ? gt_query_status(input->query) : -ENOMEM;
    gt_spans_sort_by(&steps, by_node);
    for (size_t i = 0; i < fetches->count && status >= 0; i++) {
        const struct gt_keyed_span *span = &fetches->span[i];
        const char *name = gt_trace_text(input->trace, input->trace->events.name[span->event]);
        fetch[i] = (struct fetch){.track = input->trace->events.track[span->event],
                                  .start = span->start,
                                  .end = span->end,
                                  .number = i,
                                  .by_workers = strstr(name, "MultiProcessing") != NULL,
                                  .step = step_at(&steps, span->key[0], span->start)};
    }
    if (status >= 0) {
        GT_SORT(fetch, fetches->count, by_track);
        find_operators(input, fetch, fetches->count);
        for (size_t i = 0; i < fetches->count; i++)
            of[fetch[i].number] = &fetch[i];
        for (size_t from = 0, to = 0; gt_spans_next(fetches, 2, &from, &to);)
            judge_fetches(of, from, to, is_end);
    }
    free(of);
    free(fetch);
    return status;
}

/* Takes out the fetches that ended an epoch. Keys: node, process, part. */
static int leave_out_ends(const struct gt_analysis_input *input, struct gt_spans *spans, struct gt_spans *ends)
{
    struct gt_spans fetches = {0};
    size_t kept = 0, at = 0;
    int status = 0;
    gt_spans_sort(spans);
    for (size_t i = 0; i < spans->count && status >= 0; i++)
        if (spans->span[i].key[2] == GT_LOADER_NEXT)
            status = gt_spans_add(&fetches, spans->span[i]);
    bool *is_end = calloc(fetches.count + 1, sizeof *is_end);
    status = status < 0 ? status : is_end ? find_ends(input, &fetches, is_end) : -ENOMEM;
    for (size_t i = 0; i < spans->count && status >= 0; i++) {
        bool ends_epoch = spans->span[i].key[2] == GT_LOADER_NEXT && is_end[at++];
        if (ends_epoch)
            status = gt_spans_add(ends, spans->span[i]);
        else
            spans->span[kept++] = spans->span[i];
    }
    spans->count = status < 0 ? spans->count : kept;
    gt_spans_release(&fetches);
    free(is_end);
    return status;
}

static int add_to_line(struct gt_spans *line, struct gt_keyed_span span, enum gt_loader_part part)
{
    span.key[2] = span.key[3] = 0;
    span.end = part;
    return part == GT_LOADER_WORKER ? 0 : gt_spans_add(line, span);
}

/* A batch is what lies between two fetches that are neighbours: the end of an epoch, and the making of an iterator, part them. */
static int add_batches(const struct gt_analysis_input *input, struct gt_spans *spans, const struct gt_spans *ends)
{
    struct gt_spans line = {0};
    int status = 0;
    for (size_t i = 0; i < spans->count && status >= 0; i++)
        status = add_to_line(&line, spans->span[i], (enum gt_loader_part)spans->span[i].key[2]);
    for (size_t i = 0; i < ends->count && status >= 0; i++)
        status = add_to_line(&line, ends->span[i], GT_LOADER_BATCH);
    gt_spans_sort(&line);
    for (size_t i = 1; i < line.count && status >= 0; i++) {
        const struct gt_keyed_span *last = &line.span[i - 1], *next = &line.span[i];
        bool same = last->key[0] == next->key[0] && last->key[1] == next->key[1] &&
                    gt_analysis_recording(input, last->event) == gt_analysis_recording(input, next->event);
        if (same && last->end == GT_LOADER_NEXT && (next->end == GT_LOADER_NEXT || next->end == GT_LOADER_BATCH))
            status = gt_spans_add(spans, (struct gt_keyed_span){.key = {next->key[0], next->key[1], GT_LOADER_BATCH,
                                                                        (uint32_t)next->event},
                                                                .start = last->start,
                                                                .end = next->start,
                                                                .event = last->event});
    }
    gt_spans_release(&line);
    return status;
}

int gt_loader_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    struct gt_spans ends = {0};
    int status = collect(input, spans);
    if (status >= 0)
        status = leave_out_ends(input, spans, &ends);
    if (status >= 0)
        status = add_batches(input, spans, &ends);
    gt_spans_release(&ends);
    for (size_t i = 0; i < spans->count; i++) {
        uint32_t process = spans->span[i].key[1];
        spans->span[i].key[1] = spans->span[i].key[2];
        spans->span[i].key[2] = process;
    }
    gt_spans_sort(spans);
    return status;
}

int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        enum gt_loader_part part = gt_loader_part(input, i);
        if (part == GT_LOADER_INITIALIZATION || part == GT_LOADER_NEXT)
            status = gt_spans_add_event(spans, input->trace, i, GT_SPAN_KEY(gt_analysis_node(input, i)));
    }
    gt_spans_sort(spans);
    gt_spans_unite(spans, 1);
    return status;
}

/* ---- the report ---- */

static const char *const arguments[] = {GT_TABLE_ARGUMENTS, NULL};

/* A number as text, or NULL. */
static const char *argument_text(const struct gt_analysis_input *input, size_t event, uint32_t key, char text[32])
{
    const struct gt_trace_argument *argument = gt_trace_argument(input->trace, event, key);
    if (!argument || (argument->text == GT_TRACE_NONE && isnan(argument->number)))
        return NULL;
    if (argument->text != GT_TRACE_NONE)
        return gt_trace_text(input->trace, argument->text);
    if (key == GT_TABLE_PIN_MEMORY)
        return argument->number != 0 ? "true" : "false";
    snprintf(text, 32, "%.0f", argument->number);
    return text;
}

int gt_loader_outlier(struct gt_numbers *lengths, double *ret)
{
    const double deviations = 3 * 1.4826;
    double deviation, median = gt_numbers_percentile(lengths, 50);
    int status = gt_numbers_deviation(lengths, &deviation);
    *ret = fmax(2 * median, median + deviations * deviation) * (median > 0);
    return status;
}

/* Outliers among spans from..to last at least this long, in ns. */
static int find_least(const struct gt_spans *spans, size_t from, size_t to, double *ret)
{
    struct gt_numbers lengths = {0};
    int status = gt_list_lengths(&lengths, spans, from, to, 1);
    if (status >= 0)
        status = gt_loader_outlier(&lengths, ret);
    gt_numbers_release(&lengths);
    return status;
}

static bool is_outlier(const struct gt_keyed_span *span, double least)
{
    return least > 0 && (double)(span->end - span->start) >= least;
}

static void add_outliers(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_spans *spans,
                         size_t from, size_t to, double least)
{
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        char text[32];
        if (!is_outlier(span, least))
            continue;
        GT_CELLS(table, gt_analysis_text(input, span->key[0]), part_names[span->key[1]],
                 gt_analysis_us(input, span->start), gt_analysis_us(input, span->end),
                 (double)(span->end - span->start) / 1e3, argument_text(input, span->event, GT_TABLE_WORKER_ID, text));
    }
}

static int add_parts(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_spans *spans)
{
    struct gt_table *table = gt_analysis_table(
        root, "dataloader", "Data loader",
        "text:node text:part integer:count number:total_us integer:outliers " GT_NUMBERS_COLUMNS_US);
    struct gt_table *outliers = gt_analysis_table(
        root, "outliers", "Outliers",
        "text:node text:part number:start_us number:end_us number:duration_us text:worker_id");
    struct gt_numbers lengths = {0};
    int status = 0;
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(spans, 2, &from, &to);) {
        status = gt_list_lengths(&lengths, spans, from, to, 1e3);
        double total = gt_numbers_total(&lengths), least = NAN;
        if (status >= 0)
            status = find_least(spans, from, to, &least);
        size_t before = gt_table_rows(outliers);
        add_outliers(input, outliers, spans, from, to, least);
        GT_CELLS(table, gt_analysis_text(input, spans->span[from].key[0]), part_names[spans->span[from].key[1]],
                 to - from, total, (int64_t)(gt_table_rows(outliers) - before));
        gt_numbers_cells(table, &lengths);
    }
    gt_analysis_empty(root, table, "no events of a data loader");
    gt_analysis_empty(root, outliers, "none: nothing takes twice the median and more than others vary");
    gt_numbers_release(&lengths);
    return status;
}

static void add_iterators(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_spans *spans)
{
    struct gt_table *table = gt_analysis_table(
        root, "iterators", "Iterators",
        "text:node text:iterator number:start_us number:duration_us text:num_workers text:pin_memory");
    for (size_t i = 0; i < spans->count; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        char text[32];
        if (span->key[1] != GT_LOADER_INITIALIZATION)
            continue;
        GT_CELLS(table, gt_analysis_text(input, span->key[0]),
                 gt_trace_text(input->trace, input->trace->events.name[span->event]),
                 gt_analysis_us(input, span->start), (double)(span->end - span->start) / 1e3,
                 argument_text(input, span->event, GT_TABLE_NUM_WORKERS, text),
                 argument_text(input, span->event, GT_TABLE_PIN_MEMORY, text));
    }
    gt_analysis_empty(root, table, NULL);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    int status = gt_loader_spans(input, &spans);
    for (size_t i = 0; i < spans.count; i++)
        spans.span[i].key[2] = spans.span[i].key[3] = 0;
    gt_spans_sort(&spans);
    if (status >= 0)
        status = add_parts(input, root, &spans);
    add_iterators(input, root, &spans);
    gt_spans_release(&spans);
    return status;
}

const struct gt_analysis gt_analysis_dataloader = {
    .name = "dataloader",
    .group = "host",
    .help = "initialization, workers, fetching and batches of the data loader, and outliers",
    .arguments = arguments,
    .takes = GT_TAKES_TOP,
    .build = build,
};

/* ---- outliers as a table ---- */

static const struct gt_column_kind outlier_columns[] = {
    {"previous_start", GT_CELL_TIME, false}, {"start_time", GT_CELL_TIME, false},
    {"end_time", GT_CELL_TIME, false},       {"duration_us", GT_CELL_NUMBER, true},
    {"worker_id", GT_CELL_INTEGER, false},   {"framework_metric", GT_CELL_TEXT, false},
    {"nodeID", GT_CELL_TEXT, false},
};

static int by_length(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    int64_t one = x->end - x->start, other = y->end - y->start;
    return GT_ORDER_BY(GT_ORDER(other, one), GT_ORDER(x->start, y->start), GT_ORDER(x->key[0], y->key[0]));
}

/* Keep those of one part. */
static int keep_outliers(struct gt_spans *spans, uint32_t part)
{
    size_t kept = 0;
    int status = 0;
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(spans, 2, &from, &to);) {
        double least;
        if (spans->span[from].key[1] != part)
            continue;
        status = find_least(spans, from, to, &least);
        for (size_t i = from; i < to && status >= 0; i++)
            if (is_outlier(&spans->span[i], least))
                spans->span[kept++] = spans->span[i];
    }
    spans->count = kept;
    return status;
}

/* A batch is told by the fetch that ends it. */
static void put_row(struct gt_table *data, const struct gt_trace *trace, const struct gt_keyed_span *span)
{
    const struct gt_trace_events *events = &trace->events;
    size_t event = span->key[1] == GT_LOADER_BATCH ? span->key[3] : span->event;
    uint32_t node = gt_trace_node_of(trace, gt_trace_process_of(trace, event)->file);
    gt_table_time(data, span->start);
    gt_table_time(data, events->start[event]);
    gt_table_time(data, events->start[event] + gt_trace_duration(events, event));
    GT_CELLS(data, gt_trace_us(span->end - span->start), gt_table_integer_of(trace, event, GT_TABLE_WORKER_ID));
    gt_table_choice(data, events->name[event], gt_trace_text(trace, events->name[event]));
    gt_table_choice(data, node, gt_trace_text(trace, node));
}

static int part_number(const char *part, struct gt_error *error)
{
    for (int i = 0; i < GT_LOADER_PARTS; i++)
        if (strcmp(part_names[i], part) == 0)
            return i;
    return gt_error_set(error, EINVAL, "a data loader has no part '%s': initialization, worker, get_next, batch", part);
}

int gt_loader_outliers(const struct gt_trace *trace, const char *part, struct gt_table **ret, struct gt_error *error)
{
    static const struct gt_profile_options defaults = {.size = sizeof defaults};
    enum { COLUMNS = sizeof outlier_columns / sizeof *outlier_columns };
    struct gt_analysis_input input;
    struct gt_spans spans = {0};
    int number = part_number(part, error);
    if (number < 0)
        return number;
    int status = gt_analysis_open(&input, trace, &defaults);
    if (status >= 0)
        status = gt_loader_spans(&input, &spans);
    gt_analysis_close(&input);
    if (status >= 0)
        status = keep_outliers(&spans, (uint32_t)number);
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, outlier_columns, COLUMNS);
    gt_spans_sort_by(&spans, by_length);
    for (size_t i = 0; i < spans.count && status >= 0; i++)
        put_row(data, trace, &spans.span[i]);
    gt_spans_release(&spans);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, outlier_columns, COLUMNS, "profile", error);
    gt_table_free(data);
    return gt_error_system(error, -status, "profile");
}
