#include "analyse/path/critical_path.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/buffer.h"
#include "base/number.h"

static const char *const kind_names[GT_PATH_KINDS] = {
    [GT_PATH_LOADING] = "data loading",      [GT_PATH_OPERATORS] = "operators",
    [GT_PATH_CALLS] = "calls and launches",  [GT_PATH_SYNCHRONIZATION] = "synchronization",
    [GT_PATH_COMPUTE] = "computing kernels", [GT_PATH_COMMUNICATION] = "communication",
    [GT_PATH_COPIES] = "copies and fills",   [GT_PATH_WAITING] = "waiting for other ranks",
    [GT_PATH_GAPS] = "between work of GPUs", [GT_PATH_OTHER] = "host outside operators",
};

const char *gt_path_kind_name(enum gt_path_kind kind)
{
    return kind_names[kind];
}

/* ---- the longest way ---- */

struct stretch {
    int64_t start, end;
};

struct gt_path_replay {
    const struct gt_path_graph *graph;
    struct gt_path_what what;
    bool of_job;
    uint32_t *next;          /* point of each lane */
    size_t *edge;            /* of each lane */
    int64_t *met, *late;     /* of each collective: the last start so far, as recorded and now */
    int64_t *time;           /* of points, when what takes no time does so */
    struct stretch *stretch; /* of each step */
};

static inline int64_t weigh(const struct gt_path_replay *replay, int64_t weight, unsigned kind, uint32_t name)
{
    bool is_free = (kind & GT_PATH_KIND) == replay->what.kind || (name == replay->what.name && name != GT_TRACE_NONE);
    return is_free ? 0 : weight;
}

/* In a collective the last that comes lets all go on. */
static int64_t meet(struct gt_path_replay *replay, uint32_t point)
{
    uint32_t collective = gt_path_collective(replay->graph, point);
    return replay->late[collective] + replay->graph->time[point] - replay->met[collective];
}

static void arrive(struct gt_path_replay *replay, uint32_t start)
{
    uint32_t collective = gt_path_collective(replay->graph, start + 1);
    int64_t time = replay->graph->time[start];
    if (time > replay->met[collective])
        replay->met[collective] = time;
    if (replay->time[start] > replay->late[collective])
        replay->late[collective] = replay->time[start];
}

static void take_point(struct gt_path_replay *replay, uint32_t number)
{
    const struct gt_path_graph *graph = replay->graph;
    const struct gt_path_lane *lane = &graph->lane[number];
    uint32_t point = replay->next[number]++;
    unsigned kind = graph->kind[point];
    bool meets = replay->of_job && (kind & GT_PATH_MEETING), follows = point > lane->from && !(kind & GT_PATH_ALONE);
    int64_t time = INT64_MIN;
    if (meets)
        time = meet(replay, point);
    else if (follows)
        time = replay->time[point - 1] +
               weigh(replay, graph->time[point] - graph->time[point - 1], kind, graph->name[point]);
    if (kind & GT_PATH_HELD)
        for (size_t *at = &replay->edge[number]; *at < graph->edge_count && graph->edge[*at].to == point; ++*at) {
            const struct gt_path_edge *edge = &graph->edge[*at];
            int64_t held = replay->time[edge->from] + weigh(replay, edge->weight, edge->kind, edge->name);
            time = held > time ? held : time;
        }
    replay->time[point] = time == INT64_MIN ? graph->time[point] : time;
    if (replay->of_job && (kind & GT_PATH_START) && (graph->kind[point + 1] & GT_PATH_MEETING))
        arrive(replay, point);
}

static int64_t moved(const struct gt_path_replay *replay, const struct gt_path_anchor *anchor)
{
    return anchor->point == GT_TRACE_NONE ? anchor->rest : replay->time[anchor->point] + anchor->rest;
}

/* A step begins when its host does, and no earlier than the step before ends. */
static void measure(const struct gt_critical_path *path, const struct gt_path_replay *replay)
{
    struct stretch *stretch = replay->stretch;
    for (size_t i = 0; i < path->ranks; i++) {
        const struct gt_path_step *step = &path->step[i];
        int64_t begin = moved(replay, &step->begin), before = moved(replay, &step->before);
        stretch[i].start = stretch[i].end = begin > before ? begin : before;
        if (i && step[-1].span.key[0] == step->span.key[0] && stretch[i - 1].end > stretch[i].start)
            stretch[i].start = stretch[i].end = stretch[i - 1].end;
        for (size_t j = step->end; j < step->end_end; j++) {
            int64_t end = moved(replay, &path->anchor[j]);
            stretch[i].end = end > stretch[i].end ? end : stretch[i].end;
        }
    }
    for (size_t i = path->ranks; i < path->steps; i++) {
        stretch[i] = (struct stretch){INT64_MIN, INT64_MIN};
        for (size_t j = path->step[i].member; j < path->step[i].member_end; j++) {
            const struct stretch *rank = &stretch[path->member[j]];
            stretch[i].start = rank->start > stretch[i].start ? rank->start : stretch[i].start;
            stretch[i].end = rank->end > stretch[i].end ? rank->end : stretch[i].end;
        }
    }
}

