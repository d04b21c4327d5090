#include <unistd.h>

#include "api/program.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    (void)count;
    (void)operands;
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    status = gt_schema_report(&report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_schema = {
    .name = "schema",
    .synopsis = "",
    .summary = "List all metrics and the columns of recordings",
    .operand = OPERAND_NONE,
    .run = run,
};
