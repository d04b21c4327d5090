/* Memory of devices over time, and who holds it at the highest total: the blocks not released by then, under the name of the
 * innermost operator that was running on the thread when they were allocated. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/lists.h"
#include "analyse/trace/memory.h"
#include "analyse/trace/operators.h"
#include "base/number.h"

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

static int compare(const void *a, const void *b)
{
    const struct gt_memory_change *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return GT_ORDER(x->event, y->event);
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
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return x->time != y->time ? GT_ORDER(x->time, y->time) : GT_ORDER(x->event, y->event);
}

/* Walk over operators and changes of each thread together, with the operators that are open on a stack. */
static int find_owners(const struct gt_analysis_input *input, struct gt_memory_change *change, size_t count)
{
    const struct gt_trace_events *events = &input->trace->events;
    struct gt_spans spans = {0};
    int status = gt_operator_spans(input, &spans);
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
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return GT_ORDER(x->blocks, y->blocks);
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
    qsort(change, count, sizeof *change, compare);
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

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
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
    if (!gt_table_rows(tables.holders))
        gt_table_flags(tables.holders, GT_ONLY_DATA);
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
    .build = build,
};
