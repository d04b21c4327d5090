/* Floating point operations of operators with formulas, of each step and rank, and how near they come to what the device can do
 * (model FLOPs utilisation, where nothing is computed twice to save memory). */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/call_tree.h"
#include "analyse/calls/operators.h"
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/number.h"

/* ---- formulas ----
 * The formulas are those of PyTorch's torch.utils.flop_counter: a multiplication and an addition are two operations, what is
 * added or scaled on the way counts for nothing, and attention is counted in full where it is causal. Two things are otherwise
 * there: in the gradient of the weights of a grouped convolution each group is counted with the channels of all, and what
 * fused operators of flash-attn do is not counted. */

/* ---- arguments ---- */

enum { MOST_DIMENSIONS = 8 };
#define MOST_ELEMENTS 1e15 /* of one dimension */

struct shape {
    int count; /* -1: not told, or the argument is no tensor */
    double size[MOST_DIMENSIONS];
};

/* Returns the place behind a JSON value. */
static const char *skip_value(const char *at)
{
    int depth = 0;
    bool is_text = false;
    for (; *at; at++) {
        if (is_text) {
            is_text = *at != '"';
            at += *at == '\\' && at[1];
            continue;
        }
        is_text = *at == '"';
        if (depth == 0 && (*at == ',' || *at == ']'))
            return at;
        depth += (*at == '[') - (*at == ']');
    }
    return at;
}

/* Returns argument `index` of a JSON list, or NULL. */
static const char *find_argument(const char *list, int index)
{
    const char *at = list ? strchr(list, '[') : NULL;
    if (!at)
        return NULL;
    for (at++; index > 0; index--) {
        at = skip_value(at);
        if (*at++ != ',')
            return NULL;
    }
    while (isspace((unsigned char)*at))
        at++;
    return *at && *at != ']' ? at : NULL;
}

/* Reads "[2, 3]", which may be quoted. */
static struct shape read_shape(const char *at)
{
    struct shape shape = {.count = -1};
    if (!at)
        return shape;
    at += *at == '"';
    if (*at != '[')
        return shape;
    for (shape.count = 0, at++; *at != ']'; at += strspn(at, ", ")) {
        char *end;
        if (shape.count == MOST_DIMENSIONS)
            return (struct shape){.count = -1};
        shape.size[shape.count++] = strtod(at, &end);
        bool is_size = end != at && shape.size[shape.count - 1] >= 0 && shape.size[shape.count - 1] < MOST_ELEMENTS;
        if (!is_size || (*end != ',' && *end != ']' && *end != ' '))
            return (struct shape){.count = -1};
        at = end;
    }
    return shape;
}

struct operands {
    const char *dims, *values;
};

static struct shape shape_of(const struct operands *operands, int index)
{
    return read_shape(find_argument(operands->dims, index));
}

static double product(const struct shape *shape, int from)
{
    double product = 1;
    for (int i = from; i < shape->count; i++)
        product *= shape->size[i];
    return product;
}

/* ---- products of matrices ---- */

static double multiply(const struct shape *a, const struct shape *b)
{
    if (a->count != 2 || b->count != 2 || a->size[1] != b->size[0])
        return NAN;
    return 2 * a->size[0] * a->size[1] * b->size[1];
}

static double multiply_batch(const struct shape *a, const struct shape *b)
{
    if (a->count != 3 || b->count != 3 || a->size[0] != b->size[0] || a->size[2] != b->size[1])
        return NAN;
    return 2 * product(a, 0) * b->size[2];
}

static double count_mm(const struct operands *operands, int first)
{
    struct shape a = shape_of(operands, first), b = shape_of(operands, first + 1);
    return multiply(&a, &b);
}

static double count_bmm(const struct operands *operands, int first)
{
    struct shape a = shape_of(operands, first), b = shape_of(operands, first + 1);
    return multiply_batch(&a, &b);
}

static double count_linear(const struct operands *operands, int first)
{
    struct shape input = shape_of(operands, first), weight = shape_of(operands, first + 1);
    if (input.count < 1 || weight.count != 2 || input.size[input.count - 1] != weight.size[1])
        return NAN;
    return 2 * product(&input, 0) * weight.size[0];
}

/* ---- convolutions ---- */

