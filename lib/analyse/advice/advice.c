/* Advice tells where to look first: sentences with the numbers they rest on and the analysis that shows them, ordered by the time that could
 * be won at most; what no time can be told for stands behind. What costs less than 5 % is not told. */
#include "analyse/advice/adviser.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/trace/lists.h"
#include "analyse/trace/memory.h"
#include "base/number.h"

static const char *const arguments[] = {GT_ADVICE_ARGUMENTS, NULL};

static void (*const rules[])(struct gt_adviser *adviser) = {
    gt_advise_idle,       gt_advise_uses,        gt_advise_launches,     gt_advise_memory,    gt_advise_loader,
    gt_advise_stragglers, gt_advise_gpu_samples, gt_advise_host_samples, gt_advise_functions,
};

static int compare_gains(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return GT_ORDER(b, a);
}

static int compare(const void *a, const void *b)
{
    const struct gt_advice *x = a, *y = b;
    int order = compare_gains(x->gain.us, y->gain.us);
    if (!order)
        order = compare_gains(x->gain.percent, y->gain.percent);
    return order ? order : strcmp(x->sentence, y->sentence);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct gt_adviser adviser = {.input = input};
    struct gt_table *table = gt_analysis_table(root, "advice", "Advice",
                                               "number:cost_percent number:could_win_us text:advice text:see");
    for (size_t i = 0; i < sizeof rules / sizeof *rules && adviser.status >= 0; i++)
        rules[i](&adviser);
    if (adviser.count)
        qsort(adviser.advice, adviser.count, sizeof *adviser.advice, compare);
    for (size_t i = 0; i < adviser.count; i++) {
        if (i < gt_list_top(input, 20)) {
            gt_table_number(table, adviser.advice[i].gain.percent);
            gt_table_number(table, adviser.advice[i].gain.us);
            gt_table_text(table, adviser.advice[i].sentence);
            gt_table_text(table, adviser.advice[i].see);
        }
        free(adviser.advice[i].sentence);
    }
    free(adviser.advice);
    gt_analysis_empty(root, table, "nothing that costs 5 % or more was found");
    return adviser.status;
}

const struct gt_analysis gt_analysis_advice = {
    .name = "advice",
    .help = "what to look at first, in words, with the numbers it rests on and the analysis that shows them",
    .arguments = arguments,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .build = build,
};
