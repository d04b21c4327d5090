/* The differences of two traces: names that only one has, and for the others how count and total time changed.
 *
 * Where both traces have at least four steps, the time of a name in each step of A is compared with that in each
 * step of B, steps without it counting 0, by a rank sum test; p is the chance of such a difference by accident in
 * this name, p_holm that in any of all names. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/diff_functions.h"
#include "analyse/trace/diff_steps.h"
#include "analyse/trace/diff_words.h"
#include "analyse/trace/lists.h"
#include "base/number.h"

struct side {
    struct gt_analysis_input input;
    struct gt_spans spans; /* keys: name, node, step + 1 (0: in none) */
    struct gt_spans steps; /* the steps that are there; keys: node, step + 1 */
};

/* One name on either side. */
struct pair {
    const char *name, *category;
    size_t from[2], to[2];
    double total[2], p, p_holm;
    bool is_uncounted;
    double each[2]; /* of a step where both sides have steps, else the total */
};

static int collect(struct side *side)
{
    const struct gt_trace_events *events = &side->input.trace->events;
    uint32_t first_step = GT_TRACE_NONE;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        uint32_t node = gt_analysis_node(&side->input, i),
                 step = events->step[i] < 0 ? 0 : (uint32_t)events->step[i] + 1;
        uint32_t name = gt_analysis_place(&side->input, events->name[i]);
        if (!gt_trace_is_slice(side->input.trace, i))
            continue;
        if (events->name[i] != GT_TRACE_NONE && gt_is_profiler_step(gt_trace_text(side->input.trace, events->name[i])))
            name = first_step = first_step == GT_TRACE_NONE ? name : first_step;
        status = gt_spans_add_event(&side->spans, side->input.trace, i, GT_SPAN_KEY(name, node, step));
        if (status >= 0 && step)
            status = gt_spans_add(&side->steps, (struct gt_keyed_span){.key = {node, step}});
    }
    gt_spans_sort(&side->spans);
    gt_spans_sort(&side->steps);
    gt_spans_unite(&side->steps, 2);
    return status;
}

static const char *name_at(const struct side *side, size_t span)
{
    const char *name = gt_analysis_text(&side->input, side->spans.span[span].key[0]);
    return gt_is_profiler_step(name) ? GT_PROFILER_STEP : name;
}

static void take(struct pair *pair, const struct side *side, int which, size_t *at)
{
    pair->from[which] = *at;
    *at = pair->to[which] = gt_spans_run(&side->spans, *at, 1);
    for (size_t i = pair->from[which]; i < pair->to[which]; i++)
        pair->total[which] += (double)(side->spans.span[i].end - side->spans.span[i].start) / 1e3;
    const struct gt_keyed_span *first = &side->spans.span[pair->from[which]];
    pair->name = name_at(side, pair->from[which]);
    pair->category = gt_trace_text(side->input.trace, side->input.trace->events.category[first->event]);
}

/* Both sides are sorted by name alike. */
static size_t match(const struct side side[2], struct pair *pair)
{
    size_t count = 0, at[2] = {0, 0};
    while (at[0] < side[0].spans.count || at[1] < side[1].spans.count) {
        int order = at[0] == side[0].spans.count   ? 1
                    : at[1] == side[1].spans.count ? -1
                                                   : strverscmp(name_at(&side[0], at[0]), name_at(&side[1], at[1]));
        pair[count] = (struct pair){0};
        if (order <= 0)
            take(&pair[count], &side[0], 0, &at[0]);
        if (order >= 0)
            take(&pair[count], &side[1], 1, &at[1]);
        count++;
    }
    return count;
}

static bool has_steps(const struct side side[2])
{
    return side[0].steps.count && side[1].steps.count;
}

static void find_each(const struct side side[2], struct pair *pair, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int which = 0; which < 2; which++)
            pair[i].each[which] = pair[i].total[which] / (has_steps(side) ? (double)side[which].steps.count : 1);
}

