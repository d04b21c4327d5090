#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/analysis.h"
#include "analyse/trace/inputs.h"
#include "analyse/trace/shown.h"
#include "base/number.h"
#include "trace/profile_maker.h"

#define ANALYSIS(entry) extern const struct gt_analysis gt_analysis_##entry;
#include "analyse/trace/analysis.def"
#undef ANALYSIS

const struct gt_analysis *const gt_analyses[] = {
#define ANALYSIS(entry) &gt_analysis_##entry,
#include "analyse/trace/analysis.def"
#undef ANALYSIS
};
const size_t gt_analysis_count = sizeof gt_analyses / sizeof *gt_analyses;

/* Kineto's categories, of 2.x and of before 1.12. */
static const struct {
    const char *category;
    enum gt_work work;
} categories[] = {
    {"kernel", GT_WORK_KERNEL},        {"Kernel", GT_WORK_KERNEL},       {"gpu_memcpy", GT_WORK_COPY},
    {"Memcpy", GT_WORK_COPY},          {"gpu_memset", GT_WORK_SET},      {"Memset", GT_WORK_SET},
    {"cuda_runtime", GT_WORK_RUNTIME}, {"cuda_driver", GT_WORK_RUNTIME}, {"hip_runtime", GT_WORK_RUNTIME},
    {"hip_driver", GT_WORK_RUNTIME},   {"hsa_api", GT_WORK_RUNTIME},     {"Runtime", GT_WORK_RUNTIME},
    {"cpu_op", GT_WORK_OPERATOR},      {"Operator", GT_WORK_OPERATOR},   {"user_annotation", GT_WORK_ANNOTATION},
    {"Trace", GT_WORK_RECORDING},
};

/* Names of kernels that are not computation: NCCL's (RCCL keeps the names), NVSHMEM's, and copies made by kernels. */
static const struct {
    const char *pattern;
    enum gt_use usage;
} kernels[] = {
    {"nccl*", GT_USE_COMMUNICATION},    {"rccl*", GT_USE_COMMUNICATION},    {"void nccl*", GT_USE_COMMUNICATION},
    {"nvshmem*", GT_USE_COMMUNICATION}, {"mscclpp*", GT_USE_COMMUNICATION}, {"Memcpy*", GT_USE_MEMORY},
    {"Memset*", GT_USE_MEMORY},         {"CUDA mem*", GT_USE_MEMORY},
};

const struct gt_analysis *gt_analysis_find(const char *name, struct gt_error *error)
{
    struct gt_buffer names = {0};
    for (size_t i = 0; i < gt_analysis_count; i++) {
        if (strcmp(gt_analyses[i]->name, name) == 0) {
            gt_buffer_release(&names);
            return gt_analyses[i];
        }
        gt_buffer_printf(&names, "%s%s", i ? ", " : "", gt_analyses[i]->name);
    }
    gt_error_set(error, EINVAL, "no analysis '%s': there are %s", name, names.data ? names.data : "");
    gt_buffer_release(&names);
    return NULL;
}

/* ---- what all analyses need to know ---- */

static int compare_texts(const void *a, const void *b, void *context)
{
    const struct gt_trace *trace = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strverscmp(gt_trace_text(trace, x), gt_trace_text(trace, y));
    return order ? order : GT_ORDER(x, y);
}

static void sort_texts(struct gt_analysis_input *input)
{
    uint32_t count = input->trace->strings.count;
    for (uint32_t i = 0; i < count; i++)
        input->text[i] = i;
    qsort_r(input->text, count, sizeof *input->text, compare_texts, (void *)(uintptr_t)input->trace);
    for (uint32_t i = 0; i < count; i++)
        input->place[input->text[i]] = i;
}

static void classify(struct gt_analysis_input *input)
{
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        uint32_t string = gt_trace_find(input->trace, categories[i].category);
        if (string != GT_TRACE_NONE)
            input->work[string] = (unsigned char)categories[i].work;
    }
    for (uint32_t i = 0; i < input->trace->strings.count; i++) {
        const char *name = gt_trace_text(input->trace, i);
        for (size_t j = 0; j < sizeof kernels / sizeof *kernels; j++)
            if (fnmatch(kernels[j].pattern, name, 0) == 0)
                input->usage[i] = (unsigned char)kernels[j].usage;
    }
}

