/* The rule over Python functions. */
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/advice.h"
#include "analyse/trace/functions.h"

static const double HOT = 25;

/* ", mostly called by f": the caller that most of the time came from. */
static void write_caller(struct gt_adviser *adviser, const struct gt_function_sums *sums,
                         const struct gt_function_sum *sum, struct gt_buffer *out)
{
    size_t count = 0, most = 0;
    struct gt_buffer title = {0};
    struct gt_function_sum *caller = gt_function_callers(adviser->input, sums, sum, &count);
    for (size_t i = 1; caller && i < count; i++)
        if (caller[i].figure[GT_CUMULATIVE_TIME] > caller[most].figure[GT_CUMULATIVE_TIME])
            most = i;
    gt_buffer_text(out, "");
    if (caller && count)
        gt_buffer_printf(out, ", mostly for %s", gt_function_title(adviser->input, &caller[most], &title));
    gt_buffer_release(&title);
    free(caller);
}

static void judge(struct gt_adviser *adviser, const struct gt_function_sums *sums, const struct gt_function_sum *sum,
                  double total)
{
    static const char *const profilers[] = {"cProfile", "pyinstrument"};
    double seconds = sum->figure[GT_TOTAL_TIME], share = gt_percent(seconds, total);
    struct gt_buffer title = {0}, caller = {0}, calls = {0};
    if (!(share >= HOT))
        return;
    write_caller(adviser, sums, sum, &caller);
    if (!isnan(sum->figure[GT_TOTAL_CALLS]))
        gt_buffer_printf(&calls, " in %.0f calls", sum->figure[GT_TOTAL_CALLS]);
    gt_advise(adviser, (struct gt_gain){share, seconds * 1e6}, "functions",
              "%.0f %% of the Python time in %s itself (%.3g of %.3g s%s, by %s)%s", share,
              gt_function_title(adviser->input, sum, &title), seconds, total, calls.length ? calls.data : "",
              profilers[sum->key[1]], caller.length ? caller.data : "");
    gt_buffer_release(&title);
    gt_buffer_release(&caller);
    gt_buffer_release(&calls);
}

void gt_advise_functions(struct gt_adviser *adviser)
{
    struct gt_function_sums sums = {0};
    double total[2] = {0};
    adviser->status = gt_functions_sum(adviser->input, GT_DUMPS_ALL, &sums);
    for (size_t i = 0; i < sums.count; i++)
        if (sums.sum[i].figure[GT_TOTAL_TIME] > 0)
            total[sums.sum[i].key[1]] += sums.sum[i].figure[GT_TOTAL_TIME];
    for (size_t i = 0; i < sums.count && adviser->status >= 0; i++)
        judge(adviser, &sums, &sums.sum[i], total[sums.sum[i].key[1]]);
    gt_functions_release(&sums);
}
