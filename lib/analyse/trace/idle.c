/* Why GPUs stood still. A gap lies between the latest end of work so far and the start of the next work, of a device or of one
 * stream. Its cause is read from the runtime call that launched the next work (as Holistic Trace Analysis does for streams):
 *
 *   waiting for the host   the call began after the gap had: the GPU had nothing to do. Part of it may lie in the data loader
 *   between kernels        launched before, and no longer than 30 ns: what the GPU takes from one kernel to the next
 *   other                  launched before: waits for an event or another stream; or the launch is not known
 */
#include "analyse/trace/idle.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/trace/dataloader.h"
#include "base/number.h"

enum { BETWEEN_KERNELS = 30 };

/* Sorted by the first keys, then by start. */
static int by_start(const void *a, const void *b, void *context)
{
    const struct gt_keyed_span *x = a, *y = b;
    int keys = *(int *)context;
    for (int i = 0; i < keys; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return GT_ORDER(x->event, y->event);
}

static enum gt_idle_cause cause(const struct gt_analysis_input *input, int64_t from, int64_t to, size_t call)
{
    if (call == SIZE_MAX)
        return GT_IDLE_OTHER;
    if (input->trace->events.start[call] > from)
        return GT_IDLE_HOST;
    return to - from <= BETWEEN_KERNELS ? GT_IDLE_KERNEL : GT_IDLE_OTHER;
}

static struct gt_idle_time walk(const struct gt_analysis_input *input, const struct gt_spans *spans, const size_t *call,
                                size_t from, size_t to, const struct gt_spans *loading)
{
    struct gt_idle_time time = {.span = &spans->span[from]};
    int64_t end = spans->span[from].end;
    size_t first = 0, last;
    while (first < loading->count && loading->span[first].key[0] != time.span->key[GT_GPU_NODE])
        first++;
    last = first < loading->count ? gt_spans_run(loading, first, 1) : first;
    for (size_t i = from + 1; i < to; i++) {
        const struct gt_keyed_span *next = &spans->span[i];
        if (next->start > end) {
            enum gt_idle_cause why = cause(input, end, next->start, call[i]);
            time.idle[why] += next->start - end;
            time.gaps++;
            if (why == GT_IDLE_HOST)
                time.loading += gt_spans_overlap(loading, first, last, end, next->start);
        }
        end = next->end > end ? next->end : end;
    }
    time.whole = end - spans->span[from].start;
    return time;
}

int gt_idle_walk(const struct gt_analysis_input *input, struct gt_spans *spans, int keys,
                 void (*take)(void *context, const struct gt_idle_time *time), void *context)
{
    struct gt_spans loading = {0};
    size_t *call = NULL;
    if (spans->count)
        qsort_r(spans->span, spans->count, sizeof *spans->span, by_start, &keys);
    int status = gt_gpu_launches(input, spans, &call);
    if (status >= 0)
        status = gt_loader_waits(input, &loading);
    for (size_t from = 0, to; from < spans->count && status >= 0; from = to) {
        to = gt_spans_run(spans, from, keys);
        struct gt_idle_time time = walk(input, spans, call, from, to, &loading);
        take(context, &time);
    }
    gt_spans_release(&loading);
    free(call);
    return status;
}

struct rows {
    const struct gt_analysis_input *input;
    struct gt_table *table;
    bool streams;
};

static void add_row(void *context, const struct gt_idle_time *time)
{
    const struct rows *rows = context;
    int64_t idle = 0;
    for (int why = 0; why < GT_IDLE_CAUSES; why++)
        idle += time->idle[why];
    gt_table_text(rows->table, gt_analysis_text(rows->input, time->span->key[GT_GPU_NODE]));
    gt_table_text(rows->table, gt_gpu_device(rows->input, time->span));
    if (rows->streams)
        gt_table_text(rows->table, gt_analysis_text(rows->input, time->span->key[GT_GPU_STREAM]));
    gt_table_number(rows->table, (double)time->whole / 1e3);
    gt_table_number(rows->table, (double)idle / 1e3);
    gt_table_number(rows->table, time->whole ? 100.0 * (double)idle / (double)time->whole : NAN);
    gt_table_integer(rows->table, (int64_t)time->gaps);
    for (int why = 0; why < GT_IDLE_CAUSES; why++)
        gt_table_number(rows->table, (double)time->idle[why] / 1e3);
    gt_table_number(rows->table, (double)time->loading / 1e3);
}

#define COLUMNS                                                                           \
    "number:span_us number:idle_us number:idle_percent integer:gaps number:host_wait_us " \
    "number:between_kernels_us number:other_us number:data_loader_us"

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct gt_spans spans = {0};
    struct rows devices = {input, gt_analysis_table(root, "devices", "Devices", "text:node text:device " COLUMNS),
                           false};
    struct rows streams = {
        input, gt_analysis_table(root, "streams", "Streams", "text:node text:device text:stream " COLUMNS), true};
    int status = gt_gpu_spans(input, &spans);
    if (status >= 0)
        status = gt_idle_walk(input, &spans, 2, add_row, &devices);
    if (status >= 0)
        status = gt_idle_walk(input, &spans, 3, add_row, &streams);
    gt_analysis_empty(root, devices.table, "no events of GPUs (kernel, gpu_memcpy, gpu_memset)");
    if (!gt_table_rows(streams.table))
        gt_table_flags(streams.table, GT_ONLY_DATA);
    gt_spans_release(&spans);
    return status;
}

const struct gt_analysis gt_analysis_idle = {
    .name = "idle",
    .help = "why GPUs stood still: waiting for the host (and its data loader), between kernels, other",
    .build = build,
};
