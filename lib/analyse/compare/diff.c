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

#include "analyse/calls/api.h"
#include "analyse/calls/functions.h"
#include "analyse/compare/diff_words.h"
#include "analyse/display.h"
#include "analyse/gpu/lists.h"
#include "analyse/trace/analysis.h"
#include "analyse/trace/training.h"
#include "base/number.h"
#include "trace/step_names.h"

struct side {
    struct gt_analysis_input input;
    uint32_t *name;        /* of a string: the place under which events of that name are counted */
    bool *is_step;         /* of a place: ranges that are steps */
    struct gt_spans spans; /* keys: name, node, step + 1 (0: in none) */
    struct gt_spans steps; /* the steps that are there; keys: node, step + 1 */
    double step_us;        /* how long a step takes; NaN: there are none */
};

/* One name on either side. */
struct pair {
    const char *name, *category;
    size_t from[2], to[2];
    double total[2], p, p_holm;
    bool is_uncounted, is_step;
    double each[2]; /* the total time of a step; NaN where a side has no steps */
};

/* Steps bear a name each, "ProfilerStep#3" or "epoch 1 step 3": those of a kind are one name. */
static int name_steps(struct side *side)
{
    const struct gt_trace *trace = side->input.trace;
    uint32_t count = trace->strings.count;
    side->name = calloc(count + (size_t)1, sizeof *side->name);
    side->is_step = calloc(count + (size_t)1, sizeof *side->is_step);
    bool *is_mode = calloc(count + (size_t)1, sizeof *is_mode);
    for (size_t i = 0; is_mode && i < trace->step_count; i++)
        if (trace->step[i].mode < count)
            is_mode[trace->step[i].mode] = true;
    for (uint32_t i = 0; i < count && side->name && side->is_step && is_mode; i++) {
        uint32_t kind = gt_step_kind(trace, i);
        kind = kind == GT_TRACE_NONE || !is_mode[kind] ? GT_TRACE_NONE : kind;
        side->name[i] = gt_analysis_place(&side->input, kind == GT_TRACE_NONE ? i : kind);
        side->is_step[side->name[i]] |= kind != GT_TRACE_NONE;
    }
    int status = side->name && side->is_step && is_mode ? 0 : -ENOMEM;
    free(is_mode);
    return status;
}

static void measure_steps(struct side *side)
{
    struct gt_spans spans = gt_step_spans(&side->input);
    double total = 0;
    for (size_t i = 0; i < spans.count; i++)
        total += (double)(spans.span[i].end - spans.span[i].start) / 1e3;
    side->step_us = spans.count ? total / (double)spans.count : NAN;
}

static int collect(struct side *side)
{
    const struct gt_trace_events *events = &side->input.trace->events;
    int status = name_steps(side);
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        uint32_t node = gt_analysis_node(&side->input, i),
                 step = events->step[i] < 0 ? 0 : (uint32_t)events->step[i] + 1;
        if (!gt_trace_is_slice(side->input.trace, i) || gt_analysis_work(&side->input, i) == GT_WORK_RECORDING)
            continue;
        uint32_t name = events->name[i] == GT_TRACE_NONE ? GT_TRACE_NONE : side->name[events->name[i]];
        status = gt_spans_add_event(&side->spans, side->input.trace, i, GT_SPAN_KEY(name, node, step));
        if (status >= 0 && step)
            status = gt_spans_add(&side->steps, (struct gt_keyed_span){.key = {node, step}});
    }
    gt_spans_sort(&side->spans);
    gt_spans_sort(&side->steps);
    gt_spans_unite(&side->steps, 2);
    measure_steps(side);
    return status;
}

static const char *name_at(const struct side *side, size_t span)
{
    return gt_analysis_text(&side->input, side->spans.span[span].key[0]);
}

static void take(struct pair *pair, const struct side *side, int which, size_t *at)
{
    pair->from[which] = *at;
    *at = pair->to[which] = gt_spans_run(&side->spans, *at, 1);
    for (size_t i = pair->from[which]; i < pair->to[which]; i++)
        pair->total[which] += (double)(side->spans.span[i].end - side->spans.span[i].start) / 1e3;
    const struct gt_keyed_span *first = &side->spans.span[pair->from[which]];
    pair->name = name_at(side, pair->from[which]);
    pair->is_step = side->is_step[first->key[0]];
    pair->category = gt_trace_text(side->input.trace, side->input.trace->events.category[first->event]);
}

