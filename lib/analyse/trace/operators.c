/* Operators on the CPU: how often, how long, how long without the operators inside them, and for how long the GPU worked for them.
 *
 * Self time is the duration less that of operators directly inside on the same thread. GPU time is that of work whose External
 * id is the operator's, so it belongs to the innermost operator that launched it. */
#include "analyse/trace/operators.h"

#include <errno.h>
#include <stdlib.h>

#include "analyse/trace/gpu_spans.h"
#include "analyse/trace/lists.h"
#include "base/number.h"

struct operators {
    struct gt_spans spans; /* keys: node, name */
    int64_t *self, *gpu;   /* by event, ns */
};

int gt_operator_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++)
        if (gt_analysis_work(input, i) == GT_WORK_OPERATOR && gt_trace_is_slice(input->trace, i))
            status = gt_spans_add(spans, (struct gt_keyed_span){.key = {events->track[i]},
                                                                .start = events->start[i],
                                                                .end = events->start[i] + events->duration[i],
                                                                .event = i});
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
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration < y->duration ? -1 : 1;
    return GT_ORDER(x->event, y->event);
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

static int add_rows(const struct gt_analysis_input *input, struct gt_table *table, const struct operators *operators,
                    struct gt_error *error)
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

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    size_t events = input->trace->events.count;
    struct operators operators = {{0}, calloc(events + 1, sizeof(int64_t)), calloc(events + 1, sizeof(int64_t))};
    struct gt_table *table = gt_analysis_table(root, "operators", "Operators",
                                               "text:node text:name integer:count number:total_us number:self_us "
                                               "number:gpu_us " GT_NUMBERS_COLUMNS_US);
    int status = operators.self && operators.gpu ? gt_operator_spans(input, &operators.spans) : -ENOMEM;
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
        status = add_rows(input, table, &operators, error);
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
    .build = build,
};
