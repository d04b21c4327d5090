/* What operators have GPUs do, as sequences of kernels, copies and fills in the order in which they begin: which there are, how
 * often, and what they take. A sequence is all that one call of an operator launches, or each run of so many in it. */
#include <math.h>
#include <stdlib.h>

#include "analyse/calls/call_tree.h"
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/number.h"

/* ---- the work of the operator ---- */

/* `name` is GT_TRACE_NONE where all operators are looked at. */
static bool is_wanted(const struct gt_analysis_input *input, const struct gt_call_tree *tree, uint32_t span,
                      uint32_t name)
{
    size_t event = tree->spans.span[span].event;
    enum gt_work work = gt_analysis_work(input, event);
    return name == GT_TRACE_NONE ? work == GT_WORK_OPERATOR
                                 : work != GT_WORK_RUNTIME && input->trace->events.name[event] == name;
}

/* Work with the outermost call of the operator that launched it, by its number in the tree. */
static struct gt_rows find_work(const struct gt_analysis_input *input, const struct gt_call_tree *tree)
{
    const char *wanted = input->options->operator_name;
    uint32_t name = wanted ? gt_trace_find(input->trace, wanted) : GT_TRACE_NONE;
    struct gt_rows rows = gt_view_launched_work(input);
    const uint32_t *call = gt_rows_keys(&rows, "call");
    uint32_t *instance = gt_rows_add_keys(&rows, "instance", NULL);
    uint32_t *span_of = gt_query_memory(input->query, input->trace->events.count, sizeof *span_of);
    for (uint32_t i = 0; span_of && i < tree->spans.count; i++)
        span_of[tree->spans.span[i].event] = i;
    for (size_t i = 0; span_of && i < rows.count; i++) {
        bool is_known = call[i] != GT_NO_KEY && (!wanted || name != GT_TRACE_NONE);
        instance[i] = GT_NO_KEY;
        for (uint32_t span = is_known ? span_of[call[i]] : GT_TRACE_NONE; span != GT_TRACE_NONE;
             span = tree->parent[span])
            instance[i] = is_wanted(input, tree, span, name) ? span : instance[i];
    }
    rows = gt_rows_known(&rows, "instance");
    gt_rows_sort(&rows, "node instance start end event");
    return rows;
}

/* ---- sequences ---- */

struct sequence {
    uint32_t node, operator; /* places */
    uint32_t kind;           /* number of the first of its kind */
    int64_t from, length;    /* of the work */
    int64_t total, host;     /* ns of the work; of the operator's call */
};

static int compare_kinds(const uint32_t *name, const struct sequence *a, const struct sequence *b)
{
    int order = GT_ORDER_BY(GT_ORDER(a->node, b->node), GT_ORDER(a->operator, b->operator),
                            GT_ORDER(a->length, b->length));
    for (int64_t i = 0; i < a->length && !order; i++)
        order = GT_ORDER(name[a->from + i], name[b->from + i]);
    return order;
}

static int by_kind(const void *a, const void *b, void *name)
{
    const struct sequence *x = a, *y = b;
    int order = compare_kinds(name, x, y);
    return order ? order : GT_ORDER(x->from, y->from);
}

/* Find all of one length, or, if that is 0, all that a call launched, sorted by kind. */
static struct sequence *find_sequences(const struct gt_analysis_input *input, const struct gt_call_tree *tree,
                                       const struct gt_rows *work, size_t wanted, size_t *count)
{
    const uint32_t *node = gt_rows_keys(work, "node"), *instance = gt_rows_keys(work, "instance");
    const int64_t *length = gt_rows_wholes(work, "length");
    uint32_t *name = gt_rows_keys(work, "name");
    struct sequence *sequence = gt_query_memory(input->query, work->count, sizeof *sequence);
    *count = 0;
    for (size_t from = 0, to; sequence && from < work->count; from = to) {
        const struct gt_keyed_span *call = &tree->spans.span[instance[from]];
        uint32_t operator= gt_analysis_place(input, input->trace->events.name[call->event]);
        int64_t total = 0;
        to = gt_rows_run(work, "node instance", from);
        size_t each = wanted ? wanted : to - from;
        for (size_t i = from; i < to; i++) {
            total += length[i];
            if (i + 1 < from + each)
                continue;
            size_t first = i + 1 - each;
            sequence[(*count)++] = (struct sequence){node[i],       operator, 0, (int64_t)first,
                                                     (int64_t)each, total,       call->end - call->start};
            total -= length[first];
        }
    }
    if (*count)
        qsort_r(sequence, *count, sizeof *sequence, by_kind, name);
    for (size_t i = 0; i < *count; i++)
        sequence[i].kind = i && compare_kinds(name, &sequence[i - 1], &sequence[i]) == 0 ? sequence[i - 1].kind
                                                                                         : (uint32_t)i;
    return sequence;
}

/* ---- tables ---- */

