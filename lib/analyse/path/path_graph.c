/* The points of the graph: spans of threads, each nested in others, and the work of streams, one after another. */
#include "analyse/path/path_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/training.h"
#include "base/grow.h"
#include "base/number.h"

/* ---- the spans of each track ---- */

struct span {
    int64_t start, end;
    uint32_t event;
};

struct open { /* a span that is not closed */
    int64_t end;
    uint32_t event, name;
    unsigned char kind;
    bool is_exchange;
};

struct builder {
    const struct gt_analysis_input *input;
    struct gt_path_graph *graph;
    const struct gt_collectives *collectives;
    bool *is_left_out; /* of a category */
    struct span *span;
    size_t *first;  /* span of each track */
    bool *is_gpu;   /* of a track */
    uint32_t *link; /* of a call: its first point; of work: its call */
    uint32_t *lane_of;
    struct gt_path_meeting *member; /* events of collectives, sorted; `point` is the event */
    size_t members;
    struct gt_path_hosts hosts;
    struct open *open;
    size_t open_count, open_capacity;
};

/* What stands on tracks beside what it tells of: annotations of streams, synchronization, the profiler itself; and
 * waits in the C library, which lie in everything. */
static const char *const left_out[] = {
    "gpu_user_annotation", "cuda_sync", "cuda_event", "Trace", "overhead", "osrt", "ac2g", "critical_path"};

static bool is_phase(const struct gt_trace *trace, size_t event)
{
    const struct gt_trace_process *process = gt_trace_process_of(trace, event);
    return process->name != GT_TRACE_NONE && strncmp(gt_trace_text(trace, process->name), "Step:", 5) == 0;
}

static bool is_wanted(const struct builder *builder, size_t event)
{
    const struct gt_trace *trace = builder->input->trace;
    uint32_t category = trace->events.category[event], track = trace->events.track[event];
    if (!gt_trace_lasts(trace, event))
        return false;
    if (builder->is_gpu[track])
        return gt_analysis_work(builder->input, event) == GT_WORK_KERNEL ||
               gt_analysis_work(builder->input, event) == GT_WORK_COPY ||
               gt_analysis_work(builder->input, event) == GT_WORK_SET;
    return (category == GT_TRACE_NONE || !builder->is_left_out[category]) && !is_phase(trace, event);
}

/* What is begun first stands first, as in gt_call_tree. */
static int order_of(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    return work == GT_WORK_OPERATOR ? 1 : work == GT_WORK_RUNTIME ? 2 : 0;
}

static int by_nesting(const void *a, const void *b, void *context)
{
    const struct span *x = a, *y = b;
    const struct gt_analysis_input *input = context;
    const struct gt_trace_events *events = &input->trace->events;
    if (x->start != y->start || x->end != y->end)
        return GT_ORDER_BY(GT_ORDER(x->start, y->start), GT_ORDER(y->end, x->end));
    return GT_ORDER_BY(
        GT_ORDER(order_of(input, x->event), order_of(input, y->event)),
        GT_ORDER(gt_trace_external(events, x->event), gt_trace_external(events, y->event)),
        GT_ORDER(gt_analysis_place(input, events->name[x->event]), gt_analysis_place(input, events->name[y->event])),
        GT_ORDER(x->event, y->event));
}

static void sort_track(const struct builder *builder, size_t track)
{
    struct span *span = &builder->span[builder->first[track]];
    size_t count = builder->first[track + 1] - builder->first[track], i = 1;
    void *input = (void *)(uintptr_t)builder->input;
    while (i < count && by_nesting(&span[i - 1], &span[i], input) <= 0)
        i++;
    if (i < count)
        qsort_r(span, count, sizeof *span, by_nesting, input);
}

