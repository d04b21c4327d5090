#include <unistd.h>

#include "gpu_tracker.h"
#include "option.h"
#include "output.h"
#include "settings.h"

static const char *choice_analysis(size_t index, const char **help)
{
    const char *name;
    return gt_analysis_info(index, &name, help) < 0 ? NULL : name;
}

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    struct gt_profile_options wanted = GT_INIT(struct gt_profile_options);
    struct gt_trace_request request = request_of(options);
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    name_input(count - 1, operands + 1);
    wanted.by = options->by;
    wanted.phases = options->phase.value;
    wanted.device = options->device;
    wanted.ranges = options->ranges;
    wanted.key = options->key;
    wanted.carbon_intensity = options->carbon_intensity;
    wanted.carbon_file = options->carbon_file;
    wanted.price = options->price;
    wanted.top = options->all ? -1 : options->top;
    status = gt_profile_report(operands[0], (const char *const *)operands + 1, (size_t)count - 1, &request, &wanted,
                               &report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_profile = {
    .name = "profile",
    .synopsis = "ANALYSIS PATH...",
    .summary = "Analyse traces and profiles: steps, phases, kernels, idle GPUs, advice",
    .description =
        "Reads traces (SMDebug folders, Chrome traces of PyTorch, TensorFlow and Horovod, also compressed, Python "
        "profiles, tracking files) as one, and prints one analysis of them. Nodes and ranks are kept apart.",
    .choice = choice_analysis,
    .refuses = gt_analysis_refuses,
    .operand = OPERAND_FILE,
    .least = 2,
    .most = -1,
    .run = run,
};
