#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "message.h"

static const struct completion *const completions[] = {&completion_bash, &completion_zsh, &completion_fish};
enum { COMPLETIONS = sizeof completions / sizeof *completions };

bool option_has_value(const struct option *option)
{
    return option->type != OPTION_FLAG;
}

void completion_choices(const struct option *option, const char *separator)
{
    const char *name;
    for (size_t i = 0; (name = option->choice(i)); i++)
        printf("%s%s", i ? separator : "", name);
}

void completion_names(void)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        size_t length = strcspn(commands[i]->name, " ");
        bool is_repeated = i && strncmp(commands[i]->name, commands[i - 1]->name, length + 1) == 0;
        if (length && !is_repeated)
            printf("%.*s ", (int)length, commands[i]->name);
    }
}

void completion_shells(void)
{
    for (int i = 0; i < COMPLETIONS; i++)
        printf("%s%s", i ? " " : "", completions[i]->shell);
}

static int run(const struct options *options, int count, char **operands)
{
    (void)options;
    (void)count;
    for (int i = 0; i < COMPLETIONS; i++)
        if (strcmp(completions[i]->shell, operands[0]) == 0) {
            completions[i]->print();
            return 0;
        }
    return say_usage("no completion for '%s' (see gpu-tracker completion --help)", operands[0]);
}

const struct command command_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "Print the completion script of a shell",
    .operand = OPERAND_SHELL,
    .least = 1,
    .most = 1,
    .run = run,
};