/* Each point of the side where the filter is laid, which of a transposed convolution is its input, meets the whole filter. */
static double convolve(const struct shape *weight, double batch, const struct shape *points)
{
    if (weight->count < 3 || points->count != weight->count)
        return NAN;
    return 2 * batch * product(points, 2) * product(weight, 0);
}

/* The size of a convolution's output; a list of one number is meant for all dimensions. */
static double extent(const struct shape *list, int dimension)
{
    return list->count == 1 ? list->size[0] : dimension < list->count ? list->size[dimension] : NAN;
}

static struct shape find_output(const struct operands *operands, const struct shape *input, const struct shape *weight,
                                int stride_at, int padding_at)
{
    struct shape stride = read_shape(find_argument(operands->values, stride_at));
    struct shape padding = read_shape(find_argument(operands->values, padding_at));
    struct shape dilation = read_shape(
        find_argument(operands->values, (stride_at > padding_at ? stride_at : padding_at) + 1));
    struct shape output = *input;
    for (int i = 2; i < input->count; i++) {
        double reach = extent(&dilation, i - 2) * (weight->size[i] - 1) + 1;
        output.size[i] = floor((input->size[i] + 2 * extent(&padding, i - 2) - reach) / extent(&stride, i - 2)) + 1;
    }
    return output;
}

static double count_forward(const struct operands *operands, int stride_at, int padding_at, bool is_transposed)
{
    struct shape input = shape_of(operands, 0), weight = shape_of(operands, 1);
    if (weight.count < 3 || input.count != weight.count)
        return NAN;
    struct shape points = is_transposed ? input : find_output(operands, &input, &weight, stride_at, padding_at);
    return convolve(&weight, input.size[0], &points);
}

static double count_convolution(const struct operands *operands, int first)
{
    const char *transposed = find_argument(operands->values, 6);
    (void)first;
    return transposed ? count_forward(operands, 3, 4, strncmp(transposed, "\"True", 5) == 0) : NAN;
}

/* Those of libraries: input, weight, bias where `first` is 3, then padding, stride and dilation. */
static double count_library_convolution(const struct operands *operands, int first)
{
    return count_forward(operands, first + 1, first, false);
}

static double count_transposed_convolution(const struct operands *operands, int first)
{
    (void)first;
    return count_forward(operands, 0, 0, true);
}

/* The gradient of the input and that of the weights each take as much as the convolution. Where the trace does not tell which
 * were asked for, it is both. */
static double count_convolution_backward(const struct operands *operands, int first)
{
    struct shape gradient = shape_of(operands, 0), input = shape_of(operands, 1), weight = shape_of(operands, 2);
    const char *transposed = find_argument(operands->values, 7), *mask = find_argument(operands->values, 10);
    bool is_transposed = transposed && strncmp(transposed, "\"True", 5) == 0;
    int parts = 2;
    (void)first;
    if (mask) {
        bool of_input = strncmp(mask, "\"[True", 6) == 0;
        const char *second = strchr(mask, ',');
        parts = of_input + (second && strncmp(second, ", True", 6) == 0);
    }
    return parts * convolve(&weight, input.size[0], is_transposed ? &input : &gradient);
}

/* ---- attention ---- */

struct attention {
    double batch, heads, queries, keys, size, value_size;
};

/* The heads of keys and values may be fewer: each is used by several queries. */
static bool read_attention(const struct operands *operands, int first, bool heads_last, struct attention *ret)
{
    struct shape query = shape_of(operands, first), key = shape_of(operands, first + 1);
    struct shape value = shape_of(operands, first + 2);
    int heads = heads_last ? 2 : 1, length = heads_last ? 1 : 2;
    if (query.count != 4 || key.count != 4 || value.count != 4 || query.size[0] != key.size[0] ||
        query.size[3] != key.size[3] || key.size[length] != value.size[length])
        return false;
    *ret = (struct attention){query.size[0],    query.size[heads], query.size[length],
                              key.size[length], query.size[3],     value.size[3]};
    return true;
}

/* Queries times keys, and scores times values. */
static double attend(const struct attention *a)
{
    return 2 * a->batch * a->heads * a->queries * a->keys * (a->size + a->value_size);
}

/* The scores are computed again; then come the gradients of scores and values, and those of queries and keys. */
static double attend_backward(const struct attention *a)
{
    return 2 * a->batch * a->heads * a->queries * a->keys * (3 * a->size + 2 * a->value_size);
}

