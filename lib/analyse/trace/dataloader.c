/* The data loader: how long initialization, workers, fetching and whole batches take, and which stand out. An outlier takes at least twice the median, and the median is not 0. */
#include <math.h>
#include <stdio.h>

#include "analyse/trace/loader.h"
#include "analyse/trace/numbers.h"

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
        gt_numbers_clear(&lengths);
        for (size_t i = from; i < to && status >= 0; i++)
            status = gt_numbers_add(&lengths, (double)(spans->span[i].end - spans->span[i].start) / 1e3);
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
