/* What operators have GPUs do, as sequences of kernels, copies and fills in the order in which they begin: which there are, how
 * often, and what they take. A sequence is all that one call of an operator launches, or each run of so many in it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/call_tree.h"
#include "analyse/gpu/gpu.h"
#include "base/number.h"

struct sequence {
    uint32_t node, instance; /* place; in the call tree */
    uint32_t name;           /* of the operator, as a place */
    uint64_t hash;
    size_t from, length; /* of the work */
};

struct finding {
    const struct gt_analysis_input *input;
    struct gt_call_tree tree;
    struct gt_spans work; /* of the operator; keys: node, instance, name */
    int64_t *until;       /* ns of the work before each */
    struct sequence *sequence;
    size_t count;
};

/* ---- the work of the operator ---- */

/* GT_TRACE_NONE where all operators are looked at. */
static bool is_wanted(const struct finding *finding, uint32_t span, uint32_t name)
{
    size_t event = finding->tree.spans.span[span].event;
    enum gt_work work = gt_analysis_work(finding->input, event);
    return name == GT_TRACE_NONE ? work == GT_WORK_OPERATOR
                                 : work != GT_WORK_RUNTIME && finding->input->trace->events.name[event] == name;
}

/* The outermost call of the operator that `span` is or lies in. */
static uint32_t find_instance(const struct finding *finding, uint32_t span, uint32_t name)
{
    uint32_t found = GT_TRACE_NONE;
    for (; span != GT_TRACE_NONE; span = finding->tree.parent[span])
        if (is_wanted(finding, span, name))
            found = span;
    return found;
}

static int keep_work(struct finding *finding, const struct gt_spans *all, const size_t *call, uint32_t name)
{
    const struct gt_trace_events *events = &finding->input->trace->events;
    uint32_t *span_of = malloc((events->count + 1) * sizeof *span_of);
    int status = span_of ? 0 : -ENOMEM;
    for (uint32_t i = 0; span_of && i < finding->tree.spans.count; i++)
        span_of[finding->tree.spans.span[i].event] = i;
    for (size_t i = 0; i < all->count && status >= 0; i++) {
        struct gt_keyed_span span = all->span[i];
        uint32_t instance = call[i] == SIZE_MAX ? GT_TRACE_NONE : find_instance(finding, span_of[call[i]], name);
        span.key[1] = instance;
        span.key[2] = 0;
        span.key[3] = 0;
        if (instance != GT_TRACE_NONE)
            status = gt_spans_add(&finding->work, span);
    }
    gt_spans_sort(&finding->work);
    for (size_t i = 0; i < finding->work.count; i++)
        finding->work.span[i].key[2] = gt_analysis_place(finding->input, events->name[finding->work.span[i].event]);
    free(span_of);
    return status;
}

static int find_work(struct finding *finding)
{
    struct gt_spans all = {0};
    size_t *call = NULL;
    const char *wanted = finding->input->options->operator_name;
    uint32_t name = wanted ? gt_trace_find(finding->input->trace, wanted) : GT_TRACE_NONE;
    int status = gt_call_tree_open(&finding->tree, finding->input);
    if (status >= 0)
        status = gt_gpu_spans(finding->input, &all);
    if (status >= 0)
        status = gt_gpu_launches(finding->input, &all, &call);
    if (status >= 0 && (!wanted || name != GT_TRACE_NONE))
        status = keep_work(finding, &all, call, name);
    free(call);
    gt_spans_release(&all);
    finding->until = malloc((finding->work.count + 1) * sizeof *finding->until);
    if (status < 0 || !finding->until)
        return status < 0 ? status : -ENOMEM;
    finding->until[0] = 0;
    for (size_t i = 0; i < finding->work.count; i++)
        finding->until[i + 1] = finding->until[i] + finding->work.span[i].end - finding->work.span[i].start;
    return 0;
}

/* ---- sequences ---- */

enum { BASE = 0x10001 };

