/* What steps wait for in the end: of the kinds of work, computing kernels apart, the one without which they would be
 * shortest. */
#include <errno.h>
#include <stdlib.h>

#include "analyse/advice/findings.h"
#include "analyse/gpu/gpu.h"
#include "analyse/path/critical_path.h"
#include "base/grow.h"

/* What a step is shorter without; NULL: no finding. */
static const char *const kinds[GT_PATH_KINDS] = {
    [GT_PATH_LOADING] = "data loading",
    [GT_PATH_OPERATORS] = "operators of the host",
    [GT_PATH_CALLS] = "calls of the runtime and launches",
    [GT_PATH_SYNCHRONIZATION] = "synchronization, without the work waited for,",
    [GT_PATH_COMMUNICATION] = "communication",
    [GT_PATH_COPIES] = "copies and fills of memory",
    [GT_PATH_WAITING] = "waiting for other ranks",
    [GT_PATH_GAPS] = "the pauses of streams between work that follows each other",
    [GT_PATH_OTHER] = "what the host does outside of operators and calls",
};

struct best { /* of the steps of a node, or of the job */
    enum gt_path_kind kind;
    int64_t length, on_path;
};

struct search {
    const struct gt_critical_path *path;
    int64_t (*part)[GT_PATH_KINDS]; /* of each step's path */
    int64_t *length;                /* of each step, without the kind */
    struct best *best;              /* of each step that is the first of its node */
};

/* Where a node has no work of GPUs, what its host does is no delay of anything. */
static bool may_tell(const struct gt_critical_path *path, uint32_t node, enum gt_path_kind kind)
{
    bool is_host = kind == GT_PATH_OPERATORS || kind == GT_PATH_OTHER;
    if (!kinds[kind] || !is_host)
        return kinds[kind];
    for (uint32_t i = 0; i < path->graph.lanes; i++)
        if ((path->graph.lane[i].node == node || node == GT_TRACE_NONE) && path->graph.lane[i].is_gpu)
            return true;
    return false;
}

static size_t run_of_node(const struct gt_critical_path *path, size_t from)
{
    size_t to = from, end = from < path->ranks ? path->ranks : path->steps;
    while (to < end && path->step[to].span.key[0] == path->step[from].span.key[0])
        to++;
    return to;
}

static int64_t whole_of(const struct gt_critical_path *path, size_t from, size_t to)
{
    int64_t whole = 0;
    for (size_t i = from; i < to; i++)
        whole += path->step[i].span.end - path->step[i].span.start;
    return whole;
}

static int64_t on_path(const struct search *search, size_t from, size_t to, enum gt_path_kind kind)
{
    int64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += search->part[i][kind];
    return sum;
}

/* No more can be won than lies on the path. */
static bool is_worth(const struct search *search, size_t first, size_t last, enum gt_path_kind kind)
{
    bool any = false;
    for (size_t from = first, to; from < last && !any; from = to) {
        to = run_of_node(search->path, from);
        any = (double)on_path(search, from, to, kind) >= 0.05 * (double)whole_of(search->path, from, to);
    }
    return any;
}

static int try_kind(struct search *search, size_t first, size_t last, enum gt_path_kind kind)
{
    const struct gt_critical_path *path = search->path;
    if (!kinds[kind] || !is_worth(search, first, last, kind))
        return 0;
    int status = gt_critical_path_what_if(path, &(struct gt_path_what){kind, GT_TRACE_NONE}, first == path->ranks,
                                          search->length);
    for (size_t from = first, to; from < last && status >= 0; from = to) {
        struct best *best = &search->best[from];
        int64_t length = 0;
        to = run_of_node(path, from);
        for (size_t i = from; i < to; i++)
            length += search->length[i];
        if (length < best->length && may_tell(path, path->step[from].span.key[0], kind))
            *best = (struct best){kind, length, on_path(search, from, to, kind)};
    }
    return status;
}

/* What a stage of a pipeline waits for is the work of others: without that wait its own step would be no shorter. */
static bool is_of_other_stages(const struct gt_findings *findings, const struct best *best)
{
    return findings->is_pipeline && (best->kind == GT_PATH_COMMUNICATION || best->kind == GT_PATH_SYNCHRONIZATION);
}

