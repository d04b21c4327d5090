#include <stdio.h>

#include "completion.h"

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
        if (!option_has_value(option))
            continue;
        fputs("        ", stdout);
        put_pattern(option);
        fputs(") ", stdout);
        if (option->choice) {
            fputs("COMPREPLY=($(compgen -W '", stdout);
            completion_choices(option, " ");
            puts("' -- \"$word\")); return ;;");
        } else if (option->type == OPTION_PATH) {
            puts("COMPREPLY=($(compgen -f -- \"$word\")); return ;;");
        } else {
            puts("return ;;");
        }
    }
    puts("    esac");
}

static void put_operands(enum operand operand)
{
    fputs("            operands=", stdout);
    switch (operand) {
    case OPERAND_PROGRAM: fputs("program", stdout); break;
    case OPERAND_PROCESS: fputs("$(compgen -G '/proc/[0-9]*' | sed 's,/proc/,,')", stdout); break;
    case OPERAND_FILE: fputs("files", stdout); break;
    case OPERAND_SHELL:
        putchar('\'');
        completion_shells();
        putchar('\'');
        break;
    case OPERAND_COMMAND: fputs("$names", stdout); break;
    case OPERAND_NONE: break;
    }
    puts(" ;;");
}

/* The nameless form is the last case. */
static void put_command(const struct command *command)
{
    if (*command->name)
        printf("        \"%s \"*)\n            options='", command->name);
    else
        fputs("        *)\n            options='", stdout);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &option_table[i];
        if (!option_applies(option, command))
            continue;
        printf("--%s%s ", option->name, option_has_value(option) ? "=" : "");
        if (option->short_word)
            printf("--%s= ", option->short_word);
    }
    puts("'");
    put_operands(*command->name ? command->operand : OPERAND_COMMAND);
}

static void put_takers(void)
{
    const char *separator = "";
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_has_value(&option_table[i])) {
            fputs(separator, stdout);
            put_pattern(&option_table[i]);
            separator = "|";
        }
}

static void print(void)
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
    fputs(
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
        stdout);
    completion_names();
    fputs("'\n"
          "    line=\"${COMP_WORDS[*]:1} \"\n"
          "    [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    [[ $word == = ]] && word=\n"
          "    COMPREPLY=()\n"
          "    case $line in\n",
          stdout);
    for (int i = COMMAND_COUNT - 1; i >= 0; i--)
        put_command(commands[i]);
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
         "    elif [[ $operands == files ]]; then\n"
         "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "    elif ((COMP_CWORD == 1)) || [[ $operands != \"$names\" || ${COMP_WORDS[1]} == help ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))\n"
         "    fi\n"
         "}\n"
         "complete -o filenames -F _gpu_tracker gpu-tracker");
}

const struct completion completion_bash = {"bash", print};
