/* Python functions of cProfile's and pyinstrument's dumps, added up over the dumps that the bounds allow or, with
 * --by, over groups of them, the costliest first, and who called those.
 *
 * A dump belongs to a time or step interval when the two overlap; a dump that contains the interval does. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/functions.h"
#include "analyse/gpu/lists.h"
#include "base/grow.h"
#include "base/number.h"

static const char *const figures[] = {"tottime", "cumtime", "pcalls", "ncalls", NULL};
static const char *const dump_groups[] = {"function", "dump", "step", "mode", "training_phase", "job_phase", NULL};

/* ---- which dumps ---- */

/* Before step 0 is initialization, after the last step is finalization. */
static const char *job_phase(const struct gt_analysis_input *input, const struct gt_trace_profile *profile)
{
    const char *start = gt_trace_text(input->trace, profile->start_mode);
    const char *end = gt_trace_text(input->trace, profile->end_mode);
    if (strcmp(start, "prestepzero") == 0 || profile->start_step < 0)
        return "initialization";
    if (strcmp(end, "posthookclose") == 0 || isinf(profile->end_step))
        return "finalization";
    return "training_loop";
}

/* "train", or "train-eval" from one to another. */
static void write_range(const struct gt_analysis_input *input, struct gt_buffer *out, uint32_t from, uint32_t to)
{
    gt_buffer_text(out, gt_trace_text(input->trace, from));
    if (from != to)
        gt_buffer_printf(out, "-%s", gt_trace_text(input->trace, to));
}

static bool is_wanted(const struct gt_analysis_input *input, const struct gt_trace_profile *profile,
                      enum gt_profile_unit unit)
{
    const char *const *phase = input->options->phases;
    struct gt_buffer phases = {0};
    bool wanted = !phase || !*phase;
    if (profile->unit != unit)
        return false;
    write_range(input, &phases, profile->start_phase, profile->end_phase);
    for (; !wanted && *phase; phase++)
        wanted = strcmp(*phase, gt_trace_text(input->trace, profile->start_mode)) == 0 ||
                 strcmp(*phase, gt_trace_text(input->trace, profile->start_phase)) == 0 ||
                 strcmp(*phase, phases.data ? phases.data : "") == 0 || strcmp(*phase, job_phase(input, profile)) == 0;
    gt_buffer_release(&phases);
    return wanted;
}

static bool is_chosen(const struct gt_trace *trace, const struct gt_trace_profile *profile, const char *const *paths)
{
    bool chosen = !paths;
    for (; !chosen && *paths; paths++)
        chosen = strcmp(trace->file[profile->file].path, *paths) == 0;
    return chosen;
}

static void write_step(struct gt_buffer *out, const struct gt_trace_profile *profile)
{
    if (profile->start_step < 0)
        gt_buffer_text(out, "before step 0");
    else if (isinf(profile->end_step))
        gt_buffer_text(out, "after the last step");
    else if (profile->start_step >= 0)
        gt_buffer_printf(out, profile->end_step > profile->start_step ? "%.0f-%.0f" : "%.0f", profile->start_step,
                         profile->end_step);
}

static void write_group(const struct gt_analysis_input *input, enum gt_dump_group by,
                        const struct gt_trace_profile *profile, struct gt_buffer *out)
{
    gt_buffer_clear(out);
    if (by == GT_DUMPS_EACH)
        gt_buffer_text(out, input->trace->file[profile->file].path);
    else if (by == GT_DUMPS_STEP)
        write_step(out, profile);
    else if (by == GT_DUMPS_MODE)
        write_range(input, out, profile->start_mode, profile->end_mode);
    else if (by == GT_DUMPS_TRAINING_PHASE)
        write_range(input, out, profile->start_phase, profile->end_phase);
    else if (by == GT_DUMPS_JOB_PHASE)
        gt_buffer_text(out, job_phase(input, profile));
}