static bool has_clock(const struct gt_trace_file *file)
{
    return file->clock != GT_CLOCK_UNKNOWN && file->first <= file->last;
}

/* Files of code blocks do not tell their machine: they belong to that of the recordings beside them when there is
 * but one. */
static void place_blocks(struct gt_analysis_input *input)
{
    static const char format[] = "gpu-tracker";
    const struct gt_trace *trace = input->trace;
    uint32_t only = GT_TRACE_NONE;
    for (size_t i = 0; i < trace->file_count; i++) {
        if (trace->file[i].node == GT_TRACE_NONE || strcmp(trace->file[i].format, format) != 0)
            continue;
        if (only != GT_TRACE_NONE && only != input->node[i])
            return;
        only = input->node[i];
    }
    for (size_t i = 0; i < trace->file_count && only != GT_TRACE_NONE; i++)
        if (trace->file[i].node == GT_TRACE_NONE && strcmp(trace->file[i].format, format) == 0)
            input->node[i] = only;
}

/* Files whose clock is unknown count from elsewhere: they take no part where times of several files are compared,
 * unless no file tells more. */
static void find_origin(struct gt_analysis_input *input)
{
    const struct gt_trace *trace = input->trace;
    bool any = false;
    for (size_t i = 0; i < trace->file_count; i++)
        any |= has_clock(&trace->file[i]);
    input->origin = INT64_MAX;
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        input->node[i] = gt_analysis_place(input, gt_trace_node_of(trace, (uint32_t)i));
        input->counted[i] = file->first <= file->last && (!any || has_clock(file));
        if (input->counted[i] && file->first < input->origin)
            input->origin = file->first;
    }
    if (input->origin == INT64_MAX)
        input->origin = 0;
}

static int by_node_and_time(const void *a, const void *b, void *context)
{
    const struct gt_analysis_input *input = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct gt_trace_file *file = input->trace->file;
    return GT_ORDER_BY(GT_ORDER(input->node[x], input->node[y]), GT_ORDER(file[x].first, file[y].first),
                       GT_ORDER(file[x].last, file[y].last), GT_ORDER(x, y));
}

/* SMDebug begins a new file each minute and records on. */
static bool is_continued(const struct gt_trace_file *file)
{
    return strcmp(file->format, "smdebug") == 0;
}

static int find_recordings(struct gt_analysis_input *input)
{
    uint32_t files = (uint32_t)input->trace->file_count, recordings = 0;
    uint32_t *order = malloc((files + (size_t)1) * sizeof *order);
    int64_t last = INT64_MIN;
    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < files; i++)
        order[i] = i;
    qsort_r(order, files, sizeof *order, by_node_and_time, input);
    for (uint32_t i = 0; i < files; i++) {
        const struct gt_trace_file *file = &input->trace->file[order[i]];
        bool is_new = !i || input->node[order[i]] != input->node[order[i - 1]];
        last = is_new ? INT64_MIN : last;
        bool is_apart = last != INT64_MIN && file->first <= file->last && file->first > last && !is_continued(file);
        recordings += is_new || is_apart;
        input->recording[order[i]] = recordings;
        input->pause[order[i]] = is_apart ? file->first - last : 0;
        last = file->first <= file->last && file->last > last ? file->last : last;
    }
    free(order);
    return 0;
}

static void hide(struct gt_analysis_input *input, uint32_t string, bool is_hidden)
{
    if (string < input->trace->strings.count)
        input->hidden[string] = is_hidden;
}

/* All but the one that is to be shown. */
static void hide_nodes(struct gt_analysis_input *input)
{
    const struct gt_trace *trace = input->trace;
    for (size_t i = 0; i < trace->series_count && trace->shown_node; i++)
        hide(input, trace->series[i].node, true);
    for (int is_shown = 0; is_shown < 2 && trace->shown_node; is_shown++)
        for (size_t i = 0; i < trace->file_count; i++)
            if (gt_is_node(trace, &trace->file[i], trace->shown_node) == is_shown && input->node[i] != GT_TRACE_NONE)
                hide(input, input->text[input->node[i]], !is_shown);
    if (trace->shown_node)
        hide(input, gt_trace_find(trace, trace->shown_node), false);
}

