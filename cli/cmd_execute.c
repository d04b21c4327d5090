#include "message.h"
#include "option.h"
#include "track.h"
#include "words.h"

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    if (!options->execute)
        return say_usage("nothing to track: give --execute=COMMAND or a command's name (see gpu-tracker --help)");
    const char *complaint;
    char **words = words_split(options->execute, &complaint);
    if (!words)
        return say_usage("--execute: cannot split '%s': %s", options->execute, complaint);
    int status = track_command(options, words, true);
    words_free(words);
    return status;
}

const struct command command_execute = {
    .name = "",
    .synopsis = "",
    .summary = "Run a command given as one word, and report what it used",
    .description =
        "Tracks memory, CPU, GPU and time of a command and of all its descendants, and reports them when it ends, on "
        "standard output behind the command's own: gpu-tracker run leaves that to the command.\n\n"
        "The exit status is that of the command.",
    .operand = OPERAND_NONE,
    .run = run,
};