/* The number of a group; a new one is added at the end. Negative errno. */
static int64_t group_of(struct gt_function_sums *sums, const struct gt_buffer *title)
{
    for (size_t i = 0; i < sums->groups; i++)
        if (strcmp(sums->group[i], title->length ? title->data : "") == 0)
            return (int64_t)i;
    sums->group[sums->groups] = strdup(title->length ? title->data : "");
    return title->failed || !sums->group[sums->groups] ? -ENOMEM : (int64_t)sums->groups++;
}

/* ---- adding up ---- */

static struct gt_function_sum one(const struct gt_analysis_input *input, uint32_t group,
                                  const struct gt_trace_profile *profile, size_t number)
{
    const struct gt_trace_function *function = &profile->function[number];
    bool counted = function->total_calls >= 0;
    return (struct gt_function_sum){
        .key = {group, profile->profiler, gt_analysis_place(input, function->file),
                gt_analysis_place(input, function->function), (uint32_t)function->line},
        .figure = {function->total_time, function->cumulative_time, counted ? (double)function->primitive_calls : NAN,
                   counted ? (double)function->total_calls : NAN},
        .profile = profile,
        .function = number,
    };
}

static int by_function(const void *a, const void *b)
{
    const struct gt_function_sum *x = a, *y = b;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, GT_FUNCTION_KEYS), GT_ORDER(x->profile, y->profile));
}

/* Sorted ones of equal key become one; how many there are then. */
static size_t add_up(struct gt_function_sum *sum, const struct gt_function_sum *each, size_t count)
{
    size_t sums = 0;
    for (size_t from = 0, to; from < count; from = to) {
        struct gt_function_sum all = each[from];
        for (to = from + 1; to < count && gt_order_lists(all.key, each[to].key, GT_FUNCTION_KEYS) == 0; to++)
            for (int i = 0; i < GT_FUNCTION_FIGURES; i++)
                all.figure[i] += each[to].figure[i];
        sum[sums++] = all;
    }
    return sums;
}

/* Named as a caller, and not profiled itself or left out. */
static bool is_only_caller(const struct gt_trace_function *function)
{
    return function->total_calls < 0 && isnan(function->total_time);
}

static int earlier(const void *a, const void *b)
{
    const struct gt_trace_profile *x = *(const struct gt_trace_profile *const *)a;
    const struct gt_trace_profile *y = *(const struct gt_trace_profile *const *)b;
    return GT_ORDER_BY(GT_ORDER(x->start, y->start), GT_ORDER(x, y));
}

int gt_functions_sum(const struct gt_analysis_input *input, enum gt_dump_group by, enum gt_profile_unit unit,
                     const char *const *paths, struct gt_function_sums *ret)
{
    size_t profiles = input->trace->profile_count, count = 0;
    const struct gt_trace_profile **dump = calloc(profiles + 1, sizeof *dump);
    struct gt_buffer title = {0};
    for (size_t i = 0; i < profiles; i++)
        count += input->trace->profile[i].function_count;
    *ret = (struct gt_function_sums){.group = calloc(profiles + 1, sizeof *ret->group),
                                     .each = calloc(count + 1, sizeof *ret->each),
                                     .sum = calloc(count + 1, sizeof *ret->sum)};
    int64_t status = dump && ret->group && ret->each && ret->sum ? 0 : -ENOMEM;
    for (size_t i = 0; i < profiles && status >= 0; i++)
        dump[i] = &input->trace->profile[i];
    if (status >= 0)
        GT_SORT(dump, profiles, earlier);
    for (size_t i = 0; i < profiles && status >= 0; i++) {
        if (!is_wanted(input, dump[i], unit) || !is_chosen(input->trace, dump[i], paths))
            continue;
        write_group(input, by, dump[i], &title);
        status = group_of(ret, &title);
        for (size_t j = 0; j < dump[i]->function_count && status >= 0; j++)
            if (!is_only_caller(&dump[i]->function[j]))
                ret->each[ret->each_count++] = one(input, (uint32_t)status, dump[i], j);
    }
    if (status >= 0) {
        GT_SORT(ret->each, ret->each_count, by_function);
        ret->count = add_up(ret->sum, ret->each, ret->each_count);
    }
    gt_buffer_release(&title);
    free(dump);
    return status < 0 ? -ENOMEM : 0;
}