static int compare(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    double first = fabs(x->each[1] - x->each[0]), second = fabs(y->each[1] - y->each[0]);
    return first != second ? GT_ORDER(second, first) : strverscmp(x->name, y->name);
}

static int time_by_step(const struct side *side, const struct pair *pair, int which, struct gt_numbers *values)
{
    size_t with = 0;
    int status = 0;
    gt_numbers_clear(values);
    for (size_t i = pair->from[which]; i < pair->to[which] && status >= 0;) {
        size_t to = gt_spans_run(&side->spans, i, 3);
        double sum = 0;
        bool in_step = side->spans.span[i].key[2] > 0;
        for (; i < to; i++)
            sum += (double)(side->spans.span[i].end - side->spans.span[i].start);
        with += in_step;
        status = in_step ? gt_numbers_add(values, sum) : 0;
    }
    for (; with < side->steps.count && status >= 0; with++)
        status = gt_numbers_add(values, 0);
    return status;
}

/* All names are tested, whatever is shown. */
static int test(const struct side side[2], struct pair *pair, size_t count)
{
    struct gt_numbers values[2] = {{0}};
    double *p = calloc(count + 1, sizeof *p);
    int status = p ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && status >= 0; i++) {
        for (int which = 0; which < 2 && status >= 0; which++)
            status = time_by_step(&side[which], &pair[i], which, &values[which]);
        p[i] = pair[i].p = gt_significance(&values[0], &values[1]);
    }
    if (status >= 0)
        status = gt_significance_correct(p, count);
    for (size_t i = 0; i < count && status >= 0; i++)
        pair[i].p_holm = p[i];
    gt_numbers_release(&values[0]);
    gt_numbers_release(&values[1]);
    free(p);
    return status;
}

/* People see a small chance as one, not as none. */
static void add_chance_column(struct gt_table *table, const char *key, const char *title)
{
    gt_table_column(table, key, title, GT_CELL_NUMBER, NULL);
    gt_table_column_flags(table, GT_COLUMN_ONLY_DATA);
    gt_table_column(table, key, title, GT_CELL_TEXT, NULL);
    gt_table_column_flags(table, GT_COLUMN_ONLY_PEOPLE | GT_COLUMN_FIGURE);
}

static void add_chance(struct gt_table *table, double chance)
{
    char text[32];
    snprintf(text, sizeof text, chance < 0.001 ? "< 0.001" : "%.3f", chance);
    gt_table_number(table, chance);
    gt_table_text(table, isnan(chance) ? NULL : text);
}

/* Runs of different length are compared by the step, where both have steps. */
static bool is_same(const struct side side[2], const struct pair *pair, const size_t calls[2])
{
    size_t steps[2] = {1, 1};
    for (int which = 0; which < 2 && has_steps(side); which++)
        steps[which] = side[which].steps.count;
    return calls[0] * steps[1] == calls[1] * steps[0] &&
           fabs(pair->each[1] - pair->each[0]) <= 1e-9 * fmax(pair->each[0], pair->each[1]);
}

static void add_difference(struct gt_table *table, const double us[2], bool is_known)
{
    gt_table_number(table, is_known ? us[0] : NAN);
    gt_table_number(table, is_known ? us[1] : NAN);
    gt_table_number(table, is_known ? us[1] - us[0] : NAN);
    gt_table_number(table, is_known && us[0] > 0 ? 100 * (us[1] / us[0] - 1) : NAN);
}