static double count_attention(const struct operands *operands, int first)
{
    struct attention attention;
    return read_attention(operands, first, false, &attention) ? attend(&attention) : NAN;
}

static double count_attention_backward(const struct operands *operands, int first)
{
    struct attention attention;
    return read_attention(operands, first, false, &attention) ? attend_backward(&attention) : NAN;
}

static double count_flash(const struct operands *operands, int first)
{
    struct attention attention;
    return read_attention(operands, first, true, &attention) ? attend(&attention) : NAN;
}

static double count_flash_backward(const struct operands *operands, int first)
{
    struct attention attention;
    return read_attention(operands, first, true, &attention) ? attend_backward(&attention) : NAN;
}

/* Sequences of several lengths in one tensor are told by a list of their begins, behind queries, keys, values and bias. */
static double count_efficient(const struct operands *operands, int first)
{
    struct shape begins = shape_of(operands, first + 4);
    return begins.count > 0 ? NAN : count_flash(operands, first);
}

static double count_efficient_backward(const struct operands *operands, int first)
{
    struct shape begins = shape_of(operands, first + 5);
    return begins.count > 0 ? NAN : count_flash_backward(operands, first);
}

/* ---- the table ---- */

struct formula {
    const char *name;
    double (*count)(const struct operands *operands, int first);
    int first; /* of the arguments that count */
    bool is_made_of_others;
};

static const struct formula known_formulas[] = {
    {"aten::mm", count_mm, 0, false},
    {"aten::addmm", count_mm, 1, false},
    {"aten::_addmm_activation", count_mm, 1, false},
    {"aten::_scaled_mm", count_mm, 0, false},
    {"aten::_int_mm", count_mm, 0, false},
    {"aten::bmm", count_bmm, 0, false},
    {"aten::baddbmm", count_bmm, 1, false},
    {"aten::linear", count_linear, 0, true},
    {"aten::mkldnn_linear", count_linear, 0, true},
    {"mkldnn::_linear_pointwise", count_linear, 0, true},
    {"aten::convolution", count_convolution, 0, false},
    {"aten::_convolution", count_convolution, 0, false},
    {"aten::convolution_overrideable", count_convolution, 0, false},
    {"aten::cudnn_convolution", count_library_convolution, 2, false},
    {"aten::mkldnn_convolution", count_library_convolution, 3, false},
    {"aten::miopen_convolution", count_library_convolution, 3, false},
    {"aten::cudnn_convolution_transpose", count_transposed_convolution, 0, false},
    {"aten::miopen_convolution_transpose", count_transposed_convolution, 0, false},
    {"aten::convolution_backward", count_convolution_backward, 0, false},
    {"aten::_scaled_dot_product_flash_attention", count_attention, 0, false},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", count_attention, 0, false},
    {"aten::_scaled_dot_product_efficient_attention", count_attention, 0, false},
    {"aten::_scaled_dot_product_cudnn_attention", count_attention, 0, false},
    {"aten::_scaled_dot_product_fused_attention_overrideable", count_attention, 0, false},
    {"aten::_scaled_dot_product_flash_attention_backward", count_attention_backward, 1, false},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", count_attention_backward, 1, false},
    {"aten::_scaled_dot_product_efficient_attention_backward", count_attention_backward, 1, false},
    {"aten::_scaled_dot_product_cudnn_attention_backward", count_attention_backward, 1, false},
    {"aten::_scaled_dot_product_fused_attention_overrideable_backward", count_attention_backward, 1, false},
    {"aten::_flash_attention_forward", count_flash, 0, false},
    {"aten::_flash_attention_backward", count_flash_backward, 1, false},
    {"aten::_efficient_attention_forward", count_efficient, 0, false},
    {"aten::_efficient_attention_backward", count_efficient_backward, 1, false},
    {"flash_attn::_flash_attn_forward", count_flash, 0, false},
    {"flash_attn::_flash_attn_backward", count_flash_backward, 1, false},
};

/* Returns NULL where the operator has none. "aten::addmm_" is "aten::addmm" in place. */
static const struct formula *find_formula(const char *name)
{
    size_t length = strlen(name);
    length -= length && name[length - 1] == '_';
    for (size_t i = 0; i < sizeof known_formulas / sizeof *known_formulas; i++)
        if (strncmp(known_formulas[i].name, name, length) == 0 && !known_formulas[i].name[length])
            return &known_formulas[i];
    return NULL;
}

