#include "analyse/path/critical_path.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "base/number.h"

const char *gt_path_kind_name(enum gt_path_kind kind)
{
    static const char *const names[GT_PATH_KINDS] = {
        [GT_PATH_LOADING] = "data loading",      [GT_PATH_OPERATORS] = "operators",
        [GT_PATH_CALLS] = "calls and launches",  [GT_PATH_SYNCHRONIZATION] = "synchronization",
        [GT_PATH_COMPUTE] = "computing kernels", [GT_PATH_COMMUNICATION] = "communication",
        [GT_PATH_COPIES] = "copies and fills",   [GT_PATH_WAITING] = "waiting for other ranks",
        [GT_PATH_GAPS] = "between work of GPUs", [GT_PATH_OTHER] = "host outside operators",
    };
    return names[kind];
}

/* ---- the longest way ---- */

struct replay {
    const struct gt_path_graph *graph;
    struct gt_path_what what;
    bool of_job;
    uint32_t *next;      /* point of each lane */
    size_t *edge;        /* of each lane */
    int64_t *met, *late; /* of each collective: the last start so far, as recorded and now */
    int64_t *time;       /* of points, when what takes no time does so */
};

static inline int64_t weigh(const struct replay *replay, int64_t weight, unsigned kind, uint32_t name)
{
    bool is_free = (kind & GT_PATH_KIND) == replay->what.kind || (name == replay->what.name && name != GT_TRACE_NONE);
    return is_free ? 0 : weight;
}

/* In a collective the last that comes lets all go on. */
static int64_t meet(struct replay *replay, uint32_t point)
{
    uint32_t collective = gt_path_collective(replay->graph, point);
    return replay->late[collective] + replay->graph->time[point] - replay->met[collective];
}

static void arrive(struct replay *replay, uint32_t start)
{
    uint32_t collective = gt_path_collective(replay->graph, start + 1);
    int64_t time = replay->graph->time[start];
    if (time > replay->met[collective])
        replay->met[collective] = time;
    if (replay->time[start] > replay->late[collective])
        replay->late[collective] = replay->time[start];
}

static void take_point(struct replay *replay, uint32_t number)
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

static int64_t moved(const struct replay *replay, const struct gt_path_anchor *anchor)
{
    return anchor->point == GT_TRACE_NONE ? anchor->rest : replay->time[anchor->point] + anchor->rest;
}

struct stretch {
    int64_t start, end;
};

