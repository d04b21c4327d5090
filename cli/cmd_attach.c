#include "message.h"
#include "option.h"
#include "track.h"

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    pid_t pid;
    if (!option_pid(operands[0], &pid))
        return say_usage("'%s' is not a process number (see gpu-tracker attach --help)", operands[0]);
    return track_process(options, pid);
}

const struct command command_attach = {
    .name = "attach",
    .synopsis = "PID",
    .summary = "Track a process that runs already, until it ends or Ctrl-C",
    .description =
        "Tracks the process and its descendants from now on. Ctrl-C, SIGTERM, SIGHUP or SIGQUIT end the tracking, not "
        "the process, and the summary comes, on standard error.\n\n"
        "The exit status is 0: how the process ended is known to its parent only.",
    .operand = OPERAND_PROCESS,
    .least = 1,
    .most = 1,
    .run = run,
};
