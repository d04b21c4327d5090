#include "analyse/trace/step_spans.h"
#include "trace/trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/trace/trace_energy.h"
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
    struct gt_collectives collectives = {0};
    int status = gt_skewed_steps(input, spans);
    status = status < 0 ? status : gt_collectives_find(input, 0, &collectives);
    for (size_t i = 0; i < spans->count && status >= 0; i++) {
        const struct gt_rank_clock *clock = gt_collectives_rank(&collectives, spans->span[i].key[2]);
        spans->span[i].start -= clock ? clock->offset : 0;
        spans->span[i].end -= clock ? clock->offset : 0;
    }
    gt_collectives_release(&collectives);
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

struct rank {
    size_t steps, slowest;
    int64_t late, length, communication;
};

static int collect_steps(const struct gt_analysis_input *input, struct rank *rank)
{
    struct gt_spans spans = {0};
    int status = gt_skewed_steps(input, &spans);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&spans, 2, &from, &to);) {
        struct gt_skew skew = gt_step_skew(&spans, from, to);
        if (skew.nodes < 2)
            continue;
        for (size_t i = from; i < to; i++) {
            struct rank *of = &rank[spans.span[i].key[2]];
            of->steps++;
            of->length += spans.span[i].end - spans.span[i].start;
            of->late += spans.span[i].end - spans.span[i].start - skew.shortest;
        }
        if (skew.length > 0)
            rank[skew.slowest].slowest++;
    }
    gt_spans_release(&spans);
    return status;
}

static int collect_communication(const struct gt_analysis_input *input, struct rank *rank)
{
    struct gt_spans spans = {0};
    int status = gt_gpu_spans(input, &spans);
    for (size_t i = 0; i < spans.count; i++)
        if (spans.span[i].key[GT_GPU_USE] == GT_USE_COMMUNICATION && spans.span[i].key[GT_GPU_NODE] != GT_TRACE_NONE)
            rank[spans.span[i].key[GT_GPU_NODE]].communication += spans.span[i].end - spans.span[i].start;
    gt_spans_release(&spans);
    return status;
}

static void add_arrivals(struct gt_table *table, const struct gt_rank_clock *rank)
{
    if (!rank) {
        for (int i = 0; i < 5; i++)
            gt_table_missing(table);
        return;
    }
    GT_CELLS(table, rank->collectives, rank->latest, gt_percent((double)rank->latest, (double)rank->collectives),
             rank->waited / 1e3, rank->kept_waiting / 1e3);
}

static void add_straggler(struct gt_table *table, const struct rank *rank)
{
    double steps = rank->steps ? (double)rank->steps : NAN;
    GT_CELLS(table, rank->steps, (double)rank->length / steps / 1e3, rank->slowest, 100 * (double)rank->slowest / steps,
             (double)rank->late / steps / 1e3, (double)rank->late / 1e3, (double)rank->communication / 1e3);
}

static int build_stragglers(const struct gt_analysis_input *input, struct gt_node *root)
{
    uint32_t places = input->trace->strings.count;
    struct rank *rank = calloc(places + (size_t)1, sizeof *rank);
    struct gt_collectives collectives = {0};
    struct gt_table *table = gt_analysis_table(
        root, "stragglers", "Stragglers",
        "text:node integer:steps number:mean_length_us integer:slowest number:slowest_percent "
        "number:mean_late_us number:total_late_us number:communication_us integer:collectives "
        "integer:last number:last_percent number:waited_us number:kept_waiting_us");
    int status = rank ? collect_steps(input, rank) : -ENOMEM;
    if (status >= 0)
        status = collect_communication(input, rank);
    if (status >= 0)
        status = gt_collectives_find(input, 0, &collectives);
    for (uint32_t i = 0; i < places && status >= 0; i++) {
        const struct gt_rank_clock *arrivals = gt_collectives_rank(&collectives, i);
        if (!rank[i].steps && !arrivals)
            continue;
        gt_table_text(table, gt_analysis_text(input, i));
        add_straggler(table, &rank[i]);
        add_arrivals(table, arrivals);
    }
    gt_analysis_empty(root, table, "no step that several nodes or ranks took, and no collective that they share");
    gt_collectives_release(&collectives);
    free(rank);
    return status;
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
