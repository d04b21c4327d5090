/* Work of GPUs follows its call, and what its stream was ordered to wait for; calls follow the work that they wait
 * for. */
#include <stdlib.h>
#include <string.h>

#include "analyse/path/path_graph.h"
#include "base/grow.h"
#include "base/number.h"

/* ---- calls ---- */

static enum gt_path_call classify(const char *name)
{
    if (strstr(name, "EventRecord"))
        return GT_PATH_RECORDS;
    if (strstr(name, "StreamWaitEvent"))
        return GT_PATH_ORDERS;
    if (strstr(name, "Memcpy"))
        return GT_PATH_COPIES_MEMORY;
    bool frees = strcmp(name, "cudaFree") == 0 || strncmp(name, "cudaFree_v", 10) == 0 || strcmp(name, "hipFree") == 0;
    return frees || strstr(name, "Synchronize") ? GT_PATH_WAITS : GT_PATH_NO_WAIT;
}

enum gt_path_call gt_path_call(const struct gt_path_hosts *hosts, uint32_t name)
{
    if (!hosts->calls[name])
        hosts->calls[name] = (unsigned char)(1 + classify(gt_trace_text(hosts->input->trace, name)));
    return (enum gt_path_call)(hosts->calls[name] - 1);
}

/* ---- events and synchronization in the trace ---- */

struct record { /* a call that records an event, or makes a stream wait for one */
    uint64_t id;
    uint32_t file, track;
    int64_t start;
};

struct sync {            /* of a call: it waits for a stream, or for what stood before a record on it */
    uint32_t call, lane; /* lane GT_TRACE_NONE: for all */
    int64_t until;       /* what was launched by then */
};

struct wait { /* of a stream for another: points */
    uint32_t to, from;
};

struct known_waits {
    struct gt_path_graph *graph;
    const struct gt_path_hosts *hosts;
    struct record *record, *order; /* by file and id; by track and start */
    size_t record_count, record_capacity, order_count, order_capacity;
    struct sync *sync; /* by call */
    size_t sync_count, sync_capacity;
    struct wait *wait; /* by `to` */
    size_t wait_count, wait_capacity;
    bool *has_waits; /* of a file: waits of streams were recorded */
};

static int compare_records(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->id, y->id), GT_ORDER(x->start, y->start));
}

static int compare_orders(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->track, y->track), GT_ORDER(x->start, y->start));
}

static int compare_syncs(const void *a, const void *b)
{
    const struct sync *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->call, y->call), GT_ORDER(x->lane, y->lane));
}

static int compare_stream_waits(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->to, y->to), GT_ORDER(x->from, y->from));
}

static void collect_records(struct known_waits *known)
{
    const struct gt_analysis_input *input = known->hosts->input;
    const struct gt_trace_events *events = &input->trace->events;
    for (size_t i = 0; i < events->count; i++) {
        uint32_t begin = known->hosts->begin[i];
        if (begin == GT_TRACE_NONE || gt_analysis_work(input, i) != GT_WORK_RUNTIME)
            continue;
        enum gt_path_call call = gt_path_call(known->hosts, events->name[i]);
        struct record record = {gt_trace_id(events, i), gt_trace_process_of(input->trace, i)->file, events->track[i],
                                known->graph->time[begin]};
        if (call == GT_PATH_RECORDS)
            GT_PATH_APPEND(known->graph, known, record, record);
        else if (call == GT_PATH_ORDERS)
            GT_PATH_APPEND(known->graph, known, order, record);
    }
    GT_SORT(known->record, known->record_count, compare_records);
    GT_SORT(known->order, known->order_count, compare_orders);
}

/* The stream of this number on the device of a track. */
static uint32_t find_stream(const struct known_waits *known, uint32_t track, double number)
{
    const struct gt_trace *trace = known->hosts->input->trace;
    for (uint32_t i = 0; i < known->graph->lanes; i++) {
        const struct gt_path_lane *lane = &known->graph->lane[i];
        const struct gt_trace_track *own = &trace->track[lane->track];
        double tid;
        if (lane->is_gpu && own->process == trace->track[track].process &&
            gt_number_double(gt_trace_text(trace, own->tid), &tid) == 0 && tid == number)
            return i;
    }
    return GT_TRACE_NONE;
}

static double number_of(const struct known_waits *known, size_t event, uint32_t key)
{
    const struct gt_trace_argument *argument = gt_trace_argument(known->hosts->input->trace, event,
                                                                 known->hosts->first + key);
    return argument ? argument->number : NAN;
}

