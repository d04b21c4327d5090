/* Completion scripts for shells, from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "api/program.h"
#include "message.h"
#include "option.h"

/* ---- shared by the shells; all print to standard output ---- */

static const char *const shells[] = {"bash", "zsh", "fish"};
enum { SHELLS = sizeof shells / sizeof *shells };

static bool has_value(const struct option *option)
{
    return option->type != OPTION_FLAG;
}

static bool takes_file(const struct option *option)
{
    return option->type == OPTION_PATH || (option->type == OPTION_LIST && strcmp(option->argument, "FILE") == 0);
}

/* This and the next ones put words between two texts. */
static void put_choices(const char *before, const struct option *option, const char *after)
{
    const char *name;
    fputs(before, stdout);
    for (size_t i = 0; (name = option->choice(i)); i++)
        printf("%s%s", i ? " " : "", name);
    fputs(after, stdout);
}

static bool is_rule(const struct option *option)
{
    return option->argument && strcmp(option->argument, "RULE") == 0;
}

/* The figures of rules, each with both operators, in quotes for the shell: the limit behind them is the user's. */
static void put_rules(const char *before, const char *after)
{
    const char *name;
    fputs(before, stdout);
    for (size_t i = 0; (name = gt_rule_figure(i)); i++)
        printf("%s\"%s>\" \"%s<\"", i ? " " : "", name, name);
    fputs(after, stdout);
}

/* Runs of the past: the last nine. */
static void put_runs(const char *before, const char *after)
{
    printf("%s@1", before);
    for (int i = 2; i < 10; i++)
        printf(" @%d", i);
    fputs(after, stdout);
}

/* Prints the first words of the commands' names, each once: they may follow "gpu-tracker". */
static void put_names(const char *before, const char *after)
{
    fputs(before, stdout);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        size_t length = strcspn(commands[i]->name, " ");
        bool is_repeated = i && strncmp(commands[i]->name, commands[i - 1]->name, length + 1) == 0;
        if (length && !is_repeated)
            printf("%.*s ", (int)length, commands[i]->name);
    }
    fputs(after, stdout);
}

/* The names of the choices of a command's first operand, which come before further operands. */
static void put_command_choices(const char *before, const struct command *command, const char *after)
{
    const char *name, *help;
    fputs(before, stdout);
    for (size_t i = 0; command->choice && (name = command->choice(i, &help)); i++)
        printf("%s%s", i ? " " : "", name);
    fputs(after, stdout);
}

/* Returns the length of the word with which the names of commands begin there, and not before: "sub-track"; else 0. */
static size_t group_at(int number)
{
    size_t length = strcspn(commands[number]->name, " ");
    if (!commands[number]->name[length])
        return 0;
    for (int i = 0; i < number; i++)
        if (strncmp(commands[i]->name, commands[number]->name, length + 1) == 0)
            return 0;
    return length;
}

/* The second words of the commands of a group. */
static void put_verbs(int number, size_t length)
{
    const char *separator = "";
    for (int i = number; i < COMMAND_COUNT; i++)
        if (strncmp(commands[i]->name, commands[number]->name, length + 1) == 0) {
            printf("%s%s", separator, commands[i]->name + length + 1);
            separator = " ";
        }
}

static bool is_refused(const struct command *command, const char *choice, const struct option *option)
{
    bool is_of_lists = strcmp(option->name, "all") == 0; /* says how many rows as --top does */
    return choice && command->refuses && command->refuses(choice, is_of_lists ? "top" : option->name);
}

static void put_shells(const char *before, const char *after)
{
    printf("%s%s", before, shells[0]);
    for (int i = 1; i < SHELLS; i++)
        printf(" %s", shells[i]);
    fputs(after, stdout);
}

/* ---- bash ---- */

/* "--sleep-time|--st", "-o|--output": a shell pattern. */
static void put_pattern(const struct option *option)
{
    if (option->letter)
        printf("-%c|", option->letter);
    printf("--%s", option->name);
    if (option->short_word)
        printf("|--%s", option->short_word);
}

