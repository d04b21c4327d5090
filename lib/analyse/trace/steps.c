#include "analyse/trace/step_spans.h"
#include "trace/trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/trace/trace_energy.h"
#include "analyse/views.h"
#include "base/number.h"

/* ---- steps ----
 * How long steps take. A step is that of one node and one mode: number 3 of TRAIN and number 3 of EVAL are two, and
 * so are those of two nodes. Its length is from its first start to its last end. What nodes do to each other stands
 * in the table of skew. */

enum { BY_TRAINING_PHASE, BY_FRAMEWORK_METRIC, BY_PROCESS };
static const char *const choices[] = {"training_phase", "framework_metric", "process", NULL};

/* ---- what happens in steps ---- */

/* Node, step, mode, by start. */
static int by_number(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->key[1], y->key[1]), GT_ORDER(x->start, y->start));
}

/* The mode of a step's number: of modes that have it, the one during which the event begins, else the first. */
static uint32_t mode_of(const struct gt_spans *steps, uint32_t node, uint32_t number, int64_t time)
{
    size_t low = GT_SEARCH(0, steps->count, middle,
                           steps->span[middle].key[0] != node ? steps->span[middle].key[0] < node
                                                              : steps->span[middle].key[1] < number);
    uint32_t first = GT_TRACE_NONE;
    for (; low < steps->count && steps->span[low].key[0] == node && steps->span[low].key[1] == number; low++) {
        const struct gt_keyed_span *step = &steps->span[low];
        if (step->start <= time && time <= step->end)
            return step->key[2];
        first = first == GT_TRACE_NONE ? step->key[2] : first;
    }
    return first;
}

/* Keys: node, mode, what, step. */
static int collect_events(const struct gt_analysis_input *input, int by, struct gt_spans *spans)
{
    const struct gt_trace *trace = input->trace;
    const struct gt_trace_events *events = &trace->events;
    struct gt_spans steps = {0};
    int status = gt_step_spans(input, &steps);
    for (size_t i = 0; i < steps.count; i++) {
        uint32_t mode = steps.span[i].key[1];
        steps.span[i].key[1] = steps.span[i].key[2];
        steps.span[i].key[2] = mode;
    }
    gt_spans_sort_by(&steps, by_number);
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        uint32_t node = gt_analysis_node(input, i);
        if (events->step[i] < 0 || !gt_trace_is_slice(input->trace, i))
            continue;
        uint32_t mode = mode_of(&steps, node, (uint32_t)events->step[i], events->start[i]);
        uint32_t what = by == BY_PROCESS ? gt_trace_process_of(trace, i)->name : events->name[i];
        if (mode != GT_TRACE_NONE)
            status = gt_spans_add_event(
                spans, trace, i, GT_SPAN_KEY(node, mode, gt_analysis_place(input, what), (uint32_t)events->step[i]));
    }
    gt_spans_sort(spans);
    gt_spans_release(&steps);
    return status;
}

/* The spans of one step become one, from the first start to the last end. */
static void join_steps(struct gt_spans *spans)
{
    size_t count = 0;
    for (size_t from = 0, to = 0; gt_spans_next(spans, 4, &from, &to);) {
        struct gt_keyed_span hull = spans->span[from];
        for (size_t i = from; i < to; i++)
            hull.end = spans->span[i].end > hull.end ? spans->span[i].end : hull.end;
        spans->span[count++] = hull;
    }
    spans->count = count;
}

/* ---- tables ---- */

static int add_statistics(const struct gt_analysis_input *input, struct gt_node *root, int by,
                          const struct gt_spans *spans, const struct gt_trace_energy *energy)
{
    char columns[200];
    snprintf(columns, sizeof columns, "text:node text:%s %s integer:steps " GT_NUMBERS_COLUMNS_US,
             by ? "mode" : choices[0], by ? by == BY_PROCESS ? "text:process" : "text:framework_metric" : "");
    struct gt_table *table = gt_analysis_table(root, "steps", "Steps", columns);
    gt_trace_energy_columns(energy, table);
    int keys = by ? 3 : 2, status = 0;
    struct gt_numbers lengths = {0};
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(spans, keys, &from, &to);) {
        status = gt_list_lengths(&lengths, spans, from, to, 1e3);
        for (int key = 0; key < keys; key++)
            gt_table_text(table, gt_analysis_text(input, spans->span[from].key[key]));
        gt_table_integer(table, (int64_t)(to - from));
        gt_numbers_cells(table, &lengths);
        if (status >= 0)
            status = gt_trace_energy_cells(energy, table, spans->span[from].key[0], &spans->span[from], to - from);
    }
    gt_analysis_empty(root, table, "no steps: no events with step numbers, no ProfilerStep, and no range \"step N\"");
    gt_numbers_release(&lengths);
    return status;
}