/* The last work of a stream that was launched before `time`, or the first that was not: `behind` it. */
static const struct gt_path_work *launched_by(const struct gt_path_graph *graph, uint32_t lane, int64_t time,
                                              bool behind)
{
    size_t low = GT_SEARCH(graph->lane[lane].work, graph->lane[lane].work_end, middle,
                           graph->work[middle].launched < time);
    if (behind)
        return low < graph->lane[lane].work_end ? &graph->work[low] : NULL;
    return low > graph->lane[lane].work ? &graph->work[low - 1] : NULL;
}

/* When the event was recorded that something waits for. */
static bool find_record(const struct known_waits *known, size_t event, int64_t *ret)
{
    double id = number_of(known, event, GT_PATH_WAIT_ON_RECORD);
    if (!(id > 0 && id < 9e15) || !known->record_count)
        return false;
    struct record wanted = {(uint64_t)id, gt_trace_process_of(known->hosts->input->trace, event)->file, 0, 0};
    size_t low = GT_SEARCH(0, known->record_count, middle,
                           known->record[middle].file != wanted.file ? known->record[middle].file < wanted.file
                                                                     : known->record[middle].id < wanted.id);
    bool found = low < known->record_count && known->record[low].file == wanted.file &&
                 known->record[low].id == wanted.id;
    *ret = found ? known->record[low].start : 0;
    return found;
}

static void add_stream_wait(struct known_waits *known, size_t event, int64_t called)
{
    const struct gt_trace *trace = known->hosts->input->trace;
    uint32_t track = trace->events.track[event], to = known->hosts->lane_of[track];
    uint32_t from = find_stream(known, track, number_of(known, event, GT_PATH_WAIT_ON_STREAM));
    int64_t recorded;
    if (to == GT_TRACE_NONE || from == GT_TRACE_NONE || to == from || !find_record(known, event, &recorded))
        return;
    const struct gt_path_work *before = launched_by(known->graph, from, recorded, false);
    const struct gt_path_work *behind = launched_by(known->graph, to, called, true);
    known->has_waits[known->graph->lane[to].file] = true;
    if (before && behind)
        GT_PATH_APPEND(known->graph, known, wait, (struct wait){behind->start, before->end});
}

static void add_sync(struct known_waits *known, size_t event, uint32_t call, const char *name)
{
    const struct gt_trace *trace = known->hosts->input->trace;
    struct sync sync = {call, GT_TRACE_NONE, INT64_MAX};
    uint32_t track = trace->events.track[event];
    if (strncmp(name, "Event", 5) == 0) {
        sync.lane = find_stream(known, track, number_of(known, event, GT_PATH_WAIT_ON_STREAM));
        if (!find_record(known, event, &sync.until))
            sync.until = INT64_MAX;
    } else if (strncmp(name, "Stream", 6) == 0) {
        sync.lane = known->hosts->lane_of[track];
        sync.lane = sync.lane == GT_TRACE_NONE ? known->graph->lanes : sync.lane; /* nothing ran there */
    }
    GT_PATH_APPEND(known->graph, known, sync, sync);
}

/* Kineto's and Nsight's records of synchronization, joined with their calls. */
static void collect_syncs(struct known_waits *known)
{
    const struct gt_trace *trace = known->hosts->input->trace;
    uint32_t category = gt_trace_find(trace, "cuda_sync");
    struct gt_spans spans = {0};
    int status = 0;
    for (size_t i = 0; i < trace->events.count && category != GT_TRACE_NONE && status >= 0; i++)
        if (trace->events.category[i] == category && gt_trace_lasts(trace, i))
            status = gt_spans_add_event(&spans, trace, i, GT_SPAN_KEY(0));
    if (status < 0)
        gt_query_fail(known->graph->query, status);
    const size_t *call = spans.count ? gt_gpu_launches(known->hosts->input, &spans) : NULL;
    for (size_t i = 0; i < spans.count && call; i++) {
        const char *name = gt_trace_text(trace, trace->events.name[spans.span[i].event]);
        uint32_t begin = call[i] == SIZE_MAX ? GT_TRACE_NONE : known->hosts->begin[call[i]];
        if (begin == GT_TRACE_NONE)
            continue;
        if (strncmp(name, "Stream Wait", 11) == 0 || strncmp(name, "Stream waits", 12) == 0)
            add_stream_wait(known, spans.span[i].event, known->graph->time[begin]);
        else
            add_sync(known, spans.span[i].event, (uint32_t)call[i], name);
    }
    GT_SORT(known->sync, known->sync_count, compare_syncs);
    GT_SORT(known->wait, known->wait_count, compare_stream_waits);
    gt_spans_release(&spans);
}

static void release_known(struct known_waits *known)
{
    free(known->record);
    free(known->order);
    free(known->sync);
    free(known->wait);
}