static void sort_spans(struct builder *builder)
{
    const struct gt_trace *trace = builder->input->trace;
    const struct gt_trace_events *events = &trace->events;
    struct gt_query *query = builder->graph->query;
    size_t *at = builder->first = gt_query_memory(query, trace->track_count + 2, sizeof *at);
    builder->is_gpu = gt_query_zeros(builder->graph->query, trace->track_count, sizeof *builder->is_gpu);
    if (!builder->is_gpu)
        return;
    memset(at, 0, (trace->track_count + 2) * sizeof *at);
    for (size_t i = 0; i < builder->graph->gpu.count; i++)
        builder->is_gpu[events->track[builder->graph->gpu.span[i].event]] = true;
    for (size_t i = 0; i < events->count; i++)
        at[events->track[i] + 2] += is_wanted(builder, i);
    for (size_t i = 2; i <= trace->track_count + 1; i++)
        at[i] += at[i - 1];
    builder->span = malloc((at[trace->track_count + 1] + 1) * sizeof *builder->span);
    if (!builder->span) {
        gt_query_fail(query, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < events->count; i++)
        if (is_wanted(builder, i))
            builder->span[at[events->track[i] + 1]++] = (struct span){
                events->start[i], events->start[i] + gt_trace_duration(events, i), (uint32_t)i};
    for (size_t i = 0; i < trace->track_count; i++)
        sort_track(builder, i);
}

/* ---- what a span is ---- */

static bool is_outside(const struct gt_analysis_input *input, size_t event, enum gt_work work)
{
    uint32_t category = input->trace->events.category[event];
    return work == GT_WORK_ANNOTATION ||
           gt_is_profiler_step(gt_trace_text(input->trace, input->trace->events.name[event])) ||
           (category != GT_TRACE_NONE && strcmp(gt_trace_text(input->trace, category), "python_function") == 0);
}

static enum gt_path_kind kind_of(struct builder *builder, size_t event)
{
    const struct gt_analysis_input *input = builder->input;
    enum gt_work work = gt_analysis_work(input, event);
    uint32_t name = input->trace->events.name[event];
    if (builder->open_count && builder->open[builder->open_count - 1].kind == GT_PATH_LOADING)
        return GT_PATH_LOADING;
    if (work == GT_WORK_RUNTIME)
        return gt_path_call(&builder->hosts, name) == GT_PATH_WAITS ? GT_PATH_SYNCHRONIZATION : GT_PATH_CALLS;
    enum gt_loader_part part = gt_loader_part(input, event);
    if (part == GT_LOADER_INITIALIZATION || part == GT_LOADER_NEXT)
        return GT_PATH_LOADING;
    if (strncmp(gt_trace_text(input->trace, name), "gloo:", 5) == 0)
        return GT_PATH_COMMUNICATION;
    return is_outside(input, event, work) ? GT_PATH_OTHER : GT_PATH_OPERATORS;
}

/* ---- lanes ---- */

static uint32_t add_point(struct gt_path_graph *graph, int64_t time, uint32_t name, unsigned kind)
{
    const struct gt_path_lane *lane = &graph->lane[graph->lanes - 1];
    graph->time[graph->points] = time - lane->ahead;
    graph->name[graph->points] = name;
    graph->kind[graph->points] = (unsigned char)kind;
    return graph->points++;
}

/* Adds a point at which what is innermost ends, or something begins inside it. */
static uint32_t add_edge_of_span(struct builder *builder, int64_t time)
{
    const struct open *top = builder->open_count ? &builder->open[builder->open_count - 1] : NULL;
    return add_point(builder->graph, time, top ? top->name : GT_TRACE_NONE, top ? top->kind : GT_PATH_OTHER);
}

static void close_span(struct builder *builder, int64_t time)
{
    const struct gt_trace_events *events = &builder->input->trace->events;
    const struct open *top = &builder->open[builder->open_count - 1];
    uint32_t end = add_edge_of_span(builder, time);
    if (top->is_exchange)
        builder->graph->exchange[builder->graph->exchange_count - 1].end = end;
    builder->open_count--;
    if (gt_analysis_work(builder->input, top->event) != GT_WORK_RUNTIME)
        return;
    enum gt_path_call call = gt_path_call(&builder->hosts, events->name[top->event]);
    struct gt_path_wait wait = {top->event, end,
                                events->start[top->event] - builder->graph->lane[builder->graph->lanes - 1].ahead};
    if ((call == GT_PATH_WAITS || call == GT_PATH_COPIES_MEMORY) && GT_APPEND(&builder->hosts, wait, wait) < 0)
        gt_query_fail(builder->graph->query, -ENOMEM);
}

/* Times are rounded to microseconds at most: who ends so much later than the span around it ends with it. */
enum { ROUNDING = 1000 };

static bool is_inside(const struct span *span, int64_t end)
{
    int64_t beyond = span->end - end;
    return end > span->start && (beyond <= 0 || (beyond <= ROUNDING && beyond <= end - span->start));
}

/* All that begins in a data loader is loading until that ends. A stack of Python's may end a little behind it, as
 * profilers take the times of functions and of ranges apart from each other: most of such a span must lie inside. */
static bool is_in_loader(const struct builder *builder, const struct span *span)
{
    const struct open *top = &builder->open[builder->open_count - 1];
    bool is_loader = top->kind == GT_PATH_LOADING && (builder->open_count == 1 || top[-1].kind != GT_PATH_LOADING);
    return is_loader && span->start < top->end && span->end - top->end <= top->end - span->start;
}

static int compare_members(const void *a, const void *b)
{
    const struct gt_path_meeting *x = a, *y = b;
    return GT_ORDER(x->point, y->point);
}

/* A kernel in which its rank waits for others has a point where the last of them comes. */
static void add_meeting(struct builder *builder, size_t event, uint32_t start, int64_t end)
{
    struct gt_path_graph *graph = builder->graph;
    size_t at = GT_SEARCH(0, builder->members, middle, builder->member[middle].point < event);
    const struct gt_path_meeting *member = at < builder->members && builder->member[at].point == event
                                               ? &builder->member[at]
                                               : NULL;
    int64_t ahead = graph->lane[graph->lanes - 1].ahead,
            last = member ? builder->collectives->collective[member->collective].last : 0;
    if (!member || last > end - ahead) /* the clocks are not so exact */
        return;
    last = last > graph->time[start] ? last : graph->time[start];
    uint32_t point = add_point(graph, last + ahead, builder->input->trace->events.name[event],
                               GT_PATH_WAITING | GT_PATH_MEETING);
    graph->meeting[graph->meeting_count++] = (struct gt_path_meeting){point, member->collective};
    uint32_t *latest = &graph->latest[member->collective];
    if (*latest == GT_TRACE_NONE || graph->time[start] > graph->time[*latest])
        *latest = start;
}

/* A collective of hosts with nothing inside it: the thread waits there for the other ranks. */
static bool begin_exchange(struct builder *builder, size_t track, size_t at, uint32_t begin)
{
    struct gt_path_graph *graph = builder->graph;
    const struct span *span = &builder->span[at];
    bool is_alone = at + 1 == builder->first[track + 1] || builder->span[at + 1].start >= span->end;
    if (!is_alone || builder->open[builder->open_count - 1].kind != GT_PATH_COMMUNICATION ||
        GT_APPEND_TO(graph, exchange, (struct gt_path_exchange){begin, begin}) < 0)
        return false;
    graph->kind[begin] |= GT_PATH_START;
    add_meeting(builder, span->event, begin, span->end);
    return true;
}

/* What reaches further beyond the end of the span around it lies behind it. */
static void add_host(struct builder *builder, size_t track)
{
    const struct gt_trace_events *events = &builder->input->trace->events;
    builder->open_count = 0;
    for (size_t i = builder->first[track]; i < builder->first[track + 1]; i++) {
        const struct span *span = &builder->span[i];
        int64_t last = INT64_MAX; /* end of the span around it */
        while (builder->open_count) {
            int64_t end = builder->open[builder->open_count - 1].end;
            if (is_inside(span, end) || is_in_loader(builder, span)) {
                last = end;
                break;
            }
            close_span(builder, end < span->start ? end : span->start);
        }
        unsigned char kind = (unsigned char)kind_of(builder, span->event);
        uint32_t begin = add_edge_of_span(builder, span->start), name = events->name[span->event];
        bool is_step = gt_is_profiler_step(gt_trace_text(builder->input->trace, name));
        if (gt_analysis_work(builder->input, span->event) == GT_WORK_RUNTIME)
            builder->link[span->event] = begin;
        struct open *open = GT_GROW(builder, open);
        if (!open) {
            gt_query_fail(builder->graph->query, -ENOMEM);
            return;
        }
        *open = (struct open){span->end < last ? span->end : last, span->event, is_step ? GT_TRACE_NONE : name, kind,
                              false};
        open->is_exchange = begin_exchange(builder, track, i, begin);
    }
    while (builder->open_count)
        close_span(builder, builder->open[builder->open_count - 1].end);
}

static enum gt_path_kind kind_of_work(const struct gt_analysis_input *input, size_t event)
{
    if (gt_analysis_work(input, event) != GT_WORK_KERNEL)
        return GT_PATH_COPIES;
    switch (input->usage[input->trace->events.name[event]]) {
    case GT_USE_COMMUNICATION: return GT_PATH_COMMUNICATION;
    case GT_USE_MEMORY: return GT_PATH_COPIES;
    default: return GT_PATH_COMPUTE;
    }
}

/* Work on a stream follows other work: where recorded times overlap, the later begins when the earlier ends. */
static void add_stream(struct builder *builder, size_t track)
{
    struct gt_path_graph *graph = builder->graph;
    const struct gt_trace_events *events = &builder->input->trace->events;
    struct gt_path_lane *lane = &graph->lane[graph->lanes - 1];
    int64_t busy = INT64_MIN;
    for (size_t i = builder->first[track]; i < builder->first[track + 1]; i++) {
        const struct span *span = &builder->span[i];
        uint32_t call = builder->link[span->event];
        int64_t begin = span->start > busy ? span->start : busy;
        busy = span->end > begin ? span->end : begin;
        struct gt_path_work *work = &graph->work[graph->work_count++];
        *work = (struct gt_path_work){.event = span->event, .call = call, .launched = INT64_MIN};
        if (call != GT_TRACE_NONE)
            work->launched = events->start[call] - lane->ahead;
        work->start = add_point(graph, begin, GT_TRACE_NONE, GT_PATH_GAPS | GT_PATH_START);
        add_meeting(builder, span->event, work->start, busy);
        work->end = add_point(graph, busy, events->name[span->event], kind_of_work(builder->input, span->event));
    }
    lane->work_end = graph->work_count;
}

static int64_t ahead_of(const struct builder *builder, uint32_t node)
{
    const struct gt_rank_clock *clock = gt_collectives_rank(builder->collectives, node);
    return clock ? clock->offset : 0;
}

static void add_range(struct gt_path_graph *graph, const struct gt_path_lane *lane)
{
    if (lane->from < lane->to &&
        gt_spans_add(&graph->range, (struct gt_keyed_span){.key = {lane->node},
                                                           .start = graph->time[lane->from] + lane->ahead,
                                                           .end = graph->time[lane->to - 1] + lane->ahead}) < 0)
        gt_query_fail(graph->query, -ENOMEM);
}

static void add_lanes(struct builder *builder)
{
    struct gt_path_graph *graph = builder->graph;
    const struct gt_trace *trace = builder->input->trace;
    for (size_t i = 0; i < trace->track_count; i++) {
        builder->lane_of[i] = GT_TRACE_NONE;
        if (builder->first[i] == builder->first[i + 1])
            continue;
        uint32_t file = trace->process[trace->track[i].process].file, node = builder->input->node[file];
        struct gt_path_lane *lane = &graph->lane[graph->lanes];
        builder->lane_of[i] = graph->lanes++;
        *lane = (struct gt_path_lane){.node = node,
                                      .file = file,
                                      .track = (uint32_t)i,
                                      .from = graph->points,
                                      .work = graph->work_count,
                                      .work_end = graph->work_count,
                                      .ahead = ahead_of(builder, node),
                                      .is_gpu = builder->is_gpu[i]};
        if (lane->is_gpu)
            add_stream(builder, i);
        else
            add_host(builder, i);
        lane->to = graph->points;
        add_range(graph, lane);
    }
    gt_spans_sort(&graph->range);
    gt_spans_unite(&graph->range, 1);
}

/* ---- the whole ---- */

/* The root of a broadcast, and all but the root of a reduction, go as soon as they have sent. */
static bool is_meeting(const struct gt_collective *collective)
{
    return collective->kind != GT_BROADCAST && collective->kind != GT_REDUCE;
}

static void collect_members(struct builder *builder)
{
    const struct gt_collectives *all = builder->collectives;
    size_t parts = all->count ? all->collective[all->count - 1].to : 0;
    builder->member = gt_query_memory(builder->graph->query, parts, sizeof *builder->member);
    for (size_t i = 0; i < all->count && builder->member; i++)
        for (size_t j = all->collective[i].from; j < all->collective[i].to && is_meeting(&all->collective[i]); j++)
            if (all->arrival[j].event != SIZE_MAX)
                builder->member[builder->members++] = (struct gt_path_meeting){(uint32_t)all->arrival[j].event,
                                                                               (uint32_t)i};
    GT_SORT(builder->member, builder->members, compare_members);
}

static void make_room(struct builder *builder)
{
    struct gt_path_graph *graph = builder->graph;
    struct gt_query *query = graph->query;
    size_t tracks = builder->input->trace->track_count;
    size_t points = 2 * builder->first[tracks] + graph->gpu.count + builder->members + 1;
    if (points >= GT_TRACE_NONE)
        gt_query_fail(query, -EOVERFLOW);
    graph->collectives = builder->collectives->count;
    graph->incomplete = builder->collectives->incomplete;
    graph->cut = builder->collectives->cut;
    graph->time = gt_query_memory(query, points, sizeof *graph->time);
    graph->name = gt_query_memory(query, points, sizeof *graph->name);
    graph->kind = gt_query_memory(query, points, 1);
    graph->order = gt_query_memory(query, points, sizeof *graph->order);
    graph->lane = gt_query_memory(query, tracks, sizeof *graph->lane);
    graph->work = gt_query_memory(query, graph->gpu.count, sizeof *graph->work);
    graph->meeting = gt_query_memory(query, builder->members, sizeof *graph->meeting);
    builder->lane_of = gt_query_memory(query, tracks, sizeof *builder->lane_of);
    graph->latest = gt_query_memory(query, graph->collectives, sizeof *graph->latest);
    for (size_t i = 0; graph->latest && i < graph->collectives; i++)
        graph->latest[i] = GT_TRACE_NONE;
}

static void prepare(struct builder *builder)
{
    struct gt_path_graph *graph = builder->graph;
    const struct gt_trace *trace = builder->input->trace;
    builder->is_left_out = gt_query_zeros(graph->query, trace->strings.count, sizeof *builder->is_left_out);
    builder->hosts.calls = gt_query_zeros(graph->query, trace->strings.count, 1);
    builder->link = gt_query_memory(graph->query, trace->events.count, sizeof *builder->link);
    if (!builder->link)
        return;
    memset(builder->link, 0xff, trace->events.count * sizeof *builder->link);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        uint32_t string = gt_trace_find(trace, left_out[i]);
        if (string != GT_TRACE_NONE)
            builder->is_left_out[string] = true;
    }
    graph->gpu = gt_gpu_all_spans(builder->input);
    graph->call = gt_gpu_launches(builder->input, &graph->gpu);
    for (size_t i = 0; i < graph->gpu.count && graph->call; i++)
        if (graph->call[i] != SIZE_MAX)
            builder->link[graph->gpu.span[i].event] = (uint32_t)graph->call[i];
}

