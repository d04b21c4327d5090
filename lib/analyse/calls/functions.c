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
#include "analyse/views.h"
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

/* The number of a group; a new one is added at the end. */
static uint32_t group_of(struct gt_query *query, const char **titles, size_t *count, const char *title)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(titles[i], title) == 0)
            return (uint32_t)i;
    titles[*count] = gt_query_text(query, title);
    return (uint32_t)(*count)++;
}

/* Wanted dumps in the order of time, with their groups: dump group. */
static struct gt_rows find_dumps(const struct gt_analysis_input *input, enum gt_dump_group by,
                                 enum gt_profile_unit unit, const char *const *paths)
{
    const struct gt_trace *trace = input->trace;
    const char **titles = gt_query_memory(input->query, trace->profile_count, sizeof *titles);
    struct gt_rows rows = gt_rows_new(input->query, trace->profile_count);
    uint32_t *dump = gt_rows_add_keys(&rows, "dump", NULL), *group = NULL;
    int64_t *start = gt_rows_add_wholes(&rows, "start");
    struct gt_buffer title = {0};
    size_t count = 0, groups = 0;
    for (size_t i = 0; i < rows.count; i++)
        if (is_wanted(input, &trace->profile[i], unit) && is_chosen(trace, &trace->profile[i], paths)) {
            dump[count] = (uint32_t)i;
            start[count++] = trace->profile[i].start;
        }
    rows.count = count;
    gt_rows_sort(&rows, "start");
    dump = gt_rows_keys(&rows, "dump");
    group = gt_rows_add_keys(&rows, "group", titles);
    for (size_t i = 0; i < rows.count; i++) {
        write_group(input, by, &trace->profile[dump[i]], &title);
        group[i] = by == GT_DUMPS_ALL ? GT_NO_KEY
                                      : group_of(input->query, titles, &groups, title.length ? title.data : "");
    }
    if (title.failed)
        gt_query_fail(input->query, -ENOMEM);
    gt_buffer_release(&title);
    return rows;
}

/* ---- adding up ---- */

#define PLACE "file name line"
#define KEYS "group profiler " PLACE
#define FIGURES "tottime cumtime pcalls ncalls"

static const struct gt_aggregate sums_of_figures[] = {GT_SUM("tottime", "tottime"),
                                                      GT_SUM("cumtime", "cumtime"),
                                                      GT_SUM("pcalls", "pcalls"),
                                                      GT_SUM("ncalls", "ncalls"),
                                                      {.as = NULL}};

/* Cells of rows of functions. */
struct cells {
    uint32_t *dump, *index, *group, *profiler, *file, *name, *line;
    double *own, *all, *primitive, *total;
};

static struct cells add_columns(struct gt_rows *rows)
{
    return (struct cells){
        gt_rows_add_keys(rows, "dump", NULL),  gt_rows_add_keys(rows, "index", NULL),
        gt_rows_add_keys(rows, "group", NULL), gt_rows_add_keys(rows, "profiler", gt_trace_profiler_names),
        gt_rows_add_keys(rows, "file", NULL),  gt_rows_add_keys(rows, "name", NULL),
        gt_rows_add_keys(rows, "line", NULL),  gt_rows_add_reals(rows, "tottime"),
        gt_rows_add_reals(rows, "cumtime"),    gt_rows_add_reals(rows, "pcalls"),
        gt_rows_add_reals(rows, "ncalls"),
    };
}

static double count_of(int64_t calls)
{
    return calls < 0 ? NAN : (double)calls;
}

static void put_place(const struct gt_analysis_input *input, const struct cells *cells, size_t row, uint32_t dump,
                      size_t index)
{
    const struct gt_trace_profile *profile = &input->trace->profile[dump];
    const struct gt_trace_function *function = &profile->function[index];
    cells->dump[row] = dump;
    cells->index[row] = (uint32_t)index;
    cells->profiler[row] = profile->profiler;
    cells->file[row] = gt_analysis_place(input, function->file);
    cells->name[row] = gt_analysis_place(input, function->function);
    cells->line[row] = (uint32_t)function->line;
}

