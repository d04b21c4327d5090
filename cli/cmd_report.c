#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/program.h"
#include "base/os/file.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "store/address.h"

enum { JOBS = 20 }; /* of a server that are listed */

/* Jobs lie in folders, or on servers. */
static bool is_job(const char *path)
{
    return gt_is_address(path) || gt_is_folder(path);
}

/* The address of a server, without a job. */
static bool names_no_job(const char *path)
{
    struct gt_address address;
    return gt_is_address(path) && gt_address_read(&address, path, NULL) >= 0 && !*address.jobs;
}

static int report_of_job(const struct options *options, const char *path, bool page, struct gt_report **ret,
                         struct gt_error *error)
{
    const struct gt_job_server_options server = settings_job(options);
    const struct gt_job_report_options wanted = {.heat = options->heat, .page = page, .all = options->all};
    if (names_no_job(path))
        return gt_job_server_list(ret, path, JOBS, &server, error);
    int status = gt_folder_view(path, &server, &wanted, ret, error);
    return status == -ENODATA && !(options->watch > 0) ? -EINVAL : status;
}

static int report_of(const struct options *options, const char *path, bool page, struct gt_report **ret,
                     struct gt_error *error)
{
    struct gt_recording_options wanted = GT_INIT(struct gt_recording_options);
    wanted.ram_unit = options->ram_unit;
    wanted.gpu_ram_unit = options->gpu_ram_unit;
    wanted.time_unit = options->time_unit;
    wanted.carbon_intensity = options->carbon_intensity;
    wanted.carbon_file = options->carbon_file;
    wanted.price = options->price;
    wanted.power_meter = options->power_meter;
    wanted.page = page;
    if (is_job(path) || options->watch > 0)
        return report_of_job(options, path, page, ret, error);
    return gt_recording_report(path, &wanted, ret, error);
}

/* The report of one recording, or all of them as one. */
static int report_of_all(const struct options *options, int count, char **paths, bool page, struct gt_report **ret,
                         struct gt_error *error)
{
    struct gt_report **reports = calloc((size_t)count, sizeof *reports);
    if (!reports)
        return -ENOMEM;
    int status = 0;
    for (int i = 0; i < count && status >= 0; i++)
        status = report_of(options, paths[i], page, &reports[i], error);
    if (status >= 0 && count == 1) {
        *ret = reports[0];
        reports[0] = NULL;
    } else if (status >= 0) {
        status = gt_report_join(ret, reports, (const char *const *)paths, (size_t)count, error);
    }
    for (int i = 0; i < count; i++)
        gt_report_free(reports[i]);
    free(reports);
    return status;
}

static int print_request(const struct options *options, const struct output *output, int count, char **paths)
{
    struct gt_error error = {0};
    char *request = NULL, *doubt = NULL;
    const struct gt_job_server_options server = settings_job(options);
    int status = is_job(paths[0]) ? gt_folder_request(paths[0], options->request, &server, &request, &doubt, &error)
                                  : gt_recording_request((const char *const *)paths, (size_t)count, options->request,
                                                         &request, &doubt, &error);
    if (status < 0)
        return say_unread(status, &error, paths[0]);
    if (doubt)
        say("next time: %s", doubt);
    char *text = NULL;
    int length = asprintf(&text, "%s\n", request);
    status = length < 0 ? EXIT_TRACKER : output_text(output, text, (size_t)length);
    if (length >= 0)
        free(text);
    free(request);
    free(doubt);
    return status;
}

static int print_scaling(const struct options *options, const struct output *output, int count, char **paths)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    double size = options->given[OPTION_NUMBER_for_size] ? options->for_size : NAN;
    int status = gt_recording_scaling((const char *const *)paths, (size_t)count, options->by, size, &report, &error);
    return output_reading(output, status, report, &error, paths[0]);
}

/* The report of a job again and again, until its recordings are finished and no rank is waited for. */
static int watch(const struct options *options, struct output *output, char **operands)
{
    bool clears = isatty(STDOUT_FILENO) && !output->path;
    const struct timespec pause = {(time_t)options->watch, (long)(fmod(options->watch, 1) * 1e9)};
    bool is_begun = false, is_told = false;
    if (clears)
        output_prefer_summary(output, options);
    for (;; nanosleep(&pause, NULL)) {
        struct gt_error error = {0};
        struct gt_report *report = NULL;
        int going_on = report_of(options, operands[0], output_is_page(output), &report, &error);
        bool may_come = going_on == -ENODATA || going_on == -ENOENT; /* its folder, the job, or its first rows */
        if (!is_begun && may_come) {
            if (!is_told)
                say("%s; waiting for it", error.text);
            is_told = true;
            continue;
        }
        is_begun = true;
        if (clears && going_on >= 0)
            dprintf(STDOUT_FILENO, "\033[H\033[2J");
        int status = output_reading(output, going_on, report, &error, operands[0]);
        if (status || going_on <= 0)
            return status;
    }
}

static void say_broken(void *path, const char *sentence)
{
    path ? say("%s: %s", (const char *)path, sentence) : say("%s", sentence);
}