static void add_rows(struct gt_table *table, const struct side side[2], const struct pair *pair, size_t count)
{
    gt_top_shown(table, GT_LIST_SHOWN);
    for (size_t i = 0; i < count; i++) {
        size_t calls[2] = {pair[i].to[0] - pair[i].from[0], pair[i].to[1] - pair[i].from[1]};
        gt_table_text(table, pair[i].name);
        gt_table_text(table, *pair[i].category ? pair[i].category : NULL);
        gt_table_text(table, !calls[0]                        ? "added"
                             : !calls[1]                      ? "removed"
                             : is_same(side, &pair[i], calls) ? "same"
                                                              : "changed");
        for (int which = 0; which < 2; which++)
            if (pair[i].is_uncounted)
                gt_table_missing(table);
            else
                gt_table_integer(table, (int64_t)calls[which]);
        add_difference(table, pair[i].total, true);
        add_difference(table, pair[i].each, has_steps(side));
        add_chance(table, pair[i].p);
        add_chance(table, pair[i].p_holm);
    }
}

/* People see the figures of a step where there are steps, else those of all. */
static struct gt_table *add_table(struct gt_node *root, const struct side side[2])
{
    struct gt_table *table = gt_analysis_table(root, "differences", "Differences",
                                               "kernel:name text:category text:change integer:count_a integer:count_b");
    gt_analysis_columns(table, "number:total_a_us number:total_b_us number:difference_us number:difference_percent",
                        has_steps(side) ? GT_COLUMN_ONLY_DATA : 0);
    gt_analysis_columns(table,
                        "number:step_a_us number:step_b_us number:step_difference_us number:step_difference_percent",
                        has_steps(side) ? 0 : GT_COLUMN_ONLY_DATA);
    add_chance_column(table, "p", "p");
    add_chance_column(table, "p_holm", "p holm");
    return table;
}

/* ---- in words ---- */

static enum gt_work work_of(const struct side side[2], const struct pair *pair)
{
    int which = pair->to[0] > pair->from[0] ? 0 : 1;
    return gt_analysis_work(&side[which].input, side[which].spans.span[pair->from[which]].event);
}

static bool is_gpu_work(enum gt_work work)
{
    return work == GT_WORK_KERNEL || work == GT_WORK_COPY || work == GT_WORK_SET;
}

/* Steps hold all the rest. Work of GPUs, or else operators, or else whatever there is, is told apart: they hold each other. */
static bool is_told(const struct side side[2], const struct pair *pair, int kind)
{
    enum gt_work work = work_of(side, pair);
    return strcmp(pair->name, GT_PROFILER_STEP) != 0 && (kind == 0   ? is_gpu_work(work)
                                                         : kind == 1 ? work == GT_WORK_OPERATOR
                                                                     : true);
}

static size_t take_changes(const struct side side[2], const struct pair *pair, size_t count, int kind,
                           struct gt_diff_change *change)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_told(side, &pair[i], kind))
            continue;
        struct gt_diff_change *next = &change[taken++];
        next->name = pair[i].name;
        for (int which = 0; which < 2; which++) {
            next->count[which] = pair[i].to[which] - pair[i].from[which];
            next->us[which] = pair[i].each[which];
        }
    }
    return taken;
}

/* What is told of the host in steps tells of its operators, too. */
static int add_kinds(const struct side side[2], const struct pair *pair, size_t count, bool is_host_told,
                     struct gt_buffer *words)
{
    static const char *const kinds[] = {"GPUs work", "Operators, with those inside them, take", "Events take"};
    struct gt_diff_change *change = calloc(count + 1, sizeof *change);
    size_t taken = 0;
    int kind = 0;
    if (!change)
        return -ENOMEM;
    while (kind < (is_host_told ? 1 : 3) && !(taken = take_changes(side, pair, count, kind, change)))
        kind++;
    if (taken) {
        const char *each = has_steps(side) ? " a step" : "";
        struct gt_diff_whole sum = gt_diff_sum(change, taken, kinds[kind], each);
        gt_buffer_text(words, words->length ? ". " : "");
        gt_diff_words(change, taken, &sum, each, words);
    }
    free(change);
    return 0;
}

