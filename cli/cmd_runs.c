#include <string.h>
#include <unistd.h>

#include "api/program.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"

enum { ROWS = 20 };

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (count == 1 && operands[0][0] == '@' && operands[0][1] &&
        !operands[0][1 + strspn(operands[0] + 1, "0123456789")])
        return say_usage("runs: '%s' is a run, and words are looked for: gpu-tracker report %s prints it", operands[0],
                         operands[0]);
    size_t most = options->all ? 0 : options->top ? (size_t)options->top : ROWS;
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    status = gt_runs_report((const char *const *)operands, (size_t)count, most, &report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_runs = {
    .name = "runs",
    .synopsis = "[WORD...]",
    .summary = "List your runs of the past, the latest first, and name them @1, @2, ...",
    .description =
        "gpu-tracker run keeps a row for each of your runs: command, folder, begin, exit status, time, peak memory, CPU time, energy, and "
        "where its recording is. With words only those whose command or folder has all of them. @1 is the latest: the name stands "
        "for its recording wherever one is expected, as in gpu-tracker report @1.\n\n"
        "The list is a file of yours alone, $XDG_STATE_HOME/gpu-tracker/runs.sqlite or ~/.local/state/gpu-tracker/runs.sqlite, of 10,000 runs "
        "at most; words that look like passwords and keys are not kept. Nothing is kept with --no-history, with false for history in a "
        "configuration file or in GPU_TRACKER_HISTORY, where CI is set unless --history is given, and with -e. Remove the file to forget all.",
    .operand = OPERAND_NONE,
    .most = -1,
    .run = run,
};