/* Takes Kineto's "Input Dims" and "Concrete Inputs", JSON; the latter may be NULL. NaN: they do not suffice. */
static double apply_formula(const struct formula *formula, const char *dims, const char *values)
{
    double count = formula->count(&(struct operands){dims, values}, formula->first);
    return isfinite(count) && count >= 0 ? count : NAN;
}

/* ---- the analysis ---- */

enum { VALUES = GT_OLD_DIMENSIONS + 1 };
static const char *const arguments[] = {GT_BACKWARD_ARGUMENTS, GT_SHAPE_ARGUMENTS, "Concrete Inputs", NULL};

enum { BY_NAME, BY_SHAPE };
static const char *const choices[] = {"name", "shape", NULL};

/* ---- what counts ---- */

struct count {
    double flops;     /* NaN: the span does not count */
    bool is_below;    /* an operator around it counts */
    bool is_above;    /* one inside it does */
    bool has_formula; /* but perhaps no shapes */
    bool is_backward;
};

/* Of all that a node did; times in ns. */
struct node {
    size_t gpus;
    int64_t work, launched, counted; /* of GPUs; by operators; by operators that count */
    int64_t self;                    /* of operators, on the host */
    double flops, backward;
};

struct flops {
    const struct gt_analysis_input *input;
    const struct gt_call_tree *tree;
    struct gt_operator_times times;
    struct gt_spans work, all; /* of GPUs; of the node, united */
    struct gt_gpu_steps steps;
    struct count *count; /* of each span of the tree */
    struct node *node;   /* by place of the name */
    double peak;         /* of one device; NaN not told */
};

static struct node *node_of(const struct flops *flops, uint32_t span)
{
    return &flops->node[gt_analysis_node(flops->input, flops->tree->spans.span[span].event)];
}

static bool is_operator(const struct flops *flops, uint32_t span)
{
    return !flops->tree->is_repeat[span] &&
           gt_analysis_work(flops->input, flops->tree->spans.span[span].event) == GT_WORK_OPERATOR;
}

static const char *text_of(const struct flops *flops, size_t event, uint32_t key)
{
    const struct gt_trace_argument *argument = gt_trace_argument(flops->input->trace, event, key);
    return argument && argument->text != GT_TRACE_NONE ? gt_trace_text(flops->input->trace, argument->text) : NULL;
}

static const char *name_of(const struct flops *flops, uint32_t span)
{
    const struct gt_trace *trace = flops->input->trace;
    return gt_trace_text(trace, trace->events.name[flops->tree->spans.span[span].event]);
}

/* Beside GPUs an operator that launched nothing ran on the host, was captured in a graph, or was begun and given up, as the last
 * one that a checkpoint would compute again. */
static double count_of(const struct flops *flops, const struct formula *formula, uint32_t span)
{
    size_t event = flops->tree->spans.span[span].event;
    if (node_of(flops, span)->launched > 0 && !flops->times.gpu_total[span])
        return NAN;
    const char *dims = text_of(flops, event, GT_DIMENSIONS);
    dims = dims ? dims : text_of(flops, event, GT_OLD_DIMENSIONS);
    return apply_formula(formula, dims, text_of(flops, event, VALUES));
}

/* The formula of each name, found once. */
struct formulas {
    const struct formula **of_string;
    bool *is_known;
};

static const struct formula *formula_of(const struct flops *flops, struct formulas *formulas, uint32_t span)
{
    uint32_t name = flops->input->trace->events.name[flops->tree->spans.span[span].event];
    if (!formulas->is_known[name]) {
        formulas->is_known[name] = true;
        formulas->of_string[name] = find_formula(name_of(flops, span));
    }
    return formulas->of_string[name];
}

/* Outer operators stand before those inside them. Of operators with formulas the outermost counts. */
static void count_outermost(struct flops *flops, struct formulas *formulas, const bool *is_backward)
{
    static const char engine[] = "autograd::engine::evaluate_function";
    for (uint32_t i = 0; i < flops->tree->spans.count; i++) {
        struct count *count = &flops->count[i];
        const struct count *around = flops->tree->parent[i] == GT_TRACE_NONE ? NULL
                                                                             : &flops->count[flops->tree->parent[i]];
        count->flops = NAN;
        count->is_below = around && (around->is_below || !isnan(around->flops));
        count->is_backward = is_backward[i] || (around && around->is_backward) ||
                             strncmp(name_of(flops, i), engine, sizeof engine - 1) == 0;
        const struct formula *formula = is_operator(flops, i) ? formula_of(flops, formulas, i) : NULL;
        count->has_formula = formula;
        if (formula && !count->is_below && !formula->is_made_of_others)
            count->flops = count_of(flops, formula, i);
    }
}