/* Narrow sorted entries to those of one function. */
static const struct gt_function_sum *same_function(const struct gt_function_sums *sums,
                                                   const struct gt_function_sum *wanted, size_t *count)
{
    size_t low = GT_SEARCH(0, sums->each_count, middle,
                           gt_order_lists(sums->each[middle].key, wanted->key, GT_FUNCTION_KEYS) < 0);
    for (*count = 0; low + *count < sums->each_count &&
                     gt_order_lists(sums->each[low + *count].key, wanted->key, GT_FUNCTION_KEYS) == 0;)
        ++*count;
    return sums->each + low;
}

struct gt_function_sum *gt_function_callers(const struct gt_analysis_input *input, const struct gt_function_sums *sums,
                                            const struct gt_function_sum *callee, size_t *count)
{
    size_t dumps, callers = 0, kept = 0;
    const struct gt_function_sum *all = same_function(sums, callee, &dumps);
    for (size_t i = 0; i < dumps; i++)
        callers += all[i].profile->function[all[i].function].callers;
    struct gt_function_sum *caller = calloc(callers + 1, sizeof *caller);
    for (size_t i = 0; caller && i < dumps; i++) {
        const struct gt_trace_profile *profile = all[i].profile;
        const struct gt_trace_function *function = &profile->function[all[i].function];
        for (uint32_t j = 0; j < function->callers; j++) {
            const struct gt_trace_caller *from = &profile->caller[function->caller + j];
            if (from->function == GT_TRACE_NONE)
                continue;
            caller[kept] = one(input, callee->key[0], profile, from->function);
            caller[kept].figure[GT_TOTAL_TIME] = from->total_time;
            caller[kept].figure[GT_CUMULATIVE_TIME] = from->cumulative_time;
            caller[kept].figure[GT_PRIMITIVE_CALLS] = from->primitive_calls < 0 ? NAN : (double)from->primitive_calls;
            caller[kept++].figure[GT_TOTAL_CALLS] = from->total_calls < 0 ? NAN : (double)from->total_calls;
        }
    }
    if (caller) {
        GT_SORT(caller, kept, by_function);
        *count = add_up(caller, caller, kept);
    }
    return caller;
}

static const char *function_name(const char *file, uint32_t line, const char *function, struct gt_buffer *text)
{
    size_t length = strlen(function);
    bool bracketed = length > 1 && function[0] == '<' && function[length - 1] == '>';
    gt_buffer_clear(text);
    if (strcmp(file, "~") != 0 || line)
        gt_buffer_printf(text, "%s:%u(%s)", file, line, function);
    else if (bracketed)
        gt_buffer_printf(text, "{%.*s}", (int)length - 2, function + 1);
    else
        gt_buffer_text(text, function);
    return text->data;
}

const char *gt_function_title(const struct gt_analysis_input *input, const struct gt_function_sum *sum,
                              struct gt_buffer *text)
{
    const char *file = gt_analysis_text(input, sum->key[2]), *function = gt_analysis_text(input, sum->key[3]);
    return function_name(file ? file : "", sum->key[4], function ? function : "", text);
}

void gt_functions_release(struct gt_function_sums *sums)
{
    for (size_t i = 0; i < sums->groups; i++)
        free(sums->group[i]);
    free(sums->group);
    free(sums->each);
    free(sums->sum);
    *sums = (struct gt_function_sums){0};
}

/* ---- the report ---- */

static int by_figure(const void *a, const void *b, void *context)
{
    const struct gt_function_sum *x = a, *y = b;
    int key = *(int *)context;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, 2), isnan(x->figure[key]) - isnan(y->figure[key]),
                       GT_ORDER(y->figure[key], x->figure[key]), gt_order_lists(x->key, y->key, GT_FUNCTION_KEYS));
}