static void make_replay(struct gt_critical_path *path)
{
    const struct gt_path_graph *graph = &path->graph;
    struct gt_query *query = graph->query;
    struct gt_path_replay *replay = path->replay = gt_query_memory(query, 1, sizeof *replay);
    if (!replay)
        return;
    *replay = (struct gt_path_replay){
        .graph = graph,
        .next = gt_query_memory(query, graph->lanes, sizeof *replay->next),
        .edge = gt_query_memory(query, graph->lanes, sizeof *replay->edge),
        .met = gt_query_memory(query, graph->collectives, sizeof *replay->met),
        .late = gt_query_memory(query, graph->collectives, sizeof *replay->late),
        .time = gt_query_memory(query, graph->points, sizeof *replay->time),
        .stretch = gt_query_memory(query, path->steps, sizeof *replay->stretch),
    };
}

void gt_critical_path_what_if(const struct gt_critical_path *path, const struct gt_path_what *what, bool of_job,
                              int64_t *length)
{
    const struct gt_path_graph *graph = &path->graph;
    struct gt_path_replay *replay = path->replay;
    replay->what = *what;
    replay->of_job = of_job;
    for (uint32_t i = 0; i < graph->lanes; i++) {
        replay->next[i] = graph->lane[i].from;
        replay->edge[i] = graph->lane[i].edge;
    }
    for (size_t i = 0; i < graph->collectives; i++)
        replay->met[i] = replay->late[i] = INT64_MIN;
    for (uint32_t i = 0; i < graph->points; i++)
        take_point(replay, graph->order[i]);
    measure(path, replay);
    for (uint32_t k = 0; k < path->owners; k++) {
        length[k] = 0;
        for (size_t i = path->owner[k].from; i < path->owner[k].to && path->owner[k].is_job == of_job; i++) {
            const struct stretch *step = &replay->stretch[i];
            length[k] += step->end > step->start ? step->end - step->start : 0;
        }
    }
}

/* ---- steps ---- */

static int64_t ahead_of(const struct gt_path_graph *graph, uint32_t node)
{
    for (uint32_t i = 0; i < graph->lanes; i++)
        if (graph->lane[i].node == node)
            return graph->lane[i].ahead;
    return 0;
}

/* The moment as seen from the node's latest point until then. */
static struct gt_path_anchor anchor_at(const struct gt_path_graph *graph, uint32_t node, int64_t time)
{
    struct gt_path_anchor anchor = {GT_TRACE_NONE, time};
    for (uint32_t i = 0; i < graph->lanes; i++) {
        uint32_t point = graph->lane[i].node == node ? gt_path_at(graph, i, time) : GT_TRACE_NONE;
        if (point != GT_TRACE_NONE && (anchor.point == GT_TRACE_NONE || graph->time[point] > graph->time[anchor.point]))
            anchor = (struct gt_path_anchor){point, time - graph->time[point]};
    }
    return anchor;
}

static void add_anchor(struct gt_critical_path *path, struct gt_path_anchor anchor)
{
    GT_PATH_APPEND(&path->graph, path, anchor, anchor);
}

/* The threads that the host's part of a step ends on: those that begin and end something with it, or else all. */
static void add_host_ends(struct gt_critical_path *path, const struct gt_path_step *step, int64_t start, int64_t end)
{
    const struct gt_path_graph *graph = &path->graph;
    add_anchor(path, anchor_at(graph, step->span.key[0], end));
    bool is_known = false; /* whose step it is, whoever else was last */
    for (int pass = 0; pass < 2 && !is_known; pass++)
        for (uint32_t i = 0; i < graph->lanes; i++) {
            const struct gt_path_lane *lane = &graph->lane[i];
            uint32_t point = lane->node == step->span.key[0] && !lane->is_gpu ? gt_path_at(graph, i, end)
                                                                              : GT_TRACE_NONE;
            if (point == GT_TRACE_NONE || graph->time[point] < start)
                continue;
            uint32_t begin = gt_path_at(graph, i, start);
            bool is_exact = graph->time[point] == end && begin != GT_TRACE_NONE && graph->time[begin] == start;
            if (pass == 0 && (!is_exact || step->is_whole_node))
                continue;
            if (pass == 0 && !is_known && path->anchor_count > step->end)
                path->anchor_count--;
            is_known |= pass == 0;
            add_anchor(path, (struct gt_path_anchor){point, 0});
        }
}