static void count_made_of_others(struct flops *flops, struct formulas *formulas)
{
    for (uint32_t i = (uint32_t)flops->tree->spans.count; i-- > 0;) {
        struct count *count = &flops->count[i];
        const struct formula *formula = is_operator(flops, i) ? formula_of(flops, formulas, i) : NULL;
        if (formula && formula->is_made_of_others && !count->is_above && !count->is_below)
            count->flops = count_of(flops, formula, i);
        if (flops->tree->parent[i] != GT_TRACE_NONE)
            flops->count[flops->tree->parent[i]].is_above |= count->is_above || !isnan(count->flops);
    }
    for (uint32_t i = 0; i < flops->tree->spans.count; i++) {
        uint32_t around = flops->tree->parent[i];
        flops->count[i].is_below = around != GT_TRACE_NONE &&
                                   (flops->count[around].is_below || !isnan(flops->count[around].flops));
    }
}

static void count_operators(struct flops *flops)
{
    struct gt_query *query = flops->input->query;
    size_t strings = flops->input->trace->strings.count;
    struct formulas formulas = {gt_query_zeros(query, strings, sizeof *formulas.of_string),
                                gt_query_zeros(query, strings, sizeof *formulas.is_known)};
    flops->count = gt_query_zeros(query, flops->tree->spans.count, sizeof *flops->count);
    const bool *is_backward = gt_backward_spans(flops->tree, flops->input);
    if (gt_query_status(query) < 0)
        return;
    count_outermost(flops, &formulas, is_backward);
    count_made_of_others(flops, &formulas);
}

/* ---- nodes ---- */

/* What GPUs did for each node, and how much of it operators launched. */
static void find_nodes(struct flops *flops)
{
    const struct gt_spans *work = &flops->work;
    flops->node = gt_query_zeros(flops->input->query, flops->input->trace->strings.count + (size_t)1,
                                 sizeof *flops->node);
    if (!flops->node)
        return;
    for (size_t i = 0; i < work->count; i++) {
        struct node *node = &flops->node[work->span[i].key[GT_GPU_NODE]];
        bool is_next = !i || work->span[i].key[GT_GPU_NODE] != work->span[i - 1].key[GT_GPU_NODE] ||
                       work->span[i].key[GT_GPU_DEVICE] != work->span[i - 1].key[GT_GPU_DEVICE];
        node->gpus += is_next;
        node->work += work->span[i].end - work->span[i].start;
    }
    for (uint32_t i = 0; i < flops->tree->spans.count; i++) {
        struct node *node = node_of(flops, i);
        node->launched += flops->times.gpu[i];
        node->self += is_operator(flops, i) ? flops->tree->self[i] : 0;
    }
}

static void sum_nodes(struct flops *flops)
{
    for (uint32_t i = 0; i < flops->tree->spans.count; i++) {
        struct node *node = node_of(flops, i);
        double count = flops->count[i].flops;
        if (isnan(count))
            continue;
        node->flops += count;
        node->backward += flops->count[i].is_backward ? count : 0;
        node->counted += flops->times.gpu_total[i];
    }
}

static double per_second(double flops, double ns)
{
    return ns > 0 ? flops / ns / 1e3 : NAN; /* 10^12 */
}

/* ---- steps and nodes ---- */

static void add_step(const struct flops *flops, struct gt_table *table, const struct gt_gpu_step *step,
                     double operations, size_t devices)
{
    double length = (double)(step->span.end - step->span.start), rate = per_second(operations, length);
    GT_CELLS(table, gt_analysis_text(flops->input, step->span.key[0]),
             gt_analysis_text(flops->input, step->span.key[1]));
    gt_integer_if(table, !step->is_whole_node, (int32_t)step->span.key[2]);
    GT_CELLS(table, length / 1e3, operations / 1e9, rate, gt_percent(rate * 1e12, flops->peak * (double)devices));
}