struct tables {
    struct gt_table *functions, *callers;
    bool grouped;
};

static struct tables make_tables(struct gt_node *root, enum gt_dump_group by)
{
    static const char *const functions[] = {
        "text:profiler text:function integer:pcalls integer:ncalls number:tottime_seconds number:cumtime_seconds",
        "text:group text:profiler text:function integer:pcalls integer:ncalls number:tottime_seconds "
        "number:cumtime_seconds"};
    static const char *const callers[] = {
        "text:function text:caller integer:ncalls number:tottime_seconds number:cumtime_seconds",
        "text:group text:function text:caller integer:ncalls number:tottime_seconds number:cumtime_seconds"};
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
    GT_CELLS(tables->functions, gt_trace_profiler_name((enum gt_trace_profiler)sum->key[1]),
             gt_function_title(input, sum, &title));
    gt_list_whole(tables->functions, sum->figure[GT_PRIMITIVE_CALLS]);
    gt_list_whole(tables->functions, sum->figure[GT_TOTAL_CALLS]);
    GT_CELLS(tables->functions, sum->figure[GT_TOTAL_TIME], sum->figure[GT_CUMULATIVE_TIME]);
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
        GT_CELLS(tables->callers, gt_function_title(input, callee, &of), gt_function_title(input, &caller[i], &title));
        gt_list_whole(tables->callers, caller[i].figure[GT_TOTAL_CALLS]);
        GT_CELLS(tables->callers, caller[i].figure[GT_TOTAL_TIME], caller[i].figure[GT_CUMULATIVE_TIME]);
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
        GT_CELLS(table, trace->file[profile->file].path, gt_trace_profiler_name(profile->profiler));
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            gt_table_text(table, texts[j] == GT_TRACE_NONE ? NULL : gt_trace_text(trace, texts[j]));
        GT_CELLS(table, isinf(profile->end_step) && profile->start_step > profile->end_step ? NAN : profile->start_step,
                 isinf(profile->end_step) ? NAN : profile->end_step, profile->function_count);
    }
    gt_table_flags(table, GT_ONLY_DATA);
}

/* The first rows of each profiler's. */
static int add_sums(const struct gt_analysis_input *input, const struct tables *tables, int key,
                    struct gt_function_sums *sums)
{
    size_t of_profiler = 0;
    int status = 0;
    qsort_r(sums->sum, sums->count, sizeof *sums->sum, by_figure, &key);
    for (size_t i = 0; i < sums->count && status >= 0; i++) {
        const struct gt_function_sum *sum = &sums->sum[i];
        of_profiler = i && memcmp(sum->key, sum[-1].key, 2 * sizeof *sum->key) == 0 ? of_profiler + 1 : 0;
        bool is_shown = of_profiler < gt_list_top(input, GT_LIST_SHOWN);
        gt_top_left_out(tables->functions, !is_shown);
        if (!is_shown)
            continue;
        add_function(input, tables, sums, sum);
        status = add_callers(input, tables, sums, sum);
    }
    return status;
}

/* Samplers that know no times count samples, bytes or allocations: people see a table of each. */
struct weights {
    struct gt_table *all, *shown;
    enum gt_profile_unit unit;
    bool grouped;
    double total;
};

static const char *const weight_titles[GT_PROFILE_UNITS] = {
    [GT_PROFILE_SAMPLES] = "Sampled functions (samples)",
    [GT_PROFILE_BYTES] = "Functions by memory",
    [GT_PROFILE_HELD] = "Functions by memory held at the peak",
    [GT_PROFILE_ALLOCATIONS] = "Functions by number of allocations",
};