static void share_out(struct pair *pair, const struct side side[2])
{
    bool has_steps = side[0].steps.count && side[1].steps.count;
    for (int which = 0; which < 2; which++)
        pair->each[which] = has_steps ? pair->total[which] / (double)side[which].steps.count : NAN;
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
        share_out(&pair[count++], side);
    }
    return count;
}

/* Where both sides have steps, one may have more of them. */
static double change_of(const struct pair *pair)
{
    return isnan(pair->each[0]) ? pair->total[1] - pair->total[0] : pair->each[1] - pair->each[0];
}

static int compare(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    double first = fabs(change_of(x)), second = fabs(change_of(y));
    return first != second ? GT_ORDER(second, first) : strverscmp(x->name, y->name);
}

static int time_by_step(const struct side *side, const struct pair *pair, int which, struct gt_numbers *values)
{
    size_t with = 0;
    int status = 0;
    gt_numbers_clear(values);
    for (size_t i = pair->from[which]; i < pair->to[which] && status >= 0;) {
        size_t to = gt_spans_run(&side->spans, i, 3);
        bool in_step = side->spans.span[i].key[2] > 0;
        with += in_step;
        status = in_step ? gt_numbers_add(values, (double)gt_spans_total(&side->spans, i, to)) : 0;
        i = to;
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
    gt_display_column(table, key, title, GT_CELL_NUMBER, NULL, GT_COLUMN_ONLY_DATA);
    gt_display_column(table, key, title, GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_PEOPLE | GT_COLUMN_FIGURE);
}

static void add_chance(struct gt_table *table, double chance)
{
    char text[32];
    snprintf(text, sizeof text, chance < 0.001 ? "< 0.001" : "%.3f", chance);
    GT_CELLS(table, chance, isnan(chance) ? NULL : text);
}

static void add_figures(struct gt_table *table, const double of[2])
{
    GT_CELLS(table, of[0], of[1], of[1] - of[0], of[0] > 0 ? 100 * (of[1] / of[0] - 1) : NAN);
}

static const char *kind_of(const struct pair *pair, const struct side side[2])
{
    double calls[2] = {(double)(pair->to[0] - pair->from[0]), (double)(pair->to[1] - pair->from[1])};
    bool has_steps = !isnan(pair->each[0]);
    for (int which = 0; which < 2 && has_steps; which++)
        calls[which] /= (double)side[which].steps.count;
    bool is_same = calls[0] == calls[1] && fabs(change_of(pair)) <= 1e-9 * (pair->total[0] + pair->total[1]);
    return calls[0] <= 0 ? "added" : calls[1] <= 0 ? "removed" : is_same ? "same" : "changed";
}

static void add_rows(struct gt_table *table, const struct side side[2], const struct pair *pair, size_t count)
{
    gt_top_shown(table, GT_LIST_SHOWN);
    for (size_t i = 0; i < count; i++) {
        GT_CELLS(table, pair[i].name, *pair[i].category ? pair[i].category : NULL, kind_of(&pair[i], side));
        for (int which = 0; which < 2; which++)
            gt_integer_if(table, !pair[i].is_uncounted, (int64_t)(pair[i].to[which] - pair[i].from[which]));
        add_figures(table, pair[i].total);
        add_figures(table, pair[i].each);
        add_chance(table, pair[i].p);
        add_chance(table, pair[i].p_holm);
    }
}

/* People see the figures of a step, or those of all where there are no steps. */
static struct gt_table *add_table(struct gt_node *root, bool has_steps)
{
    struct gt_table *table = gt_analysis_table(root, "differences", "Differences",
                                               "kernel:name text:category text:change integer:count_a integer:count_b");
    gt_analysis_columns(table, "number:total_a_us number:total_b_us number:difference_us number:difference_percent",
                        has_steps ? GT_COLUMN_ONLY_DATA : 0);
    gt_analysis_columns(table,
                        "number:step_a_us number:step_b_us number:step_difference_us number:step_difference_percent",
                        has_steps ? 0 : GT_COLUMN_ONLY_DATA);
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

/* What is told of: work of GPUs; what the host does in steps; else operators; else whatever there is. They hold each other. */
enum kind { OF_GPUS, OF_HOST, OPERATORS, ALL };

static bool is_told(const struct side side[2], const struct pair *pair, enum kind kind)
{
    enum gt_work work = work_of(side, pair);
    if (pair->is_step)
        return false;
    switch (kind) {
    case OF_GPUS: return is_gpu_work(work);
    case OF_HOST:
        return !is_gpu_work(work) &&
               gt_api_kind(pair->name) != GT_API_SYNCHRONIZATION; /* GPUs tell what they wait for */
    case OPERATORS: return work == GT_WORK_OPERATOR;
    default: return true;
    }
}

static size_t take_changes(const struct side side[2], const struct pair *pair, size_t count, enum kind kind,
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
            next->us[which] = isnan(pair[i].each[which]) ? pair[i].total[which] : pair[i].each[which];
        }
    }
    return taken;
}

