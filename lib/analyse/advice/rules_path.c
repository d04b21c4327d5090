/* What steps wait for in the end: of the kinds of work, computing kernels apart, the one without which they would be
 * shortest. */
#include "analyse/advice/findings.h"
#include "analyse/path/critical_path.h"

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

struct best {
    enum gt_path_kind kind; /* GT_PATH_KINDS: none */
    int64_t length;         /* of the steps without the kind */
};

/* Where a node has no work of GPUs, what its host does is no delay of anything. */
static bool has_gpu(const struct gt_critical_path *path, uint32_t node)
{
    for (uint32_t i = 0; i < path->graph.lanes; i++)
        if ((path->graph.lane[i].node == node || node == GT_TRACE_NONE) && path->graph.lane[i].is_gpu)
            return true;
    return false;
}

/* No more can be saved than lies on the path. */
static bool is_worth(const struct gt_critical_path *path, enum gt_path_kind kind)
{
    bool any = false;
    for (uint32_t i = 0; i < path->owners; i++)
        any |= path->owner[i].is_job == path->has_job &&
               (double)path->owner[i].part[kind] >= 0.05 * (double)path->owner[i].whole;
    return any;
}

static void try_kind(const struct gt_critical_path *path, enum gt_path_kind kind, int64_t *length, struct best *best)
{
    bool is_host = kind == GT_PATH_OPERATORS || kind == GT_PATH_OTHER;
    if (!kinds[kind] || !is_worth(path, kind))
        return;
    gt_critical_path_what_if(path, &(struct gt_path_what){kind, GT_TRACE_NONE}, path->has_job, length);
    for (uint32_t i = 0; i < path->owners; i++)
        if (path->owner[i].is_job == path->has_job && length[i] < best[i].length &&
            (!is_host || has_gpu(path, path->owner[i].node)))
            best[i] = (struct best){kind, length[i]};
}

/* What a stage of a pipeline waits for is the work of others: without that wait its own step would be no shorter. */
static bool is_of_other_stages(const struct gt_findings *findings, const struct best *best)
{
    return findings->is_pipeline && (best->kind == GT_PATH_COMMUNICATION || best->kind == GT_PATH_SYNCHRONIZATION);
}

static void judge_owner(struct gt_findings *findings, const struct gt_critical_path *path,
                        const struct gt_path_owner *owner, const struct best *best)
{
    double whole = (double)owner->whole;
    double shorter = gt_saving_of(whole - (double)best->length, whole).percent;
    bool is_part = gt_is_read_in_part(findings->input->trace, &path->step[owner->from].span);
    if (best->kind == GT_PATH_KINDS || owner->is_whole_node || is_part || !(shorter >= 5) ||
        is_of_other_stages(findings, best))
        return;
    bool may_wait = best->kind == GT_PATH_COMMUNICATION && (path->graph.incomplete || path->graph.cut);
    const char *what = !may_wait                ? kinds[best->kind]
                       : path->graph.incomplete ? "communication, with waiting for ranks whose traces are not here,"
                                                : "communication, with waiting for ranks whose traces end early,";
    gt_finding_add(findings, may_wait ? GT_RULE_PATH_WITH_ABSENT : GT_RULE_PATH + best->kind, GT_ON_NODE(owner->node),
                   gt_saving_on(findings, owner->node, whole - (double)best->length),
                   "a step%s would be %.0f %% shorter if %s took no time: that is %.0f %% of %s critical path%s",
                   owner->is_job ? " of all ranks" : "", shorter, what,
                   gt_percent((double)owner->part[best->kind], whole), owner->is_job ? "the" : "its",
                   owner->is_job ? " across them" : "");
}

static void keep_held(struct gt_findings *findings, const struct gt_path_owner *owner)
{
    struct gt_held_steps *held = owner->is_whole_node ? NULL : &findings->held[findings->held_count++];
    if (!held)
        return;
    *held = (struct gt_held_steps){owner->node, (double)owner->whole, {0}};
    for (int kind = 0; kind < GT_PATH_KINDS; kind++)
        held->part[kind] = (double)owner->part[kind];
}

/* Ranks that have steps in common are judged as one. */
static void judge(struct gt_findings *findings, const struct gt_critical_path *path)
{
    struct gt_query *query = findings->input->query;
    int64_t *length = gt_query_memory(query, path->owners, sizeof *length);
    struct best *best = gt_query_memory(query, path->owners, sizeof *best);
    findings->held = gt_query_memory(query, path->owners, sizeof *findings->held);
    if (!findings->held)
        return;
    for (uint32_t i = 0; i < path->owners; i++) {
        keep_held(findings, &path->owner[i]);
        best[i] = (struct best){GT_PATH_KINDS, INT64_MAX};
    }
    for (int kind = 0; kind < GT_PATH_KINDS; kind++)
        try_kind(path, (enum gt_path_kind)kind, length, best);
    for (uint32_t i = 0; i < path->owners; i++)
        judge_owner(findings, path, &path->owner[i], &best[i]);
}

void gt_rules_path(struct gt_findings *findings)
{
    struct gt_critical_path path = {0};
    if (!findings->input->trace->step_count)
        return;
    findings->status = gt_critical_path_find(&path, findings->input, GT_RULE_COLLECTIVES);
    if (findings->status >= 0)
        judge(findings, &path);
    gt_critical_path_close(&path);
}
