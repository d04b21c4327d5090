#include "analyse/gpu/gpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/trace/dataloader.h"
#include "analyse/trace/step_spans.h"
#include "base/number.h"

/* ---- the work of GPUs as spans ---- */

static bool is_work(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    return work == GT_WORK_KERNEL || work == GT_WORK_COPY || work == GT_WORK_SET;
}

bool gt_gpu_is_work(const struct gt_analysis_input *input, size_t event)
{
    return is_work(input, event) && gt_trace_is_slice(input->trace, event);
}

static uint32_t index_of(const struct gt_analysis_input *input, uint32_t node)
{
    uint32_t places = input->trace->strings.count;
    return node < places ? node : places;
}

bool *gt_gpu_nodes(const struct gt_analysis_input *input)
{
    bool *nodes = calloc(input->trace->strings.count + (size_t)1, sizeof *nodes);
    for (size_t i = 0; nodes && i < input->trace->events.count; i++)
        if (is_work(input, i) && gt_trace_lasts(input->trace, i))
            nodes[index_of(input, gt_analysis_node(input, i))] = true;
    return nodes;
}

bool gt_gpu_has_node(const struct gt_analysis_input *input, const bool *nodes, uint32_t node)
{
    return nodes[index_of(input, node)];
}

enum gt_use gt_gpu_use(const struct gt_analysis_input *input, size_t event)
{
    if (gt_analysis_work(input, event) != GT_WORK_KERNEL)
        return GT_USE_MEMORY;
    return (enum gt_use)input->usage[input->trace->events.name[event]];
}

static int collect_spans(const struct gt_analysis_input *input, struct gt_spans *spans,
                         bool (*is_wanted)(const struct gt_trace *trace, size_t event))
{
    const struct gt_trace *trace = input->trace;
    int status = 0;
    for (size_t i = 0; i < trace->events.count && status >= 0; i++) {
        if (!is_work(input, i) || !is_wanted(trace, i))
            continue;
        const struct gt_trace_track *track = &trace->track[trace->events.track[i]];
        status = gt_spans_add_event(spans, trace, i,
                                    GT_SPAN_KEY(gt_analysis_node(input, i),
                                                gt_analysis_place(input, trace->process[track->process].own),
                                                gt_analysis_place(input, track->tid), gt_gpu_use(input, i)));
    }
    return status;
}

int gt_gpu_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    return collect_spans(input, spans, gt_trace_is_slice);
}

int gt_gpu_all_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    return collect_spans(input, spans, gt_trace_lasts);
}

const char *gt_gpu_device(const struct gt_analysis_input *input, const struct gt_keyed_span *span)
{
    return gt_analysis_text(input, span->key[GT_GPU_DEVICE]);
}

const char *gt_gpu_stream(const struct gt_analysis_input *input, const struct gt_keyed_span *span)
{
    static const char word[] = "stream ";
    const char *stream = gt_analysis_text(input, span->key[GT_GPU_STREAM]);
    return stream && strncmp(stream, word, sizeof word - 1) == 0 ? stream + sizeof word - 1 : stream;
}

/* ---- what runs at once ---- */

struct edge {
    int64_t time;
    int8_t usage, change;
    uint32_t recording;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return GT_ORDER(x->time, y->time);
}

int gt_gpu_pieces(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t from, size_t to,
                  void (*take)(void *context, unsigned uses, int64_t start, int64_t end), void *context)
{
    size_t count = 2 * (to - from), running[GT_USES] = {0};
    struct edge *edge = malloc((count + 1) * sizeof *edge);
    if (!edge)
        return -ENOMEM;
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        uint32_t recording = gt_analysis_recording(input, span->event);
        edge[2 * (i - from)] = (struct edge){span->start, (int8_t)span->key[GT_GPU_USE], 1, recording};
        edge[2 * (i - from) + 1] = (struct edge){span->end, (int8_t)span->key[GT_GPU_USE], -1, recording};
    }
    GT_SORT(edge, count, compare_edges);
    struct gt_step_hull hull = gt_step_hull(input, from < to ? spans->span[from].key[GT_GPU_NODE] : GT_TRACE_NONE);
    for (size_t i = 0; i < count; i++) {
        int64_t start = i ? edge[i - 1].time : 0, end = edge[i].time;
        unsigned set = 0;
        for (int usage = 0; usage < GT_USES; usage++)
            set |= running[usage] ? 1u << usage : 0;
        if (i && !set)
            gt_step_hull_cut(&hull, &start, &end);
        if (i && end > start && (set || edge[i].recording == edge[i - 1].recording))
            take(context, set, start, end);
        running[edge[i].usage] +=
            (size_t)edge[i].change; /* of edges at one time an end may come first: it wraps, and back */
    }
    free(edge);
    return 0;
}

