#include "analyse/trace/operators.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/gpu.h"
#include "base/order.h"

/* ---- operators ----
 * Operators on the CPU: how often, how long, how long without the operators inside them, and for how long the GPU
 * worked for them.
 *
 * Self time is the duration less that of operators directly inside on the same thread. GPU time is that of work
 * whose External id is the operator's, so it belongs to the innermost operator that launched it. */

struct operators {
    struct gt_spans spans; /* keys: node, name */
    int64_t *self, *gpu;   /* by event, ns */
};

/* All operators, track by track, outer ones before those inside them. Key: track. */
static int operator_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++)
        if (gt_analysis_work(input, i) == GT_WORK_OPERATOR && gt_trace_is_slice(input->trace, i))
            status = gt_spans_add_event(spans, input->trace, i, GT_SPAN_KEY(events->track[i]));
    gt_spans_sort_nested(spans);
    return status;
}

static int find_self_times(struct operators *operators)
{
    struct gt_spans *spans = &operators->spans;
    const struct gt_keyed_span **open = malloc((spans->count + 1) * sizeof *open);
    size_t depth = 0;
    if (!open)
        return -ENOMEM;
    for (size_t i = 0; i < spans->count; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        while (depth && (open[depth - 1]->key[0] != span->key[0] || open[depth - 1]->end <= span->start))
            depth--;
        operators->self[span->event] = span->end - span->start;
        if (depth && open[depth - 1]->end >= span->end)
            operators->self[open[depth - 1]->event] -= span->end - span->start;
        open[depth++] = span;
    }
    free(open);
    return 0;
}

struct owner {
    uint32_t file;
    uint64_t id;
    int64_t duration;
    size_t event;
};

/* The shortest of several operators with one id is the innermost. */
static int compare_owners(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->id, y->id), GT_ORDER(x->duration, y->duration),
                       GT_ORDER(x->event, y->event));
}

