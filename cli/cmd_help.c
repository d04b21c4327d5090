#include <stdio.h>

#include "help.h"
#include "message.h"
#include "option.h"

extern const struct command command_execute;

static int run(const struct options *options, int count, char **operands)
{
    (void)options;
    int used = 0;
    const struct command *command = count ? command_find(count, operands, &used) : &command_execute;
    if (!command || used < count)
        return say_usage("there is no command '%s' to help with (see gpu-tracker --help)", operands[used]);
    help_print(stdout, command);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .synopsis = "[COMMAND]",
    .summary = "Explain gpu-tracker, or one of its commands",
    .operand = OPERAND_COMMAND,
    .least = 0,
    .most = -1,
    .run = run,
};