/* Named as a caller, and not profiled itself or left out. */
static bool is_only_caller(const struct gt_trace_function *function)
{
    return function->total_calls < 0 && isnan(function->total_time);
}

struct gt_rows gt_functions_of_dumps(const struct gt_analysis_input *input, enum gt_dump_group by,
                                     enum gt_profile_unit unit, const char *const *paths)
{
    struct gt_rows dumps = find_dumps(input, by, unit, paths);
    const uint32_t *dump = gt_rows_keys(&dumps, "dump"), *group = gt_rows_keys(&dumps, "group");
    size_t count = 0;
    for (size_t i = 0; i < dumps.count; i++)
        count += input->trace->profile[dump[i]].function_count;
    struct gt_rows rows = gt_rows_new(input->query, count);
    struct cells cells = add_columns(&rows);
    count = 0;
    for (size_t i = 0; i < dumps.count && rows.count; i++)
        for (size_t j = 0; j < input->trace->profile[dump[i]].function_count; j++) {
            const struct gt_trace_function *function = &input->trace->profile[dump[i]].function[j];
            if (is_only_caller(function))
                continue;
            put_place(input, &cells, count, dump[i], j);
            cells.group[count] = group[i];
            cells.own[count] = function->total_time;
            cells.all[count] = function->cumulative_time;
            cells.primitive[count] = function->total_calls < 0 ? NAN : (double)function->primitive_calls;
            cells.total[count++] = count_of(function->total_calls);
        }
    rows.count = count;
    gt_rows_find_of(&rows, "group", strlen("group"))->words = gt_rows_find(&dumps, "group")->words;
    return rows;
}

struct gt_rows gt_functions_sum(const struct gt_rows *rows)
{
    return gt_rows_group(rows, KEYS, sums_of_figures);
}

struct gt_rows gt_function_callers(const struct gt_analysis_input *input, const struct gt_rows *of_dumps,
                                   struct gt_rows *functions)
{
    uint32_t *item = gt_rows_add_keys(functions, "item", NULL);
    for (size_t i = 0; i < functions->count; i++)
        item[i] = (uint32_t)i;
    struct gt_rows callees = *of_dumps, sorted = *functions;
    gt_rows_sort(&sorted, KEYS);
    gt_rows_join(&callees, &sorted, KEYS, "item");
    callees = gt_rows_known(&callees, "item");
    const uint32_t *dump = gt_rows_keys(&callees, "dump"), *index = gt_rows_keys(&callees, "index");
    const uint32_t *callee = gt_rows_keys(&callees, "item");
    size_t count = 0;
    for (size_t i = 0; i < callees.count; i++)
        count += input->trace->profile[dump[i]].function[index[i]].callers;
    struct gt_rows rows = gt_rows_new(input->query, count);
    struct cells cells = add_columns(&rows);
    item = gt_rows_add_keys(&rows, "item", NULL);
    count = 0;
    for (size_t i = 0; i < callees.count && rows.count; i++) {
        const struct gt_trace_profile *profile = &input->trace->profile[dump[i]];
        const struct gt_trace_function *function = &profile->function[index[i]];
        for (uint32_t j = 0; j < function->callers; j++) {
            const struct gt_trace_caller *from = &profile->caller[function->caller + j];
            if (from->function == GT_TRACE_NONE)
                continue;
            put_place(input, &cells, count, dump[i], from->function);
            item[count] = callee[i];
            cells.own[count] = from->total_time;
            cells.all[count] = from->cumulative_time;
            cells.primitive[count] = count_of(from->primitive_calls);
            cells.total[count++] = count_of(from->total_calls);
        }
    }
    rows.count = count;
    return gt_rows_group(&rows, "item " PLACE, sums_of_figures);
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

const char **gt_function_titles(const struct gt_analysis_input *input, struct gt_rows *rows, const char *as)
{
    const uint32_t *file = gt_rows_keys(rows, "file"), *name = gt_rows_keys(rows, "name");
    const uint32_t *line = gt_rows_keys(rows, "line");
    const char **titles = gt_query_memory(input->query, rows->count, sizeof *titles);
    uint32_t *title = gt_rows_add_keys(rows, as, titles);
    struct gt_buffer text = {0};
    for (size_t i = 0; i < rows->count; i++) {
        const char *of = gt_analysis_text(input, file[i]), *function = gt_analysis_text(input, name[i]);
        title[i] = (uint32_t)i;
        titles[i] = gt_query_text(input->query, function_name(of ? of : "", line[i], function ? function : "", &text));
    }
    gt_buffer_release(&text);
    return titles;
}

/* ---- the report ---- */

#define GROUP "text:group "

struct listing {
    const struct gt_analysis_input *input;
    struct gt_node *root;
    enum gt_dump_group by;
    const char *order;
};

/* Columns begin with GROUP. */
static const char *columns_of(const struct listing *listing, const char *columns)
{
    return listing->by == GT_DUMPS_ALL ? columns + strlen(GROUP) : columns;
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
        GT_CELLS(table, trace->file[profile->file].path, gt_trace_profiler_names[profile->profiler]);
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            gt_table_text(table, texts[j] == GT_TRACE_NONE ? NULL : gt_trace_text(trace, texts[j]));
        GT_CELLS(table, isinf(profile->end_step) && profile->start_step > profile->end_step ? NAN : profile->start_step,
                 isinf(profile->end_step) ? NAN : profile->end_step, profile->function_count);
    }
    gt_table_flags(table, GT_ONLY_DATA);
}