static void add_step(struct gt_critical_path *path, const struct gt_gpu_step *from, bool is_first)
{
    struct gt_path_step *step = &path->step[path->ranks++];
    int64_t ahead = ahead_of(&path->graph, from->span.key[0]);
    *step = (struct gt_path_step){.span = from->span, .is_whole_node = from->is_whole_node, .end = path->anchor_count};
    step->span.start -= ahead;
    step->span.end -= ahead;
    step->begin = anchor_at(&path->graph, from->span.key[0], from->host_start - ahead);
    step->before = is_first ? anchor_at(&path->graph, from->span.key[0], step->span.start) : step->begin;
    add_host_ends(path, step, from->host_start - ahead, from->host_end - ahead);
}

/* Returns the last work on each stream that a step launched, by these: step lane point. */
static struct gt_rows find_owned(const struct gt_path_graph *graph, const struct gt_gpu_steps *steps, size_t events)
{
    struct gt_rows rows = gt_rows_new(graph->query, graph->gpu.count);
    uint32_t *step = gt_rows_add_keys(&rows, "step", NULL), *lane = gt_rows_add_keys(&rows, "lane", NULL);
    uint32_t *point = gt_rows_add_keys(&rows, "point", NULL);
    uint32_t *end = gt_query_memory(graph->query, events, sizeof *end);
    size_t count = 0;
    for (size_t i = 0; i < graph->work_count && end; i++)
        end[graph->work[i].event] = graph->work[i].end;
    for (size_t i = 0; i < rows.count && end; i++) {
        if (steps->owner[i] == SIZE_MAX)
            continue;
        step[count] = (uint32_t)steps->owner[i];
        point[count] = end[graph->gpu.span[i].event];
        lane[count] = gt_path_lane_of(graph, point[count]);
        count++;
    }
    rows.count = count;
    return gt_rows_group(&rows, "step lane", GT_AGGREGATES(GT_MAX("point", "point")));
}

static void add_steps(struct gt_critical_path *path, const struct gt_gpu_steps *steps, size_t events)
{
    struct gt_rows owned = find_owned(&path->graph, steps, events);
    const uint32_t *owner = gt_rows_keys(&owned, "step"), *point = gt_rows_keys(&owned, "point");
    size_t at = 0;
    path->step = gt_query_memory(path->graph.query, 2 * steps->count, sizeof *path->step);
    path->member = gt_query_memory(path->graph.query, steps->count, sizeof *path->member);
    for (size_t i = 0; i < steps->count && path->member; i++) {
        const struct gt_gpu_step *step = &steps->step[i];
        add_step(path, step, !i || step[-1].span.key[0] != step->span.key[0]);
        for (; at < owned.count && owner[at] == i; at++)
            add_anchor(path, (struct gt_path_anchor){point[at], 0});
        path->step[i].end_end = path->anchor_count;
    }
    path->steps = path->ranks;
}

/* ---- steps of the job ---- */

static int compare_steps(const void *a, const void *b, void *context)
{
    const struct gt_path_step *step = context, *x = &step[*(const size_t *)a], *y = &step[*(const size_t *)b];
    return GT_ORDER_BY(GT_ORDER(x->span.key[1], y->span.key[1]), GT_ORDER(x->span.key[2], y->span.key[2]),
                       GT_ORDER(x->span.start, y->span.start), GT_ORDER(x->span.key[0], y->span.key[0]));
}

static int by_start(const void *a, const void *b)
{
    const struct gt_path_step *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->span.start, y->span.start), GT_ORDER(x->span.end, y->span.end),
                       GT_ORDER(x->member, y->member));
}

static void add_job_step(struct gt_critical_path *path, size_t from, size_t to)
{
    struct gt_path_step *step = &path->step[path->steps];
    bool differ = false;
    *step = path->step[path->member[from]];
    for (size_t i = from; i < to; i++) {
        const struct gt_path_step *rank = &path->step[path->member[i]];
        differ |= rank->span.key[0] != path->step[path->member[from]].span.key[0];
        step->span.start = rank->span.start > step->span.start ? rank->span.start : step->span.start;
        step->span.end = rank->span.end > step->span.end ? rank->span.end : step->span.end;
    }
    step->span.key[0] = GT_TRACE_NONE;
    step->member = from;
    step->member_end = to;
    path->steps += differ && step->span.end > step->span.start;
}