static const struct owner *find_owner(const struct owner *owner, size_t count, uint32_t file, uint64_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (owner[middle].file != file ? owner[middle].file < file : owner[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && owner[low].file == file && owner[low].id == id ? &owner[low] : NULL;
}

static int find_gpu_times(const struct gt_analysis_input *input, struct operators *operators)
{
    const struct gt_trace_events *events = &input->trace->events;
    const struct gt_spans *spans = &operators->spans;
    struct owner *owner = malloc((spans->count + 1) * sizeof *owner);
    size_t count = 0;
    if (!owner)
        return -ENOMEM;
    for (size_t i = 0; i < spans->count; i++) {
        size_t event = spans->span[i].event;
        if (events->external[event] != GT_TRACE_NO_ID)
            owner[count++] = (struct owner){gt_trace_process_of(input->trace, event)->file, events->external[event],
                                            events->duration[event], event};
    }
    qsort(owner, count, sizeof *owner, compare_owners);
    for (size_t i = 0; i < events->count; i++) {
        if (events->external[i] == GT_TRACE_NO_ID || !gt_gpu_is_work(input, i))
            continue;
        const struct owner *found = find_owner(owner, count, gt_trace_process_of(input->trace, i)->file,
                                               events->external[i]);
        if (found)
            operators->gpu[found->event] += events->duration[i];
    }
    free(owner);
    return 0;
}

static int add_operators(const struct gt_analysis_input *input, struct gt_table *table,
                         const struct operators *operators, struct gt_error *error)
{
    const struct gt_spans *spans = &operators->spans;
    struct gt_numbers lengths = {0};
    size_t count;
    int status;
    struct gt_list_row *row = gt_list_rows(input, spans, 2, &count, &status, error);
    for (size_t i = 0; row && i < count && status >= 0; i++) {
        int64_t self = 0, gpu = 0;
        for (size_t j = row[i].from; j < row[i].to; j++) {
            self += operators->self[spans->span[j].event];
            gpu += operators->gpu[spans->span[j].event];
        }
        status = gt_list_lengths(&lengths, spans, row[i].from, row[i].to);
        gt_table_text(table, gt_analysis_text(input, spans->span[row[i].from].key[0]));
        gt_table_text(table, gt_analysis_text(input, spans->span[row[i].from].key[1]));
        gt_table_integer(table, (int64_t)lengths.count);
        gt_table_number(table, row[i].total / 1e3);
        gt_table_number(table, (double)self / 1e3);
        gt_table_number(table, (double)gpu / 1e3);
        gt_numbers_cells(table, &lengths);
    }
    gt_numbers_release(&lengths);
    free(row);
    return status;
}

static int build_operators(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    size_t events = input->trace->events.count;
    struct operators operators = {{0}, calloc(events + 1, sizeof(int64_t)), calloc(events + 1, sizeof(int64_t))};
    struct gt_table *table = gt_analysis_table(root, "operators", "Operators",
                                               "text:node text:name integer:count number:total_us number:self_us "
                                               "number:gpu_us " GT_NUMBERS_COLUMNS_US);
    int status = operators.self && operators.gpu ? operator_spans(input, &operators.spans) : -ENOMEM;
    if (status >= 0)
        status = find_self_times(&operators);
    if (status >= 0)
        status = find_gpu_times(input, &operators);
    if (status >= 0) {
        for (size_t i = 0; i < operators.spans.count; i++) {
            struct gt_keyed_span *span = &operators.spans.span[i];
            span->key[0] = gt_analysis_node(input, span->event);
            span->key[1] = gt_analysis_place(input, input->trace->events.name[span->event]);
        }
        gt_spans_sort(&operators.spans);
        status = add_operators(input, table, &operators, error);
    }
    gt_analysis_empty(root, table, "no operators (cpu_op)");
    gt_spans_release(&operators.spans);
    free(operators.self);
    free(operators.gpu);
    return status;
}

const struct gt_analysis gt_analysis_operators = {
    .name = "operators",
    .help =
        "operators of each rank: count, total, self and GPU time, percentiles; --top, --key total|count|mean|max|name",
    .takes = GT_TAKES_KEY | GT_TAKES_TOP,
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

static double argument(const struct gt_analysis_input *input, size_t event, uint32_t key)
{
    const struct gt_trace_argument *found = gt_trace_argument(input->trace, event, key);
    return found ? found->number : NAN;
}

static int compare_changes(const void *a, const void *b)
{
    const struct gt_memory_change *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->node, y->node), GT_ORDER(x->type, y->type), GT_ORDER(x->id, y->id),
                       GT_ORDER(x->time, y->time), GT_ORDER(x->event, y->event));
}

static size_t collect(const struct gt_analysis_input *input, struct gt_memory_change *change)
{
    const struct gt_trace_events *events = &input->trace->events;
    uint32_t name = gt_trace_find(input->trace, "[memory]");
    size_t count = 0;
    for (size_t i = 0; i < events->count; i++) {
        if (events->name[i] != name || events->phase[i] != 'i' || name == GT_TRACE_NONE)
            continue;
        double type = argument(input, i, DEVICE_TYPE), id = argument(input, i, DEVICE);
        change[count++] = (struct gt_memory_change){
            .node = gt_analysis_node(input, i),
            .track = events->track[i],
            .type = isnan(type) ? -1 : type,
            .id = isnan(id) ? -1 : id,
            .time = events->start[i],
            .bytes = argument(input, i, BYTES),
            .owner = GT_TRACE_NONE,
            .allocated = argument(input, i, ALLOCATED),
            .reserved = argument(input, i, RESERVED),
            .address = argument(input, i, ADDRESS),
            .event = i,
        };
    }
    return count;
}

/* ---- holders ---- */

static int by_track(const void *a, const void *b)
{
    const struct gt_memory_change *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->track, y->track), GT_ORDER(x->time, y->time), GT_ORDER(x->event, y->event));
}

/* Walk over operators and changes of each thread together, with the operators that are open on a stack. */
static int find_owners(const struct gt_analysis_input *input, struct gt_memory_change *change, size_t count)
{
    const struct gt_trace_events *events = &input->trace->events;
    struct gt_spans spans = {0};
    int status = operator_spans(input, &spans);
    size_t *open = malloc((spans.count + 1) * sizeof *open), depth = 0, next = 0;
    status = open ? status : -ENOMEM;
    qsort(change, count, sizeof *change, by_track);
    for (size_t i = 0; i < count && status >= 0; i++) {
        for (; next < spans.count; next++) {
            const struct gt_keyed_span *span = &spans.span[next];
            if (span->key[0] > change[i].track || (span->key[0] == change[i].track && span->start > change[i].time))
                break;
            while (depth && (spans.span[open[depth - 1]].key[0] != span->key[0] ||
                             spans.span[open[depth - 1]].end <= span->start))
                depth--;
            open[depth++] = next;
        }
        while (depth && (spans.span[open[depth - 1]].key[0] != change[i].track ||
                         spans.span[open[depth - 1]].end < change[i].time))
            depth--;
        if (depth)
            change[i].owner = gt_analysis_place(input, events->name[spans.span[open[depth - 1]].event]);
    }
    free(open);
    gt_spans_release(&spans);
    return status;
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
    qsort(holding, count, sizeof *holding, by_address);
    for (size_t i = 0; i < count; i++)
        if ((i + 1 == count || holding[i + 1].address != holding[i].address) && holding[i].bytes > 0)
            holding[kept++] = holding[i];
    return kept;
}