/* The first rows of each profiler's and group's. */
static struct gt_rows first_of_each(const struct gt_rows *rows, size_t most)
{
    bool *is_wanted = gt_query_memory(rows->query, rows->count, sizeof *is_wanted);
    for (size_t from = 0, to; is_wanted && from < rows->count; from = to) {
        to = gt_rows_run(rows, "group profiler", from);
        for (size_t i = from; i < to; i++)
            is_wanted[i] = i - from < most;
    }
    return gt_rows_filter(rows, is_wanted);
}

static struct gt_table *add_times(const struct listing *listing)
{
    const struct gt_analysis_input *input = listing->input;
    struct gt_rows of_dumps = gt_functions_of_dumps(input, listing->by, GT_PROFILE_SECONDS, NULL);
    struct gt_rows all = gt_functions_sum(&of_dumps);
    gt_rows_sort(&all, listing->order);
    struct gt_rows rows = first_of_each(&all, gt_list_top(input, GT_LIST_SHOWN));
    gt_function_titles(input, &rows, "function");
    struct gt_rows callers = gt_function_callers(input, &of_dumps, &rows);
    gt_function_titles(input, &callers, "caller");
    gt_rows_join(&callers, &rows, "item", "group function");
    struct gt_rows *const tables[] = {&rows, &callers};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        gt_rows_rename(tables[i], "tottime", "tottime_seconds");
        gt_rows_rename(tables[i], "cumtime", "cumtime_seconds");
    }
    struct gt_table *functions = gt_rows_put(
        input, listing->root, "functions", "Functions", &rows,
        columns_of(listing, GROUP "text:profiler text:function integer:pcalls integer:ncalls number:tottime_seconds "
                                  "number:cumtime_seconds"),
        NULL);
    if (all.count)
        gt_top_left_out(functions, all.count - rows.count);
    struct gt_table *table = gt_rows_put(input, listing->root, "callers", "Callers", &callers,
                                         columns_of(listing, GROUP
                                                    "text:function text:caller integer:ncalls number:tottime_seconds "
                                                    "number:cumtime_seconds"),
                                         NULL);
    gt_top_left_out(table, 0);
    gt_table_flags(table, GT_ONLY_DATA);
    return functions;
}

/* Samplers that know no times count samples, bytes or allocations: self total self_percent unit measure. */
static struct gt_rows find_weights(const struct listing *listing, enum gt_profile_unit unit)
{
    struct gt_rows rows = gt_functions_of_dumps(listing->input, listing->by, unit, NULL);
    const char **words = gt_query_memory(rows.query, 2, sizeof *words);
    rows = gt_functions_sum(&rows);
    gt_rows_share(&rows, "self_percent", "tottime", "");
    gt_rows_sort(&rows, listing->order);
    gt_rows_rename(&rows, "tottime", "self");
    gt_rows_rename(&rows, "cumtime", "total");
    gt_rows_add_keys(&rows, "unit", words);
    gt_rows_add_keys(&rows, "measure", words + 1);
    if (rows.count) {
        words[0] = gt_trace_unit_name(unit);
        words[1] = gt_trace_measure_name(unit);
    }
    return rows;
}