int gt_analysis_open(struct gt_analysis_input *input, const struct gt_trace *trace,
                     const struct gt_profile_options *options)
{
    size_t strings = trace->strings.count + (size_t)1, files = trace->file_count + 1;
    *input = (struct gt_analysis_input){.trace = trace, .options = options, .query = gt_query_new()};
    const struct {
        void *to;
        size_t count, size;
    } arrays[] = {
        {&input->place, strings, sizeof *input->place},       {&input->text, strings, sizeof *input->text},
        {&input->work, strings, sizeof *input->work},         {&input->usage, strings, sizeof *input->usage},
        {&input->loader, strings, sizeof *input->loader},     {&input->hidden, strings, sizeof *input->hidden},
        {&input->node, files, sizeof *input->node},           {&input->counted, files, sizeof *input->counted},
        {&input->recording, files, sizeof *input->recording}, {&input->pause, files, sizeof *input->pause},
        {&input->view, GT_VIEWS, sizeof *input->view},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *array = input->query ? gt_query_zeros(input->query, arrays[i].count, arrays[i].size) : NULL;
        if (!array)
            return -ENOMEM;
        memcpy(arrays[i].to, &array, sizeof array);
    }
    sort_texts(input);
    classify(input);
    find_origin(input);
    place_blocks(input);
    hide_nodes(input);
    for (size_t i = 0; i < trace->step_count && !input->has_whole_steps; i++)
        input->has_whole_steps = gt_steps_is_whole(trace, &trace->step[i]);
    return find_recordings(input);
}

void gt_analysis_close(struct gt_analysis_input *input)
{
    gt_query_free(input->query);
}

int gt_analysis_run(const struct gt_analysis *analysis, const struct gt_trace *trace, const struct gt_trace *other,
                    const struct gt_profile_options *options, struct gt_report **ret, struct gt_error *error)
{
    static const struct gt_profile_options defaults = {.size = sizeof defaults};
    struct gt_analysis_input input;
    struct gt_report *report = NULL;
    char type[80] = "profile_";
    strncat(type, analysis->name, sizeof type - strlen(type) - 1);
    int status = gt_analysis_open(&input, trace, options ? options : &defaults);
    input.other = other;
    input.error = error;
    if (status >= 0)
        status = gt_report_new(&report, type, error);
    if (status >= 0)
        status = analysis->build(&input, &report->root);
    if (status >= 0)
        status = gt_shown_nodes_cut(trace, input.hidden, &report->root);
    if (status >= 0)
        status = gt_top_cut(&report->root, input.options->top);
    if (status >= 0 && gt_report_failed(report))
        status = -ENOMEM;
    if (status < 0 && input.query && gt_query_problem(input.query))
        gt_error_set(error, EINVAL, "profile %s: %s", analysis->name, gt_query_problem(input.query));
    gt_analysis_close(&input);
    if (status < 0) {
        gt_report_free(report);
        return gt_error_system(error, -status, "profile %s", analysis->name);
    }
    *ret = report;
    return 0;
}

/* ---- questions that analyses ask of a trace, and tables as they make them ---- */

uint32_t gt_analysis_place(const struct gt_analysis_input *input, uint32_t string)
{
    return string < input->trace->strings.count ? input->place[string] : GT_TRACE_NONE;
}

const char *gt_analysis_text(const struct gt_analysis_input *input, uint32_t place)
{
    return place < input->trace->strings.count ? gt_trace_text(input->trace, input->text[place]) : NULL;
}

uint32_t gt_analysis_node(const struct gt_analysis_input *input, size_t event)
{
    return input->node[gt_trace_process_of(input->trace, event)->file];
}

bool gt_analysis_is_host(const struct gt_analysis_input *input, uint32_t host, uint32_t node)
{
    const char *name = gt_analysis_text(input, host), *other = gt_analysis_text(input, node);
    if (host == node || !name || !other)
        return host == node;
    size_t length = strlen(name), longer = strlen(other);
    if (!length || longer < length + 2)
        return false;
    bool before = strncmp(other, name, length) == 0 && other[length] == '-';
    size_t rest = longer - length - 1;
    const char *id = before ? other + length + 1 : other;
    return (before || (other[rest] == '-' && strcmp(other + rest + 1, name) == 0)) && strspn(id, "0123456789") == rest;
}

