#include <errno.h>
#include <string.h>
#include <unistd.h>

/* timeline merge and info. */
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

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
        "Prints sources, formats, nodes, ranks, steps, phases, the time range, and the unreadable parts of damaged files. Formats: PyTorch profiler (Kineto) and any other Chrome trace, Perfetto protobuf, XLA profiles, TensorFlow, Horovod, SMDebug folders, cProfile, pyinstrument, collapsed stacks, speedscope, pprof, memray, rocprofv3, perf script, PyTorch memory snapshots, NCCL flight recorder dumps, Nsight Systems SQLite exports, and recordings and sub-tracking files of gpu-tracker. Files may be compressed by gzip, zstd, xz, bzip2 or zip. The format is recognized by the contents, not by the name. \"-\" is standard input.",
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
        ".sqlite: the views events (one row each, with its place, times in nanoseconds, step, correlation, shapes and arguments), counters, steps and ranks. .arrow: the events as one table for pandas, polars and DuckDB.\n\n"
        ".html: a flame graph of sampled stacks, of Python functions, or of nested events on CPU threads, in one file that needs no network. .collapsed: the same as lines, \"main;work;fib 12\", in microseconds, samples or bytes.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = export,
};