static const char *const weight_titles[GT_PROFILE_UNITS] = {
    [GT_PROFILE_SAMPLES] = "Sampled functions (samples)",
    [GT_PROFILE_BYTES] = "Functions by memory",
    [GT_PROFILE_HELD] = "Functions by memory held at the peak",
    [GT_PROFILE_ALLOCATIONS] = "Functions by number of allocations",
};

/* People see a table of each unit. */
static void show_weights(const struct listing *listing, struct gt_rows rows, enum gt_profile_unit unit, size_t left_out)
{
    static const char *const columns[] = {
        GROUP "text:profiler text:function integer:self integer:total number:self_percent",
        GROUP "text:profiler text:function number:self_bytes number:total_bytes number:self_percent"};
    bool is_bytes = unit == GT_PROFILE_BYTES || unit == GT_PROFILE_HELD;
    char key[40];
    snprintf(key, sizeof key, "sampled_%d", (int)unit);
    if (is_bytes) {
        gt_rows_rename(&rows, "self", "self_bytes");
        gt_rows_rename(&rows, "total", "total_bytes");
    }
    struct gt_table *table = gt_rows_put(listing->input, listing->root, key, weight_titles[unit], &rows,
                                         columns_of(listing, columns[is_bytes]), NULL);
    gt_table_flags(table, GT_ONLY_PEOPLE);
    gt_top_left_out(table, left_out);
}