/* All sequences of each kind, by time. */
static struct gt_rows find_kinds(const struct gt_rows *work, const struct sequence *sequence, size_t count,
                                 bool is_whole)
{
    static const struct gt_rows_field fields[] = {GT_FIELD(GT_KEY, struct sequence, kind),
                                                  GT_FIELD(GT_KEY, struct sequence, node),
                                                  GT_FIELD(GT_KEY, struct sequence, operator),
                                                  GT_FIELD(GT_WHOLE, struct sequence, length),
                                                  GT_FIELD(GT_WHOLE, struct sequence, total),
                                                  GT_FIELD(GT_WHOLE, struct sequence, host),
                                                  {.name = NULL}};
    struct gt_rows rows = gt_rows_of_records(work->query, sequence, count, sizeof *sequence, fields);
    struct gt_rows nodes = gt_rows_group(work, "node", GT_AGGREGATES(GT_SUM("whole", "length")));
    struct gt_rows kinds = gt_rows_group(&rows, "kind",
                                         GT_AGGREGATES(GT_FIRST("node", "node"), GT_FIRST("operator", "operator"),
                                                       GT_FIRST("length", "length"), GT_COUNT("count"),
                                                       GT_SUM("total", "total"), GT_MEAN_US("mean_us", "total"),
                                                       GT_SUM("host", "host")));
    gt_rows_join(&kinds, &nodes, "node", "whole");
    gt_rows_percent(&kinds, "gpu_time_percent", "total", "whole");
    gt_rows_sort(&kinds, "node -total -count operator length kind");
    const uint32_t *node = gt_rows_keys(&kinds, "node");
    const int64_t *host = gt_rows_wholes(&kinds, "host");
    int64_t *number = gt_rows_add_wholes(&kinds, "sequence");
    double *host_us = gt_rows_add_reals(&kinds, "operator_us");
    for (size_t i = 0; i < kinds.count; i++) {
        number[i] = i && node[i] == node[i - 1] ? number[i - 1] + 1 : 1;
        host_us[i] = is_whole ? (double)host[i] / 1e3 : NAN; /* runs inside a call share its time with others */
    }
    return kinds;
}

static struct gt_table *put_kernels(const struct gt_analysis_input *input, struct gt_node *root,
                                    const struct gt_rows *work, const struct gt_rows *kinds,
                                    const struct sequence *sequence)
{
    struct gt_table *table = gt_analysis_table(root, "kernels", "Kernels of each",
                                               "text:node integer:sequence kernel:name number:mean_us");
    const uint32_t *name = gt_rows_keys(work, "name"), *kind = gt_rows_keys(kinds, "kind");
    const int64_t *length = gt_rows_wholes(work, "length"), *count = gt_rows_wholes(kinds, "count");
    const int64_t *number = gt_rows_wholes(kinds, "sequence");
    for (size_t i = 0; i < kinds->count; i++) {
        const struct sequence *first = &sequence[kind[i]];
        for (int64_t place = 0; place < first->length; place++) {
            int64_t sum = 0;
            for (int64_t j = 0; j < count[i]; j++)
                sum += length[first[j].from + place];
            GT_CELLS(table, gt_analysis_text(input, first->node), number[i],
                     gt_analysis_text(input, name[first->from + place]), (double)sum / (double)count[i] / 1e3);
        }
    }
    if (kinds->count)
        gt_top_left_out(table, 0);
    return table;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    const struct gt_call_tree *tree = gt_call_tree(input);
    size_t count, length = input->options->length > 0 ? (size_t)input->options->length : 0;
    size_t top = gt_list_top(input, GT_LIST_SHOWN);
    struct gt_rows work = find_work(input, tree);
    struct sequence *sequence = find_sequences(input, tree, &work, length, &count);
    struct gt_rows kinds = find_kinds(&work, sequence, count, !length);
    bool *is_shown = gt_query_memory(input->query, kinds.count, sizeof *is_shown);
    const int64_t *number = gt_rows_wholes(&kinds, "sequence");
    for (size_t i = 0; i < kinds.count && is_shown; i++)
        is_shown[i] = (size_t)number[i] <= top;
    struct gt_rows shown = gt_rows_filter(&kinds, is_shown);
    struct gt_table *table = gt_rows_put(
        input, root, "sequences", "Sequences", &shown,
        "text:node text:operator integer:sequence integer:length integer:count number:total_us number:mean_us "
        "number:gpu_time_percent number:operator_us",
        NULL);
    if (kinds.count)
        gt_top_left_out(table, kinds.count - shown.count);
    struct gt_table *kernels = put_kernels(input, root, &work, &shown, sequence);
    gt_analysis_empty(root, table,
                      input->options->operator_name ? "no operator or range of that name launched so much work of GPUs"
                                                    : "no operators (cpu_op) that launched so much work of GPUs");
    gt_analysis_empty(root, kernels, NULL);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_sequences = {
    .name = "sequences",
    .group = "host",
    .help =
        "sequences of kernels that operators launch: how often, GPU time; --operator, --length of runs inside, --top",
    .takes = GT_TAKES_OPERATOR | GT_TAKES_TOP,
    .joins = true,
    .of_selected = true,
    .build = build,
};