/* Ranks that share collectives have steps in common: from where all of them are in it to where the last one ends. */
static void add_job(struct gt_critical_path *path, const struct gt_collectives *collectives)
{
    size_t count = 0;
    for (size_t i = 0; i < path->ranks; i++)
        if (gt_collectives_rank(collectives, path->step[i].span.key[0]))
            path->member[count++] = i;
    qsort_r(path->member, count, sizeof *path->member, compare_steps, path->step);
    for (size_t from = 0, to; from < count; from = to) {
        const struct gt_path_step *first = &path->step[path->member[from]];
        for (to = from; to < count && path->step[path->member[to]].span.key[1] == first->span.key[1] &&
                        path->step[path->member[to]].span.key[2] == first->span.key[2];)
            to++;
        add_job_step(path, from, to);
    }
    qsort(&path->step[path->ranks], path->steps - path->ranks, sizeof *path->step, by_start);
}

/* ---- the way back ---- */

static void add_piece(struct gt_critical_path *path, struct gt_path_piece piece, size_t first)
{
    struct gt_path_piece *last = path->piece_count > first ? &path->piece[path->piece_count - 1] : NULL;
    if (piece.start >= piece.end)
        return;
    if (last && last->lane == piece.lane && last->name == piece.name && last->kind == piece.kind)
        last->start = piece.start;
    else
        GT_PATH_APPEND(&path->graph, path, piece, piece);
}

/* What a point waited for in the end: the point, and what lasted until then; GT_TRACE_NONE: the trace does not tell. */
static uint32_t origin_of(const struct gt_path_graph *graph, uint32_t point, bool of_job, struct gt_path_piece *piece)
{
    unsigned kind = graph->kind[point];
    piece->name = graph->name[point];
    piece->kind = (enum gt_path_kind)(kind & GT_PATH_KIND);
    if (of_job && (kind & GT_PATH_MEETING)) {
        piece->kind = GT_PATH_COMMUNICATION;
        return graph->latest[gt_path_collective(graph, point)];
    }
    if (!(kind & GT_PATH_ALONE) && point > graph->lane[piece->lane].from)
        return point - 1;
    size_t at = kind & GT_PATH_HELD ? gt_path_edges(graph, point) : graph->edge_count;
    if (at == graph->edge_count || !graph->edge[at].is_binding)
        return GT_TRACE_NONE;
    piece->name = graph->edge[at].name;
    piece->kind = (enum gt_path_kind)graph->edge[at].kind;
    return graph->edge[at].from;
}

static void reverse(struct gt_path_piece *piece, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct gt_path_piece other = piece[i];
        piece[i] = piece[count - 1 - i];
        piece[count - 1 - i] = other;
    }
}

static void go_back(struct gt_critical_path *path, struct gt_path_step *step, struct gt_path_anchor end, bool of_job)
{
    const struct gt_path_graph *graph = &path->graph;
    int64_t start = step->span.start, at = step->span.end;
    uint32_t point = end.point;
    step->piece = path->piece_count;
    if (point != GT_TRACE_NONE && graph->time[point] < at) {
        int64_t from = graph->time[point] > start ? graph->time[point] : start;
        add_piece(path, (struct gt_path_piece){from, at, gt_path_lane_of(graph, point), GT_TRACE_NONE, GT_PATH_OTHER},
                  step->piece);
        at = from;
    }
    while (at > start && point != GT_TRACE_NONE) {
        struct gt_path_piece piece = {.lane = gt_path_lane_of(graph, point)};
        uint32_t from = origin_of(graph, point, of_job, &piece);
        piece.end = at;
        piece.start = from == GT_TRACE_NONE || graph->time[from] < start ? start : graph->time[from];
        if (from == GT_TRACE_NONE) {
            piece.kind = GT_PATH_OTHER;
            piece.name = GT_TRACE_NONE;
        }
        add_piece(path, piece, step->piece);
        at = piece.start < at ? piece.start : at; /* work that others overlap ends later than it was recorded */
        point = from;
    }
    reverse(&path->piece[step->piece], path->piece_count - step->piece);
    step->piece_end = path->piece_count;
}

/* The anchor that a step ends with; of several that of a GPU. */
static struct gt_path_anchor end_of(const struct gt_critical_path *path, const struct gt_path_step *step)
{
    struct gt_path_anchor best = {GT_TRACE_NONE, 0};
    int64_t latest = INT64_MIN;
    for (size_t i = step->end; i < step->end_end; i++) {
        const struct gt_path_anchor *anchor = &path->anchor[i];
        int64_t time = anchor->point == GT_TRACE_NONE ? INT64_MIN : path->graph.time[anchor->point] + anchor->rest;
        if (time >= latest) {
            latest = time;
            best = *anchor;
        }
    }
    return best;
}

static void go_back_in_job(struct gt_critical_path *path, struct gt_path_step *step)
{
    const struct gt_path_step *last = &path->step[path->member[step->member]];
    for (size_t i = step->member; i < step->member_end; i++)
        if (path->step[path->member[i]].span.end > last->span.end)
            last = &path->step[path->member[i]];
    go_back(path, step, end_of(path, last), true);
}

/* ---- the whole ---- */