bool gt_analysis_shows(const struct gt_analysis_input *input, uint32_t node)
{
    return node >= input->trace->strings.count || !input->hidden[input->text[node]];
}

enum gt_work gt_analysis_work(const struct gt_analysis_input *input, size_t event)
{
    uint32_t category = input->trace->events.category[event];
    return category < input->trace->strings.count ? (enum gt_work)input->work[category] : GT_WORK_OTHER;
}

uint32_t gt_analysis_recording(const struct gt_analysis_input *input, size_t event)
{
    return input->recording[gt_trace_process_of(input->trace, event)->file];
}

int64_t gt_analysis_recorded(const struct gt_analysis_input *input, uint32_t node, int64_t from, int64_t to)
{
    int64_t time = to - from;
    for (size_t i = 0; i < input->trace->file_count; i++) {
        int64_t end = input->trace->file[i].first, start = end - input->pause[i];
        if (input->node[i] != node || !input->pause[i] || start >= to || end <= from)
            continue;
        time -= (end < to ? end : to) - (start > from ? start : from);
    }
    return time;
}

uint32_t gt_argument_text(const struct gt_trace *trace, size_t event, uint32_t key)
{
    const struct gt_trace_argument *argument = gt_trace_argument(trace, event, key);
    return argument ? argument->text : GT_TRACE_NONE;
}

double gt_argument_number(const struct gt_trace *trace, size_t event, uint32_t key)
{
    const struct gt_trace_argument *argument = gt_trace_argument(trace, event, key);
    return argument ? argument->number : NAN;
}

double gt_analysis_us(const struct gt_analysis_input *input, int64_t time)
{
    return gt_trace_us(time - input->origin);
}

/* "TRAIN" of "Step:ModeKeys.TRAIN", the whole for others; NULL for NULL. */
static const char *mode_of(const char *process)
{
    static const char *const prefixes[] = {"Step:ModeKeys.", "Step:"};
    for (size_t i = 0; process && i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(process, prefixes[i], strlen(prefixes[i])) == 0)
            return process + strlen(prefixes[i]);
    return process;
}

bool gt_analysis_wants_phase(const struct gt_analysis_input *input, const char *name)
{
    const char *const *phase = input->options->phases;
    if (!phase || !*phase)
        return true;
    for (; name && *phase; phase++)
        if (strcmp(*phase, name) == 0 || strcmp(*phase, mode_of(name)) == 0)
            return true;
    return false;
}