/* ---- streams ---- */

/* Where waits of streams were not recorded, work that begins late may wait for another stream if the thread told some
 * stream to wait since it launched the work before on this one; kernels of one graph may always. */
static bool may_wait(const struct known_waits *known, const struct gt_path_lane *lane, const struct gt_path_work *work)
{
    const struct gt_trace *trace = known->hosts->input->trace;
    if (known->has_waits[lane->file] || work->call == GT_TRACE_NONE)
        return false;
    if (strstr(gt_trace_text(trace, trace->events.name[work->call]), "GraphLaunch"))
        return true;
    struct record wanted = {.track = trace->events.track[work->call], .start = work->launched};
    size_t low = GT_SEARCH(0, known->order_count, middle, compare_orders(&known->order[middle], &wanted) <= 0);
    bool is_first = work == &known->graph->work[lane->work];
    return low && known->order[low - 1].track == wanted.track &&
           (is_first || known->order[low - 1].start > work[-1].launched);
}

/* The work of another stream of the device that ended last before a point; GT_TRACE_NONE: none ended behind `after`. */
static uint32_t find_last_end(const struct known_waits *known, const struct gt_path_lane *lane, uint32_t point,
                              int64_t after)
{
    const struct gt_path_graph *graph = known->graph;
    const struct gt_trace *trace = known->hosts->input->trace;
    uint32_t best = GT_TRACE_NONE;
    for (uint32_t i = 0; i < graph->lanes; i++) {
        const struct gt_path_lane *other = &graph->lane[i];
        if (!other->is_gpu || other == lane || trace->track[other->track].process != trace->track[lane->track].process)
            continue;
        uint32_t at = gt_path_at(graph, i, graph->time[point]);
        while (at != GT_TRACE_NONE && (graph->kind[at] & (GT_PATH_START | GT_PATH_MEETING)))
            at = at > other->from ? at - 1 : GT_TRACE_NONE;
        if (at != GT_TRACE_NONE && graph->time[at] > after) {
            best = at;
            after = graph->time[at];
        }
    }
    return best;
}

struct holds { /* of the start of work: what may hold it */
    uint32_t before, call, other;
    bool is_inferred;
};

/* How long a launch takes at least. */
struct delay {
    int64_t from_begin, from_end; /* of the call; work that begins before the end has none from there */
};

static struct delay delay_of(const struct known_waits *known, const struct gt_path_work *work)
{
    int64_t delay = work->launched == INT64_MIN ? -1 : known->graph->time[work->start] - work->launched;
    if (delay < 0)
        return (struct delay){INT64_MAX, INT64_MAX};
    int64_t rest = delay - gt_trace_duration(&known->hosts->input->trace->events, work->call);
    return (struct delay){delay, rest > 0 ? rest : 0};
}

/* What the shortest launches make of this call: no more than it took. */
static int64_t least_weight(const struct known_waits *known, const struct gt_path_work *work, const struct delay *least,
                            int64_t weight)
{
    int64_t through = gt_trace_duration(&known->hosts->input->trace->events, work->call) + least->from_end;
    weight = weight < least->from_begin ? weight : least->from_begin;
    return weight < through ? weight : through;
}

/* The latest binds; the others hold it no longer than they must. */
static void hold_start(struct known_waits *known, const struct gt_path_work *work, struct holds holds,
                       const struct delay *least)
{
    struct gt_path_graph *graph = known->graph;
    const struct gt_trace_events *events = &known->hosts->input->trace->events;
    uint32_t point = work->start, name = work->call == GT_TRACE_NONE ? GT_TRACE_NONE : events->name[work->call];
    int64_t before = holds.before == GT_TRACE_NONE ? INT64_MIN : graph->time[holds.before];
    int64_t called = holds.call == GT_TRACE_NONE ? INT64_MIN : graph->time[holds.call];
    int64_t other = holds.other == GT_TRACE_NONE ? INT64_MIN : graph->time[holds.other];
    if (holds.call != GT_TRACE_NONE && called > before && called > other)
        gt_path_bind(graph, point, holds.call, name, GT_PATH_CALLS);
    else if (holds.call != GT_TRACE_NONE)
        gt_path_hold(graph, point, holds.call, name, GT_PATH_CALLS,
                     least_weight(known, work, least, graph->time[point] - called));
    if (holds.other != GT_TRACE_NONE && other > before && other >= called) {
        graph->inferred += holds.is_inferred;
        gt_path_bind(graph, point, holds.other, GT_TRACE_NONE, GT_PATH_GAPS);
    } else if (holds.other != GT_TRACE_NONE) {
        gt_path_hold(graph, point, holds.other, GT_TRACE_NONE, GT_PATH_GAPS, 0);
    }
    if (holds.before != GT_TRACE_NONE && graph->kind[point] & GT_PATH_ALONE)
        gt_path_hold(graph, point, holds.before, GT_TRACE_NONE, GT_PATH_GAPS, 0);
}