static void put_values(void)
{
    puts("    case $previous in");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        if (!has_value(option))
            continue;
        fputs("        ", stdout);
        put_pattern(option);
        fputs(") ", stdout);
        if (option->choice && strstr(option->argument, ",..."))
            put_choices("COMPREPLY=($(compgen -P \"${word%\"${word##*,}\"}\" -W '", option,
                        "' -- \"${word##*,}\")); return ;;\n");
        else if (option->choice)
            put_choices("COMPREPLY=($(compgen -W '", option, "' -- \"$word\")); return ;;\n");
        else if (option == &option_table[OPTION_NUMBER_against])
            put_runs("if [[ $word == @* ]]; then compopt +o filenames 2>/dev/null; COMPREPLY=($(compgen -W '",
                     "' -- \"$word\")); else COMPREPLY=($(compgen -f -- \"$word\")); fi; return ;;\n");
        else if (is_rule(option))
            put_rules("compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -W '", "' -- \"$word\")); return ;;\n");
        else if (takes_file(option))
            puts("COMPREPLY=($(compgen -f -- \"$word\")); return ;;");
        else
            puts("return ;;");
    }
    puts("    esac");
}

static void put_bash_operands(const struct command *command, const char *choice)
{
    fputs("            operands=", stdout);
    switch (*command->name ? command->operand : OPERAND_COMMAND) {
    case OPERAND_PROGRAM: fputs("program", stdout); break;
    case OPERAND_PROCESS: fputs("$(compgen -G '/proc/[0-9]*' | sed 's,/proc/,,')", stdout); break;
    case OPERAND_FILE:
        if (!command->choice || choice)
            fputs("files", stdout);
        else
            put_command_choices("'", command, "'");
        break;
    case OPERAND_SHELL: put_shells("'", "'"); break;
    case OPERAND_COMMAND: fputs("$names", stdout); break;
    case OPERAND_NONE: break;
    }
    puts(" ;;");
}

/* The nameless form is the last case. `choice` of its first operand, or NULL. */
static void put_case(const struct command *command, const char *choice)
{
    if (*command->name)
        printf("        \"%s %s%s\"*)\n            options='", command->name, choice ? choice : "", choice ? " " : "");
    else
        fputs("        *)\n            options='", stdout);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        if (!option_applies(option, command) || is_refused(command, choice, option))
            continue;
        printf("--%s%s ", option->name, has_value(option) ? "=" : "");
        if (option->short_word)
            printf("--%s= ", option->short_word);
    }
    puts("'");
    put_bash_operands(command, choice);
}

static void put_command(const struct command *command)
{
    const char *name, *help;
    for (size_t i = 0; command->choice && (name = command->choice(i, &help)); i++)
        put_case(command, name);
    put_case(command, NULL);
}

static void put_group(int number)
{
    size_t length = group_at(number);
    if (!length)
        return;
    printf("        \"%.*s \"*)\n            options='--help '\n            operands='", (int)length,
           commands[number]->name);
    put_verbs(number, length);
    puts("' ;;");
}

static void put_takers(void)
{
    const char *separator = "";
    for (int i = 0; i < OPTION_COUNT; i++)
        if (has_value(&option_table[i])) {
            fputs(separator, stdout);
            put_pattern(&option_table[i]);
            separator = "|";
        }
}

static void print_bash(void)
{
    fputs("# bash completion for gpu-tracker: eval \"$(gpu-tracker completion bash)\"\n"
          "_gpu_tracker_program_at() {\n"
          "    local i\n"
          "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "            --) echo $((i + 1)); return ;;\n"
          "            ",
          stdout);
    put_takers();
    put_names(
        ")\n"
        "                ((i++)); [[ ${COMP_WORDS[i]} == = ]] && ((i++)) ;;\n"
        "            -*) ;;\n"
        "            *) echo $i; return ;;\n"
        "        esac\n"
        "    done\n"
        "    echo $i\n"
        "}\n"
        "_gpu_tracker() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} line options operands start names='",
        "'\n"
        "    line=\"${COMP_WORDS[*]:1:COMP_CWORD-1} \"\n"
        "    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}\n"
        "    word=${word#=}\n"
        "    COMPREPLY=()\n"
        "    case $line in\n");
    for (int i = COMMAND_COUNT - 1; i >= 0; i--) {
        put_command(commands[i]);
        put_group(i);
    }
    puts("    esac\n"
         "    if [[ $operands == program ]]; then\n"
         "        start=$(_gpu_tracker_program_at)\n"
         "        if ((COMP_CWORD > start)); then COMPREPLY=($(compgen -f -- \"$word\")); return; fi\n"
         "        if [[ ${COMP_WORDS[start-1]} == -- ]]; then COMPREPLY=($(compgen -c -- \"$word\")); return; fi\n"
         "    fi");
    put_values();
    puts("    if [[ $word == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "        [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace 2>/dev/null\n"
         "    elif [[ $operands == program ]]; then\n"
         "        COMPREPLY=($(compgen -c -- \"$word\"))\n"
         "    elif [[ $operands == files && $word == @* ]]; then");
    put_runs("        compopt +o filenames 2>/dev/null\n        COMPREPLY=($(compgen -W '",
             "' -- \"$word\"))\n"
             "    elif [[ $operands == files ]]; then\n"
             "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
             "    elif ((COMP_CWORD == 1)) || [[ $operands != \"$names\" || ${COMP_WORDS[1]} == help ]]; then\n"
             "        COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))\n"
             "    fi\n"
             "}\n"
             "complete -o filenames -F _gpu_tracker gpu-tracker\n");
}