/* A step begins when its host does, and no earlier than the step before ends. */
static void measure(const struct gt_critical_path *path, const struct replay *replay, struct stretch *stretch)
{
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

int gt_critical_path_what_if(const struct gt_critical_path *path, const struct gt_path_what *what, bool of_job,
                             int64_t *length)
{
    const struct gt_path_graph *graph = &path->graph;
    struct replay replay = {.graph = graph, .what = *what, .of_job = of_job};
    struct stretch *stretch = malloc((path->steps + 1) * sizeof *stretch);
    replay.next = malloc((graph->lanes + (size_t)1) * sizeof *replay.next);
    replay.edge = malloc((graph->lanes + (size_t)1) * sizeof *replay.edge);
    replay.met = malloc((graph->collectives + 1) * sizeof *replay.met);
    replay.late = malloc((graph->collectives + 1) * sizeof *replay.late);
    replay.time = malloc((graph->points + (size_t)1) * sizeof *replay.time);
    int status = stretch && replay.next && replay.edge && replay.met && replay.late && replay.time ? 0 : -ENOMEM;
    if (status >= 0) {
        for (uint32_t i = 0; i < graph->lanes; i++) {
            replay.next[i] = graph->lane[i].from;
            replay.edge[i] = graph->lane[i].edge;
        }
        for (size_t i = 0; i < graph->collectives; i++)
            replay.met[i] = replay.late[i] = INT64_MIN;
        for (uint32_t i = 0; i < graph->points; i++)
            take_point(&replay, graph->order[i]);
        measure(path, &replay, stretch);
        for (size_t i = of_job ? path->ranks : 0; i < (of_job ? path->steps : path->ranks); i++)
            length[i] = stretch[i].end > stretch[i].start ? stretch[i].end - stretch[i].start : 0;
    }
    free(stretch);
    free(replay.next);
    free(replay.edge);
    free(replay.met);
    free(replay.late);
    free(replay.time);
    return status;
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

/* The threads that the host's part of a step ends on: those that begin and end something with it, or else all. */
static int add_host_ends(struct gt_critical_path *path, const struct gt_path_step *step, int64_t start, int64_t end)
{
    const struct gt_path_graph *graph = &path->graph;
    int status = GT_APPEND_TO(path, anchor, anchor_at(graph, step->span.key[0], end));
    bool is_told = false;
    for (int pass = 0; pass < 2 && !is_told; pass++)
        for (uint32_t i = 0; i < graph->lanes && status >= 0; i++) {
            const struct gt_path_lane *lane = &graph->lane[i];
            uint32_t point = lane->node == step->span.key[0] && !lane->is_gpu ? gt_path_at(graph, i, end)
                                                                              : GT_TRACE_NONE;
            if (point == GT_TRACE_NONE || graph->time[point] < start)
                continue;
            uint32_t begin = gt_path_at(graph, i, start);
            bool is_exact = graph->time[point] == end && begin != GT_TRACE_NONE && graph->time[begin] == start;
            if (pass == 0 && (!is_exact || step->is_whole_node))
                continue;
            if (pass == 0 && !is_told) /* it is known whose step it is, whoever else was last */
                path->anchor_count--;
            is_told |= pass == 0;
            status = GT_APPEND_TO(path, anchor, (struct gt_path_anchor){point, 0});
        }
    return status;
}

static int add_step(struct gt_critical_path *path, const struct gt_gpu_step *from, bool is_first)
{
    struct gt_path_step *step = &path->step[path->ranks++];
    int64_t ahead = ahead_of(&path->graph, from->span.key[0]);
    *step = (struct gt_path_step){.span = from->span, .is_whole_node = from->is_whole_node, .end = path->anchor_count};
    step->span.start -= ahead;
    step->span.end -= ahead;
    step->begin = anchor_at(&path->graph, from->span.key[0], from->host_start - ahead);
    step->before = is_first ? anchor_at(&path->graph, from->span.key[0], step->span.start) : step->begin;
    int status = add_host_ends(path, step, from->host_start - ahead, from->host_end - ahead);
    step->end_end = path->anchor_count;
    return status;
}

struct owned { /* work that a step launched */
    size_t step;
    uint32_t lane, point;
};

static int compare_owned(const void *a, const void *b)
{
    const struct owned *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->step, y->step), GT_ORDER(x->lane, y->lane), GT_ORDER(y->point, x->point));
}

/* The last work on each stream that a step launched; by step and lane. */
static struct owned *find_owned(const struct gt_path_graph *graph, const struct gt_gpu_steps *steps, size_t events,
                                size_t *count)
{
    uint32_t *end = malloc((events + 1) * sizeof *end);
    struct owned *owned = malloc((graph->gpu.count + 1) * sizeof *owned);
    size_t all = 0;
    *count = 0;
    if (!end || !owned) {
        free(end);
        free(owned);
        return NULL;
    }
    for (size_t i = 0; i < graph->work_count; i++)
        end[graph->work[i].event] = graph->work[i].end;
    for (size_t i = 0; i < graph->gpu.count; i++) {
        if (steps->owner[i] == SIZE_MAX)
            continue;
        uint32_t point = end[graph->gpu.span[i].event];
        owned[all++] = (struct owned){steps->owner[i], gt_path_lane_of(graph, point), point};
    }
    GT_SORT(owned, all, compare_owned);
    for (size_t i = 0; i < all; i++)
        if (!i || owned[i].step != owned[i - 1].step || owned[i].lane != owned[i - 1].lane)
            owned[(*count)++] = owned[i];
    free(end);
    return owned;
}

