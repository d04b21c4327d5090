/* analyze, and sub-track analyze and combine. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/program.h"
#include "base/file.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "settings.h"

static void show_progress(void *context, unsigned long long samples)
{
    bool *drawn = context;
    *drawn = true;
    dprintf(STDERR_FILENO, "\rgpu-tracker: %llu timepoints", samples);
}

static void erase_progress(bool drawn)
{
    if (drawn)
        dprintf(STDERR_FILENO, "\r\033[K");
}

/* All ranks of a job: what belongs to one recording is refused. */
static int analyze_job(const struct options *options, const struct output *output, const char *folder)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    struct gt_folder_options wanted = settings_job(options);
    if (options->sub_tracking_file.count || options->skip_bad_rows || options->carbon_intensity ||
        options->carbon_file || options->price)
        return say_usage("%s is a folder: sub-tracking files, bad rows and costs are for its files", folder);
    wanted.top = options->calls ? -1 : 0;
    int status = gt_folder_blocks(folder, &wanted, &report, &error);
    status = status < 0 ? say_unread(status, &error, folder) : output_report(output, report);
    gt_report_free(report);
    return status;
}

static int analyze(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    bool drawn = false;
    if (!options->recording && !count)
        return say_usage("analyze: FILE or --tf FILE is missing (see gpu-tracker analyze --help)");
    if (options->recording && count)
        return say_usage("analyze: '%s' and --tracking-file: there is one tracking file", operands[0]);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    const char *path = count ? operands[0] : options->recording;
    int has_job;
    if (gt_server_is_address(path, &has_job) || gt_is_folder(path))
        return analyze_job(options, &output, path);
    struct gt_blocks_options settings = GT_INIT(struct gt_blocks_options);
    settings.tracking_file = path;
    settings.sub_tracking_files = options->sub_tracking_file.value;
    settings.skip_bad_rows = options->skip_bad_rows;
    settings.calls = options->calls;
    settings.page = output_is_page(&output);
    settings.carbon_intensity = options->carbon_intensity;
    settings.carbon_file = options->carbon_file;
    settings.price = options->price;
    settings.warn = say_warning;
    settings.progress = isatty(STDERR_FILENO) ? show_progress : NULL;
    settings.context = &drawn;
    status = gt_blocks_analyze(&settings, &report, &error);
    erase_progress(drawn);
    status = status < 0 ? say_unread(status, &error, path) : output_report(&output, report);
    gt_report_free(report);
    return status;
}

static int combine(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    struct gt_error error = {0};
    if (options->sub_tracking_file.count != 1)
        return say_usage("sub-track combine: --stf FILE is wanted once (see gpu-tracker sub-track combine --help)");
    if (!options->path.count)
        return say_usage("sub-track combine: -p FILE is missing (see gpu-tracker sub-track combine --help)");
    int status = output_check("--stf", options->sub_tracking_file.value[0]);
    if (status)
        return status;
    status = gt_blocks_combine(options->sub_tracking_file.value[0], options->path.value, options->skip_bad_rows,
                               options->overwrite, &error);
    return status < 0 ? say_unread(status, &error, options->path.value[0]) : 0;
}

const struct command command_analyze = {
    .name = "analyze",
    .synopsis = "FILE|FOLDER|URL",
    .summary = "Report what each code block used",
    .description =
        "Joins a tracking file with the starts and stops of code blocks, those of this program or of the original "
        "gpu_tracker, CSV and SQLite in any mixture. A timepoint belongs to a block when it lies between a start and its "
        "stop. Standard deviations are the population's; times are in seconds.\n\n"
        "Of a folder with the tracking file of each rank of a job, or of the job on a server, it tells the calls of all ranks; --calls lists each "
        "block of each rank.\n\n"
        "Malformed rows are named with file and line and end the analysis with status 2, unless --skip-bad-rows.",
    .operand = OPERAND_FILE,
    .most = 1,
    .run = analyze,
};

const struct command command_sub_track_analyze = {
    .name = "sub-track analyze",
    .synopsis = "--tf=FILE|FOLDER|URL [--stf=FILE...]",
    .summary = "The same as analyze, as gpu_tracker spells it",
    .description = "See gpu-tracker analyze --help.",
    .operand = OPERAND_FILE,
    .most = 1,
    .run = analyze,
};

const struct command command_sub_track_combine = {
    .name = "sub-track combine",
    .synopsis = "--stf=FILE -p FILE...",
    .summary = "Make one sub-tracking file of several",
    .description = "The files may be CSV and SQLite in any mixture; the suffix of the result says what it becomes.",
    .operand = OPERAND_NONE,
    .run = combine,
};