/* ---- zsh ---- */

/* Inside '...': a quote ends, escapes and reopens; brackets and colons mean something to _arguments. */
/* The first line of a help, which is the effect. */
static void put_zsh_text(const char *text)
{
    for (; *text && *text != '\n'; text++) {
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
           has_value(option) ? is_long ? "=" : "+" : "");
    put_zsh_text(option->help);
    putchar(']');
    if (has_value(option)) {
        putchar(':');
        put_zsh_text(option->argument);
        putchar(':');
    }
    if (option->choice)
        put_choices("(", option, ")");
    else if (is_rule(option))
        put_rules("{compadd -S \"\" -- ", "}");
    else if (takes_file(option))
        fputs("_files", stdout);
    puts("' \\");
}

static void put_zsh_operands(const struct command *command)
{
    fputs("        ", stdout);
    if (command->choice)
        put_command_choices("'1:choice:(", command, ")' ");
    switch (*command->name ? command->operand : OPERAND_COMMAND) {
    case OPERAND_PROGRAM: fputs("'(-)1:program:_command_names -e' '*::argument:_normal'", stdout); break;
    case OPERAND_PROCESS: fputs("'1:process:_pids'", stdout); break;
    case OPERAND_FILE: put_runs("'*:file:{_files; [[ $PREFIX == @* ]] && compadd -- ", "}'"); break;
    case OPERAND_SHELL: put_shells("'1:shell:(", ")'"); break;
    case OPERAND_COMMAND: fputs("\"1:command:($names)\"", stdout); break;
    case OPERAND_NONE: break;
    }
    puts(") ;;");
}

static void put_zsh_command(const struct command *command)
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
    put_zsh_operands(command);
}

static void put_zsh_group(int number)
{
    size_t length = group_at(number);
    if (!length)
        return;
    printf("    \"%.*s \"*) skip=1; specs=( '1:command:(", (int)length, commands[number]->name);
    put_verbs(number, length);
    puts(")' ) ;;");
}

/* A choice leaves out the options that it refuses, and itself as an operand. */
static void put_zsh_choices(const struct command *command)
{
    const char *name, *help;
    for (size_t i = 0; command->choice && (name = command->choice(i, &help)); i++) {
        printf("    \"%s %s \"*) skip=2; specs=(${specs:#(1:choice:*", command->name, name);
        for (int j = 0; j < OPTION_COUNT; j++)
            if (option_applies(&option_table[j], command) && is_refused(command, name, &option_table[j]))
                printf("|--%s(=|\\[)*", option_table[j].name);
        puts(")}) ;;");
    }
}

static void print_zsh(void)
{
    put_names("#compdef gpu-tracker\n"
              "# zsh completion for gpu-tracker: a file _gpu-tracker in a folder of $fpath\n"
              "_gpu_tracker() {\n"
              "    local skip line names='",
              "'\n    local -a specs\n    line=\"${(j: :)words[2,CURRENT-1]} \"\n    case $line in\n");
    for (int i = COMMAND_COUNT - 1; i >= 0; i--) {
        put_zsh_command(commands[i]);
        put_zsh_group(i);
    }
    puts("    esac\n"
         "    case $line in");
    for (int i = 0; i < COMMAND_COUNT; i++)
        put_zsh_choices(commands[i]);
    puts("    esac\n"
         "    if ((skip && CURRENT > skip + 1)); then\n"
         "        shift $skip words\n"
         "        ((CURRENT -= skip))\n"
         "    fi\n"
         "    _arguments -S -s : $specs\n"
         "}\n"
         "if [[ $funcstack[1] == _gpu-tracker ]]; then _gpu_tracker \"$@\"; else compdef _gpu_tracker gpu-tracker; fi");
}

/* ---- fish ---- */

