#include "analyse/calls/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "base/number.h"

/* ---- the tree ---- */

bool gt_call_tree_is_call(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    return work == GT_WORK_OPERATOR || work == GT_WORK_RUNTIME || work == GT_WORK_ANNOTATION;
}

/* What is begun first stands first: annotations, operators, calls of the runtime; External ids count upwards. */
static uint32_t rank_of(enum gt_work work, uint64_t external)
{
    const uint32_t most = (1U << 30) - 1, high = external >> 32 < most ? (uint32_t)(external >> 32) : most;
    const uint32_t order = work == GT_WORK_OPERATOR ? 1 : work == GT_WORK_RUNTIME ? 2 : 0;
    return order << 30 | high;
}

/* What was made of B and E has an order of its own: what ends later stands first. Others of one time stand as in the file. */
static struct gt_keyed_span key_of(const struct gt_analysis_input *input, size_t event, enum gt_work work)
{
    const struct gt_trace_events *events = &input->trace->events;
    uint64_t external = gt_trace_external(events, event);
    if (events->flag[event] & GT_TRACE_PAIRED)
        return (struct gt_keyed_span){.key = {events->track[event], 0, 0, GT_TRACE_NONE - (uint32_t)event}};
    return (struct gt_keyed_span){
        .key = {events->track[event], rank_of(work, external), (uint32_t)external, (uint32_t)event}};
}

static struct gt_spans collect(const struct gt_analysis_input *input,
                               bool (*is_wanted)(const struct gt_analysis_input *input, size_t event))
{
    const struct gt_trace *trace = input->trace;
    bool *is_taken = gt_query_memory(input->query, trace->events.count, sizeof *is_taken);
    size_t count = 0;
    for (size_t i = 0; i < trace->events.count && is_taken; i++) {
        is_taken[i] = is_wanted(input, i) && gt_trace_lasts(trace, i);
        count += is_taken[i];
    }
    if (count >= GT_TRACE_NONE)
        gt_query_fail(input->query, -EOVERFLOW);
    struct gt_spans spans = gt_spans_room(input->query, count);
    for (size_t i = 0; spans.span && i < trace->events.count; i++)
        if (is_taken[i])
            gt_spans_add_event(&spans, trace, i, key_of(input, i, gt_analysis_work(input, i)).key);
    gt_spans_sort_nested(&spans);
    return spans;
}

/* What reaches beyond the end of the span before it lies beside it. */
static void find_parents(struct gt_call_tree *tree)
{
    const struct gt_keyed_span *span = tree->spans.span;
    for (uint32_t i = 0, open = GT_TRACE_NONE; i < tree->spans.count; i++) {
        while (open != GT_TRACE_NONE &&
               (span[open].key[0] != span[i].key[0] || span[open].end <= span[i].start || span[open].end < span[i].end))
            open = tree->parent[open];
        tree->parent[i] = open;
        tree->self[i] = span[i].end - span[i].start;
        if (open != GT_TRACE_NONE)
            tree->self[open] -= tree->self[i];
        open = i;
    }
}

/* As in PyTorch's table: a span that is alone in one of its own name counts as that. `inside`: how many are directly inside each, 0. */
static void find_repeats(struct gt_call_tree *tree, const struct gt_trace_events *events, uint32_t *inside)
{
    for (uint32_t i = 0; i < tree->spans.count; i++)
        if (tree->parent[i] != GT_TRACE_NONE)
            inside[tree->parent[i]]++;
    for (uint32_t i = (uint32_t)tree->spans.count; i-- > 0;) {
        uint32_t above = tree->parent[i];
        if (above == GT_TRACE_NONE || inside[above] != 1 ||
            events->name[tree->spans.span[i].event] != events->name[tree->spans.span[above].event])
            continue;
        tree->is_repeat[i] = true;
        tree->self[above] += tree->self[i];
        tree->self[i] = 0;
    }
}

struct gt_call_tree gt_call_tree_of(const struct gt_analysis_input *input,
                                    bool (*is_wanted)(const struct gt_analysis_input *input, size_t event))
{
    struct gt_query *query = input->query;
    struct gt_call_tree tree = {.spans = collect(input, is_wanted)};
    size_t count = tree.spans.count;
    tree.parent = gt_query_memory(query, count, sizeof *tree.parent);
    tree.self = gt_query_memory(query, count, sizeof *tree.self);
    tree.is_repeat = gt_query_zeros(query, count, sizeof *tree.is_repeat);
    uint32_t *inside = gt_query_zeros(query, count, sizeof *inside);
    if (!inside)
        return (struct gt_call_tree){.parent = NULL};
    find_parents(&tree);
    find_repeats(&tree, &input->trace->events, inside);
    return tree;
}