static struct gt_table *make_weights(struct gt_node *root, const struct weights *weights)
{
    char columns[200], key[40];
    bool is_count = weights->unit == GT_PROFILE_SAMPLES || weights->unit == GT_PROFILE_ALLOCATIONS;
    const char *kind = is_count ? "integer" : "number", *unit = is_count ? "" : "_bytes";
    snprintf(key, sizeof key, "sampled_%d", (int)weights->unit);
    snprintf(columns, sizeof columns, "%stext:profiler text:function %s:self%s %s:total%s number:self_percent",
             weights->grouped ? "text:group " : "", kind, unit, kind, unit);
    struct gt_table *table = gt_analysis_table(root, key, weight_titles[weights->unit], columns);
    gt_table_flags(table, GT_ONLY_PEOPLE);
    gt_top_left_out(table, 0);
    return table;
}

static void put_weight(const struct weights *weights, struct gt_table *table, double value)
{
    if (weights->unit == GT_PROFILE_SAMPLES || weights->unit == GT_PROFILE_ALLOCATIONS)
        gt_list_whole(table, value);
    else
        gt_table_number(table, value);
}

static void add_weight(const struct gt_analysis_input *input, const struct weights *weights,
                       const struct gt_function_sums *sums, const struct gt_function_sum *sum)
{
    struct gt_buffer title = {0};
    const char *group = weights->grouped ? sums->group[sum->key[0]] : NULL;
    const char *profiler = gt_trace_profiler_name((enum gt_trace_profiler)sum->key[1]);
    gt_function_title(input, sum, &title);
    GT_CELLS(weights->all, group, profiler, title.data, sum->figure[GT_TOTAL_TIME], sum->figure[GT_CUMULATIVE_TIME],
             gt_percent(sum->figure[GT_TOTAL_TIME], weights->total), gt_trace_unit_name(weights->unit),
             gt_trace_measure_name(weights->unit));
    if (group)
        gt_table_text(weights->shown, group);
    GT_CELLS(weights->shown, profiler, title.data);
    put_weight(weights, weights->shown, sum->figure[GT_TOTAL_TIME]);
    put_weight(weights, weights->shown, sum->figure[GT_CUMULATIVE_TIME]);
    gt_table_number(weights->shown, gt_percent(sum->figure[GT_TOTAL_TIME], weights->total));
    gt_buffer_release(&title);
}

static int add_weights(const struct gt_analysis_input *input, struct gt_node *root, struct weights *weights,
                       enum gt_dump_group by, int key)
{
    struct gt_function_sums sums = {0};
    int status = gt_functions_sum(input, by, weights->unit, NULL, &sums);
    size_t shown = gt_list_top(input, GT_LIST_SHOWN);
    if (status >= 0)
        qsort_r(sums.sum, sums.count, sizeof *sums.sum, by_figure, &key);
    weights->grouped = by != GT_DUMPS_ALL;
    weights->shown = sums.count ? make_weights(root, weights) : NULL;
    weights->total = 0;
    for (size_t i = 0; i < sums.count; i++)
        weights->total += isnan(sums.sum[i].figure[GT_TOTAL_TIME]) ? 0 : sums.sum[i].figure[GT_TOTAL_TIME];
    for (size_t i = 0; i < sums.count && i < shown; i++)
        add_weight(input, weights, &sums, &sums.sum[i]);
    if (sums.count > shown)
        gt_top_left_out(weights->shown, sums.count - shown);
    gt_functions_release(&sums);
    return status;
}