static uint64_t mix(uint32_t name)
{
    uint64_t value = (name + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

static uint32_t name_of(const struct finding *finding, uint32_t instance)
{
    size_t event = finding->tree.spans.span[instance].event;
    return gt_analysis_place(finding->input, finding->input->trace->events.name[event]);
}

/* A hash of `length` names moves on by one: the first leaves, and the next comes. */
static void add_runs(struct finding *finding, size_t from, size_t to, size_t length)
{
    const struct gt_keyed_span *work = finding->work.span;
    uint64_t hash = 0, power = 1;
    for (size_t i = 1; i < length; i++)
        power *= BASE;
    for (size_t i = from; i < to; i++) {
        hash = hash * BASE + mix(work[i].key[2]);
        if (i + 1 < from + length)
            continue;
        size_t first = i + 1 - length;
        finding->sequence[finding->count++] = (struct sequence){
            work[i].key[0], work[i].key[1], name_of(finding, work[i].key[1]), hash, first, length};
        hash -= mix(work[first].key[2]) * power;
    }
}

static int compare_names(const struct gt_keyed_span *work, const struct sequence *a, const struct sequence *b)
{
    for (size_t i = 0; i < a->length; i++)
        if (work[a->from + i].key[2] != work[b->from + i].key[2])
            return GT_ORDER(work[a->from + i].key[2], work[b->from + i].key[2]);
    return 0;
}

static int compare_kinds(const struct gt_keyed_span *work, const struct sequence *a, const struct sequence *b)
{
    int order = GT_ORDER_BY(GT_ORDER(a->node, b->node), GT_ORDER(a->name, b->name), GT_ORDER(a->length, b->length),
                            GT_ORDER(a->hash, b->hash));
    return order ? order : compare_names(work, a, b);
}

static int by_kind(const void *a, const void *b, void *work)
{
    const struct sequence *x = a, *y = b;
    int order = compare_kinds(work, x, y);
    return order ? order : GT_ORDER(x->from, y->from);
}

static int find_sequences(struct finding *finding)
{
    size_t length = finding->input->options->length > 0 ? (size_t)finding->input->options->length : 0;
    finding->sequence = malloc((finding->work.count + 1) * sizeof *finding->sequence);
    if (!finding->sequence)
        return -ENOMEM;
    for (size_t from = 0, to = 0; gt_spans_next(&finding->work, 2, &from, &to);) {
        if (length <= to - from)
            add_runs(finding, from, to, length ? length : to - from);
    }
    qsort_r(finding->sequence, finding->count, sizeof *finding->sequence, by_kind, finding->work.span);
    return 0;
}

/* ---- tables ---- */

/* All sequences of one kind. */
struct kind {
    const struct gt_keyed_span *work;
    const struct sequence *first;
    size_t count;
    int64_t total;
};

static int by_time(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    int order = GT_ORDER_BY(GT_ORDER(x->first->node, y->first->node), GT_ORDER(y->total, x->total),
                            GT_ORDER(y->count, x->count), GT_ORDER(x->first->name, y->first->name),
                            GT_ORDER(x->first->length, y->first->length));
    return order ? order : compare_names(x->work, x->first, y->first);
}

static int64_t length_of(const struct finding *finding, const struct sequence *sequence)
{
    return finding->until[sequence->from + sequence->length] - finding->until[sequence->from];
}

static struct kind *find_kinds(const struct finding *finding, size_t *ret)
{
    struct kind *kind = malloc((finding->count + 1) * sizeof *kind);
    size_t count = 0;
    for (size_t i = 0; kind && i < finding->count; i++) {
        const struct sequence *sequence = &finding->sequence[i];
        if (!i || compare_kinds(finding->work.span, sequence - 1, sequence) != 0)
            kind[count++] = (struct kind){finding->work.span, sequence, 0, 0};
        kind[count - 1].count++;
        kind[count - 1].total += length_of(finding, sequence);
    }
    if (kind)
        GT_SORT(kind, count, by_time);
    *ret = count;
    return kind;
}

/* Of the operator's calls; runs inside a call share its time with others. */
static double host_time(const struct finding *finding, const struct kind *kind)
{
    int64_t sum = 0;
    for (size_t i = 0; i < kind->count; i++) {
        const struct gt_keyed_span *span = &finding->tree.spans.span[kind->first[i].instance];
        sum += span->end - span->start;
    }
    return finding->input->options->length > 0 ? NAN : (double)sum;
}

static void add_kind(const struct finding *finding, struct gt_table *table, const struct kind *kind, int64_t number,
                     double whole)
{
    GT_CELLS(table, gt_analysis_text(finding->input, kind->first->node),
             gt_analysis_text(finding->input, kind->first->name), number, kind->first->length, kind->count,
             (double)kind->total / 1e3, (double)kind->total / (double)kind->count / 1e3,
             gt_percent((double)kind->total, whole), host_time(finding, kind) / 1e3);
}

static void add_kernels(const struct finding *finding, struct gt_table *table, const struct kind *kind, int64_t number)
{
    for (size_t place = 0; place < kind->first->length; place++) {
        int64_t sum = 0;
        for (size_t i = 0; i < kind->count; i++) {
            const struct gt_keyed_span *span = &finding->work.span[kind->first[i].from + place];
            sum += span->end - span->start;
        }
        GT_CELLS(table, gt_analysis_text(finding->input, kind->first->node), number,
                 gt_analysis_text(finding->input, finding->work.span[kind->first->from + place].key[2]),
                 (double)sum / (double)kind->count / 1e3);
    }
}

/* All that was launched on the node. */
static double whole_of(const struct finding *finding, uint32_t node)
{
    int64_t sum = 0;
    for (size_t i = 0; i < finding->work.count; i++)
        sum += finding->work.span[i].key[0] == node ? finding->until[i + 1] - finding->until[i] : 0;
    return (double)sum;
}

static int add_tables(const struct finding *finding, struct gt_node *root)
{
    struct gt_table *table = gt_analysis_table(
        root, "sequences", "Sequences",
        "text:node text:operator integer:sequence integer:length integer:count number:total_us "
        "number:mean_us number:gpu_time_percent number:operator_us");
    struct gt_table *kernels = gt_analysis_table(root, "kernels", "Kernels of each",
                                                 "text:node integer:sequence kernel:name number:mean_us");
    size_t count = 0, top = gt_list_top(finding->input, GT_LIST_SHOWN);
    int64_t number = 0;
    double whole = 0;
    struct kind *kind = find_kinds(finding, &count);
    for (size_t i = 0; kind && i < count; i++) {
        bool is_next = !i || kind[i].first->node != kind[i - 1].first->node;
        number = is_next ? 1 : number + 1;
        whole = is_next ? whole_of(finding, kind[i].first->node) : whole;
        gt_top_left_out(table, (size_t)number > top);
        gt_top_left_out(kernels, 0);
        if ((size_t)number > top)
            continue;
        add_kind(finding, table, &kind[i], number, whole);
        add_kernels(finding, kernels, &kind[i], number);
    }
    gt_analysis_empty(root, table,
                      finding->input->options->operator_name
                          ? "no operator or range of that name launched so much work of GPUs"
                          : "no operators (cpu_op) that launched so much work of GPUs");
    gt_analysis_empty(root, kernels, NULL);
    free(kind);
    return kind ? 0 : -ENOMEM;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct finding finding = {.input = input};
    int status = find_work(&finding);
    if (status >= 0)
        status = find_sequences(&finding);
    if (status >= 0)
        status = add_tables(&finding, root);
    free(finding.until);
    free(finding.sequence);
    gt_spans_release(&finding.work);
    gt_call_tree_close(&finding.tree);
    return status;
}

const struct gt_analysis gt_analysis_sequences = {
    .name = "sequences",
    .help =
        "sequences of kernels that operators launch: how often, GPU time; --operator, --length of runs inside, --top",
    .takes = GT_TAKES_OPERATOR | GT_TAKES_TOP,
    .joins = true,
    .of_selected = true,
    .build = build,
};
