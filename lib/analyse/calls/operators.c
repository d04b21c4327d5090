#include "analyse/calls/operators.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/call_tree.h"
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/number.h"

/* ---- operators ----
 * Operators on the CPU: how often, how long, how long without what is inside them (operators, ranges of the program and
 * calls of the CUDA runtime, as in PyTorch's own table), and for how long GPUs worked for them: for their own launches,
 * with the operators inside, and in the backward operators that belong to them. */

enum { BY_NAME, BY_SHAPE };
static const char *const choices[] = {"name", "shape", NULL};
static const char *const operator_arguments[] = {GT_BACKWARD_ARGUMENTS, NULL};
static const char *const shape_arguments[] = {GT_BACKWARD_ARGUMENTS, GT_SHAPE_ARGUMENTS, NULL};

uint32_t gt_operator_shape(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_argument *shape = gt_trace_argument(input->trace, event, GT_DIMENSIONS);
    if (!shape)
        shape = gt_trace_argument(input->trace, event, GT_OLD_DIMENSIONS);
    return shape ? gt_analysis_place(input, shape->text) : GT_TRACE_NONE;
}

/* Each step bears a name of its own; `steps` has them. */
static bool is_step(const struct gt_analysis_input *input, size_t event)
{
    return strncmp(gt_trace_text(input->trace, input->trace->events.name[event]), "ProfilerStep#", 13) == 0;
}

struct operators {
    const struct gt_call_tree *tree;
    struct gt_operator_times times;
    bool *has_gpu; /* of a node: gt_gpu_nodes */
    bool any_gpu;  /* on a node that is shown */
};

static void find_gpus(const struct gt_analysis_input *input, struct operators *operators)
{
    operators->has_gpu = gt_gpu_nodes(input);
    for (uint32_t node = 0; operators->has_gpu && node <= input->trace->strings.count; node++)
        operators->any_gpu |= operators->has_gpu[node] && gt_analysis_shows(input, node);
}

/* The operators of the tree, or its ranges. Times of GPUs are missing for nodes without any. */
static struct gt_rows find_calls(const struct gt_analysis_input *input, const struct operators *operators,
                                 enum gt_work work, int by)
{
    const struct gt_call_tree *tree = operators->tree;
    const struct gt_operator_times *times = &operators->times;
    size_t count = 0;
    uint32_t *span = gt_query_memory(input->query, tree->spans.count, sizeof *span);
    for (uint32_t i = 0; span && i < tree->spans.count; i++) {
        size_t event = tree->spans.span[i].event;
        if (!tree->is_repeat[i] && gt_analysis_work(input, event) == work && gt_trace_is_slice(input->trace, event) &&
            !is_step(input, event))
            span[count++] = i;
    }
    struct gt_rows rows = gt_rows_new(input->query, count);
    uint32_t *node = gt_rows_add_keys(&rows, "node", NULL), *name = gt_rows_add_keys(&rows, "name", NULL);
    uint32_t *shape = gt_rows_add_keys(&rows, "shape", NULL);
    int64_t *length = gt_rows_add_wholes(&rows, "length"), *self = gt_rows_add_wholes(&rows, "self");
    int64_t *gpu = gt_rows_add_wholes(&rows, "gpu"), *gpu_total = gt_rows_add_wholes(&rows, "gpu_total");
    int64_t *backward = gt_rows_add_wholes(&rows, "backward_gpu");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_keyed_span *call = &tree->spans.span[span[i]];
        node[i] = gt_analysis_node(input, call->event);
        name[i] = gt_analysis_place(input, input->trace->events.name[call->event]);
        shape[i] = by == BY_SHAPE ? gt_operator_shape(input, call->event) : 0;
        length[i] = call->end - call->start;
        self[i] = tree->self[span[i]];
        gpu[i] = times->gpu[span[i]];
        gpu_total[i] = times->gpu_total[span[i]];
        backward[i] = times->backward[span[i]];
    }
    return rows;
}

