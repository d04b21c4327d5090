/* Help, and the manual page, from the tables of commands and options. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/os/file.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"

enum {
    WIDTH = 100,
    LEAST_WIDTH = 40,
    USAGE_INDENT = 11,
    OPTION_INDENT = 32,
    COMMAND_INDENT = 14,
    CHOICES = 400,
    HELP_TERM_SIZE = 80
};

/* The width of the terminal; files are formatted for one of WIDTH columns. */
static size_t width_of(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || !size.ws_col || size.ws_col > WIDTH)
        return WIDTH;
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

/* Where explanations of options begin. */
static size_t option_indent(FILE *out)
{
    size_t half = width_of(out) / 2;
    return half < OPTION_INDENT ? half : OPTION_INDENT;
}

/* Returns how many bytes of a word fit on a line of its own: a long word breaks after the last "/", "-", "." or "="
 * that fits. */
static size_t piece_of(const char *word, size_t length, size_t room)
{
    size_t piece = length < room ? length : room;
    while (length > room && piece > 1 && !strchr("/-.=", word[piece - 1]))
        piece--;
    return piece > 1 || length <= room ? piece : room;
}

static void next_line(FILE *out, size_t indent)
{
    fprintf(out, "\n%*s", (int)indent, "");
}

/* Words of `text` from column `column` on, lines indented to `indent`; a newline in it stays one. */
static void wrap(FILE *out, const char *text, size_t indent, size_t column)
{
    size_t width = width_of(out), begin = column;
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (column > begin && column + 1 + length > width) {
            next_line(out, indent);
            begin = column = indent;
        } else if (column > begin) {
            fputc(' ', out);
            column++;
        }
        for (size_t piece; column == indent && length > width - indent; text += piece, length -= piece) {
            piece = piece_of(text, length, width - indent);
            fwrite(text, 1, piece, out);
            next_line(out, indent);
        }
        fwrite(text, 1, length, out);
        column += length;
        text += length;
        if (*text == '\n') {
            next_line(out, text[1] == '\n' ? 0 : indent);
            begin = column = indent;
        }
        text += *text != '\0';
    }
    fputc('\n', out);
}

/* "-o, --output=FILE" */
static const char *help_term(const struct option *option, char text[HELP_TERM_SIZE])
{
    char letter[] = {'-', option->letter, ',', ' ', '\0'};
    snprintf(text, HELP_TERM_SIZE, "%s--%s%s%s", option->letter ? letter : "", option->name,
             option->argument ? "=" : "", option->argument ? option->argument : "");
    return text;
}

/* Prints "-o, --output=FILE", up to where the explanation begins. */
static void print_term(FILE *out, const struct option *option)
{
    char term[HELP_TERM_SIZE];
    size_t indent = option_indent(out);
    help_term(option, term);
    size_t before = option->letter ? 2 : 6, length = strlen(term) + before;
    fprintf(out, "%*s%s", (int)before, "", term);
    if (length + 2 > indent)
        fputc('\n', out);
    fprintf(out, "%*s", (int)(length + 2 > indent ? indent : indent - length), "");
}

/* The effect of an option, which is the first line of its help. */
static void print_effect(FILE *out, const struct option *option)
{
    char text[100];
    print_term(out, option);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(option->help, "\n"), option->help);
    wrap(out, text, option_indent(out), option_indent(out));
}

/* Writes "One of a, b.", into `ret`, which it returns. */
static const char *choices_of(const struct option *option, char ret[CHOICES])
{
    const char *name;
    size_t used = (size_t)snprintf(ret, CHOICES, "%s of ", option->type == OPTION_TEXT ? "Any" : "One");
    for (size_t i = 0; (name = option->choice(i)); i++)
        used += (size_t)snprintf(ret + used, CHOICES - used, "%s%s", i ? ", " : "", name);
    snprintf(ret + used, CHOICES - used, ".");
    return ret;
}

static void print_option(FILE *out, const struct option *option)
{
    char text[900];
    print_term(out, option);
    size_t used = (size_t)snprintf(text, sizeof text, "%s", option->help);
    char *end = strchr(text, '\n');
    if (end)
        *end = ' ';
    if (option->choice)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", choices_of(option, (char[CHOICES]){""}));
    if (option->short_word)
        snprintf(text + used, sizeof text - used, " Also --%s.", option->short_word);
    wrap(out, text, option_indent(out), option_indent(out));
}