static int add_words(struct gt_node *root, const struct side side[2], const struct pair *pair, size_t count)
{
    struct gt_buffer words = {0};
    const struct gt_analysis_input *const inputs[] = {&side[0].input, &side[1].input};
    int status = gt_diff_step_words(inputs, &words);
    if (status >= 0)
        status = add_kinds(side, pair, count, status == 2, &words);
    if (words.length)
        gt_report_text(root, "what_changed", "What changed", words.data);
    status = status < 0 ? status : words.failed;
    gt_buffer_release(&words);
    return status;
}

static int add_events(struct gt_node *root, const struct side side[2], struct gt_table **table)
{
    struct pair *pair = calloc(side[0].spans.count + side[1].spans.count + 1, sizeof *pair);
    if (!pair)
        return -ENOMEM;
    size_t count = match(side, pair);
    find_each(side, pair, count);
    qsort(pair, count, sizeof *pair, compare);
    int status = add_words(root, side, pair, count);
    *table = add_table(root, side);
    status = status < 0 ? status : test(side, pair, count);
    add_rows(*table, side, pair, count);
    free(pair);
    return status;
}

/* ---- traces that are profiles of functions ---- */

static int add_functions(struct gt_node *root, const struct side side[2], struct gt_table **table)
{
    const struct gt_analysis_input *const inputs[] = {&side[0].input, &side[1].input};
    struct gt_diff_functions functions;
    struct gt_buffer words = {0};
    int status = gt_diff_functions_find(inputs, &functions);
    struct pair *pair = status < 0 ? NULL : calloc(functions.count + 1, sizeof *pair);
    if (pair && functions.count) {
        struct gt_diff_whole sum = gt_diff_sum(functions.change, functions.count, "Functions take", "");
        gt_diff_words(functions.change, functions.count, &sum, "", &words);
        gt_report_text(root, "what_changed", "What changed", words.data);
    }
    for (size_t i = 0; pair && i < functions.count; i++) {
        const struct gt_diff_change *change = &functions.change[i];
        pair[i] = (struct pair){.name = change->name, .category = "function", .p = NAN, .p_holm = NAN};
        pair[i].is_uncounted = !functions.is_counted;
        memcpy(pair[i].to, change->count, sizeof pair[i].to);
        memcpy(pair[i].total, change->us, sizeof pair[i].total);
        memcpy(pair[i].each, change->us, sizeof pair[i].each);
    }
    *table = add_table(root, side);
    if (pair && functions.count) {
        qsort(pair, functions.count, sizeof *pair, compare);
        add_rows(*table, side, pair, functions.count);
    }
    status = status >= 0 && (!pair || words.failed) ? -ENOMEM : status;
    gt_buffer_release(&words);
    gt_diff_functions_release(&functions);
    free(pair);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    const struct gt_trace *const traces[] = {input->trace, input->other};
    struct side side[2] = {0};
    struct gt_table *table = NULL;
    int status = 0;
    for (int i = 0; i < 2 && status >= 0; i++) {
        status = gt_analysis_open(&side[i].input, traces[i], input->options);
        if (status >= 0)
            status = collect(&side[i]);
    }
    bool has_events = side[0].spans.count || side[1].spans.count;
    bool has_profiles = input->trace->profile_count || input->other->profile_count;
    if (status >= 0)
        status = !has_events && has_profiles ? add_functions(root, side, &table) : add_events(root, side, &table);
    gt_report_integer(root, "steps_a", "Steps of A", (int64_t)side[0].steps.count, NULL);
    gt_report_integer(root, "steps_b", "Steps of B", (int64_t)side[1].steps.count, NULL);
    gt_analysis_empty(root, table, "no events with durations, and no functions with times");
    for (int i = 0; i < 2; i++) {
        gt_analysis_close(&side[i].input);
        gt_spans_release(&side[i].spans);
        gt_spans_release(&side[i].steps);
    }
    return status;
}

const struct gt_analysis gt_analysis_diff = {
    .name = "diff",
    .help = "what the second of two traces does differently: names added, removed, changed, with a test over steps",
    .inputs = 2,
    .takes = GT_TAKES_TOP,
    .build = build,
};
