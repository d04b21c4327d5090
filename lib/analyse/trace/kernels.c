/* Kernels, copies and fills: how often, how long, of which kind, rank by rank. */
#include <math.h>
#include <stdlib.h>

#include "analyse/trace/gpu_spans.h"
#include "analyse/trace/lists.h"

/* Keys: node, name, use. */
static void key_by_name(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    for (size_t i = 0; i < spans->count; i++) {
        struct gt_keyed_span *span = &spans->span[i];
        uint32_t usage = span->key[GT_GPU_USE];
        span->key[1] = gt_analysis_place(input, input->trace->events.name[span->event]);
        span->key[2] = usage;
        span->key[3] = 0;
    }
    gt_spans_sort(spans);
}

static double total_of_node(const struct gt_spans *spans, uint32_t node)
{
    double total = 0;
    for (size_t i = 0; i < spans->count; i++)
        if (spans->span[i].key[0] == node)
            total += (double)(spans->span[i].end - spans->span[i].start);
    return total;
}

static int add_rows(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_spans *spans,
                    struct gt_error *error)
{
    size_t count;
    int status;
    struct gt_numbers lengths = {0};
    struct gt_list_row *row = gt_list_rows(input, spans, 3, &count, &status, error);
    double whole = 0;
    for (size_t i = 0; row && i < count && status >= 0; i++) {
        const struct gt_keyed_span *span = &spans->span[row[i].from];
        if (!i || span->key[0] != spans->span[row[i - 1].from].key[0])
            whole = total_of_node(spans, span->key[0]);
        status = gt_list_lengths(&lengths, spans, row[i].from, row[i].to);
        gt_table_text(table, gt_analysis_text(input, span->key[0]));
        gt_table_text(table, gt_analysis_text(input, span->key[1]));
        gt_table_text(table, gt_use_names[span->key[2]]);
        gt_table_integer(table, (int64_t)lengths.count);
        gt_table_number(table, row[i].total / 1e3);
        gt_table_number(table, whole > 0 ? 100 * row[i].total / whole : NAN);
        gt_numbers_cells(table, &lengths);
    }
    gt_numbers_release(&lengths);
    free(row);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    struct gt_spans spans = {0};
    struct gt_table *table = gt_analysis_table(
        root, "kernels", "Kernels",
        "text:node text:name text:type integer:count number:total_us number:percent " GT_NUMBERS_COLUMNS_US);
    int status = gt_gpu_spans(input, &spans);
    if (status >= 0) {
        key_by_name(input, &spans);
        status = add_rows(input, table, &spans, error);
    }
    gt_analysis_empty(root, table, "no events of GPUs (kernel, gpu_memcpy, gpu_memset)");
    gt_spans_release(&spans);
    return status;
}

const struct gt_analysis gt_analysis_kernels = {
    .name = "kernels",
    .help =
        "kernels, copies and fills of each rank: count, total, mean, percentiles; --top, --key total|count|mean|max|name",
    .takes = GT_TAKES_KEY | GT_TAKES_TOP,
    .build = build,
};