static void tell(struct gt_findings *findings, const struct search *search, size_t from, size_t to)
{
    const struct gt_critical_path *path = search->path;
    const struct best *best = &search->best[from];
    double whole = (double)whole_of(path, from, to), share = gt_percent((double)best->on_path, whole);
    double shorter = gt_saving_of(whole - (double)best->length, whole).percent;
    uint32_t node = path->step[from].span.key[0];
    bool is_part = gt_is_read_in_part(findings->input->trace, &path->step[from].span);
    if (best->kind == GT_PATH_KINDS || path->step[from].is_whole_node || is_part || !(shorter >= 5) ||
        is_of_other_stages(findings, best))
        return;
    bool may_wait = best->kind == GT_PATH_COMMUNICATION && (path->graph.incomplete || path->graph.cut);
    const char *what = !may_wait                ? kinds[best->kind]
                       : path->graph.incomplete ? "communication, with waiting for ranks whose traces are not here,"
                                                : "communication, with waiting for ranks whose traces end early,";
    bool of_job = from >= path->ranks;
    gt_finding_add(findings, may_wait ? GT_RULE_PATH_WITH_ABSENT : GT_RULE_PATH + best->kind, GT_ON_NODE(node),
                   gt_saving_on(findings, node, whole - (double)best->length),
                   "a step%s would be %.0f %% shorter if %s took no time: that is %.0f %% of %s critical path%s",
                   of_job ? " of all ranks" : "", shorter, what, share, of_job ? "the" : "its",
                   of_job ? " across them" : "");
}

static int keep_held(struct gt_findings *findings, const struct search *search)
{
    const struct gt_critical_path *path = search->path;
    for (size_t from = 0, to; from < path->steps; from = to) {
        to = run_of_node(path, from);
        if (path->step[from].is_whole_node)
            continue;
        struct gt_held_steps *held = GT_GROW(findings, held);
        if (!held)
            return -ENOMEM;
        *held = (struct gt_held_steps){path->step[from].span.key[0], (double)whole_of(path, from, to), {0}};
        for (int kind = 0; kind < GT_PATH_KINDS; kind++)
            held->part[kind] = (double)on_path(search, from, to, (enum gt_path_kind)kind);
    }
    return 0;
}

/* Ranks that have steps in common are told as one. */
static int judge(struct gt_findings *findings, struct search *search)
{
    const struct gt_critical_path *path = search->path;
    bool has_job = path->steps > path->ranks;
    size_t first = has_job ? path->ranks : 0, last = has_job ? path->steps : path->ranks;
    for (size_t i = 0; i < path->steps; i++)
        for (size_t j = path->step[i].piece; j < path->step[i].piece_end; j++)
            search->part[i][path->piece[j].kind] += path->piece[j].end - path->piece[j].start;
    int status = keep_held(findings, search);
    for (size_t i = first; i < last; i++)
        search->best[i] = (struct best){GT_PATH_KINDS, INT64_MAX, 0};
    for (int kind = 0; kind < GT_PATH_KINDS && status >= 0; kind++)
        status = try_kind(search, first, last, (enum gt_path_kind)kind);
    for (size_t from = first, to; from < last && status >= 0; from = to) {
        to = run_of_node(path, from);
        tell(findings, search, from, to);
    }
    return status;
}

void gt_rules_path(struct gt_findings *findings)
{
    struct gt_critical_path path = {0};
    struct search search = {.path = &path};
    if (!findings->input->trace->step_count)
        return;
    int status = gt_critical_path_find(&path, findings->input, GT_RULE_COLLECTIVES);
    search.part = calloc(path.steps + 1, sizeof *search.part);
    search.length = malloc((path.steps + 1) * sizeof *search.length);
    search.best = malloc((path.steps + 1) * sizeof *search.best);
    if (status >= 0)
        status = search.part && search.length && search.best ? judge(findings, &search) : -ENOMEM;
    if (status < 0)
        findings->status = status;
    free(search.part);
    free(search.length);
    free(search.best);
    gt_critical_path_close(&path);
}
