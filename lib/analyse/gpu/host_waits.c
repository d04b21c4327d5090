#include "analyse/gpu/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/api.h"
#include "analyse/calls/call_tree.h"
#include "analyse/trace/training.h"
#include "analyse/views.h"
#include "base/number.h"
#include "trace/step_names.h"

/* Idle time of a GPU during a span of the host, and the part of it in which the host waited for the GPU; ns. */
struct idle {
    int64_t all, waiting;
    size_t ends; /* gaps that a launch within the span ends */
};

struct search {
    const struct gt_analysis_input *input;
    struct gt_call_tree tree;
    struct idle *idle;     /* of each span of the tree, with the spans inside it */
    struct gt_spans loads; /* waits for data, by node and start */
    struct gt_spans steps; /* by node and start */
    struct gt_spans rows;  /* idle time by node, name, step and span of the tree; name GT_TRACE_NONE: no operator ran */
    struct gt_host_waits *ret;
    int status;
};

enum { NODE, NAME, STEP, SPAN };

/* ---- idle time of the host's spans ---- */

static bool is_function(const struct gt_analysis_input *input, size_t event)
{
    uint32_t category = input->trace->events.category[event];
    return category != GT_TRACE_NONE && strcmp(gt_trace_text(input->trace, category), "python_function") == 0;
}

static bool is_waiting(const struct search *search, uint32_t span)
{
    size_t event = search->tree.spans.span[span].event;
    if (gt_analysis_work(search->input, event) != GT_WORK_RUNTIME)
        return false;
    enum gt_api_kind kind = gt_api_kind(gt_trace_text(search->input->trace, search->input->trace->events.name[event]));
    return kind == GT_API_SYNCHRONIZATION || kind == GT_API_COPY;
}

/* The index of the step of the node at a time, GT_TRACE_NONE outside of steps. */
static uint32_t step_at(const struct search *search, uint32_t node, int64_t time)
{
    size_t behind = gt_spans_behind(&search->steps, node, time);
    const struct gt_keyed_span *step = behind ? &search->steps.span[behind - 1] : NULL;
    return step && step->key[0] == node && step->end > time ? (uint32_t)behind - 1 : GT_TRACE_NONE;
}

/* The innermost span is `span`; waiting for data is left out. */
static void take_piece(struct search *search, uint32_t node, uint32_t span, int64_t from, int64_t to)
{
    size_t first = GT_SEARCH(0, search->loads.count, middle, search->loads.span[middle].key[0] < node);
    size_t last = GT_SEARCH(first, search->loads.count, middle, search->loads.span[middle].key[0] == node);
    int64_t time = to - from - gt_spans_overlap(&search->loads, first, last, from, to);
    bool is_waited = false, has_operator = false;
    for (; span != GT_TRACE_NONE; span = search->tree.parent[span]) {
        is_waited |= is_waiting(search, span);
        has_operator |= is_waited ||
                        gt_analysis_work(search->input, search->tree.spans.span[span].event) == GT_WORK_OPERATOR;
        search->idle[span].all += time;
        search->idle[span].waiting += is_waited ? time : 0;
    }
    search->ret->wait[search->ret->count - 1].time += (double)time;
    if (!has_operator && time > 0)
        search->status = gt_spans_add(
            &search->rows, (struct gt_keyed_span){
                               .key = {node, GT_TRACE_NONE, step_at(search, node, from), GT_TRACE_NONE}, .end = time});
}

/* Returns the innermost span of a thread at `time`, and shortens time..*to to its part before that thread begins or ends one. */
static uint32_t span_at(const struct search *search, size_t call, int64_t time, int64_t *to)
{
    const struct gt_spans *spans = &search->tree.spans;
    uint32_t track = search->input->trace->events.track[call];
    size_t behind = gt_spans_behind(spans, track, time);
    uint32_t span = behind && spans->span[behind - 1].key[0] == track ? (uint32_t)behind - 1 : GT_TRACE_NONE;
    if (behind < spans->count && spans->span[behind].key[0] == track && spans->span[behind].start < *to)
        *to = spans->span[behind].start;
    while (span != GT_TRACE_NONE && spans->span[span].end <= time)
        span = search->tree.parent[span];
    if (span != GT_TRACE_NONE && spans->span[span].end < *to)
        *to = spans->span[span].end;
    return span;
}