static void print_usage(FILE *out, const struct command *command)
{
    char text[300];
    snprintf(text, sizeof text, "Usage: gpu-tracker %s%s%s%s", *command->name ? command->name : "--execute=COMMAND",
             " [options]", *command->synopsis ? " " : "", *command->name ? command->synopsis : "");
    wrap(out, text, USAGE_INDENT, 0);
}

static void print_name(FILE *out, const char *name, const char *summary)
{
    int printed = fprintf(out, "  %-*s", COMMAND_INDENT - 2, name);
    if (printed > COMMAND_INDENT || strlen(name) > COMMAND_INDENT - 3)
        fprintf(out, "\n%*s", COMMAND_INDENT, "");
    wrap(out, summary, COMMAND_INDENT, COMMAND_INDENT);
}

static void print_choices(FILE *out, const struct command *command)
{
    const char *name, *help;
    fprintf(out, "\n%.*s:\n", (int)strcspn(command->synopsis, " "), command->synopsis);
    for (size_t i = 0; (name = command->choice(i, &help)); i++)
        print_name(out, name, help);
}

/* A line for each group, in the order of the first choices. */
static void print_choice_groups(FILE *out, const struct command *command)
{
    const char *group, *name, *help;
    char heading[120];
    snprintf(heading, sizeof heading,
             "\n%.*s (gpu-tracker help %s explains each):", (int)strcspn(command->synopsis, " "), command->synopsis,
             command->name);
    wrap(out, heading, 0, 0);
    for (size_t i = 0; (group = command->choice_group(i)); i++) {
        char names[200] = "";
        size_t first = 0;
        while (strcmp(command->choice_group(first), group) != 0)
            first++;
        if (first < i)
            continue;
        for (size_t j = i; (name = command->choice(j, &help)); j++)
            if (strcmp(command->choice_group(j), group) == 0)
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", name);
        print_name(out, group, names);
    }
}

void help_print_group(FILE *out, const char *word)
{
    char text[200];
    size_t length = strlen(word);
    snprintf(text, sizeof text, "Usage: gpu-tracker %s NAME [options] [arguments]", word);
    wrap(out, text, USAGE_INDENT, 0);
    snprintf(text, sizeof text, "\nCommands (gpu-tracker %s NAME --help explains each):", word);
    wrap(out, text, 0, 0);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (!strncmp(commands[i]->name, word, length) && commands[i]->name[length] == ' ')
            print_name(out, commands[i]->name, commands[i]->summary);
}

static void print_head(FILE *out, const struct command *command)
{
    print_usage(out, command);
    fputc('\n', out);
    wrap(out, command->summary, 0, 0);
    if (command->description) {
        fputc('\n', out);
        wrap(out, command->description, 0, 0);
    }
}

static bool is_tracker(const struct command *command)
{
    return command == &command_execute || command == &command_run || command == &command_attach;
}

/* Returns true for the options that most people use, of commands that have many. */
static bool is_common(const struct option *option, const struct command *command)
{
    static const enum option_number tracking[] = {
        OPTION_NUMBER_output,     OPTION_NUMBER_format, OPTION_NUMBER_tracking_file,
        OPTION_NUMBER_sleep_time, OPTION_NUMBER_detail, OPTION_NUMBER_quiet,
        OPTION_NUMBER_blocks,     OPTION_NUMBER_limits, OPTION_COUNT};
    static const enum option_number traces[] = {OPTION_NUMBER_output, OPTION_NUMBER_format, OPTION_NUMBER_start,
                                                OPTION_NUMBER_end,    OPTION_NUMBER_select, OPTION_NUMBER_node,
                                                OPTION_NUMBER_by,     OPTION_NUMBER_key,    OPTION_NUMBER_top,
                                                OPTION_NUMBER_all,    OPTION_COUNT};
    const enum option_number *common = command->choice_group ? traces : tracking;
    while (*common != OPTION_COUNT && option != &option_table[*common])
        common++;
    return *common != OPTION_COUNT;
}