/* For each process, which a device is. */
static struct delay *least_delays(const struct known_waits *known)
{
    const struct gt_path_graph *graph = known->graph;
    const struct gt_trace *trace = known->hosts->input->trace;
    struct delay *least = gt_query_memory(graph->query, trace->process_count, sizeof *least);
    for (size_t i = 0; least && i < trace->process_count; i++)
        least[i] = (struct delay){INT64_MAX, INT64_MAX};
    for (uint32_t i = 0; least && i < graph->lanes; i++)
        for (size_t j = graph->lane[i].work; j < graph->lane[i].work_end; j++) {
            struct delay *of = &least[trace->track[graph->lane[i].track].process];
            struct delay delay = delay_of(known, &graph->work[j]);
            of->from_begin = delay.from_begin < of->from_begin ? delay.from_begin : of->from_begin;
            of->from_end = delay.from_end < of->from_end ? delay.from_end : of->from_end;
        }
    return least;
}

/* Work that begins long after all that it is known to wait for, and right behind work of another stream, waited for
 * that: there was no room beside it, or the trace does not tell why. */
static uint32_t find_room_maker(const struct known_waits *known, const struct gt_path_lane *lane,
                                const struct gt_path_work *work, const struct holds *holds, const struct delay *least)
{
    enum { LONG = 10000 };
    const int64_t *time = known->graph->time;
    int64_t start = time[work->start], ready = INT64_MIN;
    if (holds->call != GT_TRACE_NONE)
        ready = time[holds->call] + least_weight(known, work, least, INT64_MAX);
    if (holds->before != GT_TRACE_NONE && time[holds->before] > ready)
        ready = time[holds->before];
    if (ready == INT64_MIN || start - ready < LONG)
        return GT_TRACE_NONE;
    uint32_t end = find_last_end(known, lane, work->start, ready);
    return end != GT_TRACE_NONE && start - time[end] <= (start - ready) / 2 ? end : GT_TRACE_NONE;
}

static void hold_stream(struct known_waits *known, uint32_t number, const struct delay *least, size_t *wait)
{
    struct gt_path_graph *graph = known->graph;
    const struct gt_path_lane *lane = &graph->lane[number];
    for (size_t i = lane->work; i < lane->work_end; i++) {
        const struct gt_path_work *work = &graph->work[i];
        struct holds holds = {i > lane->work ? work->start - 1 : GT_TRACE_NONE, GT_TRACE_NONE, GT_TRACE_NONE, false};
        int64_t start = graph->time[work->start];
        if (work->call != GT_TRACE_NONE && work->launched <= start)
            holds.call = known->hosts->begin[work->call]; /* none where the call was left out */
        int64_t after = holds.call == GT_TRACE_NONE ? INT64_MIN : graph->time[holds.call];
        if (holds.before != GT_TRACE_NONE && graph->time[holds.before] > after)
            after = graph->time[holds.before];
        for (; *wait < known->wait_count && known->wait[*wait].to <= work->start; ++*wait) {
            uint32_t from = known->wait[*wait].from;
            bool is_ours = known->wait[*wait].to == work->start && graph->time[from] <= start;
            if (is_ours && (holds.other == GT_TRACE_NONE || graph->time[from] > graph->time[holds.other]))
                holds.other = from;
        }
        if (after < start && may_wait(known, lane, work)) {
            holds.other = find_last_end(known, lane, work->start, after);
            holds.is_inferred = true;
        } else if (holds.other == GT_TRACE_NONE) {
            holds.other = find_room_maker(known, lane, work, &holds, least);
            holds.is_inferred = true;
        }
        hold_start(known, work, holds, least);
    }
}

/* ---- hosts ---- */

/* The work of a stream that ended last while a call lasted, of what was launched before it. */
static uint32_t last_in_call(const struct gt_path_graph *graph, const struct gt_path_lane *lane,
                             const struct gt_path_wait *wait, int64_t until)
{
    size_t low = GT_SEARCH(lane->work, lane->work_end, middle,
                           graph->time[graph->work[middle].end] <= graph->time[wait->end]);
    for (; low > lane->work && graph->time[graph->work[low - 1].end] > wait->start; low--)
        if (graph->work[low - 1].launched < wait->start && graph->work[low - 1].launched <= until)
            return graph->work[low - 1].end;
    return GT_TRACE_NONE;
}

/* The record of a synchronization tells its stream; without one, the work that ended last in the call may have been
 * waited for, whatever its stream. */
