#include "analyse/trace/training.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>

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

/* The mode of a step's number: of modes that have it, the one during which the event begins, else the first. Steps are
 * sorted by node, step and start. */
static uint32_t mode_of(const struct gt_rows *steps, uint32_t node, uint32_t number, int64_t time)
{
    const uint32_t *of = gt_rows_keys(steps, "node"), *step = gt_rows_keys(steps, "step");
    const uint32_t *mode = gt_rows_keys(steps, "mode");
    const int64_t *start = gt_rows_wholes(steps, "start"), *end = gt_rows_wholes(steps, "end");
    size_t low = GT_SEARCH(0, steps->count, middle, of[middle] != node ? of[middle] < node : step[middle] < number);
    uint32_t first = GT_NO_KEY;
    for (; low < steps->count && of[low] == node && step[low] == number; low++) {
        if (start[low] <= time && time <= end[low])
            return mode[low];
        first = first == GT_NO_KEY ? mode[low] : first;
    }
    return first;
}

static bool is_in_step(const struct gt_analysis_input *input, size_t event)
{
    return input->trace->events.step[event] >= 0 && gt_trace_is_slice(input->trace, event);
}

static struct gt_rows find_events(const struct gt_analysis_input *input, int by)
{
    const struct gt_trace *trace = input->trace;
    struct gt_rows rows = gt_rows_of_events(input, is_in_step), steps = gt_rows_of_steps(input);
    const uint32_t *node = gt_rows_keys(&rows, "node"), *event = gt_rows_keys(&rows, "event");
    const int64_t *start = gt_rows_wholes(&rows, "start");
    uint32_t *mode = gt_rows_add_keys(&rows, "mode", NULL), *step = gt_rows_add_keys(&rows, "step", NULL);
    uint32_t *process = gt_rows_add_keys(&rows, choices[BY_PROCESS], NULL);
    gt_rows_sort(&steps, "node step start");
    for (size_t i = 0; i < rows.count; i++) {
        step[i] = (uint32_t)trace->events.step[event[i]];
        mode[i] = mode_of(&steps, node[i], step[i], start[i]);
        process[i] = by == BY_PROCESS ? gt_analysis_place(input, gt_trace_process_of(trace, event[i])->name) : 0;
    }
    gt_rows_rename(&rows, "name", choices[BY_FRAMEWORK_METRIC]);
    return gt_rows_known(&rows, "mode");
}

/* ---- tables ---- */

static int put_statistics(const struct gt_analysis_input *input, struct gt_node *root, int by,
                          const struct gt_trace_energy *energy)
{
    char columns[200], keys[80], each[90];
    snprintf(keys, sizeof keys, "node %s %s", by ? "mode" : choices[0], by ? choices[by] : "");
    snprintf(each, sizeof each, "%s step", keys);
    snprintf(columns, sizeof columns, "text:node text:%s %s%s integer:steps " GT_NUMBERS_COLUMNS_US,
             by ? "mode" : choices[0], by ? "text:" : "", by ? choices[by] : "");
    struct gt_rows events = by ? find_events(input, by) : gt_rows_of_steps(input);
    if (!by)
        gt_rows_rename(&events, "mode", choices[0]);
    struct gt_rows steps = gt_rows_group(&events, each, GT_AGGREGATES(GT_MIN("start", "start"), GT_MAX("end", "end")));
    const int64_t *start = gt_rows_wholes(&steps, "start"), *end = gt_rows_wholes(&steps, "end");
    gt_rows_difference(&steps, "length", "end", "start");
    struct gt_rows rows = gt_rows_group(&steps, keys, GT_AGGREGATES(GT_COUNT("steps"), GT_STATISTICS_US("length")));
    const uint32_t *node = gt_rows_keys(&rows, "node");
    const int64_t *count = gt_rows_wholes(&rows, "steps");
    struct gt_table *table = gt_analysis_table(root, "steps", "Steps", columns);
    gt_trace_energy_columns(energy, table);
    int status = gt_query_status(input->query);
    for (size_t i = 0, from = 0; i < rows.count && status >= 0; from += (size_t)count[i++]) {
        gt_rows_put_row(input, table, &rows, i, columns);
        status = gt_trace_energy_cells(energy, table, node[i], start + from, end + from, (size_t)count[i]);
    }
    gt_analysis_empty(root, table, "no steps: no events with step numbers, no ProfilerStep, and no range \"step N\"");
    return status;
}

