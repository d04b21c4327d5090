/* Python functions of cProfile's and pyinstrument's dumps, added up over the dumps that the bounds allow or, with --by, over groups
 * of them, the costliest first, and who called those.
 *
 * A dump belongs to a time or step interval when the two overlap; a dump that contains the interval does. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/functions_sum.h"
#include "analyse/trace/lists.h"

static const char *const profilers[] = {"cprofile", "pyinstrument"};

static int by_figure(const void *a, const void *b, void *context)
{
    const struct gt_function_sum *x = a, *y = b;
    int key = *(int *)context;
    for (int i = 0; i < 2; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    if (x->figure[key] != y->figure[key] && !(isnan(x->figure[key]) && isnan(y->figure[key])))
        return isnan(x->figure[key]) || x->figure[key] < y->figure[key] ? 1 : -1;
    for (int i = 2; i < GT_FUNCTION_KEYS; i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return 0;
}

struct tables {
    struct gt_table *functions, *callers;
    bool grouped;
};

static struct tables make_tables(struct gt_node *root, enum gt_dump_group by)
{
    static const char *const functions[] = {
        "text:profiler text:function number:pcalls number:ncalls number:tottime_seconds number:cumtime_seconds",
        "text:group text:profiler text:function number:pcalls number:ncalls number:tottime_seconds "
        "number:cumtime_seconds"};
    static const char *const callers[] = {
        "text:function text:caller number:ncalls number:tottime_seconds number:cumtime_seconds",
        "text:group text:function text:caller number:ncalls number:tottime_seconds number:cumtime_seconds"};
    bool grouped = by != GT_DUMPS_ALL;
    return (struct tables){gt_analysis_table(root, "functions", "Functions", functions[grouped]),
                           gt_analysis_table(root, "callers", "Callers", callers[grouped]), grouped};
}

static void add_function(const struct gt_analysis_input *input, const struct tables *tables,
                         const struct gt_function_sums *sums, const struct gt_function_sum *sum)
{
    struct gt_buffer title = {0};
    if (tables->grouped)
        gt_table_text(tables->functions, sums->group[sum->key[0]]);
    gt_table_text(tables->functions, profilers[sum->key[1]]);
    gt_table_text(tables->functions, gt_function_title(input, sum, &title));
    gt_table_number(tables->functions, sum->figure[GT_PRIMITIVE_CALLS]);
    gt_table_number(tables->functions, sum->figure[GT_TOTAL_CALLS]);
    gt_table_number(tables->functions, sum->figure[GT_TOTAL_TIME]);
    gt_table_number(tables->functions, sum->figure[GT_CUMULATIVE_TIME]);
    gt_buffer_release(&title);
}

static int add_callers(const struct gt_analysis_input *input, const struct tables *tables,
                       const struct gt_function_sums *sums, const struct gt_function_sum *callee)
{
    size_t count = 0;
    struct gt_buffer of = {0}, title = {0};
    struct gt_function_sum *caller = gt_function_callers(input, sums, callee, &count);
    for (size_t i = 0; caller && i < count; i++) {
        if (tables->grouped)
            gt_table_text(tables->callers, sums->group[callee->key[0]]);
        gt_table_text(tables->callers, gt_function_title(input, callee, &of));
        gt_table_text(tables->callers, gt_function_title(input, &caller[i], &title));
        gt_table_number(tables->callers, caller[i].figure[GT_TOTAL_CALLS]);
        gt_table_number(tables->callers, caller[i].figure[GT_TOTAL_TIME]);
        gt_table_number(tables->callers, caller[i].figure[GT_CUMULATIVE_TIME]);
    }
    gt_buffer_release(&of);
    gt_buffer_release(&title);
    free(caller);
    return caller ? 0 : -ENOMEM;
}

/* The dumps that were added up, in the order of time. */
static void add_dumps(const struct gt_analysis_input *input, struct gt_node *root)
{
    const struct gt_trace *trace = input->trace;
    struct gt_table *table = gt_analysis_table(root, "dumps", "Dumps",
                                               "text:file text:profiler text:node text:start_mode text:end_mode "
                                               "text:start_phase text:end_phase number:start_step number:end_step "
                                               "integer:functions");
    for (size_t i = 0; i < trace->profile_count; i++) {
        const struct gt_trace_profile *profile = &trace->profile[i];
        const uint32_t texts[] = {profile->node, profile->start_mode, profile->end_mode, profile->start_phase,
                                  profile->end_phase};
        gt_table_text(table, trace->file[profile->file].path);
        gt_table_text(table, profilers[profile->profiler]);
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            gt_table_text(table, texts[j] == GT_TRACE_NONE ? NULL : gt_trace_text(trace, texts[j]));
        gt_table_number(
            table, isinf(profile->end_step) && profile->start_step > profile->end_step ? NAN : profile->start_step);
        gt_table_number(table, isinf(profile->end_step) ? NAN : profile->end_step);
        gt_table_integer(table, (int64_t)profile->function_count);
    }
    gt_table_flags(table, GT_ONLY_DATA);
}

static int add_tables(const struct gt_analysis_input *input, struct gt_node *root, enum gt_dump_group by, int key,
                      struct gt_function_sums *sums)
{
    struct tables tables = make_tables(root, by);
    size_t of_profiler = 0;
    int status = 0;
    qsort_r(sums->sum, sums->count, sizeof *sums->sum, by_figure, &key);
    for (size_t i = 0; i < sums->count && status >= 0; i++) {
        const struct gt_function_sum *sum = &sums->sum[i];
        of_profiler = i && memcmp(sum->key, sum[-1].key, 2 * sizeof *sum->key) == 0 ? of_profiler + 1 : 0;
        if (of_profiler >= gt_list_top(input, 20))
            continue;
        add_function(input, &tables, sums, sum);
        status = add_callers(input, &tables, sums, sum);
    }
    gt_analysis_empty(root, tables.functions,
                      input->trace->profile_count ? "no function in the Python profiles of that phase, step or name"
                                                  : "no Python profiles");
    gt_table_flags(tables.callers, GT_ONLY_DATA);
    add_dumps(input, root);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    struct gt_function_sums sums = {0};
    int key = 0, by = gt_analysis_by(input, gt_dump_groups, error);
    if (by < 0)
        return by;
    while (input->options->key && gt_function_figures[key] &&
           strcmp(gt_function_figures[key], input->options->key) != 0)
        key++;
    if (!gt_function_figures[key])
        return gt_error_set(error, EINVAL, "key '%s' is not one of tottime, cumtime, pcalls, ncalls",
                            input->options->key);
    int status = gt_functions_sum(input, (enum gt_dump_group)by, &sums);
    if (status >= 0)
        status = add_tables(input, root, (enum gt_dump_group)by, key, &sums);
    gt_functions_release(&sums);
    return status;
}

const struct gt_analysis gt_analysis_functions = {
    .name = "functions",
    .help =
        "Python functions of cProfile and pyinstrument; --top, --key tottime|cumtime|pcalls|ncalls, --by dump|step|mode|"
        "training_phase|job_phase, --phase of any of these",
    .of_profiles = true,
    .takes = GT_TAKES_BY | GT_TAKES_PHASES | GT_TAKES_KEY | GT_TAKES_TOP,
    .build = build,
};