static struct sync sync_of(const struct known_waits *known, const struct gt_path_wait *wait)
{
    size_t low = GT_SEARCH(0, known->sync_count, middle, known->sync[middle].call < wait->event);
    return low < known->sync_count && known->sync[low].call == wait->event
               ? known->sync[low]
               : (struct sync){wait->event, GT_TRACE_NONE, INT64_MAX};
}

static bool is_waited_for(const struct gt_path_graph *graph, uint32_t lane, uint32_t file, const struct sync *sync)
{
    return graph->lane[lane].is_gpu && graph->lane[lane].file == file &&
           (sync->lane == GT_TRACE_NONE || sync->lane == lane);
}

static uint32_t waited_for(const struct known_waits *known, const struct gt_path_wait *wait, const struct sync *sync)
{
    const struct gt_path_graph *graph = known->graph;
    uint32_t file = gt_trace_process_of(known->hosts->input->trace, wait->event)->file, best = GT_TRACE_NONE;
    for (uint32_t i = 0; i < graph->lanes; i++) {
        uint32_t end = is_waited_for(graph, i, file, sync) ? last_in_call(graph, &graph->lane[i], wait, sync->until)
                                                           : GT_TRACE_NONE;
        if (end != GT_TRACE_NONE && (best == GT_TRACE_NONE || graph->time[end] > graph->time[best]))
            best = end;
    }
    return best;
}

static void hold_call(struct known_waits *known, const struct gt_path_wait *wait, uint32_t from)
{
    struct gt_path_graph *graph = known->graph;
    uint32_t name = known->hosts->input->trace->events.name[wait->event];
    if (from == GT_TRACE_NONE || (graph->kind[wait->end] & GT_PATH_ALONE))
        return;
    gt_path_bind(graph, wait->end, from, name, GT_PATH_SYNCHRONIZATION);
    gt_path_hold(graph, wait->end, wait->end - 1, name, GT_PATH_SYNCHRONIZATION, 0);
}

/* A call that waits for the whole device comes behind the work of all streams, not only of the latest. */
static void hold_synchronization(struct known_waits *known, const struct gt_path_wait *wait)
{
    struct gt_path_graph *graph = known->graph;
    const struct gt_trace *trace = known->hosts->input->trace;
    struct sync sync = sync_of(known, wait);
    uint32_t file = gt_trace_process_of(trace, wait->event)->file, name = trace->events.name[wait->event];
    uint32_t latest = waited_for(known, wait, &sync);
    hold_call(known, wait, latest);
    if (latest == GT_TRACE_NONE || strstr(gt_trace_text(trace, name), "Stream") ||
        strstr(gt_trace_text(trace, name), "Event"))
        return;
    for (uint32_t i = 0; i < graph->lanes; i++) {
        uint32_t end = is_waited_for(graph, i, file, &sync) ? last_in_call(graph, &graph->lane[i], wait, sync.until)
                                                            : GT_TRACE_NONE;
        if (end != GT_TRACE_NONE && end != latest)
            gt_path_hold(graph, wait->end, end, name, GT_PATH_SYNCHRONIZATION,
                         graph->time[wait->end] - graph->time[latest]);
    }
}

/* A copy that ends before its call does was waited for: memory that is not pinned, or a call that is not
 * asynchronous. */
static void hold_copies(struct known_waits *known)
{
    const struct gt_path_graph *graph = known->graph;
    const struct gt_path_hosts *hosts = known->hosts;
    for (size_t i = 0; i < graph->work_count && hosts->count; i++) {
        const struct gt_path_work *work = &graph->work[i];
        if (work->call == GT_TRACE_NONE ||
            gt_path_call(hosts, hosts->input->trace->events.name[work->call]) != GT_PATH_COPIES_MEMORY)
            continue;
        size_t at = GT_SEARCH(0, hosts->count, middle, hosts->wait[middle].event < work->call);
        const struct gt_path_wait *wait = at < hosts->count && hosts->wait[at].event == work->call ? &hosts->wait[at]
                                                                                                   : NULL;
        if (wait && graph->time[work->end] <= graph->time[wait->end] && graph->time[work->end] > wait->start)
            hold_call(known, wait, work->end);
    }
}

/* ---- pauses of hosts ---- */