void help_print(FILE *out, const struct command *command)
{
    const char *name = *command->name ? command->name : "execute";
    bool is_short = is_tracker(command) || command->choice_group;
    print_head(out, command);
    if (command->choice_group)
        print_choice_groups(out, command);
    else if (command->choice)
        print_choices(out, command);
    fputs("\nOptions:\n", out);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_is_listed(&option_table[i], command) && (!is_short || is_common(&option_table[i], command)))
            print_effect(out, &option_table[i]);
    char text[120];
    snprintf(text, sizeof text, "\nMore: gpu-tracker help %s explains %s.", name,
             is_short ? "all options" : "each option");
    wrap(out, text, 0, 0);
}

/* The help of gpu-tracker help NAME: every listed option with its paragraph. */
static void help_print_all(FILE *out, const struct command *command)
{
    print_head(out, command);
    if (command->choice)
        print_choices(out, command);
    fputs("\nOptions:\n", out);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_is_listed(&option_table[i], command))
            print_option(out, &option_table[i]);
    fputc('\n', out);
    wrap(out, "Long options may be shortened to an unambiguous prefix.", 0, 0);
    wrap(out, "Defaults may be set in configuration files and environment variables: see man gpu-tracker.", 0, 0);
}

/* ---- the overview ---- */

/* Prints one line for a command, and one for all commands with the same first word ("timeline"). Returns the number of
 * commands. */
static int print_listed(FILE *out, int number)
{
    const char *name = commands[number]->name;
    size_t length = strcspn(name, " ");
    char first[40], text[200];
    int count = 1;
    snprintf(first, sizeof first, "%.*s", (int)length, name);
    size_t used = (size_t)snprintf(text, sizeof text, "%s", commands[number]->summary);
    for (; name[length] && strncmp(commands[number + count]->name, name, length + 1) == 0; count++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", count > 1 ? ", " : " (also ",
                                 commands[number + count]->name + length + 1);
    snprintf(text + used, sizeof text - used, count > 1 ? ")" : "");
    print_name(out, first, text);
    return count;
}

/* A line that may be typed as it is breaks where a shell lets it. */
static void print_example(FILE *out, const char *example)
{
    size_t length = strlen(example), room = width_of(out) - 4;
    while (length > room && (length = room))
        while (length && example[length] != ' ')
            length--;
    fprintf(out, "  %.*s%s\n", (int)length, example, example[length] ? " \\" : "");
    if (example[length])
        fprintf(out, "     %s\n", example + length);
}

void help_print_overview(FILE *out)
{
    static const char *const examples[] = {"gpu-tracker run -- python3 train.py",
                                           "gpu-tracker run --tf train.sqlite -- make -j8",
                                           "gpu-tracker report train.sqlite -o train.html"};
    wrap(out, "Usage: gpu-tracker run [options] -- COMMAND [ARGUMENT...]", USAGE_INDENT, 0);
    fputs("       ", out);
    wrap(out, "gpu-tracker NAME [options] [arguments]", USAGE_INDENT, USAGE_INDENT - 4);
    fputc('\n', out);
    for (int i = 0; i < COMMAND_COUNT;)
        i += command_is_listed(i) ? print_listed(out, i) : 1;
    fputs("\nExamples:\n", out);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        print_example(out, examples[i]);
    fputc('\n', out);
    wrap(
        out,
        "More: gpu-tracker NAME --help shows the options of a command, gpu-tracker help NAME explains them. gpu-tracker help execute explains --execute=COMMAND (-e).",
        0, 0);
}

/* ---- the command ---- */

static int help(const struct options *options, int count, char **operands)
{
    (void)options;
    int used = 1;
    if (!count) {
        help_print_overview(stdout);
        return 0;
    }
    const struct command *command = strcmp(operands[0], "execute") == 0 ? &command_execute
                                                                        : command_find(count, operands, &used);
    if (!command && count == 1 && command_is_group(operands[0])) {
        help_print_group(stdout, operands[0]);
        return 0;
    }
    if (!command || used < count)
        return say_usage("unknown command '%s' (see gpu-tracker --help)", operands[used]);
    help_print_all(stdout, command);
    return 0;
}

const struct command command_help = {
    .name = "help",
    .synopsis = "[COMMAND]",
    .summary = "Explain a command with all its options",
    .description = "Without a command: the overview. help execute explains --execute (-e).",
    .operand = OPERAND_COMMAND,
    .most = -1,
    .run = help,
};

/* Text in which nothing is markup: backslashes and dashes escaped, no leading dot or quote. A blank line becomes the
 * macro `paragraph`. */
static void put_paragraphs(const char *text, const char *paragraph)
{
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\n' && text[1] == '\n')
            printf("\n%s", paragraph);
        else
            putchar(*text);
        at_start = *text == '\n';
    }
    putchar('\n');
}

