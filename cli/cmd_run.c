#include "option.h"
#include "track.h"

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    return track_command(options, operands, false);
}

const struct command command_run = {
    .name = "run",
    .synopsis = "-- COMMAND [ARGUMENT...]",
    .summary = "Run a command with its arguments, and report what it used",
    .description =
        "Nothing has to be quoted: the words after -- are the command, as they are. Standard output is "
        "the command's alone: when the command has ended a summary of at most 25 lines goes to standard error, as all that "
        "gpu-tracker says. The whole report goes to the file that --output names, or, with --format, to standard error.\n\n"
        "The exit status is that of the command.",
    .operand = OPERAND_PROGRAM,
    .least = 1,
    .most = -1,
    .run = run,
};
