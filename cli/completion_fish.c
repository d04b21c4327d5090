#include <stdio.h>

#include "completion.h"

static void put_text(const char *text)
{
    putchar('\'');
    for (; *text; text++)
        printf("%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
    putchar('\'');
}

/* True when the words typed begin with the command's name. */
static void put_condition(const struct command *command)
{
    printf("complete -c gpu-tracker -n '_gpu_tracker_in \"%s\"'", command->name);
}

static void put_option(const struct command *command, const struct option *option)
{
    put_condition(command);
    printf(" -l %s", option->name);
    if (option->short_word)
        printf(" -l %s", option->short_word);
    if (option->letter)
        printf(" -s %c", option->letter);
    if (option->choice) {
        fputs(" -x -a '", stdout);
        completion_choices(option, " ");
        putchar('\'');
    } else if (option_has_value(option)) {
        fputs(option->type == OPTION_PATH ? " -r -F" : " -x", stdout);
    }
    fputs(" -d ", stdout);
    put_text(option->help);
    putchar('\n');
}

static void put_operands(const struct command *command)
{
    put_condition(command);
    switch (command->operand) {
    case OPERAND_PROGRAM: puts(" -a '(__fish_complete_subcommand --fcs-skip=2)'"); break;
    case OPERAND_PROCESS: puts(" -a '(__fish_complete_pids)'"); break;
    case OPERAND_FILE: puts(" -F"); break;
    case OPERAND_SHELL:
        fputs(" -a '", stdout);
        completion_shells();
        puts("'");
        break;
    case OPERAND_COMMAND: puts(" -a '$_gpu_tracker_names'"); break;
    case OPERAND_NONE: puts(""); break;
    }
}

static void print(void)
{
    fputs("# fish completion for gpu-tracker: gpu-tracker completion fish | source\n"
          "set -g _gpu_tracker_names ",
          stdout);
    completion_names();
    puts("\nfunction _gpu_tracker_in\n"
         "    set -l words (commandline -opc)[2..-1]\n"
         "    if test -z \"$argv[1]\"\n"
         "        not contains -- \"$words[1]\" $_gpu_tracker_names\n"
         "    else\n"
         "        string match -q -- \"$argv[1] *\" \"$words \"\n"
         "    end\n"
         "end\n"
         "complete -c gpu-tracker -f\n"
         "complete -c gpu-tracker -n 'test (count (commandline -opc)) -eq 1' -a '$_gpu_tracker_names'");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        for (int j = 0; j < OPTION_COUNT; j++)
            if (option_applies(&option_table[j], commands[i]))
                put_option(commands[i], &option_table[j]);
        if (*commands[i]->name)
            put_operands(commands[i]);
    }
}

const struct completion completion_fish = {"fish", print};