struct head { /* of a lane, in the heap */
    int64_t time;
    uint32_t lane;
    int class;
};

/* What ends on a GPU may let a call return at the same moment, and that may launch work. */
static struct head head_of(const struct gt_path_graph *graph, uint32_t lane, uint32_t point)
{
    unsigned kind = graph->kind[point];
    int class = kind & GT_PATH_START ? 2 : kind & GT_PATH_MEETING ? 3 : !graph->lane[lane].is_gpu;
    return (struct head){graph->time[point], lane, class};
}

static bool is_before(const struct head *x, const struct head *y)
{
    return GT_ORDER_BY(GT_ORDER(x->time, y->time), GT_ORDER(x->class, y->class), GT_ORDER(x->lane, y->lane)) < 0;
}

static void sift(struct head *heap, size_t count, size_t at)
{
    struct head moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void order_points(struct gt_path_graph *graph)
{
    struct head *heap = gt_query_memory(graph->query, graph->lanes, sizeof *heap);
    uint32_t *next = gt_query_memory(graph->query, graph->lanes, sizeof *next), at = 0;
    size_t count = 0;
    for (uint32_t i = 0; next && i < graph->lanes; i++) {
        next[i] = graph->lane[i].from;
        if (next[i] < graph->lane[i].to)
            heap[count++] = head_of(graph, i, next[i]);
    }
    for (size_t i = count; i-- > 0;)
        sift(heap, count, i);
    while (count) {
        uint32_t lane = heap[0].lane;
        graph->order[at++] = lane;
        if (++next[lane] < graph->lane[lane].to)
            heap[0] = head_of(graph, lane, next[lane]);
        else
            heap[0] = heap[--count];
        sift(heap, count, 0);
    }
}

static int by_end(const void *a, const void *b)
{
    const struct gt_path_edge *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->to, y->to), GT_ORDER(y->is_binding, x->is_binding), GT_ORDER(x->from, y->from),
                       GT_ORDER(x->kind, y->kind));
}