static void put_fish_text(const char *text)
{
    putchar('\'');
    for (; *text && *text != '\n'; text++)
        printf("%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
    putchar('\'');
}

/* Begins a line for where the words typed begin with the command's name. */
static void put_condition(const struct command *command)
{
    printf("complete -c gpu-tracker -n '_gpu_tracker_in \"%s\"'", command->name);
}

/* The same for an option: only behind the choices that take it. */
static void put_option_condition(const struct command *command, const struct option *option)
{
    const char *name, *help;
    bool is_refused_once = false;
    for (size_t i = 0; command->choice && (name = command->choice(i, &help)); i++)
        is_refused_once |= is_refused(command, name, option);
    if (!is_refused_once) {
        put_condition(command);
        return;
    }
    fputs("complete -c gpu-tracker -n '_gpu_tracker_in", stdout);
    for (size_t i = 0; (name = command->choice(i, &help)); i++)
        if (!is_refused(command, name, option))
            printf(" \"%s %s\"", command->name, name);
    putchar('\'');
}

static void put_option(const struct command *command, const struct option *option)
{
    put_option_condition(command, option);
    printf(" -l %s", option->name);
    if (option->short_word)
        printf(" -l %s", option->short_word);
    if (option->letter)
        printf(" -s %c", option->letter);
    if (option->choice)
        put_choices(" -x -a '", option, "'");
    else if (is_rule(option))
        put_rules(" -x -a '", "'");
    else if (has_value(option))
        fputs(takes_file(option) ? " -r -F" : " -x", stdout);
    fputs(" -d ", stdout);
    put_fish_text(option->help);
    putchar('\n');
}

static void put_fish_operands(const struct command *command)
{
    put_condition(command);
    switch (command->operand) {
    case OPERAND_PROGRAM: puts(" -a '(__fish_complete_subcommand --fcs-skip=2)'"); break;
    case OPERAND_PROCESS: puts(" -a '(__fish_complete_pids)'"); break;
    case OPERAND_FILE:
        puts(" -F");
        put_condition(command);
        put_runs(" -n 'string match -q \"@*\" -- (commandline -ct)' -a '", "'\n");
        break;
    case OPERAND_SHELL: put_shells(" -a '", "'\n"); break;
    case OPERAND_COMMAND: puts(" -a '$_gpu_tracker_names'"); break;
    case OPERAND_NONE: puts(""); break;
    }
}

static void put_fish_choices(const struct command *command)
{
    const char *name, *help;
    for (size_t i = 0; command->choice && (name = command->choice(i, &help)); i++) {
        printf("complete -c gpu-tracker -n '_gpu_tracker_at \"%s\"' -a %s -d ", command->name, name);
        put_fish_text(help);
        putchar('\n');
    }
}

static void put_fish_group(int number)
{
    size_t length = group_at(number);
    if (!length)
        return;
    printf("complete -c gpu-tracker -n '_gpu_tracker_at \"%.*s\"' -a '", (int)length, commands[number]->name);
    put_verbs(number, length);
    puts("'");
}

static void print_fish(void)
{
    put_names("# fish completion for gpu-tracker: gpu-tracker completion fish | source\n"
              "set -g _gpu_tracker_names ",
              "\nfunction _gpu_tracker_in\n"
              "    set -l words (commandline -opc)[2..-1]\n"
              "    for name in $argv\n"
              "        if test -z \"$name\"\n"
              "            not contains -- \"$words[1]\" $_gpu_tracker_names; and return\n"
              "        else\n"
              "            string match -q -- \"$name *\" \"$words \"; and return\n"
              "        end\n"
              "    end\n"
              "    return 1\n"
              "end\n"
              "function _gpu_tracker_at\n"
              "    set -l words (commandline -opc)[2..-1]\n"
              "    test \"$argv[1]\" = \"$words\"\n"
              "end\n"
              "complete -c gpu-tracker -f\n"
              "complete -c gpu-tracker -n 'test (count (commandline -opc)) -eq 1' -a '$_gpu_tracker_names'\n");
    for (int i = 0; i < COMMAND_COUNT; i++) {
        for (int j = 0; j < OPTION_COUNT; j++)
            if (option_applies(&option_table[j], commands[i]))
                put_option(commands[i], &option_table[j]);
        if (*commands[i]->name)
            put_fish_operands(commands[i]);
        put_fish_choices(commands[i]);
        put_fish_group(i);
    }
}

/* ---- the command ---- */

static void (*const print[SHELLS])(void) = {print_bash, print_zsh, print_fish};

static int run(const struct options *options, int count, char **operands)
{
    (void)options;
    (void)count;
    for (int i = 0; i < SHELLS; i++)
        if (strcmp(shells[i], operands[0]) == 0) {
            print[i]();
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