static void add_piece(void *context, unsigned uses, int64_t start, int64_t end)
{
    struct gt_gpu_time *time = context;
    time->part[uses] += end - start;
    time->whole += end - start;
}

int gt_gpu_time(const struct gt_analysis_input *input, struct gt_gpu_time *ret, const struct gt_spans *spans,
                size_t from, size_t to)
{
    *ret = (struct gt_gpu_time){0};
    return gt_gpu_pieces(input, spans, from, to, add_piece, ret);
}

int64_t gt_gpu_busy(const struct gt_gpu_time *time, enum gt_use usage)
{
    int64_t busy = 0;
    for (unsigned set = 0; set < 1u << GT_USES; set++)
        busy += set >> usage & 1 ? time->part[set] : 0;
    return busy;
}

/* ---- launches ---- */

struct call {
    uint32_t file;
    uint64_t id;
    int64_t start;
    size_t event;
};

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->id, y->id), GT_ORDER(x->start, y->start),
                       GT_ORDER(x->event, y->event));
}

static struct call call_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_events *events = &input->trace->events;
    return (struct call){gt_trace_process_of(input->trace, event)->file, gt_trace_id(events, event),
                         events->start[event], event};
}

static size_t find_call(const struct call *calls, size_t count, struct call wanted)
{
    wanted.event = SIZE_MAX; /* past the last that is not behind what is wanted */
    size_t low = GT_SEARCH(0, count, middle, compare_calls(&calls[middle], &wanted) < 0);
    bool found = low && calls[low - 1].file == wanted.file && calls[low - 1].id == wanted.id;
    return found ? calls[low - 1].event : SIZE_MAX;
}

/* CUPTI counts from 1. */
static bool has_correlation(const struct gt_trace_events *events, size_t event)
{
    return gt_trace_id(events, event) != GT_TRACE_NO_ID && gt_trace_id(events, event) != 0;
}

int gt_gpu_launches(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t **ret)
{
    const struct gt_trace_events *events = &input->trace->events;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < events->count; i++)
        capacity += gt_analysis_work(input, i) == GT_WORK_RUNTIME;
    struct call *calls = malloc((capacity + 1) * sizeof *calls);
    size_t *found = malloc((spans->count + 1) * sizeof *found);
    if (!calls || !found) {
        free(calls);
        free(found);
        return -ENOMEM;
    }
    for (size_t i = 0; i < events->count; i++)
        if (gt_analysis_work(input, i) == GT_WORK_RUNTIME && has_correlation(events, i) &&
            gt_trace_lasts(input->trace, i))
            calls[count++] = call_of(input, i);
    GT_SORT(calls, count, compare_calls);
    for (size_t i = 0; i < spans->count; i++) {
        size_t event = spans->span[i].event;
        found[i] = !has_correlation(events, event) ? SIZE_MAX : find_call(calls, count, call_of(input, event));
    }
    free(calls);
    *ret = found;
    return 0;
}

static int compare_launches(const void *a, const void *b)
{
    const struct gt_launch *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->call, y->call), GT_ORDER(x->begin, y->begin), GT_ORDER(x->work, y->work));
}

int gt_gpu_launch_list(const struct gt_spans *spans, const size_t *call, size_t from, size_t to, struct gt_launch **ret,
                       size_t *ret_count)
{
    struct gt_launch *launch = malloc((to - from + 1) * sizeof *launch);
    size_t known = 0, count = 0;
    if (!launch)
        return -ENOMEM;
    for (size_t i = from; i < to; i++)
        if (call[i] != SIZE_MAX)
            launch[known++] = (struct gt_launch){call[i], spans->span[i].start,
                                                 spans->span[i].end - spans->span[i].start};
    GT_SORT(launch, known, compare_launches);
    for (size_t i = 0; i < known; i++)
        if (count && launch[count - 1].call == launch[i].call)
            launch[count - 1].work += launch[i].work;
        else
            launch[count++] = launch[i];
    *ret = launch;
    *ret_count = count;
    return 0;
}