static int add_tables(const struct gt_analysis_input *input, struct gt_node *root, enum gt_dump_group by, int key,
                      struct gt_function_sums *sums)
{
    struct tables tables = make_tables(root, by);
    int status = add_sums(input, &tables, key, sums);
    struct weights weights = {
        .all = gt_analysis_table(root, "sampled", "Sampled functions",
                                 "text:group text:profiler text:function number:self number:total "
                                 "number:self_percent text:unit text:measure")};
    for (int unit = GT_PROFILE_SAMPLES; unit < GT_PROFILE_UNITS && status >= 0; unit++) {
        weights.unit = (enum gt_profile_unit)unit;
        status = add_weights(input, root, &weights, by, key);
    }
    gt_table_flags(weights.all, GT_ONLY_DATA);
    gt_top_left_out(weights.all, 0);
    gt_top_left_out(tables.callers, 0);
    gt_analysis_empty(root, tables.functions,
                      gt_table_rows(weights.all)    ? NULL
                      : input->trace->profile_count ? "no function in the Python profiles of that phase, step or name"
                                                    : "no Python profiles");
    gt_table_flags(tables.callers, GT_ONLY_DATA);
    add_dumps(input, root);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_function_sums sums = {0};
    int key = 0, by = gt_analysis_by(input, dump_groups);
    if (by < 0)
        return by;
    while (input->options->key && figures[key] && strcmp(figures[key], input->options->key) != 0)
        key++;
    if (!figures[key])
        return gt_error_set(input->error, EINVAL, "key '%s' is not one of tottime, cumtime, pcalls, ncalls",
                            input->options->key);
    int status = gt_functions_sum(input, (enum gt_dump_group)by, GT_PROFILE_SECONDS, NULL, &sums);
    if (status >= 0)
        status = add_tables(input, root, (enum gt_dump_group)by, key, &sums);
    gt_functions_release(&sums);
    return status;
}

const struct gt_analysis gt_analysis_functions = {
    .name = "functions",
    .group = "host",
    .help =
        "functions of Python profilers and of sampled stacks; --top, --key tottime|cumtime|pcalls|ncalls, --by dump|step|mode|"
        "training_phase|job_phase, --phase of any of these",
    .of_profiles = true,
    .takes = GT_TAKES_BY | GT_TAKES_PHASES | GT_TAKES_KEY | GT_TAKES_TOP,
    .of_selected = true,
    .build = build,
};

/* ---- dumps as a table ---- */

static const struct gt_column_kind dump_columns[] = {
    {"profiler_name", GT_CELL_PLAIN_TEXT, false},
    {"framework", GT_CELL_TEXT, false},
    {"node_id", GT_CELL_TEXT, false},
    {"start_mode", GT_CELL_TEXT, false},
    {"start_phase", GT_CELL_TEXT, false},
    {"start_step", GT_CELL_NUMBER, false},
    {"start_us", GT_CELL_NUMBER, false},
    {"end_mode", GT_CELL_TEXT, false},
    {"end_phase", GT_CELL_TEXT, false},
    {"end_step", GT_CELL_NUMBER, false},
    {"end_us", GT_CELL_NUMBER, false},
    {"stats_path", GT_CELL_PLAIN_TEXT, false},
    {"html_path", GT_CELL_TEXT, false},
};

static int by_start(const void *a, const void *b, void *context)
{
    const struct gt_trace *trace = context;
    const struct gt_trace_profile *x = &trace->profile[*(const size_t *)a], *y = &trace->profile[*(const size_t *)b];
    int by_node = strcmp(gt_trace_text(trace, x->node), gt_trace_text(trace, y->node));
    return GT_ORDER_BY(GT_ORDER(x->start, y->start), by_node, GT_ORDER(x, y));
}

static void put_text(struct gt_table *data, const struct gt_trace *trace, uint32_t string)
{
    gt_table_choice(data, string, gt_trace_text(trace, string));
}

static void put_moment(struct gt_table *data, const struct gt_trace *trace, uint32_t mode, uint32_t phase, double step,
                       int64_t time)
{
    bool known = time != GT_TRACE_EVER && time != -GT_TRACE_EVER;
    put_text(data, trace, mode);
    put_text(data, trace, phase);
    GT_CELLS(data, step, known ? gt_trace_us(time) : NAN);
}

static void put_dump(struct gt_table *data, const struct gt_trace *trace, const struct gt_trace_profile *profile)
{
    gt_table_text(data, gt_trace_profiler_name(profile->profiler));
    put_text(data, trace, profile->framework);
    put_text(data, trace, profile->node);
    put_moment(data, trace, profile->start_mode, profile->start_phase, profile->start_step, profile->start);
    put_moment(data, trace, profile->end_mode, profile->end_phase, profile->end_step, profile->end);
    gt_table_text(data, trace->file[profile->file].path);
    put_text(data, trace, profile->report);
}