const struct gt_call_tree *gt_call_tree(const struct gt_analysis_input *input)
{
    static const struct gt_call_tree none;
    struct gt_call_tree *tree = gt_query_kept(input->query, GT_KEPT_CALL_TREE);
    if (!tree && (tree = gt_query_memory(input->query, 1, sizeof *tree))) {
        *tree = gt_call_tree_of(input, gt_call_tree_is_call);
        gt_query_keep(input->query, GT_KEPT_CALL_TREE, tree, NULL);
    }
    return tree ? tree : &none;
}

uint32_t gt_call_tree_operator(const struct gt_call_tree *tree, const struct gt_analysis_input *input, uint32_t span)
{
    while (span != GT_TRACE_NONE &&
           (tree->is_repeat[span] || gt_analysis_work(input, tree->spans.span[span].event) != GT_WORK_OPERATOR))
        span = tree->parent[span];
    return span;
}

uint32_t gt_call_tree_at(const struct gt_call_tree *tree, uint32_t track, int64_t time)
{
    size_t low = gt_spans_behind(&tree->spans, track, time);
    uint32_t found = low && tree->spans.span[low - 1].key[0] == track ? (uint32_t)low - 1 : GT_TRACE_NONE;
    while (found != GT_TRACE_NONE && tree->spans.span[found].end < time)
        found = tree->parent[found];
    return found;
}

/* ---- operators by their External ids, for work whose call is not known ---- */

struct owner {
    uint32_t file, span;
    uint64_t id;
    int64_t duration;
};

struct owners {
    struct owner *owner;
    size_t count;
    bool *is_misleading; /* of a file: ids of GPU work are no operators' ids */
};

/* The shortest of several operators with one id is the innermost. */
static int compare_owners(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->id, y->id), GT_ORDER(x->duration, y->duration),
                       GT_ORDER(x->span, y->span));
}

static uint32_t file_of(const struct gt_analysis_input *input, size_t event)
{
    return gt_trace_process_of(input->trace, event)->file;
}

static struct owners find_owners(const struct gt_call_tree *tree, const struct gt_analysis_input *input)
{
    const struct gt_trace_events *events = &input->trace->events;
    struct owners owners = {
        .owner = gt_query_memory(input->query, tree->spans.count, sizeof *owners.owner),
        .is_misleading = gt_query_zeros(input->query, input->trace->file_count, sizeof *owners.is_misleading)};
    if (!owners.is_misleading)
        return owners;
    for (uint32_t i = 0; i < tree->spans.count; i++) {
        size_t event = tree->spans.span[i].event;
        if (gt_trace_external(events, event) != GT_TRACE_NO_ID && gt_analysis_work(input, event) == GT_WORK_OPERATOR)
            owners.owner[owners.count++] = (struct owner){file_of(input, event), i, gt_trace_external(events, event),
                                                          gt_trace_duration(events, event)};
    }
    GT_SORT(owners.owner, owners.count, compare_owners);
    return owners;
}

static uint32_t find_owner(const struct owners *owners, uint32_t file, uint64_t id)
{
    const struct owner *owner = owners->owner;
    size_t low = GT_SEARCH(0, owners->count, middle,
                           owner[middle].file != file ? owner[middle].file < file : owner[middle].id < id);
    return low < owners->count && owner[low].file == file && owner[low].id == id ? owner[low].span : GT_TRACE_NONE;
}

/* ---- GPU work of operators ---- */

struct joining {
    const struct gt_call_tree *tree;
    const struct gt_analysis_input *input;
    struct gt_spans work;
    const size_t *call; /* of each piece of work */
    uint32_t *span_of;  /* of each event: its place in the tree, or GT_TRACE_NONE */
    struct owners owners;
};