/* Steps beside each other, by one clock where ranks share collectives. */
static int collect_skewed(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_collectives *collectives = NULL;
    int status = gt_skewed_steps(input, spans);
    status = status < 0 ? status : gt_collectives_find(input, 0, &collectives);
    for (size_t i = 0; i < spans->count && status >= 0; i++) {
        const struct gt_rank_clock *clock = gt_collectives_rank(collectives, spans->span[i].key[2]);
        spans->span[i].start -= clock ? clock->offset : 0;
        spans->span[i].end -= clock ? clock->offset : 0;
    }
    return status;
}

static int add_skew(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    struct gt_numbers hull = {0}, starts = {0}, lengths = {0};
    struct gt_table *table = gt_analysis_table(
        root, "skew", "Skew between nodes",
        "text:training_phase integer:steps number:mean_length_over_nodes_us number:mean_start_skew_us "
        "number:max_start_skew_us number:mean_length_difference_us number:max_length_difference_us");
    int status = collect_skewed(input, &spans);
    for (size_t from = 0, end = 0, to; status >= 0 && gt_spans_next(&spans, 1, &from, &end);) {
        struct gt_numbers *const all[] = {&hull, &starts, &lengths};
        for (size_t i = 0; i < 3; i++)
            gt_numbers_clear(all[i]);
        for (size_t step = from; step < end && status >= 0; step = to) {
            to = gt_spans_run(&spans, step, 2);
            struct gt_skew skew = gt_step_skew(&spans, step, to);
            if (skew.nodes < 2)
                continue;
            status = gt_numbers_add(&hull, (double)skew.hull / 1e3);
            status = status < 0 ? status : gt_numbers_add(&starts, (double)skew.start / 1e3);
            status = status < 0 ? status : gt_numbers_add(&lengths, (double)skew.length / 1e3);
        }
        if (!hull.count)
            continue;
        GT_CELLS(table, gt_analysis_text(input, spans.span[from].key[0]), hull.count, gt_numbers_mean(&hull),
                 gt_numbers_mean(&starts), gt_numbers_percentile(&starts, 100), gt_numbers_mean(&lengths),
                 gt_numbers_percentile(&lengths, 100));
    }
    gt_analysis_empty(root, table, NULL);
    gt_numbers_release(&hull);
    gt_numbers_release(&starts);
    gt_numbers_release(&lengths);
    gt_spans_release(&spans);
    return status;
}

static int build_steps(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    struct gt_trace_energy energy;
    int by = gt_analysis_by(input, choices);
    int status = by < 0 ? by : gt_trace_energy_open(&energy, input);
    if (status < 0)
        return status;
    status = by == 0 ? gt_step_spans(input, &spans) : collect_events(input, by, &spans);
    if (status >= 0) {
        join_steps(&spans);
        status = add_statistics(input, root, by, &spans, &energy);
    }
    if (status >= 0 && by == BY_TRAINING_PHASE)
        status = add_skew(input, root);
    gt_trace_energy_section(&energy, root);
    gt_trace_energy_close(&energy);
    gt_spans_release(&spans);
    return status;
}

/* They align the clocks. */
static const char *const collective_arguments[] = {GT_COLLECTIVE_ARGUMENTS, NULL};

const struct gt_analysis gt_analysis_steps = {
    .name = "steps",
    .help = "length of steps by node: --by training_phase, framework_metric or process; skew between nodes",
    .arguments = collective_arguments,
    .joins = true,
    .compares = true,
    .takes = GT_TAKES_BY | GT_TAKES_PHASES | GT_TAKES_COST | GT_TAKES_TOP,
    .build = build_steps,
};

/* ---- stragglers ----
 * Ranks that make others wait.
 *
 * In each step that several ranks take, one is the slowest; late time is how much longer a rank took than the
 * fastest one. A rank that comes late to collectives waits least inside them: little communication time beside many
 * long steps is the mark of a straggler, much is the mark of one that waits. Where ranks share collectives, their arrivals
 * there tell it outright. */