static void find_owners(struct gt_critical_path *path)
{
    path->owner = gt_query_memory(path->graph.query, path->steps, sizeof *path->owner);
    path->has_job = path->steps > path->ranks;
    for (size_t i = 0; i < path->steps && path->owner; i++) {
        const struct gt_path_step *step = &path->step[i];
        if (!i || step->span.key[0] != step[-1].span.key[0] || i == path->ranks)
            path->owner[path->owners++] = (struct gt_path_owner){
                .node = step->span.key[0], .is_job = i >= path->ranks, .is_whole_node = step->is_whole_node, .from = i};
        struct gt_path_owner *owner = &path->owner[path->owners - 1];
        owner->to = i + 1;
        owner->whole += step->span.end - step->span.start;
        for (size_t j = step->piece; j < step->piece_end; j++)
            owner->part[path->piece[j].kind] += path->piece[j].end - path->piece[j].start;
    }
}

int gt_critical_path_find(struct gt_critical_path *path, const struct gt_analysis_input *input, uint32_t first)
{
    const struct gt_collectives *collectives;
    *path = (struct gt_critical_path){0};
    int status = gt_collectives_find(input, first, &collectives);
    status = status < 0 ? status : gt_path_graph_open(&path->graph, input, collectives, first);
    if (status < 0)
        return status;
    struct gt_gpu_steps steps = gt_gpu_steps_find(input, &path->graph.range, &path->graph.gpu, path->graph.call);
    if (gt_query_status(input->query) < 0)
        return gt_query_status(input->query);
    add_steps(path, &steps, input->trace->events.count);
    add_job(path, collectives);
    for (size_t i = 0; i < path->ranks; i++)
        go_back(path, &path->step[i], end_of(path, &path->step[i]), false);
    for (size_t i = path->ranks; i < path->steps; i++)
        go_back_in_job(path, &path->step[i]);
    find_owners(path);
    make_replay(path);
    return gt_query_status(input->query);
}

void gt_critical_path_close(struct gt_critical_path *path)
{
    gt_path_graph_close(&path->graph);
    free(path->piece);
    free(path->anchor);
    *path = (struct gt_critical_path){0};
}

/* ---- the report ---- What holds each step: shares of its critical path, the names that hold most of it, and what a
 * step would take without them. */

static const char *const arguments[] = {GT_PATH_ARGUMENTS, NULL};

#define KIND_COLUMNS(unit)                                                                                 \
    "number:loading_" unit " number:operators_" unit " number:calls_" unit " number:synchronization_" unit \
    " number:compute_" unit " number:communication_" unit " number:copies_" unit " number:waiting_" unit   \
    " number:gaps_" unit " number:other_" unit

enum { SHOWN_NAMES = 10 };
static const char all_ranks[] = GT_TOP_ALL;

struct tables {
    const struct gt_analysis_input *input;
    const struct gt_critical_path *path;
    const char **name; /* of each owner */
};

static void name_owners(struct tables *tables)
{
    const struct gt_path_owner *owner = tables->path->owner;
    tables->name = gt_query_memory(tables->input->query, tables->path->owners, sizeof *tables->name);
    for (uint32_t i = 0; i < tables->path->owners && tables->name; i++)
        tables->name[i] = owner[i].is_job ? all_ranks : gt_analysis_text(tables->input, owner[i].node);
}

/* ---- steps ---- */

static void add_owners(const struct tables *tables, struct gt_node *root)
{
    struct gt_table *table = gt_analysis_table(root, "critical_path", "Critical path",
                                               "text:node integer:steps number:mean_step_us " KIND_COLUMNS("percent"));
    for (size_t i = 0; i < tables->path->owners; i++) {
        const struct gt_path_owner *owner = &tables->path->owner[i];
        gt_table_text(table, tables->name[i]);
        gt_integer_if(table, !owner->is_whole_node, (int64_t)(owner->to - owner->from));
        gt_table_number(table, (double)owner->whole / (double)(owner->to - owner->from) / 1e3);
        for (int kind = 0; kind < GT_PATH_KINDS; kind++)
            gt_table_number(table, gt_percent((double)owner->part[kind], (double)owner->whole));
    }
    gt_analysis_empty(root, table, "no events that last on threads or GPUs");
}

