#include <stdlib.h>

#include "base/buffer.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

/* Append the rendered report of one recording. 0 or negative errno. */
static int add(struct gt_buffer *all, const struct options *options, const char *format, const char *path,
               struct gt_error *error)
{
    struct gt_report *report = NULL;
    char *text = NULL;
    size_t length = 0;
    struct gt_recording_options wanted = GT_INIT(struct gt_recording_options);
    wanted.ram_unit = options->ram_unit;
    wanted.gpu_ram_unit = options->gpu_ram_unit;
    wanted.time_unit = options->time_unit;
    wanted.carbon_intensity = options->carbon_intensity;
    wanted.carbon_file = options->carbon_file;
    wanted.price = options->price;
    wanted.power_meter = options->power_meter;
    int status = options->at ? gt_recording_points(path, options->at, options->columns, &report, error)
                             : gt_recording_report_with(path, &wanted, &report, error);
    if (status >= 0)
        status = gt_report_render(report, format, &text, &length, error);
    if (status >= 0 && all->length && all->data[all->length - 1] != '\n')
        gt_buffer_char(all, '\n');
    if (status >= 0)
        status = gt_buffer_append(all, text, length);
    free(text);
    gt_report_free(report);
    return status;
}

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_buffer all = {0};
    if (options->columns && !options->at)
        return say_usage("--columns needs --at");
    int status = output_prepare(&output, options);
    for (int i = 0; i < count && !status; i++) {
        struct gt_error error = {0};
        int added = add(&all, options, output.format, operands[i], &error);
        if (added < 0)
            status = say_failure(added, &error);
    }
    if (!status)
        status = output_text(&output, all.data, all.length);
    gt_buffer_release(&all);
    return status;
}

const struct command command_report = {
    .name = "report",
    .synopsis = "FILE...",
    .summary = "Print the report of a tracking file again",
    .description =
        "Reads tracking files, also those of a run whose tracker was killed, and those of the original gpu_tracker. "
        "Units are the file's unless options say otherwise. The reports of several files follow one another."
        "\n\n"
        "--at tells instead what the job had drawn, used and held at moments of your choosing: the ends of epochs, say. "
        "What lies between two samples is interpolated.",
    .operand = OPERAND_FILE,
    .least = 1,
    .most = -1,
    .run = run,
};