static struct joining join_calls(const struct gt_call_tree *tree, const struct gt_analysis_input *input)
{
    size_t events = input->trace->events.count;
    struct joining joining = {.tree = tree, .input = input, .work = gt_gpu_all_spans(input)};
    joining.call = gt_gpu_launches(input, &joining.work);
    joining.owners = find_owners(tree, input);
    joining.span_of = gt_query_memory(input->query, events, sizeof *joining.span_of);
    for (size_t i = 0; i < events && joining.span_of; i++)
        joining.span_of[i] = GT_TRACE_NONE;
    for (uint32_t i = 0; i < tree->spans.count && joining.span_of; i++)
        joining.span_of[tree->spans.span[i].event] = i;
    return joining;
}

static uint32_t operator_of_call(const struct joining *joining, size_t work)
{
    size_t call = joining->call[work];
    return call == SIZE_MAX ? GT_TRACE_NONE
                            : gt_call_tree_operator(joining->tree, joining->input, joining->span_of[call]);
}

/* Kineto of 2022 and 2023 gives GPU work its correlation for External id: seen where the call lies in an operator of another
 * id. */
static void find_misleading(struct joining *joining)
{
    const struct gt_trace_events *events = &joining->input->trace->events;
    for (size_t i = 0; i < joining->work.count; i++) {
        size_t event = joining->work.span[i].event;
        uint32_t found = operator_of_call(joining, i);
        if (found != GT_TRACE_NONE && gt_trace_external(events, event) == gt_trace_id(events, event) &&
            gt_trace_external(events, joining->tree->spans.span[found].event) != gt_trace_external(events, event))
            joining->owners.is_misleading[file_of(joining->input, event)] = true;
    }
}

static uint32_t operator_of_work(const struct joining *joining, size_t work)
{
    const struct gt_trace_events *events = &joining->input->trace->events;
    size_t event = joining->work.span[work].event;
    uint32_t file = file_of(joining->input, event);
    if (joining->call[work] != SIZE_MAX)
        return operator_of_call(joining, work);
    if (gt_trace_external(events, event) == GT_TRACE_NO_ID || joining->owners.is_misleading[file])
        return GT_TRACE_NONE;
    return find_owner(&joining->owners, file, gt_trace_external(events, event));
}

static void add_above(const struct gt_call_tree *tree, uint32_t span, int64_t *times, int64_t time)
{
    for (; span != GT_TRACE_NONE; span = tree->parent[span])
        times[span] += time;
}

struct gt_operator_times gt_operator_times(const struct gt_analysis_input *input, const struct gt_call_tree *tree)
{
    struct joining joining = join_calls(tree, input);
    size_t count = tree->spans.count;
    struct gt_operator_times times = {gt_query_zeros(input->query, count, sizeof *times.gpu),
                                      gt_query_zeros(input->query, count, sizeof *times.gpu_total),
                                      gt_query_zeros(input->query, count, sizeof *times.backward)};
    if (times.backward)
        find_misleading(&joining);
    for (size_t i = 0; i < joining.work.count && times.backward; i++) {
        const struct gt_keyed_span *work = &joining.work.span[i];
        uint32_t found = operator_of_work(&joining, i);
        if (found == GT_TRACE_NONE)
            continue;
        times.gpu[found] += work->end - work->start;
        add_above(tree, found, times.gpu_total, work->end - work->start);
    }
    return times;
}

/* ---- forward and backward ---- */

enum { SEQUENCE, FORWARD_THREAD }; /* as in GT_BACKWARD_ARGUMENTS */

/* An end of a flow, or an operator with its sequence number. */
struct end {
    uint32_t file, span;
    uint64_t id;
    bool is_backward;
    int64_t time;
};

struct ends {
    struct end *end;
    size_t count, capacity;
};

/* The flow ends in the function itself; the engine's call around it also adds up and reduces gradients. */
static uint32_t whole_backward(const struct gt_call_tree *tree, const struct gt_analysis_input *input, uint32_t span)
{
    static const char engine[] = "autograd::engine::evaluate_function";
    uint32_t around = span == GT_TRACE_NONE ? span : gt_call_tree_operator(tree, input, tree->parent[span]);
    if (around == GT_TRACE_NONE)
        return span;
    const char *name = gt_trace_text(input->trace, input->trace->events.name[tree->spans.span[around].event]);
    return strncmp(name, engine, sizeof engine - 1) == 0 ? around : span;
}