static struct gt_table *put_operators(const struct gt_analysis_input *input, struct gt_node *root, const char *key,
                                      const char *title, const struct operators *operators, enum gt_work work, int by)
{
    static const char *const keys[] = {"node name", "node name shape"};
    static const char *const columns[] = {
        "text:node text:name integer:count number:total_us number:self_us",
        "text:node text:name text:shape integer:count number:total_us number:self_us"};
    static const char times[] = "number:gpu_us number:gpu_total_us number:backward_gpu_us";
    char all[300];
    struct gt_rows calls = find_calls(input, operators, work, by);
    struct gt_rows rows = gt_rows_group(
        &calls, keys[by],
        GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_SUM("self", "self"), GT_SUM("gpu", "gpu"),
                      GT_SUM("gpu_total", "gpu_total"), GT_SUM("backward_gpu", "backward_gpu"),
                      GT_STATISTICS_US("length")));
    const uint32_t *node = gt_rows_keys(&rows, "node");
    int64_t *const gpu[] = {gt_rows_wholes(&rows, "gpu"), gt_rows_wholes(&rows, "gpu_total"),
                            gt_rows_wholes(&rows, "backward_gpu")};
    for (size_t i = 0; i < rows.count; i++)
        for (size_t k = 0; k < 3 && !gt_gpu_has_node(input, operators->has_gpu, node[i]); k++)
            gpu[k][i] = GT_NO_WHOLE;
    gt_rows_sort_list(input, &rows, "node", keys[by]);
    struct gt_table *table = gt_analysis_table(root, key, title, columns[by]);
    gt_analysis_columns(table, times, operators->any_gpu ? 0 : GT_COLUMN_ONLY_DATA);
    gt_analysis_columns(table, GT_NUMBERS_COLUMNS_US, 0);
    snprintf(all, sizeof all, "%s %s " GT_NUMBERS_COLUMNS_US, columns[by], times);
    for (size_t i = 0; i < rows.count; i++)
        gt_rows_put_row(input, table, &rows, i, all);
    gt_top_shown(table, GT_LIST_SHOWN);
    return table;
}

static int build_operators(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct operators operators = {.tree = gt_call_tree(input)};
    int by = gt_analysis_by(input, choices);
    if (by < 0)
        return by;
    find_gpus(input, &operators);
    operators.times = gt_operator_times(input, operators.tree);
    gt_backward_times(&operators.times, operators.tree, input);
    struct gt_table *table = put_operators(input, root, "operators", "Operators", &operators, GT_WORK_OPERATOR, by);
    struct gt_table *ranges = put_operators(input, root, "ranges", "Ranges of the program", &operators,
                                            GT_WORK_ANNOTATION, by);
    gt_analysis_empty(root, table, "no operators (cpu_op)");
    gt_analysis_empty(root, ranges, NULL);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_operators = {
    .name = "operators",
    .group = "host",
    .help =
        "operators of each rank: count, total, self and GPU time, percentiles; --by shape; --top, --key " GT_LIST_KEYS
        "|" GT_LIST_SELF,
    .takes = GT_TAKES_BY | GT_TAKES_KEY | GT_TAKES_TOP,
    .arguments = operator_arguments,
    .arguments_by = shape_arguments,
    .joins = true,
    .build = build_operators,
};

/* ---- memory ----
 * Memory of devices over time, and who holds it at the highest total: the blocks not released by then, under the
 * name of the innermost operator that was running on the thread when they were allocated. */

/* ---- changes ---- */

enum { ALLOCATED, RESERVED, DEVICE_TYPE, DEVICE, ADDRESS, BYTES }; /* as in GT_MEMORY_ARGUMENTS */

/* c10::DeviceType, as far as profiles name it. */
const char *gt_memory_device(double type, double id, char *text, size_t size)
{
    static const char *const names[] = {"cpu", "cuda", NULL, NULL, NULL, NULL, "hip"};
    size_t count = sizeof names / sizeof *names;
    const char *name = type >= 0 && type < (double)count ? names[(size_t)type] : NULL;
    if (id >= 0)
        snprintf(text, size, "%s:%.0f", name ? name : "device", id);
    else
        snprintf(text, size, "%s", name ? name : "device");
    return text;
}

static int compare_changes(const void *a, const void *b)
{
    const struct gt_memory_change *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->node, y->node), GT_ORDER(x->type, y->type), GT_ORDER(x->id, y->id),
                       GT_ORDER(x->time, y->time), GT_ORDER(x->event, y->event));
}

/* `change` may be NULL, to count them. */
static size_t collect(const struct gt_analysis_input *input, struct gt_memory_change *change)
{
    const struct gt_trace_events *events = &input->trace->events;
    uint32_t name = gt_trace_find(input->trace, "[memory]");
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++) {
        if (events->name[i] != name || events->phase[i] != 'i' || name == GT_TRACE_NONE)
            continue;
        if (!change) {
            count++;
            continue;
        }
        double type = gt_argument_number(input->trace, i, DEVICE_TYPE),
               id = gt_argument_number(input->trace, i, DEVICE);
        change[count++] = (struct gt_memory_change){
            .node = gt_analysis_node(input, i),
            .track = events->track[i],
            .type = isnan(type) ? -1 : type,
            .id = isnan(id) ? -1 : id,
            .time = events->start[i],
            .bytes = gt_argument_number(input->trace, i, BYTES),
            .owner = GT_TRACE_NONE,
            .allocated = gt_argument_number(input->trace, i, ALLOCATED),
            .reserved = gt_argument_number(input->trace, i, RESERVED),
            .address = gt_argument_number(input->trace, i, ADDRESS),
            .event = i,
            .is_hidden = events->flag[i] & GT_TRACE_HIDDEN,
        };
    }
    return count;
}