static void add_node(const struct flops *flops, struct gt_table *table, const struct gt_gpu_step *first, size_t steps,
                     double length, double operations)
{
    const struct node *node = &flops->node[first->span.key[0]];
    double rate = per_second(operations, length);
    GT_CELLS(table, gt_analysis_text(flops->input, first->span.key[0]), node->gpus);
    gt_integer_if(table, !first->is_whole_node, (int64_t)steps);
    GT_CELLS(table, length / (double)steps / 1e3, operations / (double)steps / 1e9, rate,
             gt_percent(rate * 1e12, flops->peak * (double)(node->gpus ? node->gpus : 1)),
             gt_percent(node->backward, node->flops), gt_percent((double)node->counted, (double)node->work));
}

/* An operator belongs to the step in which it begins on the host. */
static double *divide(const struct flops *flops)
{
    const struct gt_gpu_steps *steps = &flops->steps;
    double *of_step = gt_query_zeros(flops->input->query, steps->count, sizeof *of_step);
    for (uint32_t i = 0; of_step && i < flops->tree->spans.count; i++) {
        const struct gt_keyed_span *span = &flops->tree->spans.span[i];
        if (isnan(flops->count[i].flops))
            continue;
        size_t at = gt_gpu_step_at(steps, gt_analysis_node(flops->input, span->event), span->start);
        if (at != SIZE_MAX && span->start < steps->step[at].host_end)
            of_step[at] += flops->count[i].flops;
    }
    return of_step;
}

static void add_steps(const struct flops *flops, struct gt_node *root)
{
    struct gt_table *nodes = gt_analysis_table(
        root, "ranks", "Ranks",
        "text:node integer:gpus integer:steps number:mean_step_us number:gflop_per_step number:tflop_per_second "
        "number:utilization_percent number:backward_percent number:counted_gpu_time_percent");
    struct gt_table *table = gt_analysis_table(root, "steps", "Steps",
                                               "text:node text:mode integer:step number:duration_us number:gflop "
                                               "number:tflop_per_second number:utilization_percent");
    const struct gt_gpu_steps *steps = &flops->steps;
    double *of_step = divide(flops);
    for (size_t from = 0, to; of_step && from < steps->count; from = to) {
        const struct node *node = &flops->node[steps->step[from].span.key[0]];
        double length = 0, operations = 0;
        for (to = from; to < steps->count && steps->step[to].span.key[0] == steps->step[from].span.key[0]; to++) {
            length += (double)(steps->step[to].span.end - steps->step[to].span.start);
            operations += of_step[to];
            if (node->flops > 0)
                add_step(flops, table, &steps->step[to], of_step[to], node->gpus ? node->gpus : 1);
        }
        if (node->flops > 0)
            add_node(flops, nodes, &steps->step[from], to - from, length, operations);
    }
    gt_analysis_empty(root, nodes, "no operators with a formula and shapes (torch.profiler with record_shapes=True)");
    gt_analysis_empty(root, table, NULL);
}

/* ---- operators ---- */

/* What options->key may sort by. */
#define LIST_OF_LENGTHS GT_SUM("total", "length"), GT_MEAN_US("mean_us", "length"), GT_MAX("max", "length")

/* What counts, with the time of its GPU work, or, on a node without GPUs, its own. */
static struct gt_rows find_counted(const struct flops *flops, int by)
{
    const struct gt_analysis_input *input = flops->input;
    struct gt_rows rows = gt_rows_new(input->query, flops->tree->spans.count);
    uint32_t *node = gt_rows_add_keys(&rows, "node", NULL), *name = gt_rows_add_keys(&rows, "name", NULL);
    uint32_t *shape = gt_rows_add_keys(&rows, "shape", NULL);
    int64_t *length = gt_rows_add_wholes(&rows, "length");
    double *operations = gt_rows_add_reals(&rows, "flops");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_keyed_span *span = &flops->tree->spans.span[i];
        operations[i] = gt_trace_is_slice(input->trace, span->event) ? flops->count[i].flops : NAN;
        if (isnan(operations[i]))
            continue;
        node[i] = gt_analysis_node(input, span->event);
        name[i] = gt_analysis_place(input, input->trace->events.name[span->event]);
        shape[i] = by == BY_SHAPE ? gt_operator_shape(input, span->event) : 0;
        length[i] = flops->node[node[i]].gpus ? flops->times.gpu_total[i] : span->end - span->start;
    }
    return gt_rows_known(&rows, "flops");
}

