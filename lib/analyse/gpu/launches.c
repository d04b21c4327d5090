#include "analyse/gpu/launches.h"

#include <math.h>
#include <stdio.h>

#include "analyse/gpu/gpu.h"
#include "analyse/views.h"

/* ---- launches ----
 * How work gets to the GPU.
 *
 * One call is one launch, also of a graph of many kernels. Launch delay: from the end of the runtime call to the start of
 * its first work on the GPU, 0 when that began before the call returned. Queue of a stream: launches whose call has begun
 * and whose first work on it has not. CUDA lets 1024 wait; from then on the call blocks (what Holistic Trace Analysis measured, and
 * takes as MAX_QUEUE): blocked time is that during which a queue is so long. */

static struct gt_table *put_launches(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows work = gt_view_work(input), launches = gt_view_launches(input, "node device");
    const int64_t *length = gt_rows_wholes(&launches, "call_length"), *work_length = gt_rows_wholes(&launches, "work");
    int64_t *is_short = gt_rows_add_wholes(&launches, "is_short");
    for (size_t i = 0; i < launches.count; i++)
        is_short[i] = work_length[i] < length[i];
    struct gt_rows sums = gt_rows_group(&launches, "node device",
                                        GT_AGGREGATES(GT_COUNT("count"), GT_SUM("short", "is_short"),
                                                      GT_SUM("call_total", "call_length"), GT_SUM("gpu_total", "work"),
                                                      GT_STATISTICS_US("delay")));
    struct gt_rows devices = gt_rows_group(&work, "node device", GT_AGGREGATES({.as = NULL}));
    gt_rows_join(&devices, &sums, "node device",
                 "count short call_total gpu_total mean_us min max p50_us p95_us p99_us");
    gt_rows_fill(&devices, "count short call_total gpu_total");
    return gt_rows_put(
        input, root, "launches", "Launches", &devices,
        "text:node text:device integer:count integer:short number:call_total_us number:gpu_total_us " GT_NUMBERS_COLUMNS_US,
        NULL);
}

/* ---- queues ---- */

struct gt_launch_queue gt_launch_queue(const struct gt_rows *changes, size_t from, size_t to,
                                       void (*take)(void *context, int64_t time, int64_t length), void *context)
{
    const int64_t *time = gt_rows_wholes(changes, "time"), *change = gt_rows_wholes(changes, "change");
    struct gt_launch_queue queue = {.first = from < to ? time[from] : 0, .last = from < to ? time[to - 1] : 0};
    for (size_t i = from; i < to; i++) {
        int64_t passed = i > from ? time[i] - time[i - 1] : 0;
        queue.area += (double)passed * (double)queue.length;
        queue.blocked += queue.length >= GT_FULL_QUEUE ? passed : 0;
        queue.length += change[i];
        queue.longest = queue.length > queue.longest ? queue.length : queue.longest;
        if (take && (i + 1 == to || time[i + 1] != time[i]))
            take(context, time[i], queue.length);
    }
    return queue;
}

struct gt_rows gt_launch_changes(const struct gt_analysis_input *input)
{
    struct gt_rows launches = gt_view_launches(input, "node device stream");
    struct gt_rows rows = gt_rows_new(input->query, 2 * launches.count);
    static const char *const names[] = {"node", "device", "stream"};
    const uint32_t *call = gt_rows_keys(&launches, "call");
    const int64_t *begin = gt_rows_wholes(&launches, "begin");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const uint32_t *from = gt_rows_keys(&launches, names[k]);
        uint32_t *to = gt_rows_add_keys(&rows, names[k], NULL);
        for (size_t i = 0; i < rows.count; i++)
            to[i] = from[i / 2];
    }
    int64_t *time = gt_rows_add_wholes(&rows, "time"), *change = gt_rows_add_wholes(&rows, "change");
    for (size_t i = 0; i < rows.count; i++) {
        time[i] = i % 2 ? begin[i / 2] : input->trace->events.start[call[i / 2]];
        change[i] = i % 2 ? -1 : 1;
    }
    gt_rows_sort(&rows, "node device stream time change");
    return rows;
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

static void put_queues(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows work = gt_view_work(input), changes = gt_launch_changes(input);
    struct gt_rows streams = gt_rows_group(&work, "node device stream", GT_AGGREGATES({.as = NULL}));
    struct gt_table *table = gt_analysis_table(root, "queues", "Queues",
                                               "text:node text:device text:stream integer:launches integer:longest "
                                               "number:mean_length number:blocked_us");
    struct gt_node *series = gt_report_series(root, "queue_length", "Queue length", "us", "launches", 0);
    const uint32_t *node = gt_rows_keys(&streams, "node"), *device = gt_rows_keys(&streams, "device");
    const uint32_t *stream = gt_rows_keys(&streams, "stream"), *of = gt_rows_keys(&changes, "node");
    const uint32_t *on = gt_rows_keys(&changes, "device"), *in = gt_rows_keys(&changes, "stream");
    gt_node_flags(series, GT_ONLY_DATA);
    for (size_t i = 0, from = 0, to = 0; i < streams.count; i++, from = to) {
        const char *const words[] = {gt_analysis_text(input, node[i]), gt_analysis_text(input, device[i]),
                                     gt_gpu_stream(input, stream[i])};
        bool has_launches = from < changes.count && of[from] == node[i] && on[from] == device[i] &&
                            in[from] == stream[i];
        to = has_launches ? gt_rows_run(&changes, "node device stream", from) : from;
        char title[300];
        snprintf(title, sizeof title, "%s device %s stream %s", words[0], words[1], words[2]);
        struct line line = {input, series, gt_series_line(series, title, title)};
        struct gt_launch_queue queue = gt_launch_queue(&changes, from, to, add_point, &line);
        double whole = (double)gt_analysis_recorded(input, node[i], queue.first, queue.last);
        GT_CELLS(table, words[0], words[1], words[2], (to - from) / 2, queue.longest,
                 whole > 0 ? queue.area / whole : NAN, (double)queue.blocked / 1e3);
    }
    gt_analysis_empty(root, table, NULL);
}

static int build_launches(const struct gt_analysis_input *input, struct gt_node *root)
{
    gt_analysis_empty(root, put_launches(input, root), GT_NO_GPU_WORK);
    put_queues(input, root);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_launches = {
    .name = "launches",
    .group = "gpu",
    .help = "launch delay of GPU work, length of the queues, time blocked on a full queue",
    .joins = true,
    .takes = GT_TAKES_TOP,
    .build = build_launches,
};