/* What the thread that ends a gap does counts; where it does nothing, what the thread does that launched the work before the gap. */
static void take_gap(struct search *search, uint32_t node, size_t call, size_t call_before, int64_t from, int64_t end)
{
    if ((!search->ret->count || search->ret->wait[search->ret->count - 1].node != node) &&
        GT_APPEND(search->ret, wait, (struct gt_host_wait){.node = node}) < 0)
        search->status = -ENOMEM;
    for (int64_t to; from < end && search->status >= 0; from = to) {
        to = end;
        uint32_t span = span_at(search, call, from, &to);
        if (span == GT_TRACE_NONE && call_before != GT_NO_KEY)
            span = span_at(search, call_before, from, &to);
        take_piece(search, node, span, from, to);
    }
    int64_t launch = search->input->trace->events.start[call], to = launch + 1;
    for (uint32_t span = span_at(search, call, launch, &to); span != GT_TRACE_NONE; span = search->tree.parent[span])
        search->idle[span].ends++;
}

static void take_gaps(struct search *search)
{
    struct gt_rows gaps = gt_view_gaps(search->input, "node device");
    const uint32_t *node = gt_rows_keys(&gaps, "node"), *cause = gt_rows_keys(&gaps, "cause");
    const uint32_t *call = gt_rows_keys(&gaps, "call"), *before = gt_rows_keys(&gaps, "call_before");
    const int64_t *from = gt_rows_wholes(&gaps, "from"), *to = gt_rows_wholes(&gaps, "to");
    const int64_t *idle = gt_rows_wholes(&gaps, "idle");
    for (size_t i = 0; i < gaps.count && search->status >= 0; i++)
        if (idle[i] && cause[i] == GT_IDLE_HOST && call[i] != GT_NO_KEY)
            take_gap(search, node[i], call[i], before[i], from[i], to[i]);
    if (search->status >= 0)
        search->status = gt_query_status(search->input->query);
}

/* ---- the name that tells most of a node ---- */

static bool is_range(const struct search *search, uint32_t span)
{
    return gt_analysis_work(search->input, search->tree.spans.span[span].event) == GT_WORK_ANNOTATION;
}

/* Of operators and calls only the outermost are named. A span around a whole step says nothing. */
static bool is_named(const struct search *search, uint32_t node, uint32_t span)
{
    const struct gt_trace_events *events = &search->input->trace->events;
    const struct gt_keyed_span *own = &search->tree.spans.span[span];
    bool is_outside = is_range(search, span) || is_function(search->input, own->event);
    if (!is_outside && !is_waiting(search, span) && gt_analysis_work(search->input, own->event) != GT_WORK_OPERATOR)
        return false;
    for (uint32_t above = search->tree.parent[span]; above != GT_TRACE_NONE; above = search->tree.parent[above]) {
        size_t event = search->tree.spans.span[above].event;
        if (events->name[event] == events->name[own->event] ||
            (!is_outside && gt_analysis_work(search->input, event) == GT_WORK_OPERATOR))
            return false;
    }
    size_t next = gt_spans_behind(&search->steps, node, own->start - 1);
    const struct gt_keyed_span *step = next < search->steps.count ? &search->steps.span[next] : NULL;
    return !step || step->key[0] != node || step->end > own->end;
}

static int list_rows(struct search *search)
{
    int status = 0;
    for (uint32_t i = 0; i < search->tree.spans.count && status >= 0; i++) {
        const struct gt_keyed_span *span = &search->tree.spans.span[i];
        uint32_t node = gt_analysis_node(search->input, span->event);
        if (!search->idle[i].all || !is_named(search, node, i))
            continue;
        uint32_t name = gt_analysis_place(search->input, search->input->trace->events.name[span->event]);
        status = gt_spans_add(&search->rows,
                              (struct gt_keyed_span){.key = {node, name, step_at(search, node, span->start), i},
                                                     .end = search->idle[i].all});
    }
    gt_spans_sort(&search->rows);
    return status;
}

/* Rows from..to are those of the name. */
static int describe(const struct search *search, struct gt_host_wait *wait, size_t from, size_t to)
{
    const struct gt_spans *rows = &search->rows;
    struct gt_numbers steps = {0};
    enum { FEW_ENDS = 2 };
    size_t largest = from, ends = 0;
    int64_t waiting = 0;
    int status = 0;
    for (size_t i = from, next; i < to && status >= 0; i = next) {
        next = gt_spans_run(rows, i, STEP + 1);
        if (rows->span[i].key[STEP] != GT_TRACE_NONE)
            status = gt_numbers_add(&steps, (double)gt_spans_total(rows, i, next));
    }
    for (size_t i = from; i < to; i++) {
        const struct idle *idle = rows->span[i].key[SPAN] == GT_TRACE_NONE ? NULL
                                                                           : &search->idle[rows->span[i].key[SPAN]];
        largest = rows->span[i].end > rows->span[largest].end ? i : largest;
        waiting += idle ? idle->waiting : 0;
        ends += idle ? idle->ends : 0;
    }
    double time = (double)gt_spans_total(rows, from, to);
    uint32_t span = rows->span[largest].key[SPAN];
    wait->name = rows->span[from].key[NAME];
    wait->share = time / wait->time;
    wait->few = gt_numbers_few(&steps);
    wait->is_synchronization = 2 * (double)waiting >= time;
    wait->is_pause = span != GT_TRACE_NONE && ends <= FEW_ENDS * (to - from) &&
                     (is_range(search, span) || is_function(search->input, search->tree.spans.span[span].event));
    while (span != GT_TRACE_NONE && !is_range(search, span))
        span = search->tree.parent[span];
    if (span != GT_TRACE_NONE)
        wait->range = gt_analysis_place(search->input,
                                        search->input->trace->events.name[search->tree.spans.span[span].event]);
    gt_numbers_release(&steps);
    return status;
}