static void put_operators(const struct flops *flops, struct gt_node *root, int by)
{
    static const char *const keys[] = {"node name", "node name shape"};
    char columns[300];
    struct gt_rows counted = find_counted(flops, by);
    struct gt_rows rows = gt_rows_group(&counted, keys[by],
                                        GT_AGGREGATES(GT_COUNT("count"), GT_SUM("flops", "flops"), LIST_OF_LENGTHS));
    const uint32_t *node = gt_rows_keys(&rows, "node");
    const int64_t *total = gt_rows_wholes(&rows, "total");
    const double *sum = gt_rows_reals(&rows, "flops");
    double *gflop = gt_rows_add_reals(&rows, "gflop"), *share = gt_rows_add_reals(&rows, "share_percent");
    double *rate = gt_rows_add_reals(&rows, "tflop_per_second");
    double *use = gt_rows_add_reals(&rows, "utilization_percent");
    for (size_t i = 0; i < rows.count; i++) {
        gflop[i] = sum[i] / 1e9;
        share[i] = gt_percent(sum[i], flops->node[node[i]].flops);
        rate[i] = per_second(sum[i], (double)total[i]);
        use[i] = gt_percent(rate[i] * 1e12, flops->peak);
    }
    gt_rows_sort_list(flops->input, &rows, "node", keys[by]);
    gt_rows_rename(&rows, "total", "time");
    snprintf(columns, sizeof columns,
             "text:node text:name %s integer:count number:gflop number:share_percent number:time_us "
             "number:tflop_per_second number:utilization_percent",
             by == BY_SHAPE ? "text:shape" : "");
    gt_top_shown(gt_rows_put(flops->input, root, "operators", "Operators", &rows, columns, NULL), GT_LIST_SHOWN);
}

/* ---- what does not count ---- */

enum reason { NO_FORMULA, NO_SHAPES, NO_OPERATOR };
static const char *const reasons[] = {"no formula", "no shapes", "no operator"};

/* Operators with time of their own, neither counted nor inside one that is; and the work of each node that no operator
 * launched: that of graphs, of other libraries. */
static struct gt_rows find_uncounted(const struct flops *flops)
{
    const struct gt_analysis_input *input = flops->input;
    size_t spans = flops->tree->spans.count;
    struct gt_rows rows = gt_rows_new(input->query, spans + input->trace->strings.count);
    uint32_t *node = gt_rows_add_keys(&rows, "node", NULL), *name = gt_rows_add_keys(&rows, "name", NULL);
    uint32_t *reason = gt_rows_add_keys(&rows, "reason", reasons);
    int64_t *length = gt_rows_add_wholes(&rows, "length");
    for (size_t i = 0; i < rows.count; i++) {
        if (i >= spans) {
            node[i] = (uint32_t)(i - spans);
            name[i] = GT_NO_KEY;
            reason[i] = NO_OPERATOR;
            length[i] = flops->node[node[i]].work - flops->node[node[i]].launched;
            continue;
        }
        size_t event = flops->tree->spans.span[i].event;
        const struct count *count = &flops->count[i];
        if (!gt_trace_is_slice(input->trace, event) || !is_operator(flops, (uint32_t)i) || count->is_below ||
            !isnan(count->flops))
            continue;
        node[i] = gt_analysis_node(input, event);
        name[i] = gt_analysis_place(input, input->trace->events.name[event]);
        reason[i] = count->has_formula && !count->is_above ? NO_SHAPES : NO_FORMULA;
        length[i] = flops->node[node[i]].gpus ? flops->times.gpu[i] : flops->tree->self[i];
    }
    return gt_rows_above(&rows, "length", 0);
}

/* Of GPUs, or else of operators on the host. */
static double time_of(const struct node *node)
{
    return node->gpus ? (double)node->work : (double)node->self;
}

static void put_uncounted(const struct flops *flops, struct gt_node *root)
{
    struct gt_rows uncounted = find_uncounted(flops);
    struct gt_rows rows = gt_rows_group(&uncounted, "node name reason",
                                        GT_AGGREGATES(GT_COUNT("count"), LIST_OF_LENGTHS));
    gt_rows_sort_list(flops->input, &rows, "node", "name reason");
    const uint32_t *node = gt_rows_keys(&rows, "node"), *reason = gt_rows_keys(&rows, "reason");
    const int64_t *total = gt_rows_wholes(&rows, "total");
    int64_t *count = gt_rows_wholes(&rows, "count");
    double *percent = gt_rows_add_reals(&rows, "time_percent");
    for (size_t i = 0; i < rows.count; i++) {
        count[i] = reason[i] == NO_OPERATOR ? GT_NO_WHOLE : count[i];
        percent[i] = gt_percent((double)total[i], time_of(&flops->node[node[i]]));
    }
    gt_rows_rename(&rows, "total", "time");
    gt_top_shown(gt_rows_put(flops->input, root, "uncounted", "Not counted", &rows,
                             "text:node text:name text:reason integer:count number:time_us number:time_percent", NULL),
                 GT_LIST_SHOWN);
}