/* Leaves out edges that run against the order, which clocks that differ a little may make, and tells points of
 * theirs. */
static void settle_edges(struct gt_path_graph *graph)
{
    uint32_t *next = gt_query_memory(graph->query, graph->lanes, sizeof *next);
    size_t *at = gt_query_memory(graph->query, graph->lanes, sizeof *at), kept = 0;
    if (!at)
        return;
    GT_SORT(graph->edge, graph->edge_count, by_end);
    for (uint32_t i = 0; i < graph->lanes; i++) {
        next[i] = graph->lane[i].from;
        at[i] = gt_path_edges(graph, next[i]);
    }
    for (uint32_t i = 0; i < graph->points; i++) {
        uint32_t lane = graph->order[i], point = next[lane];
        for (size_t *edge = &at[lane]; *edge < graph->edge_count && graph->edge[*edge].to == point; ++*edge) {
            uint32_t from = graph->edge[*edge].from;
            if (from < next[gt_path_lane_of(graph, from)])
                continue;
            graph->edge[*edge].weight = -1;
            if (graph->edge[*edge].is_binding && point > graph->lane[lane].from)
                graph->kind[point] &= (unsigned char)~GT_PATH_ALONE;
        }
        next[lane]++;
    }
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->edge[i].weight >= 0) {
            graph->edge[kept++] = graph->edge[i];
            graph->kind[graph->edge[i].to] |= GT_PATH_HELD;
        }
    graph->edge_count = kept;
    for (uint32_t i = 0; i < graph->lanes; i++)
        graph->lane[i].edge = gt_path_edges(graph, graph->lane[i].from);
}

