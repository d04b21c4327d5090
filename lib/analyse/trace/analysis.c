#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#include "analyse/trace/analysis.h"

#define ANALYSIS(entry) extern const struct gt_analysis gt_analysis_##entry;
#include "analyse/trace/analysis.def"
#undef ANALYSIS

const struct gt_analysis *const gt_analyses[] = {
#define ANALYSIS(entry) &gt_analysis_##entry,
#include "analyse/trace/analysis.def"
#undef ANALYSIS
};
const size_t gt_analysis_count = sizeof gt_analyses / sizeof *gt_analyses;

const char *const gt_use_names[GT_USES] = {"compute", "communication", "memory"};

/* Kineto's categories, of 2.x and of before 1.12. */
static const struct {
    const char *category;
    enum gt_work work;
} categories[] = {
    {"kernel", GT_WORK_KERNEL},        {"Kernel", GT_WORK_KERNEL},
    {"gpu_memcpy", GT_WORK_COPY},      {"Memcpy", GT_WORK_COPY},
    {"gpu_memset", GT_WORK_SET},       {"Memset", GT_WORK_SET},
    {"cuda_runtime", GT_WORK_RUNTIME}, {"cuda_driver", GT_WORK_RUNTIME},
    {"hip_runtime", GT_WORK_RUNTIME},  {"hip_driver", GT_WORK_RUNTIME},
    {"Runtime", GT_WORK_RUNTIME},      {"cpu_op", GT_WORK_OPERATOR},
    {"Operator", GT_WORK_OPERATOR},    {"user_annotation", GT_WORK_ANNOTATION},
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

/* Files of code blocks do not tell their machine: they belong to that of the recordings beside them when there is but one. */
static void place_blocks(struct gt_analysis_input *input, const char *format)
{
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

/* Files whose clock is unknown count from elsewhere: they take no part where times of several files are compared, unless
 * no file tells more. */
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

int gt_analysis_open(struct gt_analysis_input *input, const struct gt_trace *trace,
                     const struct gt_profile_options *options)
{
    size_t strings = trace->strings.count + (size_t)1, files = trace->file_count + 1;
    *input = (struct gt_analysis_input){.trace = trace, .options = options};
    input->place = calloc(strings, sizeof *input->place);
    input->text = calloc(strings, sizeof *input->text);
    input->work = calloc(strings, 1);
    input->usage = calloc(strings, 1);
    input->node = calloc(files, sizeof *input->node);
    input->counted = calloc(files, 1);
    if (!input->place || !input->text || !input->work || !input->usage || !input->node || !input->counted)
        return -ENOMEM;
    sort_texts(input);
    classify(input);
    find_origin(input);
    place_blocks(input, "gpu-tracker");
    return 0;
}

void gt_analysis_close(struct gt_analysis_input *input)
{
    free(input->place);
    free(input->text);
    free(input->work);
    free(input->usage);
    free(input->node);
    free(input->counted);
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
    if (status >= 0)
        status = gt_report_new(&report, type, error);
    if (status >= 0)
        status = analysis->build(&input, gt_report_root(report), error);
    if (status >= 0 && gt_report_failed(report))
        status = -ENOMEM;
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

enum gt_work gt_analysis_work(const struct gt_analysis_input *input, size_t event)
{
    uint32_t category = input->trace->events.category[event];
    return category < input->trace->strings.count ? (enum gt_work)input->work[category] : GT_WORK_OTHER;
}

double gt_analysis_us(const struct gt_analysis_input *input, int64_t time)
{
    return (double)(time - input->origin) / 1e3;
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
    static const char *const units[][2] = {{"_us", "us"}, {"_bytes", "bytes"}, {"_seconds", "s"}, {"_percent", "%"}};
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

struct gt_table *gt_analysis_table(struct gt_node *parent, const char *key, const char *title, const char *columns)
{
    struct gt_table *table = gt_report_table(parent, key, title);
    char kind[8], name[48];
    int length;
    for (; sscanf(columns, " %7[a-z]:%47[a-z0-9_]%n", kind, name, &length) == 2; columns += length)
        add_column(table, name, *kind == 't' ? GT_CELL_TEXT : *kind == 'i' ? GT_CELL_INTEGER : GT_CELL_NUMBER);
    return table;
}

void gt_analysis_empty(struct gt_node *parent, struct gt_table *table, const char *reason)
{
    if (!table || gt_table_rows(table))
        return;
    gt_table_flags(table, GT_ONLY_DATA);
    gt_report_text(parent, "reason", gt_table_title(parent, table), reason);
}

int gt_analysis_by(const struct gt_analysis_input *input, const char *const *choices, struct gt_error *error)
{
    struct gt_buffer names = {0};
    for (int i = 0; choices[i]; i++) {
        if (!input->options->by || strcmp(choices[i], input->options->by) == 0) {
            gt_buffer_release(&names);
            return i;
        }
        gt_buffer_printf(&names, "%s%s", i ? ", " : "", choices[i]);
    }
    gt_error_set(error, EINVAL, "by '%s': it is one of %s", input->options->by, names.data ? names.data : "");
    gt_buffer_release(&names);
    return -EINVAL;
}