int gt_dumps_table(const struct gt_trace *trace, struct gt_table **ret, struct gt_error *error)
{
    enum { COLUMNS = sizeof dump_columns / sizeof *dump_columns };
    size_t *order = calloc(trace->profile_count + 1, sizeof *order);
    if (!order)
        return gt_error_system(error, ENOMEM, "profile");
    for (size_t i = 0; i < trace->profile_count; i++)
        order[i] = i;
    qsort_r(order, trace->profile_count, sizeof *order, by_start, (void *)(uintptr_t)trace);
    struct gt_table *data = gt_table_new();
    gt_table_add_columns(data, dump_columns, COLUMNS);
    for (size_t i = 0; i < trace->profile_count; i++)
        put_dump(data, trace, &trace->profile[order[i]]);
    free(order);
    return gt_table_finish_columns(ret, data, dump_columns, COLUMNS, "profile", error);
}

/* ---- sums of chosen dumps as tables, in the order in which their texts were first read ---- */

static const struct gt_column_kind function_columns[] = {
    {"file", GT_CELL_TEXT, false},          {"line", GT_CELL_INTEGER, false},
    {"function", GT_CELL_TEXT, false},      {"function_name", GT_CELL_PLAIN_TEXT, false},
    {"prim_calls", GT_CELL_INTEGER, false}, {"total_calls", GT_CELL_INTEGER, false},
    {"total_time", GT_CELL_NUMBER, false},  {"cumulative_time", GT_CELL_NUMBER, false},
};
static const struct gt_column_kind caller_columns[] = {
    {"function", GT_CELL_INTEGER, false},   {"caller", GT_CELL_INTEGER, false},
    {"prim_calls", GT_CELL_INTEGER, false}, {"total_calls", GT_CELL_INTEGER, false},
    {"total_time", GT_CELL_NUMBER, false},  {"cumulative_time", GT_CELL_NUMBER, false},
};

enum { ROW_KEYS = 6 };

/* A function, or a caller and whom it calls, with what it took. */
struct row {
    uint32_t key[ROW_KEYS]; /* file, name, line; callers: the same of the caller behind it */
    double figure[GT_FUNCTION_FIGURES];
};

struct rows {
    struct row *row;
    size_t count, capacity;
};

static int by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return gt_order_lists(x->key, y->key, ROW_KEYS);
}

static void write_key(const struct gt_analysis_input *input, const struct gt_function_sum *sum, uint32_t key[3])
{
    key[0] = input->text[sum->key[2]];
    key[1] = input->text[sum->key[3]];
    key[2] = sum->key[4];
}

/* `caller` may be NULL. */
static struct row *add_row(const struct gt_analysis_input *input, struct rows *rows, const struct gt_function_sum *sum,
                           const struct gt_function_sum *caller)
{
    struct row *row = GT_GROW_LIST(rows, row);
    if (!row)
        return NULL;
    *row = (struct row){0};
    write_key(input, sum, row->key);
    if (caller)
        write_key(input, caller, row->key + 3);
    memcpy(row->figure, (caller ? caller : sum)->figure, sizeof row->figure);
    return row;
}

/* Callers of one sum, which are functions, too, although they may not have been profiled themselves. */
static int collect_callers(const struct gt_analysis_input *input, const struct gt_function_sums *sums,
                           const struct gt_function_sum *sum, struct rows *functions, struct rows *callers)
{
    size_t count = 0;
    struct gt_function_sum *caller = gt_function_callers(input, sums, sum, &count);
    int status = caller ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && status >= 0; i++) {
        struct row *named = add_row(input, functions, &caller[i], NULL);
        if (!named || !add_row(input, callers, sum, &caller[i]))
            status = -ENOMEM;
        for (size_t j = 0; named && j < GT_FUNCTION_FIGURES; j++)
            named->figure[j] = NAN;
    }
    free(caller);
    return status;
}

