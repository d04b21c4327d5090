#include <unistd.h>

#include "gpu_tracker.h"
#include "option.h"
#include "output.h"

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    status = gt_schema_report(&report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_schema = {
    .name = "schema",
    .synopsis = "",
    .summary = "List the metrics, and the columns of tracking files",
    .operand = OPERAND_NONE,
    .run = run,
};