/* ---- the report ---- */

/* "312T" and "989e12" are operations per second. */
static int read_peak(const char *text, double *ret, struct gt_error *error)
{
    static const char units[] = "kMGTP";
    char number[40];
    size_t length = text ? strlen(text) : 0;
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    *ret = NAN;
    if (!text)
        return 0;
    snprintf(number, sizeof number, "%.*s", (int)(length - (unit ? 1 : 0)), text);
    if (length >= sizeof number || gt_number_double(number, ret) < 0 || !(*ret > 0))
        return gt_error_set(error, EINVAL,
                            "peak-flops '%s': it is the operations per second of one GPU, as 312T or 989e12", text);
    *ret *= unit ? pow(1e3, (double)(unit - units + 1)) : 1;
    return 0;
}

enum { LEAST_PEAK = 1000 * 1000 * 1000 };

/* A unit that was forgotten makes utilizations of billions of percent. */
static void judge_peak(const struct flops *flops, struct gt_node *root)
{
    char text[200];
    if (!(flops->peak < LEAST_PEAK))
        return;
    snprintf(text, sizeof text, "%s is %g operations per second, fewer than of any GPU: is %sT meant?",
             flops->input->options->peak_flops, flops->peak, flops->input->options->peak_flops);
    gt_report_text(root, "warning", "Peak", text);
}

/* Nodes of the host and of GPUs, from their first to their last span. */
static int find_all(struct flops *flops)
{
    int status = 0;
    for (size_t i = 0; i < flops->tree->spans.count && status >= 0; i++)
        status = gt_spans_add_event(&flops->all, flops->input->trace, flops->tree->spans.span[i].event,
                                    GT_SPAN_KEY(gt_analysis_node(flops->input, flops->tree->spans.span[i].event)));
    for (size_t i = 0; i < flops->work.count && status >= 0; i++)
        status = gt_spans_add_event(&flops->all, flops->input->trace, flops->work.span[i].event,
                                    GT_SPAN_KEY(flops->work.span[i].key[GT_GPU_NODE]));
    gt_spans_sort(&flops->all);
    gt_spans_unite(&flops->all, 1);
    return status;
}

static int find_flops(struct flops *flops)
{
    flops->tree = gt_call_tree(flops->input);
    flops->times = gt_operator_times(flops->input, flops->tree);
    flops->work = gt_gpu_all_spans(flops->input);
    gt_spans_sort(&flops->work);
    find_nodes(flops);
    count_operators(flops);
    if (gt_query_status(flops->input->query) < 0)
        return gt_query_status(flops->input->query);
    sum_nodes(flops);
    int status = find_all(flops);
    flops->steps = gt_gpu_steps_find(flops->input, &flops->all, &flops->work, NULL);
    return status < 0 ? status : gt_query_status(flops->input->query);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct flops flops = {.input = input};
    int by = gt_analysis_by(input, choices);
    int status = by < 0 ? by : read_peak(input->options->peak_flops, &flops.peak, input->error);
    if (status < 0)
        return status;
    status = find_flops(&flops);
    judge_peak(&flops, root);
    if (status >= 0) {
        add_steps(&flops, root);
        put_operators(&flops, root, by);
        put_uncounted(&flops, root);
        status = gt_query_status(input->query);
    }
    gt_spans_release(&flops.all);
    return status;
}

const struct gt_analysis gt_analysis_flops = {
    .name = "flops",
    .group = "compute",
    .help =
        "floating point operations of operators, steps and ranks from recorded shapes, and utilisation of --peak-flops; --by shape",
    .takes = GT_TAKES_BY | GT_TAKES_KEY | GT_TAKES_TOP | GT_TAKES_PHASES | GT_TAKES_PEAK,
    .arguments = arguments,
    .joins = true,
    .build = build,
};