static int compare_waits(const void *a, const void *b)
{
    const struct gt_path_wait *x = a, *y = b;
    return GT_ORDER(x->event, y->event);
}

static void hold(struct builder *builder)
{
    struct gt_path_hosts *hosts = &builder->hosts;
    hosts->begin = builder->link;
    hosts->lane_of = builder->lane_of;
    GT_SORT(hosts->wait, hosts->count, compare_waits);
    gt_path_hold_gpus(builder->graph, hosts);
    order_points(builder->graph);
    if (gt_query_status(builder->graph->query) >= 0)
        gt_path_hold_threads(builder->graph, builder->input, builder->lane_of);
    settle_edges(builder->graph);
}

int gt_path_graph_open(struct gt_path_graph *graph, const struct gt_analysis_input *input,
                       const struct gt_collectives *collectives, uint32_t first)
{
    static void (*const stages[])(struct builder *) = {prepare,   collect_members, sort_spans,
                                                       make_room, add_lanes,       hold};
    struct builder builder = {
        .input = input, .graph = graph, .collectives = collectives, .hosts = {.input = input, .first = first}};
    *graph = (struct gt_path_graph){.query = input->query};
    for (size_t i = 0; i < sizeof stages / sizeof *stages && gt_query_status(graph->query) >= 0; i++)
        stages[i](&builder);
    free(builder.span);
    free(builder.hosts.wait);
    free(builder.open);
    return gt_query_status(graph->query);
}