/* ---- breakdown ----
 * The time of each GPU by what it did: compute, communication, memory, nothing.
 *
 * Between the first start and the last end of GPU work of a device, each moment counts once: as compute when a
 * computing kernel runs, else as communication when a collective does, else as memory when only copies or fills do,
 * else as idle. The four sum to the span (the temporal breakdown of Holistic Trace Analysis, with its non-compute
 * part cut in two). Overlap is the part of all communication (memory) time during which computation ran, too. */

enum { COMPUTE = 1 << GT_USE_COMPUTE, COMMUNICATION = 1 << GT_USE_COMMUNICATION, MEMORY = 1 << GT_USE_MEMORY };

static void add_breakdown(const struct gt_analysis_input *input, struct gt_table *table,
                          const struct gt_keyed_span *span, const struct gt_gpu_time *time)
{
    int64_t whole = time->whole, communication = gt_gpu_busy(time, GT_USE_COMMUNICATION);
    int64_t memory = gt_gpu_busy(time, GT_USE_MEMORY);
    int64_t shown[] = {time->part[0], gt_gpu_busy(time, GT_USE_COMPUTE),
                       time->part[COMMUNICATION] + time->part[COMMUNICATION | MEMORY], time->part[MEMORY]};
    int64_t hidden = time->part[COMPUTE | COMMUNICATION] + time->part[COMPUTE | COMMUNICATION | MEMORY];
    GT_CELLS(table, gt_analysis_text(input, span->key[GT_GPU_NODE]), gt_gpu_device(input, span), (double)whole / 1e3);
    for (size_t i = 0; i < 4; i++)
        gt_table_number(table, (double)shown[i] / 1e3);
    for (size_t i = 0; i < 4; i++)
        gt_table_number(table, gt_percent((double)shown[i], (double)whole));
    GT_CELLS(table, (double)communication / 1e3, gt_percent((double)hidden, (double)communication),
             gt_percent((double)(time->part[COMPUTE | MEMORY] + time->part[COMPUTE | COMMUNICATION | MEMORY]),
                        (double)memory));
}

static int build_breakdown(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    int status = gt_gpu_spans(input, &spans);
    struct gt_table *table = gt_analysis_table(
        root, "breakdown", "Breakdown",
        "text:node text:device number:span_us number:idle_us number:compute_us number:communication_us number:memory_us "
        "number:idle_percent number:compute_percent number:communication_percent number:memory_percent "
        "number:all_communication_us number:communication_overlap_percent number:memory_overlap_percent");
    gt_spans_sort(&spans);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&spans, 2, &from, &to);) {
        struct gt_gpu_time time;
        status = gt_gpu_time(input, &time, &spans, from, to);
        add_breakdown(input, table, &spans.span[from], &time);
    }
    gt_analysis_empty(root, table, "no events of GPUs (kernel, gpu_memcpy, gpu_memset)");
    gt_spans_release(&spans);
    return status;
}

const struct gt_analysis gt_analysis_breakdown = {
    .name = "breakdown",
    .help = "idle, compute, communication and memory time of each GPU, and their overlap",
    .of_selected = true,
    .build = build_breakdown,
};

/* ---- idle GPUs ----
 * Why GPUs stood still. A gap lies between the latest end of work so far and the start of the next work, of a device or of one
 * stream. Its cause is read from the runtime call that launched the next work (as Holistic Trace Analysis does for streams):
 *
 *   waiting for the host   the call began after the gap had: the GPU had nothing to do. Part of it may lie in the data loader
 *   between kernels        launched before, and no longer than 30 ns: what the GPU takes from one kernel to the next
 *   other                  launched before: waits for an event or another stream; or the launch is not known
 */

enum { BETWEEN_KERNELS = 30 };

/* Sorted by the first keys, then by start. */
static int by_keys_and_start(const void *a, const void *b, void *context)
{
    const struct gt_keyed_span *x = a, *y = b;
    size_t keys = (size_t) * (int *)context;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, keys), GT_ORDER(x->start, y->start), GT_ORDER(x->end, y->end),
                       GT_ORDER(x->event, y->event));
}