static void add_step_table(const struct tables *tables, struct gt_node *root)
{
    struct gt_table *table = gt_analysis_table(
        root, "steps", "Steps",
        "text:node text:mode integer:step number:start_us number:duration_us " KIND_COLUMNS("us"));
    for (size_t i = 0; i < tables->path->owners; i++)
        for (size_t j = tables->path->owner[i].from; j < tables->path->owner[i].to; j++) {
            const struct gt_path_step *step = &tables->path->step[j];
            int64_t part[GT_PATH_KINDS] = {0};
            for (size_t k = step->piece; k < step->piece_end; k++)
                part[tables->path->piece[k].kind] += tables->path->piece[k].end - tables->path->piece[k].start;
            GT_CELLS(table, tables->name[i], gt_analysis_text(tables->input, step->span.key[1]));
            gt_integer_if(table, !(step->is_whole_node), (int32_t)step->span.key[2]);
            GT_CELLS(table, gt_analysis_us(tables->input, step->span.start),
                     (double)(step->span.end - step->span.start) / 1e3);
            for (int kind = 0; kind < GT_PATH_KINDS; kind++)
                gt_table_number(table, (double)part[kind] / 1e3);
        }
    gt_analysis_empty(root, table, NULL);
}

/* ---- names ---- */

/* Returns what is on the paths: owner name kind pieces time, those of each owner by time. */
static struct gt_rows find_names(const struct tables *tables)
{
    const struct gt_critical_path *path = tables->path;
    const struct gt_trace_events *events = &tables->input->trace->events;
    struct gt_rows rows = gt_rows_new(tables->input->query, path->piece_count);
    uint32_t *owner = gt_rows_add_keys(&rows, "owner", tables->name);
    uint32_t *name = gt_rows_add_keys(&rows, "name", NULL), *kind = gt_rows_add_keys(&rows, "kind", kind_names);
    int64_t *time = gt_rows_add_wholes(&rows, "time");
    bool *is_hidden = gt_query_memory(rows.query, tables->input->trace->strings.count, sizeof *is_hidden);
    if (!is_hidden)
        return rows;
    memset(is_hidden, 0, tables->input->trace->strings.count * sizeof *is_hidden);
    for (size_t i = 0; i < events->count; i++)
        is_hidden[events->name[i]] |= (events->flag[i] & GT_TRACE_HIDDEN) != 0;
    size_t row = 0;
    for (uint32_t i = 0; i < tables->path->owners; i++)
        for (size_t j = tables->path->owner[i].from; j < tables->path->owner[i].to; j++)
            for (size_t k = path->step[j].piece; k < path->step[j].piece_end && row < rows.count; k++, row++) {
                const struct gt_path_piece *piece = &path->piece[k];
                bool is_named = piece->name != GT_TRACE_NONE && !is_hidden[piece->name];
                owner[row] = i;
                name[row] = is_named ? gt_analysis_place(tables->input, piece->name) : GT_NO_KEY;
                kind[row] = piece->kind;
                time[row] = piece->end - piece->start;
            }
    rows.count = row;
    rows = gt_rows_above(&rows, "name", -INFINITY);
    rows = gt_rows_group(&rows, "owner name kind", GT_AGGREGATES(GT_COUNT("pieces"), GT_SUM("time", "time")));
    gt_rows_sort(&rows, "owner -time name kind");
    return rows;
}

static void put_names(const struct tables *tables, struct gt_node *root, struct gt_rows names)
{
    const uint32_t *owner = gt_rows_keys(&names, "owner");
    int64_t *whole = gt_rows_add_wholes(&names, "whole");
    for (size_t i = 0; i < names.count; i++)
        whole[i] = tables->path->owner[owner[i]].whole;
    gt_rows_percent(&names, "percent", "time", "whole");
    gt_rows_rename(&names, "owner", "node");
    gt_rows_rename(&names, "time", "total");
    gt_top_shown(gt_rows_put(tables->input, root, "names", "Names on the path", &names,
                             "text:node kernel:name text:kind integer:pieces number:total_us number:percent", NULL),
                 SHOWN_NAMES);
}

/* ---- what if ---- */

/* Trials of what takes no time: owner kind name on_path length, as far as rows are filled. */
struct gains {
    struct gt_rows rows;
    uint32_t *owner, *kind, *name;
    int64_t *on_path, *length;
    int64_t *shortened; /* of each owner, in the last trial */
};

/* `on_path` is the time of each owner in what takes no time. What is not on a path cannot make it shorter. */
static void try_what(const struct tables *tables, const struct gt_path_what *what, uint32_t name,
                     const int64_t *on_path, bool of_job, struct gains *gains)
{
    const struct gt_critical_path *path = tables->path;
    int64_t any = 0;
    for (uint32_t i = 0; i < path->owners; i++)
        any += path->owner[i].is_job == of_job ? on_path[i] : 0;
    if (!any)
        return;
    gt_critical_path_what_if(path, what, of_job, gains->shortened);
    for (uint32_t i = 0; i < path->owners; i++) {
        if (!on_path[i] || path->owner[i].is_job != of_job)
            continue;
        size_t row = gains->rows.count++;
        int64_t whole = path->owner[i].whole; /* less than a first step that began later for work of GPUs before it */
        gains->owner[row] = i;
        gains->kind[row] = what->kind;
        gains->name[row] = name;
        gains->on_path[row] = on_path[i];
        gains->length[row] = gains->shortened[i] < whole ? gains->shortened[i] : whole;
    }
}

