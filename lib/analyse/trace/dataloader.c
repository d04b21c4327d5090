/* The data loader: how long initialization, workers, fetching and whole batches take, and which stand out. An outlier takes at
 * least twice the median, and the median is not 0. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/trace/dataloader.h"
#include "analyse/trace/lists.h"

/* ---- spans ---- */

const char *const gt_loader_part_names[GT_LOADER_PARTS + 1] = {"initialization", "worker", "get_next", "batch"};

/* By the event's name or its process's (the phase, in SMDebug's files). */
static const struct {
    const char *pattern;
    enum gt_loader_part part;
} names[] = {
    {"DataLoaderIterInitialize", GT_LOADER_INITIALIZATION},
    {"*DataLoaderIter.__init__", GT_LOADER_INITIALIZATION},
    {"DataLoaderWorker", GT_LOADER_WORKER},
    {"*DataLoaderIter::GetNext", GT_LOADER_NEXT},
    {"enumerate(DataLoader)*", GT_LOADER_NEXT},
    {"DataIterator", GT_LOADER_NEXT},
};

static enum gt_loader_part part_of(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fnmatch(names[i].pattern, name, 0) == 0)
            return names[i].part;
    return GT_LOADER_BATCH;
}

enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    if (!gt_trace_is_slice(input->trace, event) || (work != GT_WORK_OTHER && work != GT_WORK_ANNOTATION))
        return GT_LOADER_BATCH;
    enum gt_loader_part part = part_of(gt_trace_text(input->trace, input->trace->events.name[event]));
    if (part != GT_LOADER_BATCH)
        return part;
    return part_of(gt_trace_text(input->trace, gt_trace_process_of(input->trace, event)->name));
}

/* In SMDebug's timelines a process is a phase, and the node tells the process, unless the event tells it itself. */
static uint32_t process_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_track *track = &input->trace->track[input->trace->events.track[event]];
    if (track->real_process != GT_TRACE_NONE)
        return gt_analysis_place(input, track->real_process);
    if (strcmp(gt_trace_file_of(input->trace, event)->format, "smdebug") == 0)
        return GT_TRACE_NONE;
    return gt_analysis_place(input, input->trace->process[track->process].pid);
}

/* Keys: node, process, part. */
static int collect(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        enum gt_loader_part part = gt_loader_part(input, i);
        if (part == GT_LOADER_BATCH)
            continue;
        status = gt_spans_add(spans,
                              (struct gt_keyed_span){.key = {gt_analysis_node(input, i), process_of(input, i), part},
                                                     .start = events->start[i],
                                                     .end = events->start[i] + events->duration[i],
                                                     .event = i});
    }
    return status;
}

/* Fetches and initializations by node, process and time, so that a batch is what lies between two neighbours. */
static int add_batches(struct gt_spans *spans)
{
    struct gt_spans line = {0};
    int status = 0;
    for (size_t i = 0; i < spans->count && status >= 0; i++) {
        struct gt_keyed_span span = spans->span[i];
        uint32_t part = span.key[2];
        span.key[2] = 0;
        span.key[3] = 0;
        span.end = part;
        if (part != GT_LOADER_WORKER)
            status = gt_spans_add(&line, span);
    }
    gt_spans_sort(&line);
    for (size_t i = 1; i < line.count && status >= 0; i++) {
        const struct gt_keyed_span *last = &line.span[i - 1], *next = &line.span[i];
        bool same = last->key[0] == next->key[0] && last->key[1] == next->key[1];
        if (same && last->end == GT_LOADER_NEXT && next->end == GT_LOADER_NEXT)
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
    int status = collect(input, spans);
    if (status >= 0)
        status = add_batches(spans);
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
            status = gt_spans_add(spans, (struct gt_keyed_span){.key = {gt_analysis_node(input, i)},
                                                                .start = events->start[i],
                                                                .end = events->start[i] + events->duration[i],
                                                                .event = i});
    }
    gt_spans_sort(spans);
    gt_spans_unite(spans, 1);
    return status;
}

/* ---- the report ---- */

enum { WORKER_ID, NUM_WORKERS, PIN_MEMORY };
static const char *const arguments[] = {"worker_id", "num_workers", "pin_memory", NULL};

/* A number as text, or NULL. */
static const char *argument_text(const struct gt_analysis_input *input, size_t event, uint32_t key, char text[32])
{
    const struct gt_trace_argument *argument = gt_trace_argument(input->trace, event, key);
    if (!argument || (argument->text == GT_TRACE_NONE && isnan(argument->number)))
        return NULL;
    if (argument->text != GT_TRACE_NONE)
        return gt_trace_text(input->trace, argument->text);
    if (key == PIN_MEMORY)
        return argument->number != 0 ? "true" : "false";
    snprintf(text, 32, "%.0f", argument->number);
    return text;
}

static void add_outliers(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_spans *spans,
                         size_t from, size_t to, double least)
{
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        char text[32];
        if (!(least > 0) || (double)(span->end - span->start) / 1e3 < least)
            continue;
        gt_table_text(table, gt_analysis_text(input, span->key[0]));
        gt_table_text(table, gt_loader_part_names[span->key[1]]);
        gt_table_number(table, gt_analysis_us(input, span->start));
        gt_table_number(table, gt_analysis_us(input, span->end));
        gt_table_number(table, (double)(span->end - span->start) / 1e3);
        gt_table_text(table, argument_text(input, span->event, WORKER_ID, text));
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
    for (size_t from = 0, to; from < spans->count && status >= 0; from = to) {
        to = gt_spans_run(spans, from, 2);
        status = gt_list_lengths(&lengths, spans, from, to);
        double total = gt_numbers_total(&lengths), least = 2 * gt_numbers_percentile(&lengths, 50);
        size_t before = gt_table_rows(outliers);
        add_outliers(input, outliers, spans, from, to, least);
        gt_table_text(table, gt_analysis_text(input, spans->span[from].key[0]));
        gt_table_text(table, gt_loader_part_names[spans->span[from].key[1]]);
        gt_table_integer(table, (int64_t)(to - from));
        gt_table_number(table, total);
        gt_table_integer(table, (int64_t)(gt_table_rows(outliers) - before));
        gt_numbers_cells(table, &lengths);
    }
    gt_analysis_empty(root, table, "no events of a data loader");
    gt_analysis_empty(root, outliers, "none: nothing takes twice the median");
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
        gt_table_text(table, gt_analysis_text(input, span->key[0]));
        gt_table_text(table, gt_trace_text(input->trace, input->trace->events.name[span->event]));
        gt_table_number(table, gt_analysis_us(input, span->start));
        gt_table_number(table, (double)(span->end - span->start) / 1e3);
        gt_table_text(table, argument_text(input, span->event, NUM_WORKERS, text));
        gt_table_text(table, argument_text(input, span->event, PIN_MEMORY, text));
    }
    if (!gt_table_rows(table))
        gt_table_flags(table, GT_ONLY_DATA);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
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
    .help = "initialization, workers, fetching and batches of the data loader, and outliers",
    .arguments = arguments,
    .build = build,
};