/* ---- holders ---- */

static void find_owners(const struct gt_analysis_input *input, struct gt_memory_change *change, size_t count)
{
    const struct gt_call_tree *tree = gt_call_tree(input);
    for (size_t i = 0; i < count; i++) {
        uint32_t span = gt_call_tree_at(tree, change[i].track, change[i].time);
        span = gt_call_tree_operator(tree, input, span);
        if (span == GT_TRACE_NONE)
            continue;
        size_t event = tree->spans.span[span].event;
        change[i].owner = gt_analysis_place(input, input->trace->events.name[event]);
        change[i].is_hidden = input->trace->events.flag[event] & GT_TRACE_HIDDEN;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct gt_memory_holder *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->address, y->address), GT_ORDER(x->blocks, y->blocks));
}

static int by_owner(const void *a, const void *b)
{
    const struct gt_memory_holder *x = a, *y = b;
    return x->owner != y->owner ? GT_ORDER(x->owner, y->owner) : by_address(a, b);
}

static int by_size(const void *a, const void *b)
{
    const struct gt_memory_holder *x = a, *y = b;
    return x->bytes != y->bytes ? GT_ORDER(y->bytes, x->bytes) : by_owner(a, b);
}

/* Keep, of the changes at each address, the last, when it is an allocation. */
static size_t keep_live(struct gt_memory_holder *holding, size_t count)
{
    size_t kept = 0;
    GT_SORT(holding, count, by_address);
    for (size_t i = 0; i < count; i++)
        if ((i + 1 == count || holding[i + 1].address != holding[i].address) && holding[i].bytes > 0)
            holding[kept++] = holding[i];
    return kept;
}

static int by_block(const void *a, const void *b)
{
    const struct gt_memory_change *x = *(const struct gt_memory_change *const *)a,
                                  *y = *(const struct gt_memory_change *const *)b;
    return GT_ORDER_BY(GT_ORDER(x->address, y->address), GT_ORDER(x, y));
}

/* What is freed and was allocated before the trace began is not in its sums. */
static void mark_unknown(struct gt_query *query, struct gt_memory_change *change, size_t from, size_t to)
{
    struct gt_memory_change **block = gt_query_memory(query, to - from, sizeof *block);
    bool is_live = false;
    if (!block)
        return;
    for (size_t i = from; i < to; i++)
        block[i - from] = &change[i];
    GT_SORT(block, to - from, by_block);
    for (size_t i = 0; i < to - from; i++) {
        is_live &= i && block[i]->address == block[i - 1]->address;
        block[i]->is_unknown = block[i]->bytes < 0 && !isnan(block[i]->address) && !is_live;
        is_live = block[i]->bytes > 0;
    }
}

/* Profilers of before PyTorch 1.11 tell no totals. */
static void sum_up(struct gt_query *query, struct gt_memory_change *change, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        if (!isnan(change[i].allocated) || isnan(change[i].bytes))
            return;
    mark_unknown(query, change, from, to);
    for (size_t i = from; i < to; i++) {
        sum += change[i].is_unknown ? 0 : change[i].bytes;
        change[i].allocated = sum;
        change[i].is_summed = true;
    }
}

struct gt_memory_change *gt_memory_find(const struct gt_analysis_input *input, size_t *count)
{
    struct gt_memory_change *change = gt_query_memory(input->query, collect(input, NULL), sizeof *change);
    *count = change ? collect(input, change) : 0;
    find_owners(input, change, *count);
    GT_SORT(change, *count, compare_changes);
    for (size_t from = 0, to; from < *count; from = to) {
        to = gt_memory_run(change, from, *count);
        sum_up(input->query, change, from, to);
    }
    return change;
}

size_t gt_memory_run(const struct gt_memory_change *change, size_t from, size_t count)
{
    const struct gt_memory_change *first = &change[from];
    size_t to = from;
    while (to < count && change[to].node == first->node && change[to].type == first->type && change[to].id == first->id)
        to++;
    return to;
}

size_t gt_memory_peak(const struct gt_memory_change *change, size_t from, size_t to)
{
    size_t peak = from;
    for (size_t i = from; i < to; i++)
        if (change[i].allocated > change[peak].allocated || isnan(change[peak].allocated))
            peak = i;
    return peak;
}