/* The last work of GPUs, if the thread launched it before its pause and nobody launched more until the end of it. */
static const struct gt_path_work *find_drain(const struct known_waits *known, const struct gt_path_lane *host,
                                             uint32_t begin, uint32_t end)
{
    const struct gt_path_graph *graph = known->graph;
    const struct gt_path_work *best = NULL;
    for (uint32_t i = 0; i < graph->lanes; i++) {
        if (!graph->lane[i].is_gpu || graph->lane[i].file != host->file)
            continue;
        const struct gt_path_work *last = launched_by(graph, i, graph->time[end], false);
        if (!last || last->call == GT_TRACE_NONE)
            continue;
        if (last->launched > graph->time[begin])
            return NULL;
        if (!best || graph->time[last->end] > graph->time[best->end])
            best = last;
    }
    return best && known->hosts->input->trace->events.track[best->call] == host->track ? best : NULL;
}

/* A pause from `begin` to `end` of a thread whose GPUs have nothing left to do in the end is taken as waiting for them
 * as long as they work: without the host's part no more can be won than they are idle. */
static void hold_pause(struct known_waits *known, const struct gt_path_lane *host, uint32_t begin, uint32_t end)
{
    enum { SHORT = 10000 };
    struct gt_path_graph *graph = known->graph;
    const int64_t *time = graph->time;
    if (time[end] - time[begin] < SHORT)
        return;
    const struct gt_path_work *work = find_drain(known, host, begin, end);
    if (!work || time[work->end] <= time[begin] || time[work->end] > time[end])
        return;
    uint32_t point = begin + 1;
    while (time[point] < time[work->end])
        point++;
    if (!(graph->kind[point] & (GT_PATH_ALONE | GT_PATH_START)))
        gt_path_go_on(graph, point, work->end);
}

/* Where calls that wait were recorded, pauses are no waits. */
static void hold_pauses(struct known_waits *known)
{
    const struct gt_path_graph *graph = known->graph;
    const struct gt_path_hosts *hosts = known->hosts;
    const struct gt_trace *trace = hosts->input->trace;
    bool *has_calls = gt_query_zeros(graph->query, trace->file_count, sizeof *has_calls);
    for (size_t i = 0; i < hosts->count && has_calls; i++)
        if (gt_path_call(hosts, trace->events.name[hosts->wait[i].event]) == GT_PATH_WAITS)
            has_calls[gt_trace_process_of(trace, hosts->wait[i].event)->file] = true;
    for (uint32_t i = 0; i < graph->lanes && has_calls; i++) {
        const struct gt_path_lane *lane = &graph->lane[i];
        if (lane->is_gpu || has_calls[lane->file])
            continue;
        for (uint32_t at = lane->from + 1, begin; at < lane->to; at++) {
            begin = at - 1;
            while (at < lane->to && (graph->kind[at] & GT_PATH_KIND) == GT_PATH_OTHER)
                at++;
            if (at - 1 > begin)
                hold_pause(known, lane, begin, at - 1);
        }
    }
}

void gt_path_hold_gpus(struct gt_path_graph *graph, const struct gt_path_hosts *hosts)
{
    const struct gt_trace *trace = hosts->input->trace;
    struct known_waits known = {
        .graph = graph, .hosts = hosts, .has_waits = gt_query_zeros(graph->query, trace->file_count, sizeof(bool))};
    size_t wait = 0;
    if (known.has_waits) {
        collect_records(&known);
        collect_syncs(&known);
    }
    struct delay *least = least_delays(&known);
    for (uint32_t i = 0; i < graph->lanes && least; i++)
        if (graph->lane[i].is_gpu)
            hold_stream(&known, i, &least[trace->track[graph->lane[i].track].process], &wait);
    if (least) {
        hold_copies(&known);
        for (size_t i = 0; i < hosts->count; i++)
            if (gt_path_call(hosts, trace->events.name[hosts->wait[i].event]) == GT_PATH_WAITS)
                hold_synchronization(&known, &hosts->wait[i]);
        hold_pauses(&known);
    }
    release_known(&known);
}

/* ---- threads ---- Threads of the host that go on where another stops. A run is a stretch in which a thread is in
 * operators or calls. Where a thread begins a run, and another ended one meanwhile, which had begun after the first had
 * stopped, and stays idle for the run, it handed over: backward() to the engine's thread, and the engine's thread
 * back. */

struct thread {
    uint32_t next;             /* point */
    uint32_t next_lane;        /* of another thread of the file, or GT_TRACE_NONE */
    uint32_t run, idle;        /* points: begin of the last run, and its end, since when the thread is idle */
    uint32_t giver, giver_end; /* who may have handed over to the run that goes on: its lane, and the end of its run */
    bool is_busy, has_run;
};

struct file {
    uint32_t latest;     /* point of its threads; GT_TRACE_NONE before the first */
    uint32_t latest_run; /* lane that ended a run last */
    uint32_t lane;       /* first of its threads */
};

struct threads {
    struct gt_path_graph *graph;
    struct thread *thread; /* of each lane */
    struct file *file;
};