/* Returns the names that hold most of the paths of all ranks, or of the job, and no less than 1 % of them, each with
 * its owners: name owner time, in any order of names. */
static struct gt_rows most_names(const struct tables *tables, const struct gt_rows *names, bool of_job)
{
    const uint32_t *owner = gt_rows_keys(names, "owner");
    bool *is_wanted = gt_query_memory(names->query, names->count, sizeof *is_wanted);
    size_t shown = gt_list_top(tables->input, SHOWN_NAMES);
    int64_t whole = 0;
    for (size_t i = 0; i < names->count && is_wanted; i++)
        is_wanted[i] = tables->path->owner[owner[i]].is_job == of_job;
    for (size_t i = 0; i < tables->path->owners; i++)
        whole += tables->path->owner[i].is_job == of_job ? tables->path->owner[i].whole : 0;
    struct gt_rows own = gt_rows_filter(names, is_wanted);
    struct gt_rows most = gt_rows_group(&own, "name", GT_AGGREGATES(GT_SUM("all", "time")));
    gt_rows_sort(&most, "-all name");
    const int64_t *all = gt_rows_wholes(&most, "all");
    most.count = most.count < shown ? most.count : shown;
    while (most.count && all[most.count - 1] * 100 < whole)
        most.count--;
    gt_rows_sort(&most, "name");
    gt_rows_join(&own, &most, "name", "all");
    own = gt_rows_above(&own, "all", -INFINITY);
    return gt_rows_group(&own, "name owner", GT_AGGREGATES(GT_SUM("time", "time")));
}

static void try_all(const struct tables *tables, const struct gt_rows *names, bool of_job, struct gains *gains)
{
    struct gt_query *query = names->query;
    uint32_t owners = tables->path->owners;
    struct gt_rows most = most_names(tables, names, of_job);
    const uint32_t *name = gt_rows_keys(&most, "name"), *owner = gt_rows_keys(&most, "owner");
    const int64_t *time = gt_rows_wholes(&most, "time");
    int64_t *on_path = gt_query_memory(query, owners, sizeof *on_path);
    gains->shortened = gt_query_memory(query, owners, sizeof *gains->shortened);
    gains->rows = gt_rows_new(query, (GT_PATH_KINDS + most.count) * owners);
    gains->owner = gt_rows_add_keys(&gains->rows, "owner", tables->name);
    gains->kind = gt_rows_add_keys(&gains->rows, "kind", kind_names);
    gains->name = gt_rows_add_keys(&gains->rows, "name", NULL);
    gains->on_path = gt_rows_add_wholes(&gains->rows, "on_path");
    gains->length = gt_rows_add_wholes(&gains->rows, "length");
    gains->rows.count = 0;
    if (gt_query_status(query) < 0)
        return;
    for (int kind = 0; kind < GT_PATH_KINDS; kind++) {
        for (size_t i = 0; i < owners; i++)
            on_path[i] = tables->path->owner[i].part[kind];
        try_what(tables, &(struct gt_path_what){(enum gt_path_kind)kind, GT_TRACE_NONE}, GT_NO_KEY, on_path, of_job,
                 gains);
    }
    for (size_t from = 0, to; from < most.count; from = to) {
        to = gt_rows_run(&most, "name", from);
        memset(on_path, 0, owners * sizeof *on_path);
        for (size_t i = from; i < to; i++)
            on_path[owner[i]] = time[i];
        try_what(tables, &(struct gt_path_what){GT_PATH_KINDS, tables->input->text[name[from]]}, name[from], on_path,
                 of_job, gains);
    }
    gt_rows_sort(&gains->rows, "owner length -on_path kind name");
}

static void put_what_if(const struct tables *tables, struct gt_node *root, const struct gt_rows *names)
{
    struct gt_table *table = gt_analysis_table(root, "what_if", "What if it took no time",
                                               "text:node kernel:without text:is number:path_percent "
                                               "number:mean_step_us number:shorter_percent");
    int trials = tables->path->has_job ? 2 : 1;
    for (int of_job = 0; of_job < trials; of_job++) {
        struct gains gains;
        try_all(tables, names, of_job, &gains);
        const uint32_t *number = gt_rows_keys(&gains.rows, "owner"), *kind = gt_rows_keys(&gains.rows, "kind");
        const uint32_t *name = gt_rows_keys(&gains.rows, "name");
        const int64_t *on_path = gt_rows_wholes(&gains.rows, "on_path"),
                      *length = gt_rows_wholes(&gains.rows, "length");
        for (size_t i = 0; i < gains.rows.count; i++) {
            const struct gt_path_owner *owner = &tables->path->owner[number[i]];
            double whole = (double)owner->whole, steps = (double)(owner->to - owner->from);
            bool is_kind = kind[i] != GT_PATH_KINDS;
            GT_CELLS(table, tables->name[number[i]],
                     is_kind ? kind_names[kind[i]] : gt_analysis_text(tables->input, name[i]),
                     is_kind ? "kind" : "name", gt_percent((double)on_path[i], whole), (double)length[i] / steps / 1e3,
                     gt_percent(whole - (double)length[i], whole));
        }
    }
    gt_analysis_empty(root, table, NULL);
}