/* Of the names with at least half of the time, the one with the least tells most; without such a name, that with the most. */
static int choose(const struct search *search, struct gt_host_wait *wait)
{
    enum { HALF = 2 };
    const struct gt_spans *rows = &search->rows;
    size_t best = SIZE_MAX, best_end = 0;
    size_t first = GT_SEARCH(0, rows->count, middle, rows->span[middle].key[NODE] < wait->node);
    double best_time = 0;
    wait->name = wait->range = GT_TRACE_NONE;
    for (size_t from = first, to; from < rows->count && rows->span[from].key[NODE] == wait->node; from = to) {
        to = gt_spans_run(rows, from, NAME + 1);
        double time = (double)gt_spans_total(rows, from, to), half = wait->time / HALF;
        bool is_nameless = rows->span[from].key[NAME] == GT_TRACE_NONE;
        bool is_better = best_time < half ? time > best_time : !is_nameless && time >= half && time < best_time;
        if (!is_better)
            continue;
        best = from;
        best_end = to;
        best_time = time;
    }
    const struct gt_spans *steps = &search->steps;
    size_t step = GT_SEARCH(0, steps->count, middle, steps->span[middle].key[0] < wait->node);
    wait->steps = step < steps->count && steps->span[step].key[0] == wait->node ? gt_spans_run(steps, step, 1) - step
                                                                                : 0;
    return best == SIZE_MAX ? 0 : describe(search, wait, best, best_end);
}

static int by_start(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start));
}

/* Steps are not what the host does. */
static bool is_wanted(const struct gt_analysis_input *input, size_t event)
{
    if (gt_analysis_work(input, event) == GT_WORK_ANNOTATION)
        return gt_step_kind(input->trace, input->trace->events.name[event]) == GT_TRACE_NONE;
    return gt_call_tree_is_call(input, event) || is_function(input, event);
}

static int find_rows(struct search *search)
{
    search->tree = gt_call_tree_of(search->input, is_wanted);
    search->idle = gt_query_zeros(search->input->query, search->tree.spans.count, sizeof *search->idle);
    int status = search->idle ? gt_loader_waits(search->input, &search->loads) : -ENOMEM;
    search->steps = gt_step_spans(search->input);
    gt_spans_sort_by(&search->steps, by_start);
    if (status >= 0)
        take_gaps(search);
    status = status < 0 ? status : search->status;
    return status < 0 ? status : list_rows(search);
}

static int find_all(const struct gt_analysis_input *input, struct gt_host_waits *ret)
{
    struct search search = {.input = input, .ret = ret};
    size_t kept = 0;
    int status = find_rows(&search);
    for (size_t i = 0; i < ret->count && status >= 0; i++) {
        status = choose(&search, &ret->wait[i]);
        if (ret->wait[i].time > 0)
            ret->wait[kept++] = ret->wait[i];
    }
    ret->count = kept;
    gt_spans_release(&search.loads);
    gt_spans_release(&search.rows);
    return status;
}

static void release(void *object)
{
    struct gt_host_waits *waits = object;
    free(waits->wait);
    free(waits);
}

int gt_host_waits_find(const struct gt_analysis_input *input, const struct gt_host_waits **ret)
{
    static const struct gt_host_waits none;
    struct gt_host_waits *waits = gt_query_kept(input->query, GT_KEPT_HOST_WAITS);
    int status = 0;
    if (!waits) {
        waits = calloc(1, sizeof *waits);
        status = waits ? find_all(input, waits) : -ENOMEM;
        if (waits && status >= 0)
            gt_query_keep(input->query, GT_KEPT_HOST_WAITS, waits, release);
        else if (waits)
            release(waits);
    }
    *ret = status < 0 ? &none : waits;
    return status;
}

static int compare_waits(const void *a, const void *b)
{
    const struct gt_host_wait *x = a, *y = b;
    return GT_ORDER(x->node, y->node);
}

const struct gt_host_wait *gt_host_wait_of(const struct gt_host_waits *waits, uint32_t node)
{
    struct gt_host_wait wanted = {.node = node};
    return waits->count ? bsearch(&wanted, waits->wait, waits->count, sizeof wanted, compare_waits) : NULL;
}