/* Steps beside each other, by one clock where ranks share collectives. */
static void put_skew(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows steps = gt_view_steps(input), ranks = gt_collective_ranks(input, 0);
    gt_rows_join(&steps, &ranks, "node", "offset");
    gt_rows_fill(&steps, "offset");
    gt_rows_difference(&steps, "begin", "start", "offset");
    gt_rows_difference(&steps, "until", "end", "offset");
    struct gt_rows each = gt_rows_group(&steps, "mode step",
                                        GT_AGGREGATES(GT_COUNT("nodes"), GT_MIN("first", "begin"),
                                                      GT_MAX("latest", "begin"), GT_MAX("last", "until"),
                                                      GT_MIN("shortest", "length"), GT_MAX("longest", "length")));
    gt_rows_difference(&each, "length", "last", "first");
    gt_rows_difference(&each, "start_skew", "latest", "first");
    gt_rows_difference(&each, "difference", "longest", "shortest");
    each = gt_rows_above(&each, "nodes", 1);
    gt_rows_rename(&each, "mode", choices[0]);
    struct gt_rows skew = gt_rows_group(
        &each, choices[0],
        GT_AGGREGATES(GT_COUNT("steps"), GT_MEAN_US("mean_length_over_nodes_us", "length"),
                      GT_MEAN_US("mean_start_skew_us", "start_skew"), GT_MAX("max_start_skew", "start_skew"),
                      GT_MEAN_US("mean_length_difference_us", "difference"),
                      GT_MAX("max_length_difference", "difference")));
    gt_rows_put(input, root, "skew", "Skew between nodes", &skew,
                "text:training_phase integer:steps number:mean_length_over_nodes_us number:mean_start_skew_us "
                "number:max_start_skew_us number:mean_length_difference_us number:max_length_difference_us",
                NULL);
}

static int build_steps(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_trace_energy energy;
    int by = gt_analysis_by(input, choices);
    int status = by < 0 ? by : gt_trace_energy_open(&energy, input);
    if (status < 0)
        return status;
    status = put_statistics(input, root, by, &energy);
    if (by == BY_TRAINING_PHASE)
        put_skew(input, root);
    gt_trace_energy_section(&energy, root);
    gt_trace_energy_close(&energy);
    return status < 0 ? status : gt_query_status(input->query);
}

/* They align the clocks. */
static const char *const collective_arguments[] = {GT_COLLECTIVE_ARGUMENTS, NULL};

const struct gt_analysis gt_analysis_steps = {
    .name = "steps",
    .group = "steps",
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
    gt_rows_difference(&steps, "late", "length", "shortest");
    const int64_t *shortest = gt_rows_wholes(&steps, "shortest"), *longest = gt_rows_wholes(&steps, "longest");
    int64_t *is_slowest = gt_rows_add_wholes(&steps, "is_slowest");
    for (size_t i = 0; i < steps.count; i++)
        is_slowest[i] = slowest[i] == node[i] && longest[i] > shortest[i];
    return gt_rows_above(&steps, "nodes", 1);
}

static bool is_communication(const struct gt_analysis_input *input, size_t event)
{
    return gt_gpu_is_work(input, event) && gt_gpu_use(input, event) == GT_USE_COMMUNICATION;
}

static int build_stragglers(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows steps = find_shared_steps(input), arrivals = gt_collective_ranks(input, 0);
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
    .group = "ranks",
    .help = "which rank is the slowest in how many steps, comes last to collectives, and how much others wait for it",
    .arguments = collective_arguments,
    .joins = true,
    .of_all = true,
    .compares = true,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .build = build_stragglers,
};