static enum gt_idle_cause cause(const struct gt_analysis_input *input, int64_t from, int64_t to, size_t call)
{
    if (call == SIZE_MAX)
        return GT_IDLE_OTHER;
    if (input->trace->events.start[call] > from)
        return GT_IDLE_HOST;
    return to - from <= BETWEEN_KERNELS ? GT_IDLE_KERNEL : GT_IDLE_OTHER;
}

static struct gt_idle_time walk_gaps(const struct gt_analysis_input *input, const struct gt_spans *spans,
                                     const size_t *call, size_t from, size_t to, const struct gt_spans *loading,
                                     const struct gt_idle_visitor *visitor)
{
    struct gt_idle_time time = {.span = &spans->span[from]};
    int64_t end = spans->span[from].end, pauses = 0;
    struct gt_step_hull hull = gt_step_hull(input, time.span->key[GT_GPU_NODE]);
    uint32_t node = time.span->key[GT_GPU_NODE];
    size_t first = GT_SEARCH(0, loading->count, middle, loading->span[middle].key[0] < node);
    size_t last = GT_SEARCH(first, loading->count, middle, loading->span[middle].key[0] == node);
    for (size_t i = from + 1; i < to; i++) {
        const struct gt_keyed_span *next = &spans->span[i];
        bool is_apart = gt_analysis_recording(input, next->event) != gt_analysis_recording(input, next[-1].event);
        if (next->start > end && is_apart) {
            pauses += next->start - end;
        } else if (next->start > end) {
            struct gt_idle_gap gap = {
                .span = time.span, .from = end, .to = next->start, .call = call[i], .call_before = call[i - 1]};
            pauses += gt_step_hull_cut(&hull, &gap.from, &gap.to);
            end = next->end;
            if (gap.to == gap.from)
                continue;
            gap.cause = cause(input, gap.from, gap.to, call[i]);
            if (gap.cause == GT_IDLE_HOST)
                gap.loading = gt_spans_overlap(loading, first, last, gap.from, gap.to);
            time.idle[gap.cause] += gap.to - gap.from;
            time.loading += gap.loading;
            time.gaps++;
            if (visitor->gap)
                visitor->gap(visitor->context, &gap);
        }
        end = next->end > end ? next->end : end;
    }
    time.whole = end - spans->span[from].start - pauses;
    return time;
}

int gt_idle_walk(const struct gt_analysis_input *input, struct gt_spans *spans, int keys,
                 void (*take)(void *context, const struct gt_idle_time *time), void *context)
{
    return gt_idle_visit(input, spans, keys, &(struct gt_idle_visitor){.time = take, .context = context});
}

int gt_idle_visit(const struct gt_analysis_input *input, struct gt_spans *spans, int keys,
                  const struct gt_idle_visitor *visitor)
{
    struct gt_spans loading = {0};
    size_t *call = NULL;
    if (spans->count)
        qsort_r(spans->span, spans->count, sizeof *spans->span, by_keys_and_start, &keys);
    int status = gt_gpu_launches(input, spans, &call);
    if (status >= 0)
        status = gt_loader_waits(input, &loading);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(spans, keys, &from, &to);) {
        struct gt_idle_time time = walk_gaps(input, spans, call, from, to, &loading, visitor);
        visitor->time(visitor->context, &time);
    }
    gt_spans_release(&loading);
    free(call);
    return status;
}

struct idle_rows {
    const struct gt_analysis_input *input;
    struct gt_table *table;
    bool streams;
};

static void add_idle(void *context, const struct gt_idle_time *time)
{
    const struct idle_rows *idle_rows = context;
    int64_t idle = 0;
    for (int why = 0; why < GT_IDLE_CAUSES; why++)
        idle += time->idle[why];
    GT_CELLS(idle_rows->table, gt_analysis_text(idle_rows->input, time->span->key[GT_GPU_NODE]),
             gt_gpu_device(idle_rows->input, time->span));
    if (idle_rows->streams)
        gt_table_text(idle_rows->table, gt_gpu_stream(idle_rows->input, time->span));
    GT_CELLS(idle_rows->table, (double)time->whole / 1e3, (double)idle / 1e3,
             gt_percent((double)idle, (double)time->whole), time->gaps);
    for (int why = 0; why < GT_IDLE_CAUSES; why++)
        gt_table_number(idle_rows->table, (double)time->idle[why] / 1e3);
    gt_table_number(idle_rows->table, (double)time->loading / 1e3);
}