static const char *take_unit(char *title)
{
    static const char *const units[][2] = {
        {"_us", "us"}, {"_bytes", "bytes"}, {"_seconds", "s"}, {"_percent", "%"}, {"_gb_per_s", "GB/s"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(title), suffix = strlen(units[i][0]);
        if (length > suffix && strcmp(title + length - suffix, units[i][0]) == 0) {
            title[length - suffix] = '\0';
            return units[i][1];
        }
    }
    return NULL;
}

static void add_column(struct gt_table *table, const char *key, enum gt_cell_kind kind)
{
    char title[64];
    snprintf(title, sizeof title, "%s", key);
    const char *unit = take_unit(title);
    for (char *c = title; *c; c++)
        if (*c == '_')
            *c = ' ';
    gt_table_column(table, key, title, kind, unit);
}

void gt_analysis_columns(struct gt_table *table, const char *columns, unsigned more_flags)
{
    char kind[8], name[48];
    int length;
    for (; sscanf(columns, " %7[a-z]:%47[a-z0-9_]%n", kind, name, &length) == 2; columns += length) {
        bool is_text = *kind == 't' || *kind == 'k';
        add_column(table, name, is_text ? GT_CELL_TEXT : *kind == 'i' ? GT_CELL_INTEGER : GT_CELL_NUMBER);
        bool is_amount = *kind == 'n' || strcmp(name, "count") == 0;
        unsigned flags = *kind == 'k' ? GT_COLUMN_FUNCTION : is_amount ? GT_COLUMN_THOUSANDS : 0;
        gt_table_column_flags(table, flags | more_flags | (is_text ? 0 : GT_COLUMN_SCALED));
    }
}

struct gt_table *gt_analysis_table(struct gt_node *parent, const char *key, const char *title, const char *columns)
{
    struct gt_table *table = gt_report_table(parent, key, title);
    gt_analysis_columns(table, columns, 0);
    return table;
}

void gt_analysis_empty(struct gt_node *parent, struct gt_table *table, const char *reason)
{
    char key[80];
    if (!table || gt_table_rows(table))
        return;
    bool has_reason = gt_node_find(parent, "reason");
    table->flags |= GT_ONLY_DATA;
    snprintf(key, sizeof key, "reason");
    for (const struct gt_node *node = parent->first; node && has_reason; node = node->next)
        if (gt_node_table(node) == table)
            snprintf(key, sizeof key, "reason_%s", node->key);
    if (reason)
        gt_report_text(parent, key, gt_table_title(parent, table), reason);
}

int gt_analysis_by(const struct gt_analysis_input *input, const char *const *choices)
{
    struct gt_buffer names = {0};
    for (int i = 0; choices[i]; i++) {
        if (!input->options->by || strcmp(choices[i], input->options->by) == 0) {
            gt_buffer_release(&names);
            return i;
        }
        gt_buffer_printf(&names, "%s%s", i ? ", " : "", choices[i]);
    }
    gt_error_set(input->error, EINVAL, "by '%s': it is one of %s", input->options->by, names.data ? names.data : "");
    gt_buffer_release(&names);
    return -EINVAL;
}

/* ---- files and folders are read as one trace, kept to what was asked for, and analysed ---- */

/* The bounds in time, from the begin of all files where they count from there. */
struct window {
    const struct gt_trace_options *bounds;
    int64_t start, end;
};

static struct window window_of(const struct gt_trace *trace, const struct gt_trace_options *bounds)
{
    struct window window = {bounds, bounds->start, bounds->end};
    int64_t origin = INT64_MAX;
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].clock != GT_CLOCK_UNKNOWN && trace->file[i].first < origin)
            origin = trace->file[i].first;
    if (!bounds->from_first || origin == INT64_MAX)
        return window;
    window.start += bounds->start != -GT_TRACE_EVER ? origin : 0;
    window.end += bounds->end != GT_TRACE_EVER ? origin : 0;
    return window;
}

/* Does a dump overlap the bounds? One that contains them does; one whose step is not known lies in no steps. */
static bool has_profile(const struct gt_trace *trace, const struct window *window,
                        const struct gt_trace_profile *profile)
{
    if (trace->shown_node && !gt_is_node(trace, &trace->file[profile->file], trace->shown_node))
        return false;
    if (window->bounds->by_step)
        return profile->start_step <= window->bounds->end_step && profile->end_step >= window->bounds->start_step;
    return profile->start <= window->end && profile->end >= window->start;
}

static bool is_node(const struct gt_trace *trace, uint32_t node, const char *wanted)
{
    for (uint32_t i = 0; i < trace->file_count; i++)
        if (gt_trace_node_of(trace, i) == node && gt_is_node(trace, &trace->file[i], wanted))
            return true;
    return false;
}

static bool has_step(const struct gt_trace *trace, const struct window *window, const struct gt_trace_step *step)
{
    const struct gt_trace_options *bounds = window->bounds;
    if (bounds->node && !trace->shown_node && !is_node(trace, step->node, bounds->node))
        return false;
    if (bounds->by_step)
        return step->step >= bounds->start_step && step->step <= bounds->end_step;
    return step->start <= window->end && step->end >= window->start;
}

/* Readers keep the bounds for events and samples; Python profiles and steps are kept to them here. */
static void keep_bounds(struct gt_trace *trace, const struct gt_trace_options *bounds)
{
    struct window window = window_of(trace, bounds);
    size_t profiles = 0, steps = 0;
    trace->is_bounded = !bounds->by_step;
    trace->bound_first = window.start;
    trace->bound_last = window.end;
    for (size_t i = 0; i < trace->profile_count; i++)
        if (has_profile(trace, &window, &trace->profile[i]))
            trace->profile[profiles++] = trace->profile[i];
        else
            gt_trace_profile_release(&trace->profile[i]);
    for (size_t i = 0; i < trace->step_count; i++)
        if (has_step(trace, &window, &trace->step[i]))
            trace->step[steps++] = trace->step[i];
    trace->profile_count = profiles;
    trace->step_count = steps;
}