/* One row for each key: what is known goes before what was only named. */
static void unite(struct rows *rows)
{
    size_t count = 0;
    GT_SORT(rows->row, rows->count, by_key);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *last = count ? &rows->row[count - 1] : NULL;
        if (!last || by_key(last, &rows->row[i]) != 0)
            rows->row[count++] = rows->row[i];
        else if (isnan(last->figure[GT_TOTAL_TIME]))
            *last = rows->row[i];
        else if (!isnan(rows->row[i].figure[GT_TOTAL_TIME]))
            for (size_t j = 0; j < GT_FUNCTION_FIGURES; j++)
                last->figure[j] += rows->row[i].figure[j];
    }
    rows->count = count;
}

static int collect_rows(const struct gt_trace *trace, const char *const *paths, struct rows *functions,
                        struct rows *callers)
{
    static const struct gt_profile_options defaults = {.size = sizeof defaults};
    struct gt_analysis_input input;
    struct gt_function_sums sums = {0};
    int status = gt_analysis_open(&input, trace, &defaults);
    if (status >= 0)
        status = gt_functions_sum(&input, GT_DUMPS_ALL, GT_PROFILE_SECONDS, paths, &sums);
    for (size_t i = 0; i < sums.count && status >= 0; i++)
        status = add_row(&input, functions, &sums.sum[i], NULL)
                     ? collect_callers(&input, &sums, &sums.sum[i], functions, callers)
                     : -ENOMEM;
    unite(functions);
    unite(callers);
    gt_functions_release(&sums);
    gt_analysis_close(&input);
    return status;
}

static void put_figures(struct gt_table *data, const struct row *row)
{
    const double *figure = row->figure;
    GT_CELLS(data, isnan(figure[GT_PRIMITIVE_CALLS]) ? -1 : (int64_t)figure[GT_PRIMITIVE_CALLS],
             isnan(figure[GT_TOTAL_CALLS]) ? -1 : (int64_t)figure[GT_TOTAL_CALLS], figure[GT_TOTAL_TIME],
             figure[GT_CUMULATIVE_TIME]);
}

static void put_function(struct gt_table *data, const struct gt_trace *trace, const struct row *row)
{
    struct gt_buffer text = {0};
    const char *file = gt_trace_text(trace, row->key[0]), *function = gt_trace_text(trace, row->key[1]);
    const char *name = function_name(file, row->key[2], function, &text);
    put_text(data, trace, row->key[0]);
    gt_table_integer(data, (int32_t)row->key[2]);
    put_text(data, trace, row->key[1]);
    gt_table_text(data, name ? name : "");
    put_figures(data, row);
    gt_buffer_release(&text);
}

static int64_t row_number(const struct rows *functions, const uint32_t key[3])
{
    struct row wanted = {.key = {key[0], key[1], key[2]}};
    const struct row *found = bsearch(&wanted, functions->row, functions->count, sizeof wanted, by_key);
    return found ? found - functions->row : -1;
}

int gt_functions_table(const struct gt_trace *trace, const char *const *paths, bool of_callers, struct gt_table **ret,
                       struct gt_error *error)
{
    const struct gt_column_kind *columns = of_callers ? caller_columns : function_columns;
    size_t count = of_callers ? sizeof caller_columns / sizeof *caller_columns
                              : sizeof function_columns / sizeof *function_columns;
    struct rows functions = {0}, callers = {0};
    struct gt_table *data = gt_table_new();
    int status = collect_rows(trace, paths, &functions, &callers);
    gt_table_add_columns(data, columns, count);
    for (size_t i = 0; !of_callers && i < functions.count; i++)
        put_function(data, trace, &functions.row[i]);
    for (size_t i = 0; of_callers && i < callers.count; i++) {
        GT_CELLS(data, row_number(&functions, callers.row[i].key), row_number(&functions, callers.row[i].key + 3));
        put_figures(data, &callers.row[i]);
    }
    free(functions.row);
    free(callers.row);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, columns, count, "profile", error);
    gt_table_free(data);
    return gt_error_system(error, -status, "profile");
}