static bool is_run(unsigned kind)
{
    return (kind & GT_PATH_KIND) != GT_PATH_OTHER;
}

static void find_giver(struct threads *threads, const struct file *file, uint32_t lane, uint32_t point)
{
    const struct gt_path_graph *graph = threads->graph;
    struct thread *own = &threads->thread[lane];
    int64_t best = INT64_MIN;
    own->giver = GT_TRACE_NONE;
    if (!own->has_run || file->latest_run == lane)
        return;
    for (uint32_t i = file->lane; i != GT_TRACE_NONE; i = threads->thread[i].next_lane) {
        const struct thread *other = &threads->thread[i];
        if (i == lane || other->is_busy || !other->has_run || graph->time[other->run] < graph->time[own->idle] ||
            graph->time[other->idle] <= best || graph->time[other->idle] > graph->time[point])
            continue;
        best = graph->time[other->idle];
        own->giver = i;
        own->giver_end = other->idle;
    }
}

/* The first point behind the hand-over is held by it. */
static void take_over(struct threads *threads, uint32_t lane)
{
    struct gt_path_graph *graph = threads->graph;
    const struct thread *own = &threads->thread[lane];
    const struct thread *giver = own->giver == GT_TRACE_NONE ? NULL : &threads->thread[own->giver];
    uint32_t point = own->run;
    if (!giver || giver->is_busy || giver->idle != own->giver_end)
        return;
    while (point - 1 > own->idle && graph->time[point - 1] >= graph->time[own->giver_end])
        point--;
    gt_path_go_on(graph, point, own->giver_end);
}

static void take_point(struct threads *threads, uint32_t lane)
{
    struct gt_path_graph *graph = threads->graph;
    struct thread *own = &threads->thread[lane];
    struct file *file = &threads->file[graph->lane[lane].file];
    uint32_t point = own->next++;
    bool will_run = own->next < graph->lane[lane].to && is_run(graph->kind[own->next]);
    if (point == graph->lane[lane].from && file->latest != GT_TRACE_NONE)
        gt_path_go_on(graph, point, file->latest);
    file->latest = point;
    if (!own->is_busy && will_run) {
        find_giver(threads, file, lane, point);
        own->run = point;
        own->is_busy = true;
    } else if (own->is_busy && !will_run) {
        take_over(threads, lane);
        own->idle = point;
        own->is_busy = false;
        own->has_run = true;
        file->latest_run = lane;
    }
}

/* Threads of a file are listed in the order of their lanes. */
static void sweep(struct gt_path_graph *graph, size_t files)
{
    struct threads threads = {graph, gt_query_memory(graph->query, graph->lanes, sizeof *threads.thread),
                              gt_query_memory(graph->query, files, sizeof *threads.file)};
    if (!threads.file || !threads.thread)
        return;
    memset(threads.file, 0xff, files * sizeof *threads.file); /* GT_TRACE_NONE */
    for (uint32_t i = graph->lanes; i-- > 0;) {
        struct file *file = &threads.file[graph->lane[i].file];
        threads.thread[i] = (struct thread){graph->lane[i].from, file->lane, .giver = GT_TRACE_NONE};
        if (!graph->lane[i].is_gpu)
            file->lane = i;
    }
    for (uint32_t i = 0; i < graph->points; i++)
        if (!graph->lane[graph->order[i]].is_gpu)
            take_point(&threads, graph->order[i]);
}

/* ---- backward operators ---- */

struct end { /* of a flow */
    uint64_t id;
    uint32_t file, point;
    bool is_backward;
};

struct ends {
    struct end *end;
    size_t end_count, end_capacity;
};

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->id, y->id), GT_ORDER(x->is_backward, y->is_backward),
                       GT_ORDER(x->point, y->point));
}

/* The flow stands at the begin of its operator, which may begin with others inside it. */
static uint32_t point_of(const struct gt_path_graph *graph, uint32_t lane, int64_t time)
{
    uint32_t point = gt_path_at(graph, lane, time);
    while (point != GT_TRACE_NONE && point > graph->lane[lane].from && graph->time[point - 1] == graph->time[point])
        point--;
    return point;
}