struct gt_memory_holder *gt_memory_holders(struct gt_query *query, const struct gt_memory_change *change, size_t from,
                                           size_t to, size_t *count)
{
    struct gt_memory_holder *holder = gt_query_memory(query, to - from, sizeof *holder);
    size_t live = 0;
    *count = 0;
    if (!holder)
        return NULL;
    for (size_t i = from; i < to; i++)
        if (!isnan(change[i].address) && !isnan(change[i].bytes))
            holder[live++] = (struct gt_memory_holder){change[i].address, change[i].bytes, change[i].owner, i,
                                                       change[i].is_hidden};
    live = keep_live(holder, live);
    GT_SORT(holder, live, by_owner);
    for (size_t first = 0, next; first < live; first = next) {
        struct gt_memory_holder sum = holder[first];
        for (next = first + 1; next < live && holder[next].owner == sum.owner; next++)
            sum.bytes += holder[next].bytes;
        sum.blocks = next - first;
        holder[(*count)++] = sum;
    }
    GT_SORT(holder, *count, by_size);
    return holder;
}

/* ---- the report ---- */

static const char *const arguments[] = {GT_MEMORY_ARGUMENTS, NULL};

struct tables {
    struct gt_table *memory, *holders;
    struct gt_node *series;
};

static void add_holders(const struct gt_analysis_input *input, struct gt_table *table,
                        const struct gt_memory_change *change, size_t from, size_t to, const char *device)
{
    size_t count;
    double before = change[to - 1].allocated;
    const struct gt_memory_holder *holder = gt_memory_holders(input->query, change, from, to, &count);
    for (size_t i = 0, shown = 0; i < count; i++) {
        before -= holder[i].bytes;
        bool is_shown = !holder[i].is_hidden && shown < gt_list_top(input, GT_LIST_SHOWN);
        gt_top_left_out(table, !holder[i].is_hidden && !is_shown);
        if (!is_shown)
            continue;
        shown++;
        GT_CELLS(table, gt_analysis_text(input, change[from].node), device, gt_analysis_text(input, holder[i].owner),
                 holder[i].blocks, holder[i].bytes);
    }
    if (before >= 1) { /* so that all of them sum to the peak */
        gt_table_text(table, gt_analysis_text(input, change[from].node));
        GT_CELLS(table, device, "before the trace");
        gt_table_missing(table);
        gt_table_number(table, before);
    }
}

static void add_device(const struct gt_analysis_input *input, const struct tables *tables,
                       const struct gt_memory_change *change, size_t from, size_t to)
{
    double most_reserved = NAN;
    char device[40], title[340];
    const char *node = gt_analysis_text(input, change[from].node);
    size_t peak = gt_memory_peak(change, from, to);
    gt_memory_device(change[from].type, change[from].id, device, sizeof device);
    snprintf(title, sizeof title, "%s %s allocated", node, device);
    int allocated = gt_series_line(tables->series, title, title);
    snprintf(title, sizeof title, "%s %s reserved", node, device);
    int reserved = gt_series_line(tables->series, title, title);
    for (size_t i = from; i < to; i++) {
        most_reserved = fmax(most_reserved, change[i].reserved);
        gt_series_point(tables->series, allocated, gt_analysis_us(input, change[i].time), change[i].allocated);
        gt_series_point(tables->series, reserved, gt_analysis_us(input, change[i].time), change[i].reserved);
    }
    GT_CELLS(tables->memory, node, device, to - from, change[peak].allocated, gt_analysis_us(input, change[peak].time),
             most_reserved, change[to - 1].allocated,
             change[from].is_summed ? "summed from the begin of the trace" : "recorded");
    add_holders(input, tables->holders, change, from, peak + 1, device);
}

static int build_memory(const struct gt_analysis_input *input, struct gt_node *root)
{
    size_t count;
    const struct gt_memory_change *change = gt_memory_find(input, &count);
    struct tables tables = {
        gt_analysis_table(root, "memory", "Memory",
                          "text:node text:device integer:changes number:peak_allocated_bytes number:peak_at_us "
                          "number:peak_reserved_bytes number:last_allocated_bytes text:totals"),
        gt_analysis_table(root, "holders", "Holders at the peak",
                          "text:node text:device text:operator integer:blocks number:held_bytes"),
        gt_report_series(root, "memory_over_time", "Memory over time", "us", "bytes", 0),
    };
    for (size_t from = 0, to; from < count; from = to) {
        to = gt_memory_run(change, from, count);
        add_device(input, &tables, change, from, to);
    }
    gt_analysis_empty(root, tables.memory, "no [memory] events (torch.profiler with profile_memory=True)");
    gt_analysis_empty(root, tables.holders, NULL);
    if (!count)
        gt_node_flags(tables.series, GT_ONLY_DATA);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_memory = {
    .name = "memory",
    .group = "memory",
    .help = "memory allocated and reserved on devices over time, and the biggest holders at the peak",
    .arguments = arguments,
    .takes = GT_TAKES_TOP,
    .joins = true,
    .build = build_memory,
};