static int collect_flows(struct ends *ends, const struct gt_call_tree *tree, const struct gt_analysis_input *input)
{
    static const char *const names[] = {"fwdbwd", "fwd_bwd", "forward_backward"};
    const struct gt_trace_events *events = &input->trace->events;
    uint32_t category[3];
    int status = 0;
    for (size_t i = 0; i < 3; i++)
        category[i] = gt_trace_find(input->trace, names[i]);
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        uint32_t own = events->category[i];
        bool is_ours = own != GT_TRACE_NONE && (own == category[0] || own == category[1] || own == category[2]);
        if (!is_ours || (events->phase[i] != 's' && events->phase[i] != 'f'))
            continue;
        uint32_t span = gt_call_tree_operator(tree, input, gt_call_tree_at(tree, events->track[i], events->start[i]));
        if (span != GT_TRACE_NONE)
            status = GT_APPEND(ends, end,
                               (struct end){file_of(input, i), span, gt_trace_id(events, i), events->phase[i] == 'f',
                                            events->start[i]});
    }
    return status;
}

static bool read_sequence(const struct gt_analysis_input *input, size_t event, uint64_t *ret, bool *is_backward)
{
    const struct gt_trace_argument *sequence = gt_trace_argument(input->trace, event, SEQUENCE);
    const struct gt_trace_argument *thread = gt_trace_argument(input->trace, event, FORWARD_THREAD);
    if (!sequence || !(sequence->number >= 0 && sequence->number < 9e15))
        return false;
    *ret = (uint64_t)sequence->number;
    *is_backward = thread && thread->number > 0;
    return true;
}

/* A backward operator inside one of the same number is told by that. */
static int collect_sequences(struct ends *ends, const struct gt_call_tree *tree, const struct gt_analysis_input *input)
{
    int status = 0;
    for (uint32_t i = 0; i < tree->spans.count && status >= 0; i++) {
        const struct gt_keyed_span *span = &tree->spans.span[i];
        uint64_t number, outer;
        bool is_backward, is_outer;
        if (!read_sequence(input, span->event, &number, &is_backward))
            continue;
        uint32_t around = gt_call_tree_operator(tree, input, tree->parent[i]);
        if (is_backward && around != GT_TRACE_NONE &&
            read_sequence(input, tree->spans.span[around].event, &outer, &is_outer) && is_outer && outer == number)
            continue;
        status = GT_APPEND(ends, end, (struct end){file_of(input, span->event), i, number, is_backward, span->start});
    }
    return status;
}

/* Of the forward operators of one number the last is the one that made the node of the graph. */
static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->id, y->id), GT_ORDER(x->is_backward, y->is_backward),
                       GT_ORDER(x->time, y->time), GT_ORDER(x->span, y->span));
}

/* Returns those of flows, or else of sequence numbers, to be freed. */
static struct ends find_ends(const struct gt_call_tree *tree, const struct gt_analysis_input *input, bool *has_flows)
{
    struct ends ends = {0};
    int status = collect_flows(&ends, tree, input);
    *has_flows = ends.count;
    if (status >= 0 && !*has_flows)
        status = collect_sequences(&ends, tree, input);
    if (status < 0)
        gt_query_fail(input->query, status);
    return ends;
}

bool *gt_backward_spans(const struct gt_call_tree *tree, const struct gt_analysis_input *input)
{
    bool has_flows, *is_backward = gt_query_zeros(input->query, tree->spans.count, sizeof *is_backward);
    struct ends ends = find_ends(tree, input, &has_flows);
    for (size_t i = 0; i < ends.count && is_backward; i++)
        is_backward[ends.end[i].span] |= ends.end[i].is_backward;
    free(ends.end);
    return is_backward;
}

void gt_backward_times(struct gt_operator_times *times, const struct gt_call_tree *tree,
                       const struct gt_analysis_input *input)
{
    bool has_flows;
    struct ends ends = find_ends(tree, input, &has_flows);
    GT_SORT(ends.end, ends.count, compare_ends);
    const struct end *forward = NULL;
    for (size_t i = 0; i < ends.count && times->backward; i++) {
        const struct end *end = &ends.end[i];
        if (!end->is_backward)
            forward = end;
        else if (forward && forward->file == end->file && forward->id == end->id && forward->span != end->span)
            add_above(tree, forward->span, times->backward,
                      times->gpu_total[has_flows ? whole_backward(tree, input, end->span) : end->span]);
    }
    free(ends.end);
}
