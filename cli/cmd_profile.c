/* Traces: profile, and timeline merge, info and export. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/trace/analysis.h"
#include "api/program.h"
#include "base/os/file.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "store/address.h"

enum { TERMINAL_LINES = 60 };

/* Returns analysis `index` of those that look at jobs alone; NULL past the end. */
static const struct gt_job_analysis *job_analysis(size_t index)
{
    const struct gt_job_analysis *analysis = NULL;
    for (size_t i = 0; (analysis = gt_job_analysis_number(i)) && (!analysis->help || index--); i++)
        continue;
    return analysis;
}

/* Those of traces, then those of jobs alone. */
static const char *choice_analysis(size_t index, const char **help)
{
    if (index < gt_analysis_count) {
        *help = gt_analyses[index]->help;
        return gt_analyses[index]->name;
    }
    const struct gt_job_analysis *analysis = job_analysis(index - gt_analysis_count);
    *help = analysis ? analysis->help : NULL;
    return analysis ? analysis->name : NULL;
}

static const char *group_of_choice(size_t index)
{
    const struct gt_job_analysis *analysis = index < gt_analysis_count ? NULL : job_analysis(index - gt_analysis_count);
    return index < gt_analysis_count ? gt_analyses[index]->group : analysis ? analysis->group : NULL;
}

