#include "analyse/trace/lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static double longest(const struct gt_spans *spans, size_t from, size_t to)
{
    int64_t longest = 0;
    for (size_t i = from; i < to; i++)
        if (spans->span[i].end - spans->span[i].start > longest)
            longest = spans->span[i].end - spans->span[i].start;
    return (double)longest;
}

static double total(const struct gt_spans *spans, size_t from, size_t to)
{
    int64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += spans->span[i].end - spans->span[i].start;
    return (double)sum;
}

static double mean(const struct gt_spans *spans, size_t from, size_t to)
{
    return total(spans, from, to) / (double)(to - from);
}

static double number(const struct gt_spans *spans, size_t from, size_t to)
{
    (void)spans;
    return (double)(to - from);
}

static double no_weight(const struct gt_spans *spans, size_t from, size_t to)
{
    (void)spans, (void)from, (void)to;
    return 0;
}

static const struct {
    const char *name;
    double (*weight)(const struct gt_spans *spans, size_t from, size_t to);
} orders[] = {{"total", total}, {"count", number}, {"mean", mean}, {"max", longest}, {"name", no_weight}};

struct weighed {
    struct gt_list_row row;
    uint32_t group;
    double weight;
};

static int compare(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return GT_ORDER(x->row.from, y->row.from);
}

size_t gt_list_top(const struct gt_analysis_input *input, size_t standard)
{
    int top = input->options->top;
    return top < 0 ? SIZE_MAX : top == 0 ? standard : (size_t)top;
}

static int find_order(const struct gt_analysis_input *input, struct gt_error *error)
{
    const char *key = input->options->key;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (!key || strcmp(orders[i].name, key) == 0)
            return (int)i;
    return gt_error_set(error, EINVAL, "key '%s' is not one of total, count, mean, max, name", key);
}

struct gt_list_row *gt_list_rows(const struct gt_analysis_input *input, const struct gt_spans *spans, int keys,
                                 size_t *count, int *status, struct gt_error *error)
{
    size_t rows = 0, kept = 0, in_group = 0;
    int order = find_order(input, error);
    struct weighed *row = malloc((spans->count + 1) * sizeof *row);
    struct gt_list_row *ret = order < 0 || !row ? NULL : malloc((spans->count + 1) * sizeof *ret);
    *status = order < 0 ? order : ret ? 0 : -ENOMEM;
    for (size_t from = 0, to; ret && from < spans->count; from = to) {
        to = gt_spans_run(spans, from, keys);
        row[rows++] = (struct weighed){
            {from, to, total(spans, from, to)}, spans->span[from].key[0], orders[order].weight(spans, from, to)};
    }
    if (ret)
        qsort(row, rows, sizeof *row, compare);
    for (size_t i = 0; ret && i < rows; i++) {
        in_group = i && row[i].group == row[i - 1].group ? in_group + 1 : 0;
        if (in_group < gt_list_top(input, 20))
            ret[kept++] = row[i].row;
    }
    free(row);
    *count = kept;
    return ret;
}

int gt_list_lengths(struct gt_numbers *values, const struct gt_spans *spans, size_t from, size_t to)
{
    int status = 0;
    gt_numbers_clear(values);
    for (size_t i = from; i < to && status >= 0; i++)
        status = gt_numbers_add(values, (double)(spans->span[i].end - spans->span[i].start) / 1e3);
    return status;
}
