/* Kernels, copies and fills: how often, how long, of which kind, rank by rank, and by kind over ranks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/gpu/gpu.h"
#include "base/number.h"

static const char *const use_names[GT_USES] = {"compute", "communication", "memory"};

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

static int add_kernels(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_spans *spans)
{
    size_t count;
    int status;
    struct gt_numbers lengths = {0};
    struct gt_list_row *row = gt_list_rows(input, spans, 3, &count, &status);
    double whole = 0;
    for (size_t i = 0; row && i < count && status >= 0; i++) {
        const struct gt_keyed_span *span = &spans->span[row[i].from];
        if (!i || span->key[0] != spans->span[row[i - 1].from].key[0])
            whole = gt_spans_total_of(spans, span->key[0]);
        status = gt_list_lengths(&lengths, spans, row[i].from, row[i].to, 1e3);
        GT_CELLS(table, gt_analysis_text(input, span->key[0]), gt_analysis_text(input, span->key[1]),
                 use_names[span->key[2]], lengths.count, row[i].total / 1e3, gt_percent(row[i].total, whole));
        gt_numbers_cells(table, &lengths);
    }
    gt_numbers_release(&lengths);
    gt_top_shown(table, GT_LIST_SHOWN);
    free(row);
    return status;
}

/* ---- kinds over ranks ---- */

/* One kind of work on all nodes: what each has of it. */
struct kind {
    double total, least, most; /* ns */
    uint32_t least_node, most_node;
    int64_t count;
};

/* Keys: node, name, use. A node that has none of a kind has 0. */
static size_t sum_kinds(const struct gt_spans *spans, struct kind kind[GT_USES])
{
    size_t nodes = 0;
    for (size_t from = 0, to = 0; gt_spans_next(spans, 1, &from, &to); nodes++) {
        double total[GT_USES] = {0};
        for (size_t i = from; i < to; i++) {
            total[spans->span[i].key[2]] += (double)(spans->span[i].end - spans->span[i].start);
            kind[spans->span[i].key[2]].count++;
        }
        for (int use = 0; use < GT_USES; use++) {
            struct kind *of = &kind[use];
            of->total += total[use];
            if (!nodes || total[use] < of->least) {
                of->least = total[use];
                of->least_node = spans->span[from].key[0];
            }
            if (!nodes || total[use] > of->most) {
                of->most = total[use];
                of->most_node = spans->span[from].key[0];
            }
        }
    }
    return nodes;
}

static void add_types(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_spans *spans)
{
    struct gt_table *table = gt_analysis_table(
        root, "types", "Types over ranks",
        "text:type integer:ranks integer:count number:total_us number:percent number:mean_us number:min_us "
        "text:min_node number:max_us text:max_node number:spread_percent");
    gt_top_left_out(table, 0); /* there are three at most */
    struct kind kind[GT_USES] = {0};
    size_t nodes = sum_kinds(spans, kind);
    double whole = kind[GT_USE_COMPUTE].total + kind[GT_USE_COMMUNICATION].total + kind[GT_USE_MEMORY].total;
    for (int use = 0; use < GT_USES; use++) {
        const struct kind *of = &kind[use];
        if (!of->count)
            continue;
        GT_CELLS(table, use_names[use], nodes, of->count, of->total / 1e3, gt_percent(of->total, whole),
                 of->total / (double)nodes / 1e3);
        GT_CELLS(table, of->least / 1e3, gt_analysis_text(input, of->least_node), of->most / 1e3,
                 gt_analysis_text(input, of->most_node), gt_percent(of->most - of->least, of->total / (double)nodes));
    }
    gt_analysis_empty(root, table, NULL);
}

/* ---- the report ---- */

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    struct gt_table *table = gt_analysis_table(
        root, "kernels", "Kernels",
        "text:node kernel:name text:type integer:count number:total_us number:percent " GT_NUMBERS_COLUMNS_US);
    int status = gt_gpu_spans(input, &spans);
    if (status >= 0) {
        key_by_name(input, &spans);
        status = add_kernels(input, table, &spans);
        add_types(input, root, &spans);
    }
    gt_analysis_empty(root, table, "no events of GPUs (kernel, gpu_memcpy, gpu_memset)");
    gt_spans_release(&spans);
    return status;
}

const struct gt_analysis gt_analysis_kernels = {
    .name = "kernels",
    .help = "kernels, copies and fills of each rank: count, total, mean, percentiles; --top, --key " GT_LIST_KEYS,
    .takes = GT_TAKES_KEY | GT_TAKES_TOP,
    .compares = true,
    .of_selected = true,
    .build = build,
};
