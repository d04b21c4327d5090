/* Lists of what took how long, longest first: kernels and operators. */
#ifndef GT_ANALYSE_LISTS_H
#define GT_ANALYSE_LISTS_H

#include "analyse/trace/analysis.h"
#include "analyse/trace/spans.h"
#include "analyse/trace/numbers.h"

/* All spans that share the first keys. */
struct gt_list_row {
    size_t from, to;
    double total;
};

/* Rows of sorted spans by their first `keys` keys, ordered by total length or, by options->key, by "count", "mean", "max" or
 * "name"; *count of them, no more than options->top for each value of key 0. NULL without memory. -EINVAL in *status names an
 * unknown order. To be freed. */
struct gt_list_row *gt_list_rows(const struct gt_analysis_input *input, const struct gt_spans *spans, int keys,
                                 size_t *count, int *status, struct gt_error *error);
/* options->top, or `standard` when it is 0; SIZE_MAX when it is negative. */
size_t gt_list_top(const struct gt_analysis_input *input, size_t standard);
/* The lengths of spans in microseconds. */
int gt_list_lengths(struct gt_numbers *values, const struct gt_spans *spans, size_t from, size_t to);

#endif
