/* Threads of the host that go on where another stops. A run is a stretch in which a thread is in operators or calls. Where a
 * thread begins a run, and another ended one meanwhile, which had begun after the first had stopped, and stays
 * idle for the run, it handed over: backward() to the engine's thread, and the engine's thread back. */
#include <errno.h>
#include <stdlib.h>

#include "analyse/path/path_graph.h"
#include "base/number.h"

struct thread {
    uint32_t next;             /* point */
    uint32_t run, idle;        /* points: begin of the last run, and its end, since when the thread is idle */
    uint32_t giver, giver_end; /* who may have handed over to the run that goes on: its lane, and the end of its run */
    bool is_busy, has_run;
};

struct file {
    uint32_t latest;     /* point of its threads; GT_TRACE_NONE before the first */
    uint32_t latest_run; /* lane that ended a run last */
    uint32_t *lane;      /* of its threads */
    size_t lane_count, lane_capacity;
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

static int hold(struct gt_path_graph *graph, uint32_t to, uint32_t from, bool is_first)
{
    struct gt_path_edge edge = {graph->time[to] - graph->time[from], to, from, GT_TRACE_NONE, GT_PATH_OTHER, true};
    if (graph->kind[to] & GT_PATH_ALONE)
        return 0;
    int status = gt_path_hold(graph, edge);
    if (status < 0 || is_first)
        return status;
    return gt_path_hold(graph, (struct gt_path_edge){0, to, to - 1, GT_TRACE_NONE, GT_PATH_OTHER, false});
}

static void find_giver(struct threads *threads, const struct file *file, uint32_t lane, uint32_t point)
{
    const struct gt_path_graph *graph = threads->graph;
    struct thread *own = &threads->thread[lane];
    int64_t best = INT64_MIN;
    own->giver = GT_TRACE_NONE;
    if (!own->has_run || file->latest_run == lane)
        return;
    for (size_t i = 0; i < file->lane_count; i++) {
        const struct thread *other = &threads->thread[file->lane[i]];
        if (file->lane[i] == lane || other->is_busy || !other->has_run ||
            graph->time[other->run] < graph->time[own->idle] || graph->time[other->idle] <= best ||
            graph->time[other->idle] > graph->time[point])
            continue;
        best = graph->time[other->idle];
        own->giver = file->lane[i];
        own->giver_end = other->idle;
    }
}

/* The first point behind the hand-over is held by it. */
static int take_over(struct threads *threads, uint32_t lane)
{
    struct gt_path_graph *graph = threads->graph;
    const struct thread *own = &threads->thread[lane];
    const struct thread *giver = own->giver == GT_TRACE_NONE ? NULL : &threads->thread[own->giver];
    uint32_t point = own->run;
    if (!giver || giver->is_busy || giver->idle != own->giver_end)
        return 0;
    while (point - 1 > own->idle && graph->time[point - 1] >= graph->time[own->giver_end])
        point--;
    return hold(graph, point, own->giver_end, false);
}

static int take_point(struct threads *threads, uint32_t lane)
{
    struct gt_path_graph *graph = threads->graph;
    struct thread *own = &threads->thread[lane];
    struct file *file = &threads->file[graph->lane[lane].file];
    uint32_t point = own->next++;
    int status = 0;
    bool will_run = own->next < graph->lane[lane].to && is_run(graph->kind[own->next]);
    if (point == graph->lane[lane].from && file->latest != GT_TRACE_NONE)
        status = hold(graph, point, file->latest, true);
    file->latest = point;
    if (!own->is_busy && will_run) {
        find_giver(threads, file, lane, point);
        own->run = point;
        own->is_busy = true;
    } else if (own->is_busy && !will_run) {
        status = status < 0 ? status : take_over(threads, lane);
        own->idle = point;
        own->is_busy = false;
        own->has_run = true;
        file->latest_run = lane;
    }
    return status;
}

static int sweep(struct threads *threads)
{
    struct gt_path_graph *graph = threads->graph;
    int status = 0;
    for (uint32_t i = 0; i < graph->lanes && status >= 0; i++) {
        struct file *file = &threads->file[graph->lane[i].file];
        threads->thread[i] = (struct thread){.next = graph->lane[i].from, .giver = GT_TRACE_NONE};
        if (graph->lane[i].is_gpu)
            continue;
        status = GT_APPEND_TO(file, lane, i);
    }
    for (uint32_t i = 0; i < graph->points && status >= 0; i++)
        if (!graph->lane[graph->order[i]].is_gpu)
            status = take_point(threads, graph->order[i]);
    return status;
}

/* ---- backward operators ---- */

struct end { /* of a flow */
    uint64_t id;
    uint32_t file, point;
    bool is_backward;
};

struct ends {
    struct end *end;
    size_t count, capacity;
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

static int collect_flows(const struct gt_path_graph *graph, const struct gt_analysis_input *input,
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
        if (point != GT_TRACE_NONE &&
            GT_APPEND(ends, end, (struct end){gt_trace_id(events, i), graph->lane[lane].file, point, is_backward}) < 0)
            return -ENOMEM;
    }
    GT_SORT(ends->end, ends->count, compare_ends);
    return 0;
}

/* A backward operator comes behind its forward one; where its thread was idle until then, and nobody handed over, it goes on
 * where the thread of that one was. */
static int hold_backward(struct gt_path_graph *graph, uint32_t to, uint32_t from)
{
    uint32_t lane = gt_path_lane_of(graph, to), forward = gt_path_lane_of(graph, from);
    if (graph->time[from] > graph->time[to] || forward == lane)
        return 0;
    uint32_t latest = gt_path_at(graph, forward, graph->time[to]);
    bool waited = to > graph->lane[lane].from && !is_run(graph->kind[to]) && graph->time[latest] > graph->time[to - 1];
    if (waited && !(graph->kind[to] & GT_PATH_ALONE))
        return hold(graph, to, latest, false);
    return gt_path_hold(graph, (struct gt_path_edge){0, to, from, GT_TRACE_NONE, GT_PATH_OTHER, false});
}

static int hold_flows(struct gt_path_graph *graph, const struct gt_analysis_input *input, const uint32_t *lane_of)
{
    struct ends ends = {0};
    const struct end *forward = NULL;
    int status = collect_flows(graph, input, lane_of, &ends);
    for (size_t i = 0; i < ends.count && status >= 0; i++) {
        const struct end *end = &ends.end[i];
        if (!end->is_backward)
            forward = end;
        else if (forward && forward->file == end->file && forward->id == end->id)
            status = hold_backward(graph, end->point, forward->point);
    }
    free(ends.end);
    return status;
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
static int hold_waiter(struct gt_path_graph *graph, const struct gt_path_exchange *exchange, uint32_t lane)
{
    uint32_t before = gt_path_at(graph, lane, graph->time[exchange->end]), to = before + 1;
    if (to >= graph->lane[lane].to || is_run(graph->kind[to]))
        return 0;
    int64_t late = graph->time[to] - graph->time[exchange->end],
            waited = graph->time[exchange->end] - graph->time[before];
    return late > waited / 4 && late > 1000000 ? 0 : hold(graph, to, exchange->end, false);
}

/* Until then the thread was in what goes on behind its point. */
static int hold_begin(struct gt_path_graph *graph, uint32_t begin, uint32_t from)
{
    bool goes_on = from + 1 < graph->lane[gt_path_lane_of(graph, from)].to;
    return gt_path_hold(graph, (struct gt_path_edge){
                                   .weight = graph->time[begin] - graph->time[from],
                                   .to = begin,
                                   .from = from,
                                   .name = goes_on ? graph->name[from + 1] : GT_TRACE_NONE,
                                   .kind = goes_on ? graph->kind[from + 1] & GT_PATH_KIND : GT_PATH_OTHER,
                                   .is_binding = true,
                               });
}

static int hold_exchanges(struct gt_path_graph *graph)
{
    int status = 0;
    for (size_t i = 0; i < graph->exchange_count && status >= 0; i++) {
        const struct gt_path_exchange *exchange = &graph->exchange[i];
        uint32_t from = beginner_of(graph, exchange->begin);
        if (from == GT_TRACE_NONE)
            continue;
        status = hold_begin(graph, exchange->begin, from);
        status = status < 0 ? status : hold_waiter(graph, exchange, gt_path_lane_of(graph, from));
    }
    return status;
}

int gt_path_hold_threads(struct gt_path_graph *graph, const struct gt_analysis_input *input, const uint32_t *lane_of)
{
    size_t files = input->trace->file_count;
    struct threads threads = {graph, calloc(graph->lanes + (size_t)1, sizeof *threads.thread),
                              calloc(files + 1, sizeof *threads.file)};
    int status = threads.thread && threads.file ? 0 : -ENOMEM;
    for (size_t i = 0; i < files && status >= 0; i++)
        threads.file[i].latest = threads.file[i].latest_run = GT_TRACE_NONE;
    if (status >= 0)
        status = hold_exchanges(graph); /* which is known better than who handed over */
    if (status >= 0)
        status = sweep(&threads);
    for (size_t i = 0; threads.file && i < files; i++)
        free(threads.file[i].lane);
    free(threads.file);
    free(threads.thread);
    return status < 0 ? status : hold_flows(graph, input, lane_of);
}
