/* Python functions of cProfile's and pyinstrument's dumps, added up over the dumps that the bounds allow, the costliest first,
 * and who called those.
 *
 * A dump belongs to a time or step interval when the two overlap; a dump that contains the interval does. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/lists.h"

static const char *const profilers[] = {"cprofile", "pyinstrument"};

/* The keys by which pstats sorts, too. */
enum { TOTAL_TIME, CUMULATIVE_TIME, PRIMITIVE_CALLS, TOTAL_CALLS, KEYS };
static const char *const keys[KEYS] = {"tottime", "cumtime", "pcalls", "ncalls"};

struct entry {
    uint32_t key[4]; /* profiler, file, function as places, line */
    double figure[KEYS];
    const struct gt_trace_profile *profile;
    size_t function;
};

static const char *const parts[] = {"initialization", "training_loop", "finalization", NULL};

/* Before step 0 is initialization, after the last step is finalization. */
static const char *part_of(const struct gt_analysis_input *input, const struct gt_trace_profile *profile)
{
    const char *start = gt_trace_text(input->trace, profile->start_mode);
    const char *end = gt_trace_text(input->trace, profile->end_mode);
    if (strcmp(start, "prestepzero") == 0 || profile->start_step < 0)
        return parts[0];
    if (strcmp(end, "posthookclose") == 0 || isinf(profile->end_step))
        return parts[2];
    return parts[1];
}

/* --phase names modes ("train") and parts of the job. */
static bool is_wanted(const struct gt_analysis_input *input, const struct gt_trace_profile *profile)
{
    const char *const *phase = input->options->phases;
    if (!phase || !*phase)
        return true;
    for (; *phase; phase++)
        if (strcmp(*phase, gt_trace_text(input->trace, profile->start_mode)) == 0 ||
            strcmp(*phase, part_of(input, profile)) == 0)
            return true;
    return false;
}

static struct entry entry_of(const struct gt_analysis_input *input, const struct gt_trace_profile *profile,
                             size_t number)
{
    const struct gt_trace_function *function = &profile->function[number];
    bool counted = function->total_calls >= 0;
    return (struct entry){
        .key = {profile->profiler, gt_analysis_place(input, function->file),
                gt_analysis_place(input, function->function), (uint32_t)function->line},
        .figure = {function->total_time, function->cumulative_time, counted ? (double)function->primitive_calls : NAN,
                   counted ? (double)function->total_calls : NAN},
        .profile = profile,
        .function = number,
    };
}