static bool is_analysis(const char *name)
{
    const char *known, *help;
    for (size_t i = 0; (known = choice_analysis(i, &help)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

static bool is_of_jobs_alone(const char *name)
{
    const struct gt_job_analysis *analysis = gt_job_analysis_find(name);
    return analysis && analysis->help;
}

/* Without an analysis it is the report of the job. A file that is called as an analysis is given as ./steps. */
static const char *analysis_of(int *count, char ***operands)
{
    const char *first = (*operands)[0];
    if (!is_analysis(first) && (strcmp(first, "-") == 0 || strchr(first, '/') || access(first, F_OK) == 0))
        return "overview";
    ++*operands;
    --*count;
    return first;
}

/* Those of traces and those of jobs. */
static int say_analyses(const char *word)
{
    char names[1024] = "";
    const char *name, *help;
    for (size_t i = 0; (name = choice_analysis(i, &help)); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name);
    }
    return say_usage("no analysis '%s': there are %s", word, names);
}

/* 0, or an exit status after saying what is wrong about the words: a mistyped analysis or path, or an analysis behind
 * the paths. */
static int check_words(const char *analysis, int count, char **operands)
{
    if (is_analysis(analysis)) {
        for (int i = 0; i < count; i++)
            if (is_analysis(operands[i]) && access(operands[i], F_OK) < 0)
                return say_usage("no file '%s'; an ANALYSIS comes before the paths: profile %s PATH", operands[i],
                                 operands[i]);
        return 0;
    }
    struct suggestion suggestion = {.word = analysis};
    const char *name, *help;
    for (size_t i = 0; (name = choice_analysis(i, &help)); i++)
        suggest(&suggestion, name);
    if (suggestion.nearest)
        return say_usage("no analysis '%s': did you mean '%s'?", analysis, suggestion.nearest);
    if (!count || strchr(analysis, '.'))
        return say_usage("'%s' is neither a file nor an analysis (see gpu-tracker profile --help)", analysis);
    return say_analyses(analysis);
}

/* It must not go unnoticed that a rank is missing, or a file damaged. */
static void say_doubts(const struct output *output, const char *analysis, const struct gt_report *report)
{
    bool is_brief = strcmp(output->format, "summary") == 0 && strcmp(analysis, "overview") == 0;
    bool is_seen = !output->path && (is_brief || strcmp(output->format, "text") == 0);
    enum { NOT_IN_TEXT = 2 };
    const char *words = "";
    for (int i = 0; words && (i < NOT_IN_TEXT || !is_seen); i++) {
        const char *doubt = gt_report_doubt(report, i, &words);
        if (doubt)
            say("%s: %s", words, doubt);
    }
}

/* CSV is one table: --table, or the first; the other tables are named on standard error. */
static int choose_table(const struct options *options, const struct output *output, const char *analysis,
                        struct gt_report *report)
{
    struct gt_error error = {0};
    char *rest = NULL;
    bool is_csv = strcmp(output->format, "csv") == 0;
    if (!options->table && !is_csv) {
        say_doubts(output, analysis, report);
        return 0;
    }
    int status = gt_report_choose_table(report, options->table, is_csv, &rest, &error);
    if (status < 0)
        return say_failure(status, &error);
    if (rest)
        say("%s", rest);
    free(rest);
    return 0;
}

/* Says why a report is empty, unless the user sees it in the report. */
static void say_nothing(const struct output *output, const struct gt_report *report)
{
    static const char *const forms[] = {"text", "summary", "csv"};
    const char *reason = gt_report_reason(report);
    bool is_seen = false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        is_seen |= strcmp(output->format, forms[i]) == 0 && (i == 2 || !output->path);
    if (reason && !is_seen)
        say("%s", reason);
}

/* What is asked of traces alone: recordings are read as such, too. */
static bool is_of_traces(const struct options *options)
{
    return options->by || options->phase.count || options->device || options->ranges || options->key ||
           options->carbon_intensity || options->carbon_file || options->price || options->peak_flops ||
           options->operator_name || options->length || options->start || options->end || options->unit ||
           options->suffix.count || options->node;
}

/* The ranks of a job, of which a folder has the recordings. */
static int profile_job(const char *analysis, const char *folder, const struct options *options, struct gt_report **ret,
                       struct gt_error *error)
{
    const struct gt_job_server_options server = settings_job(options);
    const struct gt_job_options wanted = {
        .metric = options->metric, .select = options->select, .top = options->all ? -1 : options->top};
    return gt_folder_analyse(gt_job_analysis_find(analysis), folder, &server, &wanted, ret, error);
}

static int profile(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    struct gt_profile_options wanted = GT_INIT(struct gt_profile_options);
    struct gt_trace_request request = request_of(options);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    output.lines = options->all || options->top || options->format ? 0 : TERMINAL_LINES;
    const char *analysis = analysis_of(&count, &operands);
    if (!count && is_analysis(analysis))
        return say_usage("'%s' is an ANALYSIS, and no PATH follows it; a file of that name is ./%s", analysis,
                         analysis);
    if ((status = check_words(analysis, count, operands)))
        return status;
    bool is_job = count == 1 && gt_job_analysis_find(analysis) && !is_of_traces(options) &&
                  (gt_is_address(operands[0]) || gt_job_is_folder(operands[0]) ||
                   (is_of_jobs_alone(analysis) && gt_is_folder(operands[0])));
    if (!is_job && is_of_jobs_alone(analysis) && count == 1 && access(operands[0], F_OK) < 0)
        return say_usage("%s: %s", operands[0], strerror(errno));
    if (!is_job && is_of_jobs_alone(analysis))
        return say_usage("%s looks at a folder with a recording of each rank", analysis);
    if (!is_job && options->metric)
        return say_usage("--metric is for a folder with a recording of each rank, without options of traces");
    name_input(count, operands);
    wanted.by = options->by;
    wanted.phases = options->phase.value;
    wanted.device = options->device;
    wanted.ranges = options->ranges;
    wanted.key = options->key;
    wanted.carbon_intensity = options->carbon_intensity;
    wanted.carbon_file = options->carbon_file;
    wanted.price = options->price;
    wanted.peak_flops = options->peak_flops;
    wanted.operator_name = options->operator_name;
    wanted.length = options->length;
    wanted.top = options->all ? -1 : options->top;
    const char *const *paths = (const char *const *)operands;
    status = output_spare_inputs(&output, paths, (size_t)count, options, &error);
    if (status >= 0 && is_job)
        status = profile_job(analysis, operands[0], options, &report, &error);
    else if (status >= 0)
        status = gt_profile_report(analysis, paths, (size_t)count, &request, &wanted, &report, &error);
    int exit_status = status >= 0 ? choose_table(options, &output, analysis, report) : 0;
    if (exit_status) {
        gt_report_free(report);
        return exit_status;
    }
    bool is_empty = !is_job && status > 0;
    if (is_empty)
        say_nothing(&output, report);
    exit_status = output_reading(&output, status, report, &error, operands[0]);
    return is_empty && !exit_status ? EXIT_NOTHING : exit_status;
}

const struct command command_profile = {
    .name = "profile",
    .synopsis = "[ANALYSIS] PATH...",
    .summary = "Analyze traces and profiles: steps, kernels, idle GPUs, late ranks, advice",
    .description =
        "Reads all PATHs as one job and prints one analysis, by default the report of the job (overview). timeline info lists the formats. Nodes and ranks are kept apart.\n\n"
        "For a folder of recordings, one for each rank of a job, utilization, stragglers and health compare the ranks, unless an option for traces is given.\n\n"
        "The exit status is 4 if the files contain no data for the analysis.",
    .choice = choice_analysis,
    .choice_group = group_of_choice,
    .refuses = gt_analysis_refuses,
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = profile,
};

#define DEFAULT_LOW_GPU 85

static int merge(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    struct gt_trace_request request = request_of(options);
    struct gt_merge_request what = GT_INIT(struct gt_merge_request);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (!status && options->merged)
        status = output_check("--output", options->merged);
    if (status)
        return status;
    name_input(count, operands);
    what.low_gpu = options->given[OPTION_NUMBER_low_gpu] ? options->low_gpu : DEFAULT_LOW_GPU;
    what.metrics = options->metrics;
    what.align = options->align;
    what.output = options->merged;
    what.overwrite = options->overwrite;
    what.critical_path = options->critical_path;
    what.not_empty = 1;
    int merged = gt_timeline_merge((const char *const *)operands, (size_t)count, &request, &what, &report, &error);
    status = output_reading(&output, merged, report, &error, operands[0]);
    if (status || merged <= 0)
        return status;
    say("nothing was merged: no event and no sample lies in what was asked for, and no file was made");
    return EXIT_NOTHING;
}

static int info(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    struct gt_trace_request request = request_of(options);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    name_input(count, operands);
    const char *const *paths = (const char *const *)operands;
    status = output_spare_inputs(&output, paths, (size_t)count, options, &error);
    if (status >= 0)
        status = gt_timeline_info(paths, (size_t)count, &request, &report, &error);
    return output_reading(&output, status, report, &error, operands[0]);
}

static int export(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    struct gt_trace_request request = request_of(options);
    struct gt_export_request what = GT_INIT(struct gt_export_request);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (!status && options->exported)
        status = output_check("--output", options->exported);
    if (status)
        return status;
    name_input(count, operands);
    what.output = options->exported;
    what.overwrite = options->overwrite;
    status = gt_timeline_export((const char *const *)operands, (size_t)count, &request, &what, &report, &error);
    int exit_status = output_reading(&output, status, report, &error, operands[0]);
    return status == -ENODATA ? EXIT_NOTHING : exit_status;
}

const struct command command_timeline_merge = {
    .name = "timeline merge",
    .synopsis = "[-o FILE] PATH...",
    .summary = "Merge traces, metrics and recordings into one trace for Perfetto",
    .description =
        "Reads files and folders of the formats of timeline info. Writes one trace for ui.perfetto.dev or chrome://tracing: all events on one clock, samples as counters, code blocks as slices, and a mark at each time of GPU utilization below --low-gpu percent.\n\n"
        "Files without a start time begin at the start of the others, unless --align names an event that happened everywhere at the same time. The first event of the result states how each clock was found.\n\n"
        "Without -o the file is END_NODE_merged_timeline.json in the current folder: the end in microseconds, and the node, or this machine for several nodes.\n\n"
        "With --unit step, the events from the start of step --start to the start of step --end are kept. If nothing is left to merge, it writes no file and exits with 4.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = merge,
};

const struct command command_timeline_info = {
    .name = "timeline info",
    .synopsis = "PATH...",
    .summary = "Show the contents of traces, profiles and recordings",
    .description =
        "Prints sources, formats, nodes, ranks, steps, phases, the time range, and the unreadable parts of damaged files. Formats: PyTorch profiler (Kineto) and any other Chrome trace, Perfetto protobuf, TensorFlow and JAX (trace.json.gz), Horovod, SMDebug folders, cProfile, pyinstrument, collapsed stacks, speedscope, perf script, PyTorch memory snapshots, NCCL flight recorder dumps, Nsight Systems SQLite exports, and recordings and sub-tracking files of gpu-tracker. Files may be compressed by gzip, zstd, xz, bzip2 or zip. The format is recognized by the contents, not by the name. \"-\" is standard input.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = info,
};

const struct command command_timeline_export = {
    .name = "timeline export",
    .synopsis = "-o FILE PATH...",
    .summary = "Write traces as tables for SQL, or as a flame graph",
    .description =
        "The suffix of FILE chooses the output.\n\n"
        ".sqlite: the views events (one row each, with its place, times in nanoseconds, step, correlation, shapes and arguments), counters, steps and ranks.\n\n"
        ".html: a flame graph of sampled stacks, of Python functions, or of nested events on CPU threads, in one file that needs no network. .collapsed: the same as lines, \"main;work;fib 12\", in microseconds, samples or bytes.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = export,
};
