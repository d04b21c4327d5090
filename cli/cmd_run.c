#include <stdio.h>

#include "option.h"
#include "track.h"

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    return track_command(options, operands, stderr);
}

const struct command command_run = {
    .name = "run",
    .synopsis = "-- COMMAND [ARGUMENT...]",
    .summary = "Run a command with its arguments, and report what it used",
    .description =
        "Nothing has to be quoted: the words after -- are the command, as they are. The report goes to standard output "
        "behind the command's own output, everything else that gpu-tracker says to standard error.\n\n"
        "The exit status is that of the command.",
    .operand = OPERAND_PROGRAM,
    .least = 1,
    .most = -1,
    .run = run,
};