static int compare_keys(const struct entry *a, const struct entry *b)
{
    for (size_t i = 0; i < 4; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

static int by_function(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = compare_keys(x, y);
    return order ? order : (x->profile > y->profile) - (x->profile < y->profile);
}

static int by_figure(const void *a, const void *b, void *context)
{
    const struct entry *x = a, *y = b;
    int key = *(int *)context;
    if (x->key[0] != y->key[0])
        return x->key[0] < y->key[0] ? -1 : 1;
    if (x->figure[key] != y->figure[key] && !(isnan(x->figure[key]) && isnan(y->figure[key])))
        return isnan(x->figure[key]) || x->figure[key] < y->figure[key] ? 1 : -1;
    return compare_keys(x, y);
}

/* pstats' way: "file:line(function)", and the bare name in braces for what is built in. */
static const char *display_name(const struct gt_analysis_input *input, const struct entry *entry,
                                struct gt_buffer *text)
{
    const char *file = gt_analysis_text(input, entry->key[1]), *function = gt_analysis_text(input, entry->key[2]);
    gt_buffer_clear(text);
    if (file && strcmp(file, "~") == 0 && entry->key[3] == 0) {
        size_t length = strlen(function);
        bool bracketed = length > 1 && function[0] == '<' && function[length - 1] == '>';
        gt_buffer_printf(text, "{%.*s}", (int)(bracketed ? length - 2 : length), function + bracketed);
    } else {
        gt_buffer_printf(text, "%s:%u(%s)", file ? file : "", entry->key[3], function ? function : "");
    }
    return text->data;
}

static void add_row(const struct gt_analysis_input *input, struct gt_node *table, const struct entry *entry)
{
    struct gt_buffer text = {0};
    gt_table_text(table, profilers[entry->key[0]]);
    gt_table_text(table, display_name(input, entry, &text));
    gt_table_number(table, entry->figure[PRIMITIVE_CALLS]);
    gt_table_number(table, entry->figure[TOTAL_CALLS]);
    gt_table_number(table, entry->figure[TOTAL_TIME]);
    gt_table_number(table, entry->figure[CUMULATIVE_TIME]);
    gt_buffer_release(&text);
}

/* Narrow sorted entries to those of one function. */
static const struct entry *same_function(const struct entry *all, size_t *count, const struct entry *wanted)
{
    size_t low = 0, high = *count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(&all[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < *count && compare_keys(&all[high], wanted) == 0)
        high++;
    *count = high - low;
    return all + low;
}

/* All dumps' callers of one function, added up caller by caller. */
static int add_callers(const struct gt_analysis_input *input, struct gt_node *table, const struct entry *all,
                       size_t count, const struct entry *callee)
{
    size_t callers = 0, kept = 0;
    struct gt_buffer text = {0}, of = {0};
    all = same_function(all, &count, callee);
    for (size_t i = 0; i < count; i++)
        callers += all[i].profile->function[all[i].function].callers;
    struct entry *caller = calloc(callers + 1, sizeof *caller);
    for (size_t i = 0; caller && i < count; i++) {
        const struct gt_trace_profile *profile = all[i].profile;
        const struct gt_trace_function *function = &profile->function[all[i].function];
        for (uint32_t j = 0; j < function->callers; j++) {
            const struct gt_trace_caller *from = &profile->caller[function->caller + j];
            if (from->function == GT_TRACE_NONE)
                continue;
            caller[kept] = entry_of(input, profile, from->function);
            caller[kept].figure[TOTAL_TIME] = from->total_time;
            caller[kept].figure[CUMULATIVE_TIME] = from->cumulative_time;
            caller[kept].figure[PRIMITIVE_CALLS] = from->primitive_calls < 0 ? NAN : (double)from->primitive_calls;
            caller[kept++].figure[TOTAL_CALLS] = from->total_calls < 0 ? NAN : (double)from->total_calls;
        }
    }
    if (caller)
        qsort(caller, kept, sizeof *caller, by_function);
    for (size_t from = 0, to; caller && from < kept; from = to) {
        for (to = from + 1; to < kept && compare_keys(&caller[from], &caller[to]) == 0; to++)
            for (int i = 0; i < KEYS; i++)
                caller[from].figure[i] += caller[to].figure[i];
        gt_table_text(table, display_name(input, callee, &of));
        gt_table_text(table, display_name(input, &caller[from], &text));
        gt_table_number(table, caller[from].figure[TOTAL_CALLS]);
        gt_table_number(table, caller[from].figure[TOTAL_TIME]);
        gt_table_number(table, caller[from].figure[CUMULATIVE_TIME]);
    }
    gt_buffer_release(&text);
    gt_buffer_release(&of);
    free(caller);
    return caller ? 0 : -ENOMEM;
}

static size_t collect(const struct gt_analysis_input *input, struct entry *entry)
{
    size_t count = 0;
    for (size_t i = 0; i < input->trace->profile_count; i++) {
        const struct gt_trace_profile *profile = &input->trace->profile[i];
        for (size_t j = 0; is_wanted(input, profile) && j < profile->function_count; j++)
            entry[count++] = entry_of(input, profile, j);
    }
    qsort(entry, count, sizeof *entry, by_function);
    return count;
}

static int add_tables(const struct gt_analysis_input *input, struct gt_node *root, int key, struct entry *sum,
                      const struct entry *all, size_t count)
{
    struct gt_node *table = gt_analysis_table(root, "functions", "Functions",
                                              "text:profiler text:function number:pcalls number:ncalls "
                                              "number:tottime_seconds number:cumtime_seconds");
    struct gt_node *callers = gt_analysis_table(
        root, "callers", "Callers",
        "text:function text:caller number:ncalls number:tottime_seconds number:cumtime_seconds");
    size_t rows = 0, of_profiler = 0;
    int status = 0;
    for (size_t from = 0, to; from < count; from = to) {
        sum[rows] = all[from];
        for (to = from + 1; to < count && compare_keys(&all[from], &all[to]) == 0; to++)
            for (int i = 0; i < KEYS; i++)
                sum[rows].figure[i] += all[to].figure[i];
        rows++;
    }
    qsort_r(sum, rows, sizeof *sum, by_figure, &key);
    for (size_t i = 0; i < rows && status >= 0; i++) {
        of_profiler = i && sum[i].key[0] == sum[i - 1].key[0] ? of_profiler + 1 : 0;
        if (of_profiler >= gt_list_top(input, 20))
            continue;
        add_row(input, table, &sum[i]);
        status = add_callers(input, callers, all, count, &sum[i]);
    }
    gt_analysis_empty(root, table, "no Python profiles");
    gt_node_flags(callers, GT_ONLY_DATA);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    size_t count = 0;
    int key = 0;
    while (input->options->key && key < KEYS && strcmp(keys[key], input->options->key) != 0)
        key++;
    if (key == KEYS)
        return gt_error_set(error, EINVAL, "key '%s' is not one of tottime, cumtime, pcalls, ncalls",
                            input->options->key);
    for (size_t i = 0; i < input->trace->profile_count; i++)
        count += input->trace->profile[i].function_count;
    struct entry *all = calloc(count + 1, sizeof *all), *sum = calloc(count + 1, sizeof *sum);
    int status = all && sum ? add_tables(input, root, key, sum, all, collect(input, all)) : -ENOMEM;
    free(all);
    free(sum);
    return status;
}

const struct gt_analysis gt_analysis_functions = {
    .name = "functions",
    .help =
        "Python functions of cProfile and pyinstrument; --top, --key tottime|cumtime|pcalls|ncalls, --phase train or "
        "initialization, training_loop, finalization",
    .of_profiles = true,
    .build = build,
};
