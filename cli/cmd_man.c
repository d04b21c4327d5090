/* The manual page, from the same tables as everything else. Markup: groff_man(7). */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "gpu_tracker.h"
#include "option.h"

/* Text in which nothing is markup: backslashes and dashes escaped, no leading dot or quote. A blank line becomes the macro
 * `paragraph`. */
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
    puts(".SH SYNOPSIS");
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
    puts(".SH COMMANDS");
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
    const char *name;
    for (size_t i = 0; option->choice && (name = option->choice(i)); i++)
        printf("%s%s", i ? ", " : option->type == OPTION_TEXT ? "Any of " : "One of ", name);
    if (option->choice)
        puts(".");
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

static const char about_names[] =
    ".PP\n"
    "Commands, names of processes and blocks, and paths may hold anything. Formats for people (text, markdown, html) and messages\n"
    "show a line break as \\en, other control characters and bytes that are not UTF\\-8 as \\ex1b, and characters that turn the direction\n"
    "of writing, or that are invisible, as \\eu202e and \\eu200b. Formats for programs (json, csv, pickle)\n"
    "and recordings have them as they are (json with its own escapes, which mean the same), always in valid UTF\\-8:\n"
    "each invalid byte is U+FFFD there; in a terminal csv is shown as text is.\n"
    "Reports as csv are opened in spreadsheets, which compute what begins with = + \\- @ or a\n"
    "control character: such a text has an apostrophe in front there. Recordings and sub\\-tracking files have none.\n";

static void put_formats(void)
{
    const char *name, *suffix, *help;
    puts(".SH FORMATS");
    for (size_t i = 0; gt_format_info(i, &name, &suffix, &help) >= 0; i++) {
        put_term(name);
        put_text(help);
    }
    fputs(about_names, stdout);
}

static void put_metrics(void)
{
    struct gt_metric_info info;
    puts(".SH METRICS");
    for (size_t i = 0; gt_metric_info(i, &info) >= 0; i++) {
        put_term(info.name);
        put_text(info.help);
        printf("(%s, %s)\n", info.unit, info.kind);
    }
}

static const char about_configuration[] =
    ".SH CONFIGURATION\n"
    "Defaults may be set in JSON files and in the environment. Who wins, first to last: the command line; the file of\n"
    ".BR \\-\\-tconfig ;\n"
    "environment variables; the project's file, named by\n"
    ".BR GPU_TRACKER_CONFIG ;\n"
    "the user's file,\n"
    ".I $XDG_CONFIG_HOME/gpu\\-tracker/config.json\n"
    "(by default\n"
    ".IR ~/.config/gpu\\-tracker/config.json ).\n"
    "A file is one object whose keys are named with the options above; an unknown key is an error. Example:\n"
    ".PP\n.EX\n{\\(dqsleep_time\\(dq: 0.1, \\(dqram_unit\\(dq: \\(dqmegabytes\\(dq, \\(dqoverwrite\\(dq: true}\n.EE\n";

static const char about_signals[] =
    ".SH SIGNALS\n"
    "The command runs in the process group of gpu\\-tracker with its terminal and streams, so that what the terminal\n"
    "sends (Ctrl\\-C, Ctrl\\-Z) reaches it directly. A signal that another process sends to gpu\\-tracker alone is passed on\n"
    "to the command; one that a living process of the job sends is not. A signal sent by a process to the whole group reaches\n"
    "the command directly and once more through gpu\\-tracker. The report always comes.\n";

static const char about_namespaces[] =
    ".SH NAMESPACES\n"
    "In a PID namespace of its own gpu\\-tracker needs the /proc of that namespace\n"
    ".RB ( \"unshare \\-pf \\-\\-mount\\-proc\" ),\n"
    "as every container has it. With another's, nothing is tracked and nothing is started: its numbers mean other processes.\n";

static const char about_status[] =
    ".SH EXIT STATUS\n"
    "That of the command, or 128 + the number of the signal that ended it.\n"
    ".TP\n.B 2\nWrong usage or configuration, or what was named to be read cannot be: it is not there, is denied, is damaged, is of no\n"
    "known format or does not go together, is a device, a socket, or a pipe without a writer; nothing was started.\n"
    ".TP\n.B 3\nA rule of \\-\\-fail\\-if is broken.\n"
    ".TP\n.B 4\nprofile, timeline merge: the files hold nothing that was asked for.\n"
    ".TP\n.B 125\ngpu\\-tracker itself failed: what it should write cannot be written or is there already,\n"
    "a process or a server cannot be reached.\n"
    ".TP\n.B 126\nThe command cannot be executed.\n"
    ".TP\n.B 127\nThe command was not found.\n";

static const char about_examples[] =
    ".SH EXAMPLES\n"
    ".EX\n"
    "gpu\\-tracker \\-e \\(dqpython3 train.py \\-\\-epochs 3\\(dq \\-\\-st 0.5 \\-\\-tu seconds\n"
    "gpu\\-tracker run \\-\\-tracking\\-file train.sqlite \\-\\- python3 train.py\n"
    "gpu\\-tracker run \\-\\-format json \\-\\-output cost.json \\-\\- make \\-j8\n"
    "gpu\\-tracker attach 4711\n"
    "gpu\\-tracker report train.sqlite \\-\\-ram\\-unit megabytes\n"
    ".EE\n";

static int run(const struct options *options, int count, char **operands)
{
    (void)options;
    (void)count;
    (void)operands;
    printf(".TH GPU\\-TRACKER 1 \"\" \"gpu\\-tracker %s\" \"User Commands\"\n", gt_version());
    puts(".SH NAME\ngpu\\-tracker \\- tell what a job cost: memory, CPU, GPU, time");
    put_synopsis();
    puts(
        ".SH DESCRIPTION\nTracks a command, or a process that runs already, with all its descendants, and reports what they used.");
    put_commands();
    puts(".SH OPTIONS\nLong options may be shortened as long as they are unambiguous.");
    for (int i = 0; i < OPTION_COUNT; i++) {
        put_option(&option_table[i]);
        put_takers(&option_table[i]);
    }
    fputs(about_configuration, stdout);
    put_formats();
    put_metrics();
    fputs(about_signals, stdout);
    fputs(about_namespaces, stdout);
    fputs(about_status, stdout);
    fputs(about_examples, stdout);
    return 0;
}

const struct command command_man = {
    .name = "man",
    .synopsis = "",
    .summary = "Print the manual page (gpu-tracker man | man -l -)",
    .operand = OPERAND_NONE,
    .run = run,
};