/* ---- ranks of the job ---- */

static void put_ranks(const struct tables *tables, struct gt_node *root)
{
    const struct gt_critical_path *path = tables->path;
    struct gt_rows pieces = gt_rows_new(tables->input->query, tables->path->has_job ? path->piece_count : 0);
    uint32_t *node = gt_rows_add_keys(&pieces, "node", NULL);
    int64_t *time = gt_rows_add_wholes(&pieces, "time");
    size_t row = 0;
    for (size_t i = path->ranks; i < path->steps; i++)
        for (size_t j = path->step[i].piece; j < path->step[i].piece_end && row < pieces.count; j++, row++) {
            node[row] = path->graph.lane[path->piece[j].lane].node;
            time[row] = path->piece[j].end - path->piece[j].start;
        }
    pieces.count = row;
    pieces = gt_rows_above(&pieces, "node", -INFINITY);
    struct gt_rows ranks = gt_rows_group(&pieces, "node", GT_AGGREGATES(GT_SUM("total", "time")));
    ranks = gt_rows_above(&ranks, "total", 0);
    int64_t *whole = gt_rows_add_wholes(&ranks, "whole");
    for (size_t i = 0; i < ranks.count; i++)
        whole[i] = tables->path->owner[tables->path->owners - 1].whole;
    gt_rows_percent(&ranks, "percent", "total", "whole");
    gt_rows_put(tables->input, root, "ranks", "Ranks on the path of all", &ranks,
                "text:node number:total_us number:percent", NULL);
}

/* ---- the whole ---- */

/* What the trace does not tell, and what is taken from times instead. */
static void add_notes(const struct tables *tables, struct gt_node *root)
{
    const struct gt_critical_path *path = tables->path;
    struct gt_buffer text = {0};
    size_t whole = 0, parts = 0;
    for (size_t i = 0; i < path->ranks; i++) {
        whole += path->step[i].is_whole_node;
        parts += !path->step[i].is_whole_node && gt_is_read_in_part(tables->input->trace, &path->step[i].span);
    }
    if (path->ranks && !path->graph.gpu.count)
        gt_buffer_text(&text, "no work of GPUs: paths are of the host alone; ");
    if (whole)
        gt_buffer_printf(&text, "no steps%s: the whole trace is one interval; ",
                         whole < path->ranks ? " of some nodes" : "");
    if (parts)
        gt_buffer_text(&text, "no step lies within the times that were asked for: of those that reach beyond only a "
                              "part was read; ");
    if (path->graph.inferred)
        gt_buffer_printf(&text,
                         "which streams wait for which was not recorded (cuda_sync), or not for all work: %zu waits "
                         "are taken from the last work that ended before; ",
                         path->graph.inferred);
    if (path->graph.incomplete)
        gt_buffer_printf(&text,
                         "in %zu collectives other ranks took part whose traces are not here: waiting for these "
                         "counts as communication; ",
                         path->graph.incomplete);
    if (path->graph.cut)
        gt_buffer_printf(&text,
                         "in %zu collectives a rank has no part, because its trace ends earlier or begins later: "
                         "waiting for it counts as communication; ",
                         path->graph.cut);
    if (text.length && !text.failed) {
        text.data[text.length - strlen("; ")] = '\0';
        gt_report_text(root, "not_known", "Not known", text.data);
    }
    gt_buffer_release(&text);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_critical_path path;
    struct tables tables = {.input = input, .path = &path};
    int status = gt_critical_path_find(&path, input, 0);
    if (status >= 0) {
        name_owners(&tables);
        struct gt_rows names = find_names(&tables);
        add_owners(&tables, root);
        put_what_if(&tables, root, &names);
        put_names(&tables, root, names);
        add_step_table(&tables, root);
        add_notes(&tables, root);
        put_ranks(&tables, root);
        status = gt_query_status(input->query);
    }
    gt_critical_path_close(&path);
    return status;
}

const struct gt_analysis gt_analysis_critical_path = {
    .name = "critical_path",
    .group = "steps",
    .help = "what holds each step, of each rank and of all through collectives, and how long it would take without",
    .arguments = arguments,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .joins = true,
    .compares = true,
    .build = build,
};