static void put_text(const char *text)
{
    put_paragraphs(text, ".PP");
}

static void put_term(const char *term)
{
    fputs(".TP\n.B ", stdout);
    put_text(term);
}

static void put_synopsis(void)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        const struct command *command = commands[i];
        if (i)
            puts(".br");
        printf(".B gpu\\-tracker");
        if (*command->name) {
            printf(" ");
            put_text(command->name);
            puts("[options]");
        } else {
            puts(" \\-\\-execute=\\fICOMMAND\\fP");
            puts("[options]");
        }
        if (*command->synopsis)
            put_text(command->synopsis);
    }
}

static void put_commands(void)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        put_term(*commands[i]->name ? commands[i]->name : "--execute");
        put_text(commands[i]->summary);
        if (commands[i]->description && *commands[i]->name) {
            puts(".IP");
            put_paragraphs(commands[i]->description, ".IP");
        }
        const char *name, *help;
        for (size_t j = 0; commands[i]->choice && (name = commands[i]->choice(j, &help)); j++) {
            puts(".IP");
            printf("\\fB%s\\fP\n", name);
            put_text(help);
        }
    }
}

static void put_option(const struct option *option)
{
    char term[HELP_TERM_SIZE], variable[CONFIG_VARIABLE_SIZE];
    put_term(help_term(option, term));
    put_text(option->help);
    if (option->choice)
        puts(choices_of(option, (char[CHOICES]){""}));
    if (option->short_word)
        printf("Also \\fB\\-\\-%s\\fP.\n", option->short_word);
    if (option->configurable)
        printf("Configuration: \\fB%s\\fP, \\fB%s\\fP.\n", option->key, config_variable(option, variable));
}

/* Names the commands that take it, unless all do. */
static void put_takers(const struct option *option)
{
    int takers = 0;
    for (int i = 0; i < COMMAND_COUNT; i++)
        takers += option_applies(option, commands[i]);
    if (takers == COMMAND_COUNT)
        return;
    fputs("For: ", stdout);
    const char *separator = "";
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (option_applies(option, commands[i])) {
            printf("%s%s", separator, *commands[i]->name ? commands[i]->name : "\\-\\-execute");
            separator = ", ";
        }
    puts(".");
}

static void put_formats(void)
{
    const char *name, *suffix, *help;
    for (size_t i = 0; gt_format_info(i, &name, &suffix, &help) >= 0; i++) {
        put_term(name);
        put_text(help);
    }
}

static void put_metrics(void)
{
    struct gt_metric_info info;
    for (size_t i = 0; gt_metric_info(i, &info) >= 0; i++) {
        put_term(info.name);
        put_text(info.help);
        printf("(%s, %s)\n", info.unit, info.kind);
    }
}

static void put_title(void)
{
    printf(".TH GPU\\-TRACKER 1 \"\" \"gpu\\-tracker %s\" \"User Commands\"\n", gt_version());
}

static void put_options(void)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        put_option(&option_table[i]);
        put_takers(&option_table[i]);
    }
}

GT_EMBED(manual, "cli/manual.roff")

/* Lines of the manual that begin with "@" stand for what tables know. */
static int man(const struct options *options, int count, char **operands)
{
    static const struct {
        const char *line;
        void (*put)(void);
    } parts[] = {{"@title\n", put_title},     {"@synopsis\n", put_synopsis}, {"@commands\n", put_commands},
                 {"@options\n", put_options}, {"@formats\n", put_formats},   {"@metrics\n", put_metrics}};
    (void)options;
    (void)count;
    (void)operands;
    for (const char *line = manual, *end; *line; line = end) {
        size_t part = 0;
        end = line + strcspn(line, "\n") + 1;
        while (part < sizeof parts / sizeof *parts && strncmp(line, parts[part].line, (size_t)(end - line)) != 0)
            part++;
        if (part < sizeof parts / sizeof *parts)
            parts[part].put();
        else
            fwrite(line, 1, (size_t)(end - line), stdout);
    }
    return 0;
}

const struct command command_man = {
    .name = "man",
    .synopsis = "",
    .summary = "Print the manual page (gpu-tracker man | man -l -)",
    .operand = OPERAND_NONE,
    .run = man,
};