static void collect_flows(const struct gt_path_graph *graph, const struct gt_analysis_input *input,
                          const uint32_t *lane_of, struct ends *ends)
{
    static const char *const names[] = {"fwdbwd", "fwd_bwd", "forward_backward"};
    const struct gt_trace_events *events = &input->trace->events;
    uint32_t category[3];
    for (size_t i = 0; i < 3; i++)
        category[i] = gt_trace_find(input->trace, names[i]);
    for (size_t i = 0; i < events->count; i++) {
        uint32_t own = events->category[i], lane = lane_of[events->track[i]];
        bool is_ours = own != GT_TRACE_NONE && (own == category[0] || own == category[1] || own == category[2]);
        if (!is_ours || (events->phase[i] != 's' && events->phase[i] != 'f') || lane == GT_TRACE_NONE)
            continue;
        bool is_backward = events->phase[i] == 'f';
        uint32_t point = point_of(graph, lane, events->start[i] - graph->lane[lane].ahead);
        if (point != GT_TRACE_NONE)
            GT_PATH_APPEND(graph, ends, end,
                           (struct end){gt_trace_id(events, i), graph->lane[lane].file, point, is_backward});
    }
    GT_SORT(ends->end, ends->end_count, compare_ends);
}

/* A backward operator comes behind its forward one; where its thread was idle until then, and no other thread handed over, it
 * goes on where the thread of that one was. */
static void hold_backward(struct gt_path_graph *graph, uint32_t to, uint32_t from)
{
    uint32_t lane = gt_path_lane_of(graph, to), forward = gt_path_lane_of(graph, from);
    if (graph->time[from] > graph->time[to] || forward == lane)
        return;
    uint32_t latest = gt_path_at(graph, forward, graph->time[to]);
    bool waited = to > graph->lane[lane].from && !is_run(graph->kind[to]) && graph->time[latest] > graph->time[to - 1];
    if (waited && !(graph->kind[to] & GT_PATH_ALONE))
        gt_path_go_on(graph, to, latest);
    else
        gt_path_hold(graph, to, from, GT_TRACE_NONE, GT_PATH_OTHER, 0);
}

static void hold_flows(struct gt_path_graph *graph, const struct gt_analysis_input *input, const uint32_t *lane_of)
{
    struct ends ends = {0};
    const struct end *forward = NULL;
    collect_flows(graph, input, lane_of, &ends);
    for (size_t i = 0; i < ends.end_count; i++) {
        const struct end *end = &ends.end[i];
        if (!end->is_backward)
            forward = end;
        else if (forward && forward->file == end->file && forward->id == end->id)
            hold_backward(graph, end->point, forward->point);
    }
    free(ends.end);
}

/* ---- collectives of hosts ---- */

/* Whose thread began it: that of the file which did something last. */
static uint32_t beginner_of(const struct gt_path_graph *graph, uint32_t point)
{
    uint32_t lane = gt_path_lane_of(graph, point), best = GT_TRACE_NONE;
    for (uint32_t i = 0; i < graph->lanes; i++) {
        const struct gt_path_lane *other = &graph->lane[i];
        uint32_t at = other->is_gpu || i == lane || other->file != graph->lane[lane].file
                          ? GT_TRACE_NONE
                          : gt_path_at(graph, i, graph->time[point]);
        if (at != GT_TRACE_NONE && (best == GT_TRACE_NONE || graph->time[at] > graph->time[best]))
            best = at;
    }
    return best;
}

/* The thread that began it waits for it where it is in no operator when it ends, and goes on soon after. */
static void hold_waiter(struct gt_path_graph *graph, const struct gt_path_exchange *exchange, uint32_t lane)
{
    uint32_t before = gt_path_at(graph, lane, graph->time[exchange->end]), to = before + 1;
    if (to >= graph->lane[lane].to || is_run(graph->kind[to]))
        return;
    int64_t late = graph->time[to] - graph->time[exchange->end],
            waited = graph->time[exchange->end] - graph->time[before];
    if (late <= waited / 4 || late <= 1000000)
        gt_path_go_on(graph, to, exchange->end);
}

/* Until it began, the thread was in what goes on behind its point. */
static void hold_exchanges(struct gt_path_graph *graph)
{
    for (size_t i = 0; i < graph->exchange_count; i++) {
        const struct gt_path_exchange *exchange = &graph->exchange[i];
        uint32_t from = beginner_of(graph, exchange->begin);
        if (from == GT_TRACE_NONE)
            continue;
        uint32_t lane = gt_path_lane_of(graph, from);
        bool goes_on = from + 1 < graph->lane[lane].to;
        gt_path_bind(graph, exchange->begin, from, goes_on ? graph->name[from + 1] : GT_TRACE_NONE,
                     goes_on ? graph->kind[from + 1] & GT_PATH_KIND : GT_PATH_OTHER);
        hold_waiter(graph, exchange, lane);
    }
}

void gt_path_hold_threads(struct gt_path_graph *graph, const struct gt_analysis_input *input, const uint32_t *lane_of)
{
    hold_exchanges(graph); /* which is known better than who handed over */
    sweep(graph, input->trace->file_count);
    hold_flows(graph, input, lane_of);
}