/* 0, or the exit status when a rule is broken. */
static int judge(const struct options *options, int count, char **paths)
{
    struct gt_error error = {0};
    int broken = 0;
    for (int i = 0; options->limits.count && i < count; i++) {
        int status = gt_recording_judge(paths[i], options->limits.value, say_broken, count > 1 ? paths[i] : NULL,
                                        &error);
        if (status < 0)
            return say_unread(status, &error, paths[i]);
        broken += status;
    }
    return broken ? EXIT_BROKEN_RULE : 0;
}

static int print_report(const struct options *options, struct output *output, int count, char **operands)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (isatty(STDOUT_FILENO) && !options->plot && !options->heat && !options->all)
        output_prefer_summary(output, options);
    output->is_summary_first = true;
    int status = report_of_all(options, count, operands, output_is_page(output), &report, &error);
    for (int i = 0; status >= 0 && i < count; i++)
        gt_recording_judge(operands[i], options->limits.value, gt_report_broken_rule, report, NULL);
    return output_reading(output, status, report, &error, operands[0]);
}

/* What is asked of single recordings. */
static bool is_of_recordings(const struct options *options)
{
    return options->by || options->plot || options->limits.count || options->power_meter || options->ram_unit ||
           options->gpu_ram_unit || options->time_unit || options->carbon_intensity || options->carbon_file ||
           options->price;
}

/* 0, or the exit status where ranks are asked for and there can be none. */
static int check_ranks(const struct options *options, const char *path)
{
    if (!options->heat && !options->all && !(options->watch > 0))
        return 0;
    if (gt_is_address(path))
        return !names_no_job(path)
                   ? 0
                   : say_usage("%s names no job: --heat, --watch and --all tell of the ranks of one", path);
    if (!is_job(path) && access(path, F_OK) == 0)
        return say_usage("%s is not a folder of recordings: --heat, --watch and --all are for ranks", path);
    return 0;
}

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    if (options->plot && (options->by || options->request || count > 1))
        return say_usage("--plot draws one recording, without --by and --request");
    if (!options->plot && (options->width > 0 || options->font))
        return say_usage("--width and --font need --plot");
    if (options->request && options->format)
        return say_usage("--request prints lines for a scheduler, without --format");
    if (options->given[OPTION_NUMBER_for_size] && (!options->by || !(options->for_size > 0)))
        return say_usage("--for needs --by, and a size above 0");
    if (options->limits.count && (options->by || options->request))
        return say_usage("--fail-if judges the runs themselves: it takes neither --by nor --request");
    if (options->by && options->request)
        return say_usage("--by does not take --request: with --for it reports the resources to request");
    for (int i = 0; i < count; i++)
        if (is_of_recordings(options) && is_job(operands[i]))
            return say_usage("%s is a %s: units, costs, --by, --plot, --fail-if and --power-meter are for its files",
                             operands[i], gt_is_folder(operands[i]) ? "folder" : "job on a server");
    for (int i = 0; i < count; i++)
        if (check_ranks(options, operands[i]))
            return EXIT_USAGE;
    for (int i = 0; i < count; i++)
        if (options->request && count > 1 && is_job(operands[i]))
            return say_usage("--request takes one job, or tracking files");
    if (options->watch > 0 && count > 1)
        return say_usage("--watch looks at one folder");
    int status = gt_rules_check(options->limits.value, &error);
    if (status < 0)
        return say_failure(status, &error);
    status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    if (options->by)
        return print_scaling(options, &output, count, operands);
    if (options->request)
        return print_request(options, &output, count, operands);
    if (options->watch > 0)
        return watch(options, &output, operands);
    status = print_report(options, &output, count, operands);
    return status ? status : judge(options, count, operands);
}

const struct command command_report = {
    .name = "report",
    .synopsis = "FILE|FOLDER|URL...",
    .summary = "Report a recording again, or a whole job with a recording for each rank",
    .description =
        "In a terminal it prints the summary, as run does. Elsewhere, and with --format text, it prints the whole report. It reads recordings of this program and of the original gpu_tracker, also after a kill -9 of the tracker. Units are those of the recording unless options change them.\n\n"
        "Several files give one report: a list in JSON and pickle, a section for each on a page, and keys that begin with 0, 1, ... in CSV.\n\n"
        "A folder is a parallel job with a recording for each rank. The report counts machines, GPUs and networks once, and lists nodes and ranks, worst first. A page draws the ranks over time.\n\n"
        "URL is a job on a ClickHouse server, clickhouse://HOST/DATABASE/JOB. JOB is the whole name, or the number in it. Without JOB, the latest jobs are listed.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = run,
};

static int plot(const struct options *options, int count, char **operands)
{
    struct options of_report = *options;
    if (!of_report.plot)
        of_report.plot = "all";
    if (!options->output && isatty(STDOUT_FILENO))
        return say_usage("plot: a terminal shows no pictures: give one a name, as in -o memory.svg");
    return run(&of_report, count, operands);
}

const struct command command_plot = {
    .name = "plot",
    .synopsis = "FILE",
    .summary = "Draw the charts of a recording as SVG, PNG or PDF",
    .description = "The same as report --plot.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = 1,
    .run = plot,
};