static struct gt_rows find_arrivals(const struct gt_analysis_input *input)
{
    static const struct gt_rows_field fields[] = {
        GT_FIELD(GT_KEY, struct gt_rank_clock, node),          GT_FIELD(GT_WHOLE, struct gt_rank_clock, collectives),
        GT_FIELD(GT_WHOLE, struct gt_rank_clock, latest),      GT_FIELD(GT_REAL, struct gt_rank_clock, waited),
        GT_FIELD(GT_REAL, struct gt_rank_clock, kept_waiting), {.name = NULL}};
    const struct gt_collectives *all;
    int status = gt_collectives_find(input, 0, &all);
    if (status < 0)
        gt_query_fail(input->query, status);
    struct gt_rows rows = gt_rows_of_records(input->query, all->rank, all->ranks, sizeof *all->rank, fields);
    return rows;
}

/* Steps that several ranks took, with how much longer each rank took than the fastest, and whether it was the slowest. */
static struct gt_rows find_shared_steps(const struct gt_analysis_input *input)
{
    struct gt_rows steps = gt_view_steps(input);
    struct gt_rows each = gt_rows_group(&steps, "mode step",
                                        GT_AGGREGATES(GT_COUNT("nodes"), GT_MIN("shortest", "length"),
                                                      GT_MAX("longest", "length"),
                                                      GT_ARG_MAX("slowest", "length", "node")));
    gt_rows_join(&steps, &each, "mode step", "nodes shortest longest slowest");
    const uint32_t *node = gt_rows_keys(&steps, "node"), *slowest = gt_rows_keys(&steps, "slowest");
    const int64_t *nodes = gt_rows_wholes(&steps, "nodes"), *length = gt_rows_wholes(&steps, "length");
    const int64_t *shortest = gt_rows_wholes(&steps, "shortest"), *longest = gt_rows_wholes(&steps, "longest");
    int64_t *late = gt_rows_add_wholes(&steps, "late"), *is_slowest = gt_rows_add_wholes(&steps, "is_slowest");
    bool *is_shared = gt_query_memory(steps.query, steps.count, sizeof *is_shared);
    for (size_t i = 0; i < steps.count && is_shared; i++) {
        is_shared[i] = nodes[i] > 1;
        late[i] = length[i] - shortest[i];
        is_slowest[i] = slowest[i] == node[i] && longest[i] > shortest[i];
    }
    return gt_rows_filter(&steps, is_shared);
}

static bool is_communication(const struct gt_analysis_input *input, size_t event)
{
    return gt_gpu_is_work(input, event) && gt_gpu_use(input, event) == GT_USE_COMMUNICATION;
}

static int build_stragglers(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows steps = find_shared_steps(input), arrivals = find_arrivals(input);
    struct gt_rows communication = gt_rows_of_events(input, is_communication);
    struct gt_rows ranks = gt_rows_group(
        &steps, "node",
        GT_AGGREGATES(GT_COUNT("steps"), GT_MEAN_US("mean_length_us", "length"), GT_SUM("slowest", "is_slowest"),
                      GT_MEAN_US("mean_late_us", "late"), GT_SUM("total_late", "late")));
    struct gt_rows uses = gt_rows_group(&communication, "node", GT_AGGREGATES(GT_SUM("communication", "length")));
    struct gt_rows all = gt_rows_union(&ranks, &arrivals, "node");
    gt_rows_join(&all, &ranks, "node", "steps mean_length_us slowest mean_late_us total_late");
    gt_rows_join(&all, &uses, "node", "communication");
    gt_rows_fill(&all, "steps slowest total_late communication");
    gt_rows_join(&all, &arrivals, "node", "collectives latest waited kept_waiting");
    gt_rows_percent(&all, "slowest_percent", "slowest", "steps");
    gt_rows_percent(&all, "last_percent", "latest", "collectives");
    gt_rows_rename(&all, "latest", "last");
    gt_rows_put(input, root, "stragglers", "Stragglers", &all,
                "text:node integer:steps number:mean_length_us integer:slowest number:slowest_percent "
                "number:mean_late_us number:total_late_us number:communication_us integer:collectives "
                "integer:last number:last_percent number:waited_us number:kept_waiting_us",
                "no step that several nodes or ranks took, and no collective that they share");
    return gt_query_status(all.query);
}

const struct gt_analysis gt_analysis_stragglers = {
    .name = "stragglers",
    .help = "which rank is the slowest in how many steps, comes last to collectives, and how much others wait for it",
    .arguments = collective_arguments,
    .joins = true,
    .of_all = true,
    .compares = true,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .build = build_stragglers,
};