/* Functions whose names do not match are left as callers of others. */
static int select_functions(struct gt_trace *trace, const char *select, struct gt_error *error)
{
    regex_t names;
    if (!select)
        return 0;
    if (regcomp(&names, select, REG_EXTENDED | REG_NOSUB))
        return gt_error_set(error, EINVAL, "select: \"%s\" is not a regular expression", select);
    for (size_t i = 0; i < trace->profile_count; i++)
        for (size_t j = 0; j < trace->profile[i].function_count; j++) {
            struct gt_trace_function *function = &trace->profile[i].function[j];
            if (regexec(&names, gt_trace_text(trace, function->function), 0, NULL, 0) == 0)
                continue;
            function->total_calls = function->primitive_calls = -1;
            function->total_time = function->cumulative_time = NAN;
        }
    regfree(&names);
    return 0;
}

static int load(struct gt_trace **ret, const char *const *paths, size_t count, const struct gt_analysis *analysis,
                const struct gt_trace_options *options, bool has_by, struct gt_error *error)
{
    struct gt_trace_options reading = *options;
    reading.arguments = has_by && analysis->arguments_by ? analysis->arguments_by : analysis->arguments;
    reading.keep_hidden = analysis->joins;
    reading.node = analysis->compares ? NULL : options->node;
    reading.by_step = options->by_step && !analysis->of_profiles; /* their steps need no events */
    int status = gt_trace_load(ret, paths, count, &reading, error);
    if (status < 0)
        return status;
    status = gt_inputs_refuse_nothing(*ret, paths[0], options, error);
    if (status < 0)
        return status;
    (*ret)->shown_node = analysis->compares ? options->node : NULL;
    bool of_calls = analysis->of_profiles || (analysis->of_calls && gt_calls_alone(*ret));
    if (of_calls && gt_call_profiles(*ret, GT_CALLS_PYTHON) < 0)
        return gt_error_system(error, ENOMEM, "profile %s", analysis->name);
    keep_bounds(*ret, options);
    gt_shown_nodes_need_one(*ret);
    return select_functions(*ret, options->select, error);
}

enum { OPTIONS = 12 };

static const struct {
    const char *name;
    unsigned bit;
} checks[OPTIONS] = {
    {"by", GT_TAKES_BY},
    {"phase", GT_TAKES_PHASES},
    {"device", GT_TAKES_DEVICE},
    {"ranges", GT_TAKES_RANGES},
    {"key", GT_TAKES_KEY},
    {"top", GT_TAKES_TOP},
    {"carbon-intensity", GT_TAKES_COST},
    {"carbon-file", GT_TAKES_COST},
    {"price", GT_TAKES_COST},
    {"peak-flops", GT_TAKES_PEAK},
    {"operator", GT_TAKES_OPERATOR},
    {"length", GT_TAKES_OPERATOR},
};

int gt_analysis_refuses(const char *name, const char *option)
{
    const struct gt_analysis *analysis = gt_analysis_find(name, NULL);
    if (analysis && strcmp(option, "select") == 0)
        return analysis->of_all;
    for (size_t i = 0; analysis && i < OPTIONS; i++)
        if (strcmp(checks[i].name, option) == 0)
            return !(analysis->takes & checks[i].bit);
    return 0;
}

/* An option that an analysis does not take is a mistake, not to be passed over. */
static int check_options(const struct gt_analysis *analysis, const struct gt_profile_options *options,
                         struct gt_error *error)
{
    if (!options)
        return 0;
    const bool given[OPTIONS] = {
        options->by,
        options->phases && *options->phases,
        options->device,
        options->ranges,
        options->key,
        options->top > 0, /* all rows is what the others show anyway */
        options->carbon_intensity,
        options->carbon_file,
        options->price,
        options->peak_flops,
        options->operator_name,
        options->length,
    };
    for (size_t i = 0; i < OPTIONS; i++) {
        if (!given[i] || (analysis->takes & checks[i].bit))
            continue;
        struct gt_buffer taken = {0};
        for (size_t j = 0; j < OPTIONS; j++)
            if (analysis->takes & checks[j].bit)
                gt_buffer_printf(&taken, "%s%s", taken.length ? ", " : "", checks[j].name);
        gt_error_set(error, EINVAL, "profile %s does not take '%s'%s%s", analysis->name, checks[i].name,
                     taken.length ? ", only " : "", taken.length ? taken.data : "");
        gt_buffer_release(&taken);
        return -EINVAL;
    }
    return 0;
}