static int add_steps(struct gt_critical_path *path, const struct gt_gpu_steps *steps, size_t events)
{
    size_t count, at = 0;
    struct owned *owned = find_owned(&path->graph, steps, events, &count);
    int status = owned ? 0 : -ENOMEM;
    path->step = calloc(2 * steps->count + 1, sizeof *path->step);
    path->member = malloc((steps->count + 1) * sizeof *path->member);
    if (!path->step || !path->member)
        status = -ENOMEM;
    for (size_t i = 0; i < steps->count && status >= 0; i++) {
        const struct gt_gpu_step *step = &steps->step[i];
        status = add_step(path, step, !i || step[-1].span.key[0] != step->span.key[0]);
        for (; at < count && owned[at].step == i && status >= 0; at++)
            status = GT_APPEND_TO(path, anchor, (struct gt_path_anchor){owned[at].point, 0});
        path->step[i].end_end = path->anchor_count;
    }
    free(owned);
    path->steps = path->ranks;
    return status;
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

static int add_piece(struct gt_critical_path *path, struct gt_path_piece piece, size_t first)
{
    struct gt_path_piece *last = path->piece_count > first ? &path->piece[path->piece_count - 1] : NULL;
    if (piece.start >= piece.end)
        return 0;
    if (last && last->lane == piece.lane && last->name == piece.name && last->kind == piece.kind) {
        last->start = piece.start;
        return 0;
    }
    return GT_APPEND_TO(path, piece, piece);
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

static int go_back(struct gt_critical_path *path, struct gt_path_step *step, struct gt_path_anchor end, bool of_job)
{
    const struct gt_path_graph *graph = &path->graph;
    int64_t start = step->span.start, at = step->span.end;
    uint32_t point = end.point;
    int status = 0;
    step->piece = path->piece_count;
    if (point != GT_TRACE_NONE && graph->time[point] < at) {
        int64_t from = graph->time[point] > start ? graph->time[point] : start;
        status = add_piece(
            path, (struct gt_path_piece){from, at, gt_path_lane_of(graph, point), GT_TRACE_NONE, GT_PATH_OTHER},
            step->piece);
        at = from;
    }
    while (status >= 0 && at > start && point != GT_TRACE_NONE) {
        struct gt_path_piece piece = {.lane = gt_path_lane_of(graph, point)};
        uint32_t from = origin_of(graph, point, of_job, &piece);
        piece.end = at;
        piece.start = from == GT_TRACE_NONE || graph->time[from] < start ? start : graph->time[from];
        if (from == GT_TRACE_NONE) {
            piece.kind = GT_PATH_OTHER;
            piece.name = GT_TRACE_NONE;
        }
        status = add_piece(path, piece, step->piece);
        at = piece.start < at ? piece.start : at; /* work that others overlap ends later than it was recorded */
        point = from;
    }
    reverse(&path->piece[step->piece], path->piece_count - step->piece);
    step->piece_end = path->piece_count;
    return status;
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

static int go_back_in_job(struct gt_critical_path *path, struct gt_path_step *step)
{
    const struct gt_path_step *last = &path->step[path->member[step->member]];
    for (size_t i = step->member; i < step->member_end; i++)
        if (path->step[path->member[i]].span.end > last->span.end)
            last = &path->step[path->member[i]];
    return go_back(path, step, end_of(path, last), true);
}

/* ---- the whole ---- */

int gt_critical_path_find(struct gt_critical_path *path, const struct gt_analysis_input *input, uint32_t first)
{
    const struct gt_collectives *collectives;
    struct gt_gpu_steps steps = {0};
    *path = (struct gt_critical_path){0};
    int status = gt_collectives_find(input, first, &collectives);
    if (status < 0)
        return status;
    status = gt_path_graph_open(&path->graph, input, collectives, first);
    if (status >= 0)
        status = gt_gpu_steps_find(input, &path->graph.hull, &path->graph.gpu, path->graph.call, &steps);
    if (status >= 0)
        status = add_steps(path, &steps, input->trace->events.count);
    if (status >= 0)
        add_job(path, collectives);
    for (size_t i = 0; i < path->steps && status >= 0; i++)
        status = i < path->ranks ? go_back(path, &path->step[i], end_of(path, &path->step[i]), false)
                                 : go_back_in_job(path, &path->step[i]);
    gt_gpu_steps_release(&steps);
    return status;
}

void gt_critical_path_close(struct gt_critical_path *path)
{
    gt_path_graph_close(&path->graph);
    free(path->step);
    free(path->piece);
    free(path->anchor);
    free(path->member);
    *path = (struct gt_critical_path){0};
}

/* ---- the report ----
 * What holds each step: shares of its critical path, the names that hold most of it, and what a step would take without them. */

static const char *const arguments[] = {GT_PATH_ARGUMENTS, NULL};

#define KIND_COLUMNS(unit)                                                                                 \
    "number:loading_" unit " number:operators_" unit " number:calls_" unit " number:synchronization_" unit \
    " number:compute_" unit " number:communication_" unit " number:copies_" unit " number:waiting_" unit   \
    " number:gaps_" unit " number:other_" unit

enum { SHOWN_NAMES = 10 };
static const char all_ranks[] = GT_TOP_ALL;

/* Steps from..to are those of one node, or of the job. */
struct owner {
    size_t from, to;
    int64_t whole, part[GT_PATH_KINDS];
    size_t entry, entry_end; /* its names */
};

struct tables {
    const struct gt_analysis_input *input;
    const struct gt_critical_path *path;
    struct owner *owner;
    size_t owners;
    bool has_job; /* the last owner */
};

static void add_up(const struct gt_critical_path *path, size_t from, size_t to, int64_t part[GT_PATH_KINDS])
{
    memset(part, 0, GT_PATH_KINDS * sizeof *part);
    for (size_t i = from; i < to; i++)
        for (size_t j = path->step[i].piece; j < path->step[i].piece_end; j++)
            part[path->piece[j].kind] += path->piece[j].end - path->piece[j].start;
}

static int find_owners(struct tables *tables)
{
    const struct gt_critical_path *path = tables->path;
    tables->owner = calloc(path->steps + 1, sizeof *tables->owner);
    if (!tables->owner)
        return -ENOMEM;
    for (size_t i = 0; i < path->steps; i++) {
        const struct gt_path_step *step = &path->step[i];
        if (!i || step->span.key[0] != step[-1].span.key[0] || i == path->ranks)
            tables->owner[tables->owners++] = (struct owner){.from = i, .to = i};
        struct owner *owner = &tables->owner[tables->owners - 1];
        owner->to = i + 1;
        owner->whole += step->span.end - step->span.start;
    }
    tables->has_job = path->steps > path->ranks;
    for (size_t i = 0; i < tables->owners; i++)
        add_up(path, tables->owner[i].from, tables->owner[i].to, tables->owner[i].part);
    return 0;
}

static const char *name_of(const struct tables *tables, size_t owner)
{
    return tables->has_job && owner + 1 == tables->owners
               ? all_ranks
               : gt_analysis_text(tables->input, tables->path->step[tables->owner[owner].from].span.key[0]);
}

/* ---- steps ---- */

static void add_owners(const struct tables *tables, struct gt_node *root)
{
    struct gt_table *table = gt_analysis_table(root, "critical_path", "Critical path",
                                               "text:node integer:steps number:mean_step_us " KIND_COLUMNS("percent"));
    for (size_t i = 0; i < tables->owners; i++) {
        const struct owner *owner = &tables->owner[i];
        gt_table_text(table, name_of(tables, i));
        gt_integer_if(table, !tables->path->step[owner->from].is_whole_node, (int64_t)(owner->to - owner->from));
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
    for (size_t i = 0; i < tables->owners; i++)
        for (size_t j = tables->owner[i].from; j < tables->owner[i].to; j++) {
            const struct gt_path_step *step = &tables->path->step[j];
            int64_t part[GT_PATH_KINDS];
            add_up(tables->path, j, j + 1, part);
            GT_CELLS(table, name_of(tables, i), gt_analysis_text(tables->input, step->span.key[1]));
            gt_integer_if(table, !(step->is_whole_node), (int32_t)step->span.key[2]);
            GT_CELLS(table, gt_analysis_us(tables->input, step->span.start),
                     (double)(step->span.end - step->span.start) / 1e3);
            for (int kind = 0; kind < GT_PATH_KINDS; kind++)
                gt_table_number(table, (double)part[kind] / 1e3);
        }
    gt_analysis_empty(root, table, NULL);
}

/* ---- names ---- */

struct entry { /* a name on the path of an owner */
    size_t owner;
    uint32_t name; /* string */
    enum gt_path_kind kind;
    size_t pieces;
    int64_t time;
};

struct entries {
    struct entry *entry; /* by owner, the longest first */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->owner, y->owner), GT_ORDER(x->name, y->name), GT_ORDER(x->kind, y->kind));
}

static int by_time(const void *a, const void *b, void *context)
{
    const struct entry *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->owner, y->owner), GT_ORDER(y->time, x->time),
                       GT_ORDER(gt_analysis_place(context, x->name), gt_analysis_place(context, y->name)),
                       GT_ORDER(x->kind, y->kind));
}

