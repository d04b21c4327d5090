/* The time of each GPU by what it did: compute, communication, memory, nothing.
 *
 * Between the first start and the last end of GPU work of a device, each moment counts once: as compute when a computing
 * kernel runs, else as communication when a collective does, else as memory when only copies or fills do, else as idle. The four
 * sum to the span (the temporal breakdown of Holistic Trace Analysis, with its non-compute part cut in two). Overlap is the part
 * of all communication (memory) time during which computation ran, too. */
#include <math.h>

#include "analyse/trace/gpu_spans.h"

enum { COMPUTE = 1 << GT_USE_COMPUTE, COMMUNICATION = 1 << GT_USE_COMMUNICATION, MEMORY = 1 << GT_USE_MEMORY };

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : NAN;
}

static void add_row(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_keyed_span *span,
                    const struct gt_gpu_time *time)
{
    int64_t whole = time->last - time->first, communication = gt_gpu_busy(time, GT_USE_COMMUNICATION);
    int64_t memory = gt_gpu_busy(time, GT_USE_MEMORY);
    int64_t shown[] = {time->part[0], gt_gpu_busy(time, GT_USE_COMPUTE),
                       time->part[COMMUNICATION] + time->part[COMMUNICATION | MEMORY], time->part[MEMORY]};
    int64_t hidden = time->part[COMPUTE | COMMUNICATION] + time->part[COMPUTE | COMMUNICATION | MEMORY];
    gt_table_text(table, gt_analysis_text(input, span->key[GT_GPU_NODE]));
    gt_table_text(table, gt_gpu_device(input, span));
    gt_table_number(table, (double)whole / 1e3);
    for (size_t i = 0; i < 4; i++)
        gt_table_number(table, (double)shown[i] / 1e3);
    for (size_t i = 0; i < 4; i++)
        gt_table_number(table, percent(shown[i], whole));
    gt_table_number(table, (double)communication / 1e3);
    gt_table_number(table, percent(hidden, communication));
    gt_table_number(table,
                    percent(time->part[COMPUTE | MEMORY] + time->part[COMPUTE | COMMUNICATION | MEMORY], memory));
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct gt_spans spans = {0};
    int status = gt_gpu_spans(input, &spans);
    struct gt_table *table = gt_analysis_table(
        root, "breakdown", "Breakdown",
        "text:node text:device number:span_us number:idle_us number:compute_us number:communication_us number:memory_us "
        "number:idle_percent number:compute_percent number:communication_percent number:memory_percent "
        "number:all_communication_us number:communication_overlap_percent number:memory_overlap_percent");
    gt_spans_sort(&spans);
    for (size_t from = 0, to; from < spans.count && status >= 0; from = to) {
        struct gt_gpu_time time;
        to = gt_spans_run(&spans, from, 2);
        status = gt_gpu_time(&time, &spans, from, to);
        add_row(input, table, &spans.span[from], &time);
    }
    gt_analysis_empty(root, table, "no events of GPUs (kernel, gpu_memcpy, gpu_memset)");
    gt_spans_release(&spans);
    return status;
}

const struct gt_analysis gt_analysis_breakdown = {
    .name = "breakdown",
    .help = "idle, compute, communication and memory time of each GPU, and their overlap",
    .build = build,
};