/* Steps may take longer though GPUs do the same work: their length is told first, with what the host did otherwise. */
static bool write_steps(const struct side side[2], const struct pair *pair, size_t count, struct gt_diff_change *change,
                        struct gt_buffer *words)
{
    const double whole[2] = {side[0].step_us, side[1].step_us};
    if (!(whole[0] > 0 && whole[1] > 0))
        return false;
    size_t taken = take_changes(side, pair, count, OF_HOST, change);
    gt_diff_words(change, taken, "A step takes", "", " a step", whole, words);
    return true;
}

static void write_work(const struct side side[2], const struct pair *pair, size_t count, enum kind least,
                       struct gt_diff_change *change, struct gt_buffer *words)
{
    static const struct {
        enum kind kind;
        const char *words;
    } told[] = {{OF_GPUS, "GPUs work"}, {OPERATORS, "Operators, with those inside them, take"}, {ALL, "Events take"}};
    const char *each = isnan(pair->each[0]) ? "" : " a step";
    size_t taken = 0, kind = 0;
    for (; kind < sizeof told / sizeof *told && told[kind].kind <= least && !taken; kind++)
        taken = take_changes(side, pair, count, told[kind].kind, change);
    if (!taken)
        return;
    gt_buffer_text(words, words->length ? ". " : "");
    gt_diff_words(change, taken, told[kind - 1].words, each, each, NULL, words);
}

static int add_words(struct gt_node *root, const struct side side[2], const struct pair *pair, size_t count)
{
    struct gt_diff_change *change = calloc(count + 1, sizeof *change);
    struct gt_buffer words = {0};
    if (!change)
        return -ENOMEM;
    bool has_steps = write_steps(side, pair, count, change, &words);
    if (count)
        write_work(side, pair, count, has_steps ? OF_GPUS : ALL, change, &words);
    if (words.length)
        gt_report_text(root, "words", "What changed", words.data);
    int status = words.failed;
    gt_buffer_release(&words);
    free(change);
    return status;
}

static int add_events(struct gt_node *root, const struct side side[2], struct gt_table **table)
{
    struct pair *pair = calloc(side[0].spans.count + side[1].spans.count + 1, sizeof *pair);
    if (!pair)
        return -ENOMEM;
    size_t count = match(side, pair);
    GT_SORT(pair, count, compare);
    int status = add_words(root, side, pair, count);
    *table = add_table(root, side[0].steps.count && side[1].steps.count);
    status = status < 0 ? status : test(side, pair, count);
    add_rows(*table, side, pair, count);
    free(pair);
    return status;
}

/* ---- traces that are profiles of functions ---- */

struct function {
    const char *file, *name, *title;
    uint32_t line;
    double calls, us;
};

struct function_side {
    struct function *function;
    size_t count;
};

static int by_name(const struct function *x, const struct function *y)
{
    int order = strcmp(x->file, y->file);
    return order ? order : strcmp(x->name, y->name);
}

static int by_place(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return GT_ORDER_BY(by_name(x, y), GT_ORDER(x->line, y->line));
}

static const char *text_at(const struct gt_analysis_input *input, uint32_t place)
{
    const char *text = gt_analysis_text(input, place);
    return text ? text : "";
}

static struct function_side collect_functions(const struct gt_analysis_input *input)
{
    struct gt_rows rows = gt_functions_of_dumps(input, GT_DUMPS_ALL, GT_PROFILE_SECONDS, NULL);
    rows = gt_functions_sum(&rows);
    const char **title = gt_function_titles(input, &rows, "title");
    const uint32_t *file = gt_rows_keys(&rows, "file"), *name = gt_rows_keys(&rows, "name");
    const uint32_t *line = gt_rows_keys(&rows, "line");
    const double *calls = gt_rows_reals(&rows, "ncalls"), *seconds = gt_rows_reals(&rows, "tottime");
    struct function_side side = {gt_query_memory(input->query, rows.count, sizeof *side.function), 0};
    for (; side.function && side.count < rows.count; side.count++) {
        size_t i = side.count;
        side.function[i] = (struct function){
            text_at(input, file[i]), text_at(input, name[i]), title[i], line[i], calls[i], 1e6 * seconds[i]};
    }
    GT_SORT(side.function, side.count, by_place);
    return side;
}