static bool *hidden_names(const struct gt_analysis_input *input)
{
    const struct gt_trace_events *events = &input->trace->events;
    bool *is_hidden = calloc(input->trace->strings.count + (size_t)1, sizeof *is_hidden);
    for (size_t i = 0; is_hidden && i < events->count; i++)
        if (events->flag[i] & GT_TRACE_HIDDEN)
            is_hidden[events->name[i]] = true;
    return is_hidden;
}

static int find_names(const struct tables *tables, struct entries *ret)
{
    const struct gt_critical_path *path = tables->path;
    bool *is_hidden = hidden_names(tables->input);
    size_t count = 0;
    ret->entry = malloc((path->piece_count + 1) * sizeof *ret->entry);
    if (!ret->entry || !is_hidden) {
        free(is_hidden);
        return -ENOMEM;
    }
    for (size_t i = 0; i < tables->owners; i++)
        for (size_t j = tables->owner[i].from; j < tables->owner[i].to; j++)
            for (size_t k = path->step[j].piece; k < path->step[j].piece_end; k++) {
                const struct gt_path_piece *piece = &path->piece[k];
                if (piece->name != GT_TRACE_NONE && !is_hidden[piece->name])
                    ret->entry[count++] = (struct entry){i, piece->name, piece->kind, 1, piece->end - piece->start};
            }
    free(is_hidden);
    GT_SORT(ret->entry, count, by_name);
    for (size_t i = 0; i < count; i++) {
        struct entry *last = ret->count ? &ret->entry[ret->count - 1] : NULL;
        if (last && by_name(last, &ret->entry[i]) == 0) {
            last->pieces++;
            last->time += ret->entry[i].time;
        } else {
            ret->entry[ret->count++] = ret->entry[i];
        }
    }
    qsort_r(ret->entry, ret->count, sizeof *ret->entry, by_time, (void *)(uintptr_t)tables->input);
    for (size_t i = 0; i < ret->count; i++) {
        struct owner *owner = &tables->owner[ret->entry[i].owner];
        owner->entry = i && ret->entry[i].owner == ret->entry[i - 1].owner ? owner->entry : i;
        owner->entry_end = i + 1;
    }
    return 0;
}

