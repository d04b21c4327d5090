#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

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
    return options->at ? gt_recording_points(path, options->at, options->columns, ret, error)
                       : gt_recording_report(path, &wanted, ret, error);
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

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (options->columns && !options->at)
        return say_usage("--columns needs --at");
    if (options->plot && (options->at || count > 1))
        return say_usage("--plot draws one recording, without --at");
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    if (isatty(STDOUT_FILENO) && !options->at && !options->plot)
        output_prefer_summary(&output, options);
    status = report_of_all(options, count, operands, output_is_page(&output), &report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_report = {
    .name = "report",
    .synopsis = "FILE...",
    .summary = "Print the report of a tracking file again",
    .description =
        "In a terminal it prints the summary, as run does; elsewhere, and with --format text, the whole report. Reads tracking files, also those of a run whose tracker was killed, and those of the original gpu_tracker. "
        "Units are the file's unless options say otherwise. Several files give one report: in JSON a list, each "
        "object with a key recording in front; on a page a section for each; in CSV keys that begin with 0, 1, ...; as a pickle a list."
        "\n\n"
        "--at tells instead what the job had drawn, used and held at moments of your choosing: the ends of epochs, say. "
        "What lies between two samples is interpolated. With several files CSV has a column recording in front.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = run,
};
