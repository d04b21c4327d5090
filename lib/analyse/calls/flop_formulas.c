/* The formulas are those of PyTorch's torch.utils.flop_counter: a multiplication and an addition are two operations, what is
 * added or scaled on the way counts for nothing, and attention is counted in full where it is causal. Two things are otherwise
 * there: in the gradient of the weights of a grouped convolution each group is counted with the channels of all, and what
 * fused operators of flash-attn do is not counted. */
#include "analyse/calls/flop_formulas.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

struct gt_flop_formula {
    const char *name;
    double (*count)(const struct operands *operands, int first);
    int first; /* of the arguments that count */
    bool is_made_of_others;
};

static const struct gt_flop_formula formulas[] = {
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

/* "aten::addmm_" is "aten::addmm" in place. */
const struct gt_flop_formula *gt_flop_formula_find(const char *name)
{
    size_t length = strlen(name);
    length -= length && name[length - 1] == '_';
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (strncmp(formulas[i].name, name, length) == 0 && !formulas[i].name[length])
            return &formulas[i];
    return NULL;
}

bool gt_flop_formula_is_made_of_others(const struct gt_flop_formula *formula)
{
    return formula->is_made_of_others;
}

double gt_flop_formula_count(const struct gt_flop_formula *formula, const char *dims, const char *values)
{
    double count = formula->count(&(struct operands){dims, values}, formula->first);
    return isfinite(count) && count >= 0 ? count : NAN;
}