static void add_names(const struct tables *tables, struct gt_node *root, const struct entries *entries)
{
    struct gt_table *table = gt_analysis_table(
        root, "names", "Names on the path",
        "text:node kernel:name text:kind integer:pieces number:total_us number:percent");
    gt_top_shown(table, SHOWN_NAMES);
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->entry[i];
        GT_CELLS(table, name_of(tables, entry->owner), gt_trace_text(tables->input->trace, entry->name),
                 gt_path_kind_name(entry->kind), entry->pieces, (double)entry->time / 1e3,
                 gt_percent((double)entry->time, (double)tables->owner[entry->owner].whole));
    }
    gt_analysis_empty(root, table, NULL);
}

/* ---- what if ---- */

struct gain {
    size_t owner;
    struct gt_path_what what;
    int64_t on_path, length;
};

static int by_gain(const void *a, const void *b, void *context)
{
    const struct gain *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->owner, y->owner), GT_ORDER(x->length, y->length), GT_ORDER(y->on_path, x->on_path),
                       GT_ORDER(x->what.kind, y->what.kind),
                       GT_ORDER(gt_analysis_place(context, x->what.name), gt_analysis_place(context, y->what.name)));
}

struct gains {
    struct gain *gain;
    size_t count;
};

static int64_t on_path(const struct entries *entries, const struct owner *owner, const struct gt_path_what *what)
{
    int64_t time = 0;
    if (what->kind != GT_PATH_KINDS)
        return owner->part[what->kind];
    for (size_t i = owner->entry; i < owner->entry_end; i++)
        time += entries->entry[i].name == what->name ? entries->entry[i].time : 0;
    return time;
}