/* Returns the table of all. */
static struct gt_table *add_weights(const struct listing *listing)
{
    static const char *const columns = "text:group text:profiler text:function number:self number:total "
                                       "number:self_percent text:unit text:measure";
    struct gt_table *all = gt_analysis_table(listing->root, "sampled", "Sampled functions", columns);
    size_t most = gt_list_top(listing->input, GT_LIST_SHOWN);
    for (int unit = GT_PROFILE_SAMPLES; unit < GT_PROFILE_UNITS; unit++) {
        struct gt_rows rows = find_weights(listing, (enum gt_profile_unit)unit);
        size_t left_out = rows.count > most ? rows.count - most : 0;
        rows.count -= left_out;
        gt_function_titles(listing->input, &rows, "function");
        for (size_t i = 0; i < rows.count; i++)
            gt_rows_put_row(listing->input, all, &rows, i, columns);
        if (rows.count)
            show_weights(listing, rows, (enum gt_profile_unit)unit, left_out);
    }
    gt_table_flags(all, GT_ONLY_DATA);
    gt_top_left_out(all, 0);
    return all;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    char order[80];
    int key = 0, by = gt_analysis_by(input, dump_groups);
    if (by < 0)
        return by;
    while (input->options->key && figures[key] && strcmp(figures[key], input->options->key) != 0)
        key++;
    if (!figures[key])
        return gt_error_set(input->error, EINVAL, "key '%s' is not one of tottime, cumtime, pcalls, ncalls",
                            input->options->key);
    snprintf(order, sizeof order, "group profiler -%s " PLACE, figures[key]);
    struct listing listing = {input, root, (enum gt_dump_group)by, order};
    struct gt_table *functions = add_times(&listing), *weights = add_weights(&listing);
    gt_analysis_empty(root, functions,
                      gt_table_rows(weights)        ? NULL
                      : input->trace->profile_count ? "no function in the Python profiles of that phase, step or name"
                                                    : "no Python profiles");
    add_dumps(input, root);
    return gt_query_status(input->query);
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
    gt_table_text(data, gt_trace_profiler_names[profile->profiler]);
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

/* Replaces places by the numbers of strings. */
static void use_strings(const struct gt_analysis_input *input, struct gt_rows *rows)
{
    uint32_t *file = gt_rows_keys(rows, "file"), *name = gt_rows_keys(rows, "name");
    for (size_t i = 0; i < rows->count; i++) {
        file[i] = input->text[file[i]];
        name[i] = input->text[name[i]];
    }
}

/* Functions with what they took, and those that are named as callers alone: PLACE FIGURES row; and for each who called it:
 * row caller FIGURES, sorted by these. */
static void find_functions(const struct gt_analysis_input *input, const char *const *paths, struct gt_rows *functions,
                           struct gt_rows *callers)
{
    struct gt_rows of_dumps = gt_functions_of_dumps(input, GT_DUMPS_ALL, GT_PROFILE_SECONDS, paths);
    struct gt_rows of_profilers = gt_functions_sum(&of_dumps);
    *callers = gt_function_callers(input, &of_dumps, &of_profilers);
    use_strings(input, &of_profilers);
    use_strings(input, callers);
    struct gt_rows sums = gt_rows_group(&of_profilers, PLACE, sums_of_figures);
    *functions = gt_rows_union(&sums, callers, PLACE);
    gt_rows_join(functions, &sums, PLACE, FIGURES);
    uint32_t *row = gt_rows_add_keys(functions, "row", NULL);
    for (size_t i = 0; i < functions->count; i++)
        row[i] = (uint32_t)i;
    gt_rows_join(callers, functions, PLACE, "row");
    gt_rows_rename(callers, "row", "caller");
    gt_rows_join(&of_profilers, functions, PLACE, "row");
    gt_rows_join(callers, &of_profilers, "item", "row");
    *callers = gt_rows_group(callers, "row caller", sums_of_figures);
}

static void put_figures(struct gt_table *data, const struct gt_rows *rows, size_t row)
{
    double primitive = gt_rows_reals(rows, "pcalls")[row], total = gt_rows_reals(rows, "ncalls")[row];
    GT_CELLS(data, isnan(primitive) ? -1 : (int64_t)primitive, isnan(total) ? -1 : (int64_t)total,
             gt_rows_reals(rows, "tottime")[row], gt_rows_reals(rows, "cumtime")[row]);
}

static void put_functions(struct gt_table *data, const struct gt_trace *trace, const struct gt_rows *rows)
{
    const uint32_t *file = gt_rows_keys(rows, "file"), *name = gt_rows_keys(rows, "name");
    const uint32_t *line = gt_rows_keys(rows, "line");
    struct gt_buffer text = {0};
    for (size_t i = 0; i < rows->count; i++) {
        const char *title = function_name(gt_trace_text(trace, file[i]), line[i], gt_trace_text(trace, name[i]), &text);
        put_text(data, trace, file[i]);
        gt_table_integer(data, (int32_t)line[i]);
        put_text(data, trace, name[i]);
        gt_table_text(data, title ? title : "");
        put_figures(data, rows, i);
    }
    gt_buffer_release(&text);
}

static void put_callers(struct gt_table *data, const struct gt_rows *rows)
{
    const uint32_t *function = gt_rows_keys(rows, "row"), *caller = gt_rows_keys(rows, "caller");
    for (size_t i = 0; i < rows->count; i++) {
        GT_CELLS(data, (int64_t)function[i], (int64_t)caller[i]);
        put_figures(data, rows, i);
    }
}

int gt_functions_table(const struct gt_trace *trace, const char *const *paths, bool of_callers, struct gt_table **ret,
                       struct gt_error *error)
{
    static const struct gt_profile_options defaults = {.size = sizeof defaults};
    const struct gt_column_kind *columns = of_callers ? caller_columns : function_columns;
    size_t count = of_callers ? sizeof caller_columns / sizeof *caller_columns
                              : sizeof function_columns / sizeof *function_columns;
    struct gt_analysis_input input;
    struct gt_rows functions, callers;
    struct gt_table *data = gt_table_new();
    int status = gt_analysis_open(&input, trace, &defaults);
    gt_table_add_columns(data, columns, count);
    if (status >= 0) {
        find_functions(&input, paths, &functions, &callers);
        if (of_callers)
            put_callers(data, &callers);
        else
            put_functions(data, trace, &functions);
        status = gt_query_status(input.query);
    }
    gt_analysis_close(&input);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, columns, count, "profile", error);
    gt_table_free(data);
    return gt_error_system(error, -status, "profile");
}
