#include "help.h"

#include <stdio.h>
#include <string.h>

#include "message.h"
#include "option.h"

enum { WIDTH = 100, OPTION_INDENT = 32, COMMAND_INDENT = 14 };

/* Words of `text` from column `column` on, lines indented to `indent`; a newline in it stays one. */
static void wrap(FILE *out, const char *text, size_t indent, size_t column)
{
    for (;;) {
        size_t length = strcspn(text, " \n");
        if (column > indent && column + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, length, out);
        column += length;
        text += length;
        if (!*text)
            break;
        if (*text == '\n') {
            fprintf(out, "\n%*s", text[1] == '\n' ? 0 : (int)indent, "");
            column = indent;
        }
        text++;
    }
    fputc('\n', out);
}

const char *help_term(const struct option *option, char text[HELP_TERM_SIZE])
{
    char letter[] = {'-', option->letter, ',', ' ', '\0'};
    snprintf(text, HELP_TERM_SIZE, "%s--%s%s%s", option->letter ? letter : "", option->name,
             option->argument ? "=" : "", option->argument ? option->argument : "");
    return text;
}

static void print_option(FILE *out, const struct option *option)
{
    char term[HELP_TERM_SIZE], text[900];
    help_term(option, term);
    size_t length = strlen(term) + (option->letter ? 2 : 6);
    fprintf(out, "%*s%s", option->letter ? 2 : 6, "", term);
    if (length + 2 > OPTION_INDENT)
        fputc('\n', out);
    fprintf(out, "%*s", (int)(length + 2 > OPTION_INDENT ? OPTION_INDENT : OPTION_INDENT - length), "");
    size_t used = (size_t)snprintf(text, sizeof text, "%s", option->help);
    const char *name;
    for (size_t i = 0; option->choice && (name = option->choice(i)); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? ", " : " One of ", name);
    if (option->choice)
        used += (size_t)snprintf(text + used, sizeof text - used, ".");
    if (option->short_word)
        snprintf(text + used, sizeof text - used, " Also --%s.", option->short_word);
    wrap(out, text, OPTION_INDENT, OPTION_INDENT);
}

static void print_usage(FILE *out, const struct command *command)
{
    if (*command->name)
        fprintf(out, "Usage: gpu-tracker %s [options]%s%s\n", command->name, *command->synopsis ? " " : "",
                command->synopsis);
    else
        fputs("Usage: gpu-tracker --execute=COMMAND [options]\n       gpu-tracker NAME [options] [arguments]\n", out);
}

static void print_command(FILE *out, const struct command *command)
{
    int printed = fprintf(out, "  %-*s", COMMAND_INDENT - 2, command->name);
    if (printed >= COMMAND_INDENT)
        fprintf(out, "\n%*s", COMMAND_INDENT, "");
    wrap(out, command->summary, COMMAND_INDENT, COMMAND_INDENT);
}

static void print_choices(FILE *out, const struct command *command)
{
    const char *name, *help;
    fprintf(out, "\n%.*s:\n", (int)strcspn(command->synopsis, " "), command->synopsis);
    for (size_t i = 0; (name = command->choice(i, &help)); i++) {
        fprintf(out, "  %-*s", COMMAND_INDENT - 2, name);
        wrap(out, help, COMMAND_INDENT, COMMAND_INDENT);
    }
}

static void print_commands(FILE *out)
{
    fputs("\nCommands (gpu-tracker NAME --help explains each):\n", out);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (!*commands[i]->name)
            continue;
        print_command(out, commands[i]);
    }
}

void help_print_group(FILE *out, const char *word)
{
    size_t length = strlen(word);
    fprintf(
        out,
        "Usage: gpu-tracker %s NAME [options] [arguments]\n\nCommands (gpu-tracker %s NAME --help explains each):\n",
        word, word);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strncmp(commands[i]->name, word, length) && commands[i]->name[length] == ' ')
            print_command(out, commands[i]);
}

void help_print(FILE *out, const struct command *command)
{
    print_usage(out, command);
    fputc('\n', out);
    wrap(out, command->summary, 0, 0);
    if (command->description) {
        fputc('\n', out);
        wrap(out, command->description, 0, 0);
    }
    if (command->choice)
        print_choices(out, command);
    if (!*command->name)
        print_commands(out);
    fputs("\nOptions:\n", out);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_applies(&option_table[i], command))
            print_option(out, &option_table[i]);
    if (!*command->name)
        fputs("\nLong options may be shortened as long as they are unambiguous.\n"
              "Defaults may stand in configuration files and environment variables: see gpu-tracker man.\n",
              out);
}

/* ---- the command ---- */

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