/* What is not on a path cannot make it shorter. */
static int try_what(const struct tables *tables, const struct entries *entries, const struct gt_path_what *what,
                    bool of_job, int64_t *length, struct gains *gains)
{
    size_t first = of_job ? tables->owners - 1 : 0, last = tables->owners - (tables->has_job && !of_job);
    int64_t any = 0;
    for (size_t i = first; i < last; i++)
        any += on_path(entries, &tables->owner[i], what);
    if (!any)
        return 0;
    int status = gt_critical_path_what_if(tables->path, what, of_job, length);
    for (size_t i = first; i < last && status >= 0; i++) {
        struct gain gain = {i, *what, on_path(entries, &tables->owner[i], what), 0};
        for (size_t j = tables->owner[i].from; j < tables->owner[i].to; j++)
            gain.length += length[j];
        if (gain.length > tables->owner[i].whole) /* a first step that began later for work of GPUs before it */
            gain.length = tables->owner[i].whole;
        if (gain.on_path)
            gains->gain[gains->count++] = gain;
    }
    return status;
}

static int by_total(const void *a, const void *b, void *context)
{
    const struct entry *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->time, x->time),
                       GT_ORDER(gt_analysis_place(context, x->name), gt_analysis_place(context, y->name)));
}

/* The names that hold most of the paths of all ranks, or of the job, and no less than 1 % of them. */
static struct entry *most_names(const struct tables *tables, const struct entries *entries, bool of_job, size_t *count)
{
    struct entry *most = malloc((entries->count + 1) * sizeof *most);
    size_t all = 0, shown = gt_list_top(tables->input, SHOWN_NAMES);
    int64_t whole = 0;
    *count = 0;
    for (size_t i = 0; most && i < entries->count; i++) {
        bool is_job = tables->has_job && entries->entry[i].owner + 1 == tables->owners;
        if (is_job != of_job)
            continue;
        most[all] = entries->entry[i];
        most[all].owner = 0;
        most[all++].kind = GT_PATH_KINDS;
    }
    if (!most)
        return NULL;
    GT_SORT(most, all, by_name);
    for (size_t i = 0; i < all; i++)
        if (*count && most[*count - 1].name == most[i].name)
            most[*count - 1].time += most[i].time;
        else
            most[(*count)++] = most[i];
    qsort_r(most, *count, sizeof *most, by_total, (void *)(uintptr_t)tables->input);
    for (size_t i = 0; i < tables->owners; i++)
        whole += (tables->has_job && i + 1 == tables->owners) == of_job ? tables->owner[i].whole : 0;
    *count = *count < shown ? *count : shown;
    while (*count && most[*count - 1].time * 100 < whole)
        --*count;
    return most;
}

static int try_all(const struct tables *tables, const struct entries *entries, bool of_job, struct gains *gains)
{
    size_t count;
    int64_t *length = malloc((tables->path->steps + 1) * sizeof *length);
    struct entry *name = most_names(tables, entries, of_job, &count);
    int status = length && name ? 0 : -ENOMEM;
    if (status >= 0)
        gains->gain = malloc(((GT_PATH_KINDS + count) * tables->owners + 1) * sizeof *gains->gain);
    status = gains->gain ? status : -ENOMEM;
    for (int kind = 0; kind < GT_PATH_KINDS && status >= 0; kind++)
        status = try_what(tables, entries, &(struct gt_path_what){(enum gt_path_kind)kind, GT_TRACE_NONE}, of_job,
                          length, gains);
    for (size_t i = 0; i < count && status >= 0; i++)
        status = try_what(tables, entries, &(struct gt_path_what){GT_PATH_KINDS, name[i].name}, of_job, length, gains);
    if (status >= 0)
        qsort_r(gains->gain, gains->count, sizeof *gains->gain, by_gain, (void *)(uintptr_t)tables->input);
    free(length);
    free(name);
    return status;
}

static void add_gain(const struct tables *tables, struct gt_table *table, const struct gain *gain)
{
    const struct owner *owner = &tables->owner[gain->owner];
    double whole = (double)owner->whole, steps = (double)(owner->to - owner->from);
    GT_CELLS(table, name_of(tables, gain->owner),
             gain->what.kind != GT_PATH_KINDS ? gt_path_kind_name(gain->what.kind)
                                              : gt_trace_text(tables->input->trace, gain->what.name),
             gain->what.kind != GT_PATH_KINDS ? "kind" : "name", gt_percent((double)gain->on_path, whole),
             (double)gain->length / steps / 1e3, gt_percent(whole - (double)gain->length, whole));
}

