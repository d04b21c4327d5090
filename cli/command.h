/* A command of gpu-tracker is a const entry in one of the files cmd_*.c, and one line in command.def. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct option;
struct options;

/* The kind of the words that are not options, for shell completion and the end of options. */
enum operand {
    OPERAND_NONE,
    OPERAND_PROGRAM, /* a command with its arguments; the first one ends the options of gpu-tracker */
    OPERAND_PROCESS,
    OPERAND_FILE,
    OPERAND_SHELL,
    OPERAND_COMMAND,
};

struct command {
    const char *name;        /* "run"; "sub-track analyze"; "" for the form that has no name */
    const char *synopsis;    /* what follows the options in the usage line, "" when nothing does */
    const char *summary;     /* one line for the list of commands */
    const char *description; /* paragraphs separated by blank lines, for --help and the man page; may be NULL */
    /* Names the choices of the first operand with their help, from number 0 to NULL: for --help and the man page. May
     * be NULL. */
    const char *(*choice)(size_t index, const char **help);
    const char *(*choice_group)(size_t index); /* by which the short help lists them; NULL: it explains each */
    /* Returns true where the command takes an option of this name, but not with that choice. May be NULL. */
    int (*refuses)(const char *choice, const char *option);
    enum operand operand;
    int least, most; /* how many operands; most < 0: any number */
    /* Returns the exit status; has said what went wrong. */
    int (*run)(const struct options *options, int count, char **operands);
};

#define COMMAND(bit, entry, place) extern const struct command command_##entry;
#include "command.def"
#undef COMMAND

/* Command number i of command.def. */
enum command_number {
#define COMMAND(bit, entry, place) COMMAND_##bit,
#include "command.def"
#undef COMMAND
    COMMAND_COUNT
};
extern const struct command *const commands[COMMAND_COUNT];

/* Returns true for a command of the overview. */
bool command_is_listed(int number);

/* The command that the first words name, the longest name first; *used says how many words that were. NULL: none. */
const struct command *command_find(int count, char *const *words, int *used);
int command_number(const struct command *command);
/* Returns true for the first word of commands with names of two words ("sub-track"). */
bool command_is_group(const char *word);

/* The hidden command complete, by which completion scripts ask for words. Returns the exit status. */
int complete_main(int count, char **words);

/* The text of --help is made from the tables of commands and options. */

/* The overview, on one screen. */
void help_print_overview(FILE *out);
/* The help of --help: the effect of each option in one line, for trackers of the common options only. */
void help_print(FILE *out, const struct command *command);
/* The commands whose names begin with `word`. */
void help_print_group(FILE *out, const char *word);
#endif
