/* How work gets to the GPU.
 *
 * Launch delay: from the end of the runtime call to the start of the work on the GPU, 0 when the work began before the call
 * returned. Queue of a stream: pieces of work whose call has begun and that have not begun on the GPU themselves. CUDA lets 1024
 * wait; from then on the call blocks (what Holistic Trace Analysis measured, and takes as MAX_QUEUE): blocked time is that
 * during which a queue is so long. */
#include "analyse/trace/launches.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/trace/lists.h"
#include "base/number.h"

struct launches {
    struct gt_spans spans; /* of GPU work, by node, device and stream */
    size_t *call;
};

static int add_delays(const struct gt_analysis_input *input, struct gt_node *root, const struct launches *launches)
{
    const struct gt_trace_events *events = &input->trace->events;
    struct gt_table *table = gt_analysis_table(
        root, "launches", "Launches",
        "text:node text:device integer:count integer:short number:call_total_us number:gpu_total_us " GT_NUMBERS_COLUMNS_US);
    struct gt_numbers delays = {0};
    int status = 0;
    for (size_t from = 0, to; from < launches->spans.count && status >= 0; from = to) {
        int64_t calls = 0, work = 0, brief = 0;
        to = gt_spans_run(&launches->spans, from, 2);
        gt_numbers_clear(&delays);
        for (size_t i = from; i < to && status >= 0; i++) {
            const struct gt_keyed_span *span = &launches->spans.span[i];
            size_t call = launches->call[i];
            if (call == SIZE_MAX)
                continue;
            int64_t returned = events->start[call] + events->duration[call];
            status = gt_numbers_add(&delays, span->start > returned ? (double)(span->start - returned) / 1e3 : 0);
            calls += events->duration[call];
            work += span->end - span->start;
            brief += span->end - span->start < events->duration[call];
        }
        gt_table_text(table, gt_analysis_text(input, launches->spans.span[from].key[GT_GPU_NODE]));
        gt_table_text(table, gt_gpu_device(input, &launches->spans.span[from]));
        gt_table_integer(table, (int64_t)delays.count);
        gt_table_integer(table, brief);
        gt_table_number(table, (double)calls / 1e3);
        gt_table_number(table, (double)work / 1e3);
        gt_numbers_cells(table, &delays);
    }
    gt_analysis_empty(root, table, "no events of GPUs (kernel, gpu_memcpy, gpu_memset)");
    gt_numbers_release(&delays);
    return status;
}

/* ---- queues ---- */

/* At one moment work leaves the queue before other work enters it. */
static int compare_changes(const void *a, const void *b)
{
    const struct gt_launch_change *x = a, *y = b;
    return x->time != y->time ? GT_ORDER(x->time, y->time) : x->by - y->by;
}

int gt_launch_changes(const struct gt_analysis_input *input, const struct gt_spans *spans, const size_t *call,
                      size_t from, size_t to, struct gt_launch_change **ret, size_t *ret_count)
{
    struct gt_launch_change *change = malloc((2 * (to - from) + 1) * sizeof *change);
    size_t count = 0;
    if (!change)
        return -ENOMEM;
    for (size_t i = from; i < to; i++) {
        if (call[i] == SIZE_MAX)
            continue;
        change[count++] = (struct gt_launch_change){input->trace->events.start[call[i]], 1};
        change[count++] = (struct gt_launch_change){spans->span[i].start, -1};
    }
    qsort(change, count, sizeof *change, compare_changes);
    *ret = change;
    *ret_count = count;
    return 0;
}

struct gt_launch_queue gt_launch_queue(const struct gt_launch_change *change, size_t count,
                                       void (*take)(void *context, int64_t time, int64_t length), void *context)
{
    struct gt_launch_queue queue = {.first = count ? change[0].time : 0, .last = count ? change[count - 1].time : 0};
    for (size_t i = 0; i < count; i++) {
        if (i) {
            int64_t passed = change[i].time - change[i - 1].time;
            queue.area += (double)passed * (double)queue.length;
            queue.blocked += queue.length >= GT_FULL_QUEUE ? passed : 0;
        }
        queue.length += change[i].by;
        queue.longest = queue.length > queue.longest ? queue.length : queue.longest;
        if (take && (i + 1 == count || change[i + 1].time != change[i].time))
            take(context, change[i].time, queue.length);
    }
    return queue;
}

struct line {
    const struct gt_analysis_input *input;
    struct gt_node *series;
    int number;
};

static void add_point(void *context, int64_t time, int64_t length)
{
    const struct line *line = context;
    gt_series_point(line->series, line->number, gt_analysis_us(line->input, time), (double)length);
}

static int add_queue(const struct gt_analysis_input *input, struct gt_table *table, struct gt_node *series,
                     const struct launches *launches, size_t from, size_t to)
{
    const struct gt_keyed_span *first = &launches->spans.span[from];
    const char *node = gt_analysis_text(input, first->key[GT_GPU_NODE]);
    const char *stream = gt_analysis_text(input, first->key[GT_GPU_STREAM]);
    struct gt_launch_change *change = NULL;
    size_t count = 0;
    char title[300];
    int status = gt_launch_changes(input, &launches->spans, launches->call, from, to, &change, &count);
    if (status < 0)
        return status;
    snprintf(title, sizeof title, "%s device %s stream %s", node, gt_gpu_device(input, first), stream);
    struct line line = {input, series, gt_series_line(series, title, title)};
    struct gt_launch_queue queue = gt_launch_queue(change, count, add_point, &line);
    free(change);
    gt_table_text(table, node);
    gt_table_text(table, gt_gpu_device(input, first));
    gt_table_text(table, stream);
    gt_table_integer(table, (int64_t)(count / 2));
    gt_table_integer(table, queue.longest);
    gt_table_number(table, queue.last > queue.first ? queue.area / (double)(queue.last - queue.first) : NAN);
    gt_table_number(table, (double)queue.blocked / 1e3);
    return 0;
}

static int add_queues(const struct gt_analysis_input *input, struct gt_node *root, const struct launches *launches)
{
    struct gt_table *table = gt_analysis_table(root, "queues", "Queues",
                                               "text:node text:device text:stream integer:launches integer:longest "
                                               "number:mean_length number:blocked_us");
    struct gt_node *series = gt_report_series(root, "queue_length", "Queue length", "us", "launches");
    int status = 0;
    gt_node_flags(series, GT_ONLY_DATA);
    for (size_t from = 0, to; from < launches->spans.count && status >= 0; from = to) {
        to = gt_spans_run(&launches->spans, from, 3);
        status = add_queue(input, table, series, launches, from, to);
    }
    if (!gt_table_rows(table))
        gt_table_flags(table, GT_ONLY_DATA);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct launches launches = {0};
    int status = gt_gpu_spans(input, &launches.spans);
    for (size_t i = 0; i < launches.spans.count; i++)
        launches.spans.span[i].key[GT_GPU_USE] = 0;
    gt_spans_sort(&launches.spans);
    if (status >= 0)
        status = gt_gpu_launches(input, &launches.spans, &launches.call);
    if (status >= 0)
        status = add_delays(input, root, &launches);
    if (status >= 0)
        status = add_queues(input, root, &launches);
    gt_spans_release(&launches.spans);
    free(launches.call);
    return status;
}

const struct gt_analysis gt_analysis_launches = {
    .name = "launches",
    .help = "launch delay of GPU work, length of the queues, time blocked on a full queue",
    .build = build,
};