static int add_what_if(const struct tables *tables, struct gt_node *root, const struct entries *entries)
{
    struct gt_table *table = gt_analysis_table(root, "what_if", "What if it took no time",
                                               "text:node kernel:without text:is number:path_percent "
                                               "number:mean_step_us number:shorter_percent");
    int status = 0, whose = tables->has_job ? 2 : 1;
    for (int of_job = 0; of_job < whose && status >= 0; of_job++) {
        struct gains gains = {0};
        status = try_all(tables, entries, of_job, &gains);
        for (size_t i = 0; i < gains.count && status >= 0; i++)
            add_gain(tables, table, &gains.gain[i]);
        free(gains.gain);
    }
    gt_analysis_empty(root, table, NULL);
    return status;
}

/* ---- ranks of the job ---- */

static int add_ranks(const struct tables *tables, struct gt_node *root)
{
    const struct gt_critical_path *path = tables->path;
    uint32_t places = tables->input->trace->strings.count;
    int64_t *time = calloc(places + (size_t)1, sizeof *time);
    struct gt_table *table = gt_analysis_table(root, "ranks", "Ranks on the path of all",
                                               "text:node number:total_us number:percent");
    for (size_t i = path->ranks; time && i < path->steps; i++)
        for (size_t j = path->step[i].piece; j < path->step[i].piece_end; j++) {
            uint32_t node = path->graph.lane[path->piece[j].lane].node;
            time[node < places ? node : places] += path->piece[j].end - path->piece[j].start;
        }
    for (uint32_t i = 0; time && i < places && tables->has_job; i++) {
        if (!time[i])
            continue;
        GT_CELLS(table, gt_analysis_text(tables->input, i), (double)time[i] / 1e3,
                 gt_percent((double)time[i], (double)tables->owner[tables->owners - 1].whole));
    }
    gt_analysis_empty(root, table, NULL);
    free(time);
    return time ? 0 : -ENOMEM;
}

/* ---- the whole ---- */

/* What the trace does not tell, and what is taken from times instead. */
static void add_notes(const struct tables *tables, struct gt_node *root)
{
    const struct gt_critical_path *path = tables->path;
    char text[700] = "";
    size_t whole = 0, parts = 0;
    for (size_t i = 0; i < path->ranks; i++) {
        whole += path->step[i].is_whole_node;
        parts += !path->step[i].is_whole_node && gt_is_read_in_part(tables->input->trace, &path->step[i].span);
    }
    if (path->ranks && !path->graph.gpu.count)
        snprintf(text, sizeof text, "no work of GPUs: paths are of the host alone");
    if (whole)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sno steps%s: the whole trace is one interval",
                 *text ? "; " : "", whole < path->ranks ? " of some nodes" : "");
    if (parts)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%sno step lies within the times that were asked for: of those that reach beyond only a part was read",
                 *text ? "; " : "");
    if (path->graph.inferred)
        snprintf(
            text + strlen(text), sizeof text - strlen(text),
            "%swhich streams wait for which was not recorded (cuda_sync), or not for all work: %zu waits are taken from the last work "
            "that ended before",
            *text ? "; " : "", path->graph.inferred);
    if (path->graph.incomplete)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%sin %zu collectives other ranks took part whose traces are not here: waiting for these counts as "
                 "communication",
                 *text ? "; " : "", path->graph.incomplete);
    if (path->graph.cut)
        snprintf(
            text + strlen(text), sizeof text - strlen(text),
            "%sin %zu collectives a rank has no part, because its trace ends earlier or begins later: waiting for it "
            "counts as communication",
            *text ? "; " : "", path->graph.cut);
    if (*text)
        gt_report_text(root, "not_known", "Not known", text);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_critical_path path;
    struct tables tables = {.input = input, .path = &path};
    struct entries entries = {0};
    int status = gt_critical_path_find(&path, input, 0);
    status = status < 0 ? status : find_owners(&tables);
    status = status < 0 ? status : find_names(&tables, &entries);
    if (status >= 0) {
        add_owners(&tables, root);
        status = add_what_if(&tables, root, &entries);
        add_names(&tables, root, &entries);
        add_step_table(&tables, root);
        add_notes(&tables, root);
    }
    status = status < 0 ? status : add_ranks(&tables, root);
    free(entries.entry);
    free(tables.owner);
    gt_critical_path_close(&path);
    return status;
}

const struct gt_analysis gt_analysis_critical_path = {
    .name = "critical_path",
    .help = "what holds each step, of each rank and of all through collectives, and how long it would take without",
    .arguments = arguments,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .joins = true,
    .compares = true,
    .build = build,
};