/* What is not selected would look like idle time, or a rank that is late for no reason. */
static int check_selection(const struct gt_analysis *analysis, const struct gt_trace_options *reading,
                           struct gt_error *error)
{
    if (!analysis->of_all || !reading->select)
        return 0;
    return gt_error_set(error, EINVAL,
                        "profile %s does not take 'select': it judges all that ran; profile kernels, operators, api "
                        "and functions list the names that are selected",
                        analysis->name);
}

static void tell_selected(const struct gt_analysis *analysis, const struct gt_trace_options *reading,
                          struct gt_node *root)
{
    char text[300];
    if (!reading->select || !analysis->of_selected)
        return;
    snprintf(text, sizeof text, "names that match \"%.200s\": shares, spans and idle time are of these alone",
             reading->select);
    gt_report_text(root, "selected", "Selected", text);
}

/* Returns true if the report gives a reason, and no table has a row. */
static bool is_without_result(const struct gt_analysis *analysis, const struct gt_node *root)
{
    if (analysis->judges || !gt_node_find(root, "reason"))
        return false;
    for (const struct gt_node *node = root->first; node; node = node->next)
        if (gt_node_table(node) && gt_table_rows(gt_node_table(node)))
            return false;
    return true;
}

int gt_analysis_of_files(const char *name, const char *const *paths, size_t count,
                         const struct gt_trace_options *reading, const struct gt_profile_options *options,
                         struct gt_report **ret, struct gt_error *error)
{
    const struct gt_analysis *analysis = gt_analysis_find(name, error);
    struct gt_trace *trace = NULL, *other = NULL;
    struct gt_report *report = NULL;
    if (!analysis)
        return -EINVAL;
    if (!count || (analysis->inputs > 1 && count != (size_t)analysis->inputs))
        return gt_error_set(error, EINVAL, "profile %s takes %s, not %zu", name,
                            analysis->inputs > 1 ? "two paths" : "a path", count);
    bool has_by = options && options->by;
    const struct gt_profile_options *judged = analysis->of_profiles ? NULL
                                                                    : options; /* phases of dumps have no events */
    struct gt_error nothing = {0};
    bool is_empty = false;
    int status = check_options(analysis, options, error);
    if (status >= 0)
        status = check_selection(analysis, reading, error);
    if (status >= 0)
        status = load(&trace, paths, analysis->inputs > 1 ? 1 : count, analysis, reading, has_by, error);
    if (status >= 0 && analysis->inputs > 1)
        status = load(&other, paths + 1, 1, analysis, reading, has_by, error);
    if (status >= 0)
        status = gt_analysis_run(analysis, trace, other, options, &report, error);
    if (status >= 0 && (gt_inputs_matched(trace, reading, judged, &nothing) < 0 ||
                        (other && gt_inputs_matched(other, reading, judged, &nothing) < 0)))
        gt_report_tell_alone(&report->root, nothing.text);
    else if (status >= 0)
        tell_selected(analysis, reading, &report->root);
    is_empty = status >= 0 && is_without_result(analysis, &report->root);
    if (status >= 0)
        status = gt_inputs_tell(report, trace, paths, analysis->inputs > 1 ? 1 : count, false);
    if (status >= 0 && other)
        status = gt_inputs_tell(report, other, paths + 1, 1, true);
    if (status >= 0)
        *ret = report;
    else
        gt_report_free(report);
    gt_trace_close(trace);
    gt_trace_close(other);
    return status < 0 ? status : *nothing.text || is_empty;
}

int gt_analysis_of_trace(const struct gt_trace *trace, const char *name, const struct gt_profile_options *options,
                         struct gt_report **ret, struct gt_error *error)
{
    const struct gt_analysis *analysis = gt_analysis_find(name, error);
    if (!analysis)
        return -EINVAL;
    if (analysis->inputs > 1)
        return gt_error_set(error, EINVAL, "profile %s takes two paths, not a trace", name);
    return gt_analysis_run(analysis, trace, NULL, options, ret, error);
}