void gt_path_graph_close(struct gt_path_graph *graph)
{
    free(graph->edge);
    free(graph->exchange);
    gt_spans_release(&graph->range);
    *graph = (struct gt_path_graph){0};
}

/* ---- questions ---- */

uint32_t gt_path_lane_of(const struct gt_path_graph *graph, uint32_t point)
{
    uint32_t low = 0, high = graph->lanes;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (graph->lane[middle].from <= point)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t gt_path_at(const struct gt_path_graph *graph, uint32_t lane, int64_t time)
{
    uint32_t low = graph->lane[lane].from, high = graph->lane[lane].to;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (graph->time[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > graph->lane[lane].from ? low - 1 : GT_TRACE_NONE;
}

size_t gt_path_edges(const struct gt_path_graph *graph, uint32_t point)
{
    return GT_SEARCH(0, graph->edge_count, middle, graph->edge[middle].to < point);
}

uint32_t gt_path_collective(const struct gt_path_graph *graph, uint32_t point)
{
    return graph->meeting[GT_SEARCH(0, graph->meeting_count, middle, graph->meeting[middle].point < point)].collective;
}

/* ---- edges ---- */

void gt_path_bind(struct gt_path_graph *graph, uint32_t to, uint32_t from, uint32_t name, unsigned kind)
{
    GT_PATH_APPEND(
        graph, graph, edge,
        (struct gt_path_edge){graph->time[to] - graph->time[from], to, from, name, (unsigned char)kind, true});
    graph->kind[to] |= GT_PATH_ALONE;
}

void gt_path_hold(struct gt_path_graph *graph, uint32_t to, uint32_t from, uint32_t name, unsigned kind, int64_t weight)
{
    GT_PATH_APPEND(graph, graph, edge, (struct gt_path_edge){weight, to, from, name, (unsigned char)kind, false});
}

void gt_path_go_on(struct gt_path_graph *graph, uint32_t to, uint32_t from)
{
    if (graph->kind[to] & GT_PATH_ALONE)
        return;
    gt_path_bind(graph, to, from, GT_TRACE_NONE, GT_PATH_OTHER);
    if (to > graph->lane[gt_path_lane_of(graph, to)].from)
        gt_path_hold(graph, to, to - 1, GT_TRACE_NONE, GT_PATH_OTHER, 0);
}
