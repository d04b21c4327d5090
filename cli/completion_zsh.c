#include <stdio.h>
#include <string.h>

#include "completion.h"

/* Inside '...': a quote ends, escapes and reopens; brackets and colons mean something to _arguments. */
static void put_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void put_form(const struct option *option, const char *dashes, const char *name)
{
    bool is_long = dashes[1];
    printf("        '%s%s%s%s[", option->type == OPTION_LIST ? "*" : "", dashes, name,
           option_has_value(option) ? is_long ? "=" : "+" : "");
    put_text(option->help);
    putchar(']');
    if (option_has_value(option)) {
        putchar(':');
        put_text(option->argument);
        putchar(':');
    }
    if (option->choice) {
        putchar('(');
        completion_choices(option, " ");
        putchar(')');
    } else if (option->type == OPTION_PATH) {
        fputs("_files", stdout);
    }
    puts("' \\");
}

static void put_operands(enum operand operand)
{
    fputs("        ", stdout);
    switch (operand) {
    case OPERAND_PROGRAM: fputs("'*::command: _normal'", stdout); break;
    case OPERAND_PROCESS: fputs("'1:process:_pids'", stdout); break;
    case OPERAND_FILE: fputs("'*:file:_files'", stdout); break;
    case OPERAND_SHELL:
        fputs("'1:shell:(", stdout);
        completion_shells();
        fputs(")'", stdout);
        break;
    case OPERAND_COMMAND: fputs("\"1:command:($names)\"", stdout); break;
    case OPERAND_NONE: break;
    }
    puts(") ;;");
}

static void put_command(const struct command *command)
{
    if (*command->name)
        printf("    \"%s \"*) skip=%d; specs=( \\\n", command->name, strchr(command->name, ' ') ? 2 : 1);
    else
        puts("    *) skip=0; specs=( \\");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        char letter[] = {option->letter, '\0'};
        if (!option_applies(option, command))
            continue;
        if (option->letter)
            put_form(option, "-", letter);
        put_form(option, "--", option->name);
        if (option->short_word)
            put_form(option, "--", option->short_word);
    }
    put_operands(*command->name ? command->operand : OPERAND_COMMAND);
}

static void print(void)
{
    fputs("#compdef gpu-tracker\n"
          "# zsh completion for gpu-tracker: a file _gpu-tracker in a folder of $fpath\n"
          "_gpu_tracker() {\n"
          "    local skip line names='",
          stdout);
    completion_names();
    puts("'\n    local -a specs\n    line=\"${(j: :)words[2,-1]} \"\n    case $line in");
    for (int i = COMMAND_COUNT - 1; i >= 0; i--)
        put_command(commands[i]);
    puts("    esac\n"
         "    if ((skip && CURRENT > skip + 1)); then\n"
         "        shift $skip words\n"
         "        ((CURRENT -= skip))\n"
         "    fi\n"
         "    _arguments -S -s : $specs\n"
         "}\n"
         "if [[ $funcstack[1] == _gpu-tracker ]]; then _gpu_tracker \"$@\"; else compdef _gpu_tracker gpu-tracker; fi");
}

const struct completion completion_zsh = {"zsh", print};