int gt_memory_find(const struct gt_analysis_input *input, struct gt_memory_change **ret, size_t *ret_count)
{
    struct gt_memory_change *change = calloc(input->trace->events.count + 1, sizeof *change);
    size_t count = change ? collect(input, change) : 0;
    int status = change ? find_owners(input, change, count) : -ENOMEM;
    if (status < 0) {
        free(change);
        return status;
    }
    qsort(change, count, sizeof *change, compare_changes);
    *ret = change;
    *ret_count = count;
    return 0;
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

int gt_memory_holders(const struct gt_memory_change *change, size_t from, size_t to, struct gt_memory_holder **ret,
                      size_t *ret_count)
{
    struct gt_memory_holder *holder = calloc(to - from + 1, sizeof *holder);
    size_t live = 0, owners = 0;
    if (!holder)
        return -ENOMEM;
    for (size_t i = from; i < to; i++)
        if (!isnan(change[i].address) && !isnan(change[i].bytes))
            holder[live++] = (struct gt_memory_holder){change[i].address, change[i].bytes, change[i].owner, i};
    live = keep_live(holder, live);
    qsort(holder, live, sizeof *holder, by_owner);
    for (size_t first = 0, next; first < live; first = next) {
        struct gt_memory_holder sum = holder[first];
        for (next = first + 1; next < live && holder[next].owner == sum.owner; next++)
            sum.bytes += holder[next].bytes;
        sum.blocks = next - first;
        holder[owners++] = sum;
    }
    qsort(holder, owners, sizeof *holder, by_size);
    *ret = holder;
    *ret_count = owners;
    return 0;
}

/* ---- the report ---- */

static const char *const arguments[] = {GT_MEMORY_ARGUMENTS, NULL};

struct tables {
    struct gt_table *memory, *holders;
    struct gt_node *series;
};

static int add_holders(const struct gt_analysis_input *input, struct gt_table *table,
                       const struct gt_memory_change *change, size_t from, size_t to, const char *device)
{
    struct gt_memory_holder *holder = NULL;
    size_t count = 0;
    int status = gt_memory_holders(change, from, to, &holder, &count);
    for (size_t i = 0; i < count && i < gt_list_top(input, 20); i++) {
        gt_table_text(table, gt_analysis_text(input, change[from].node));
        gt_table_text(table, device);
        gt_table_text(table, gt_analysis_text(input, holder[i].owner));
        gt_table_integer(table, (int64_t)holder[i].blocks);
        gt_table_number(table, holder[i].bytes);
    }
    free(holder);
    return status;
}

static int add_device(const struct gt_analysis_input *input, const struct tables *tables,
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
    gt_table_text(tables->memory, node);
    gt_table_text(tables->memory, device);
    gt_table_integer(tables->memory, (int64_t)(to - from));
    gt_table_number(tables->memory, change[peak].allocated);
    gt_table_number(tables->memory, gt_analysis_us(input, change[peak].time));
    gt_table_number(tables->memory, most_reserved);
    gt_table_number(tables->memory, change[to - 1].allocated);
    return add_holders(input, tables->holders, change, from, peak + 1, device);
}

static int build_memory(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct gt_memory_change *change = NULL;
    size_t count = 0;
    struct tables tables = {
        gt_analysis_table(root, "memory", "Memory",
                          "text:node text:device integer:changes number:peak_allocated_bytes number:peak_at_us "
                          "number:peak_reserved_bytes number:last_allocated_bytes"),
        gt_analysis_table(root, "holders", "Holders at the peak",
                          "text:node text:device text:operator integer:blocks number:held_bytes"),
        gt_report_series(root, "memory_over_time", "Memory over time", "us", "bytes"),
    };
    int status = gt_memory_find(input, &change, &count);
    for (size_t from = 0, to; from < count && status >= 0; from = to) {
        to = gt_memory_run(change, from, count);
        status = add_device(input, &tables, change, from, to);
    }
    gt_analysis_empty(root, tables.memory, "no [memory] events (torch.profiler with profile_memory=True)");
    gt_analysis_empty(root, tables.holders, NULL);
    if (!count)
        gt_node_flags(tables.series, GT_ONLY_DATA);
    free(change);
    return status;
}

const struct gt_analysis gt_analysis_memory = {
    .name = "memory",
    .help = "memory allocated and reserved on devices over time, and the biggest holders at the peak",
    .arguments = arguments,
    .takes = GT_TAKES_TOP,
    .build = build_memory,
};