#define COLUMNS                                                                           \
    "number:span_us number:idle_us number:idle_percent integer:gaps number:host_wait_us " \
    "number:between_kernels_us number:other_us number:data_loader_us"

static int build_idle(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    struct idle_rows devices = {input, gt_analysis_table(root, "devices", "Devices", "text:node text:device " COLUMNS),
                                false};
    struct idle_rows streams = {
        input, gt_analysis_table(root, "streams", "Streams", "text:node text:device text:stream " COLUMNS), true};
    int status = gt_gpu_spans(input, &spans);
    if (status >= 0)
        status = gt_idle_walk(input, &spans, 2, add_idle, &devices);
    if (status >= 0)
        status = gt_idle_walk(input, &spans, 3, add_idle, &streams);
    gt_analysis_empty(root, devices.table, "no events of GPUs (kernel, gpu_memcpy, gpu_memset)");
    gt_analysis_empty(root, streams.table, NULL);
    gt_spans_release(&spans);
    return status;
}

const struct gt_analysis gt_analysis_idle = {
    .name = "idle",
    .help = "why GPUs stood still: waiting for the host (and its data loader), between kernels, other",
    .joins = true,
    .takes = GT_TAKES_TOP,
    .of_selected = true,
    .build = build_idle,
};

/* ---- launches ----
 * How work gets to the GPU.
 *
 * One call is one launch, also of a graph of many kernels. Launch delay: from the end of the runtime call to the start of
 * its first work on the GPU, 0 when that began before the call returned. Queue of a stream: launches whose call has begun
 * and whose first work on it has not. CUDA lets 1024 wait; from then on the call blocks (what Holistic Trace Analysis measured, and
 * takes as MAX_QUEUE): blocked time is that during which a queue is so long. */

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
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&launches->spans, 2, &from, &to);) {
        struct gt_launch *launch = NULL;
        size_t count = 0;
        int64_t calls = 0, work = 0, brief = 0;
        gt_numbers_clear(&delays);
        status = gt_gpu_launch_list(&launches->spans, launches->call, from, to, &launch, &count);
        for (size_t i = 0; i < count && status >= 0; i++) {
            int64_t length = gt_trace_duration(events, launch[i].call),
                    returned = events->start[launch[i].call] + length;
            status = gt_numbers_add(&delays,
                                    launch[i].begin > returned ? (double)(launch[i].begin - returned) / 1e3 : 0);
            calls += length;
            work += launch[i].work;
            brief += launch[i].work < length;
        }
        free(launch);
        GT_CELLS(table, gt_analysis_text(input, launches->spans.span[from].key[GT_GPU_NODE]),
                 gt_gpu_device(input, &launches->spans.span[from]), delays.count, brief, (double)calls / 1e3,
                 (double)work / 1e3);
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
    struct gt_launch *launch = NULL;
    size_t launches = 0, count = 0;
    int status = gt_gpu_launch_list(spans, call, from, to, &launch, &launches);
    struct gt_launch_change *change = status < 0 ? NULL : malloc((2 * launches + 1) * sizeof *change);
    for (size_t i = 0; i < launches && change; i++) {
        change[count++] = (struct gt_launch_change){input->trace->events.start[launch[i].call], 1};
        change[count++] = (struct gt_launch_change){launch[i].begin, -1};
    }
    free(launch);
    if (!change)
        return -ENOMEM;
    GT_SORT(change, count, compare_changes);
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
    const char *stream = gt_gpu_stream(input, first);
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
    GT_CELLS(table, node, gt_gpu_device(input, first), stream, count / 2, queue.longest);
    double whole = (double)gt_analysis_recorded(input, first->key[GT_GPU_NODE], queue.first, queue.last);
    GT_CELLS(table, whole > 0 ? queue.area / whole : NAN, (double)queue.blocked / 1e3);
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
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&launches->spans, 3, &from, &to);) {
        status = add_queue(input, table, series, launches, from, to);
    }
    gt_analysis_empty(root, table, NULL);
    return status;
}

static int build_launches(const struct gt_analysis_input *input, struct gt_node *root)
{
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
    .joins = true,
    .takes = GT_TAKES_TOP,
    .build = build_launches,
};