static size_t end_of_name(const struct function_side *side, size_t from, const struct function *like)
{
    while (from < side->count && by_name(&side->function[from], like) == 0)
        from++;
    return from;
}

/* A function whose calls are not counted counts as 1. */
static void take_function(struct pair *pair, const struct function *function, int side)
{
    pair->name = function->title;
    pair->is_uncounted |= isnan(function->calls);
    pair->to[side] = isnan(function->calls) ? 1 : (size_t)function->calls;
    pair->total[side] = isnan(function->us) ? 0 : function->us;
}

/* Functions of one file and name are one, though their lines have moved, where both sides have as many of them; else those
 * of the same line are. Returns how many pairs there are. */
static size_t match_functions(const struct function_side side[2], struct pair *pair)
{
    size_t at[2] = {0, 0}, count = 0;
    while (at[0] < side[0].count || at[1] < side[1].count) {
        const struct function *first[2];
        for (int i = 0; i < 2; i++)
            first[i] = at[i] < side[i].count ? &side[i].function[at[i]] : NULL;
        int order = !first[0] ? 1 : !first[1] ? -1 : by_name(first[0], first[1]);
        const struct function *like = order <= 0 ? first[0] : first[1];
        size_t end[2] = {end_of_name(&side[0], at[0], like), end_of_name(&side[1], at[1], like)};
        bool is_in_order = end[0] - at[0] == end[1] - at[1];
        while (at[0] < end[0] || at[1] < end[1]) {
            uint32_t line[2] = {at[0] < end[0] ? side[0].function[at[0]].line : UINT32_MAX,
                                at[1] < end[1] ? side[1].function[at[1]].line : UINT32_MAX};
            pair[count] = (struct pair){.category = "function", .p = NAN, .p_holm = NAN, .each = {NAN, NAN}};
            for (int i = 0; i < 2; i++)
                if (at[i] < end[i] && (is_in_order || line[i] <= line[!i]))
                    take_function(&pair[count], &side[i].function[at[i]++], i);
            count++;
        }
    }
    return count;
}

static void add_functions(struct gt_node *root, const struct side side[2], struct gt_table **table)
{
    const struct function_side of[] = {collect_functions(&side[0].input), collect_functions(&side[1].input)};
    size_t count = of[0].count + of[1].count;
    struct pair *pair = gt_query_memory(side[0].input.query, count, sizeof *pair);
    struct gt_diff_change *change = gt_query_memory(side[0].input.query, count, sizeof *change);
    struct gt_buffer words = {0};
    bool is_uncounted = false;
    count = change ? match_functions(of, pair) : 0;
    for (size_t i = 0; i < count; i++)
        is_uncounted |= pair[i].is_uncounted;
    for (size_t i = 0; i < count; i++) {
        pair[i].is_uncounted = is_uncounted;
        change[i] = (struct gt_diff_change){
            pair[i].name, {pair[i].to[0], pair[i].to[1]}, {pair[i].total[0], pair[i].total[1]}};
    }
    if (count) {
        gt_diff_words(change, count, "Functions take", "", "", NULL, &words);
        gt_report_text(root, "words", "What changed", words.failed ? "" : words.data);
        GT_SORT(pair, count, compare);
    }
    *table = add_table(root, false);
    add_rows(*table, side, pair, count);
    gt_buffer_release(&words);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
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
    if (status >= 0 && !has_events && has_profiles)
        add_functions(root, side, &table);
    else if (status >= 0)
        status = add_events(root, side, &table);
    for (int i = 0; i < 2 && status >= 0; i++)
        status = gt_query_status(side[i].input.query);
    gt_report_integer(root, "steps_a", "Steps of A", (int64_t)side[0].steps.count, NULL);
    gt_report_integer(root, "steps_b", "Steps of B", (int64_t)side[1].steps.count, NULL);
    gt_analysis_empty(root, table, "no events with durations, and no functions with times");
    for (int i = 0; i < 2; i++) {
        gt_analysis_close(&side[i].input);
        gt_spans_release(&side[i].spans);
        gt_spans_release(&side[i].steps);
        free(side[i].name);
        free(side[i].is_step);
    }
    return status;
}

const struct gt_analysis gt_analysis_diff = {
    .name = "diff",
    .group = "compare",
    .help = "what the second of two traces does differently: names added, removed, changed, with a test over steps",
    .inputs = 2,
    .takes = GT_TAKES_TOP,
    .judges = true,
    .build = build,
};
