/* The options: one table (lib/schema/option.def) from which parsing, configuration, help, man page and completion are
 * made. */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "api/program.h"
#include "base/json.h"
#include "command.h"
#include "gpu_tracker.h"

enum option_type {
    OPTION_TEXT,
    OPTION_PATH,
    OPTION_WORDS,
    OPTION_CHOICE,
    OPTION_NUMBER,
    OPTION_INTEGER,
    OPTION_FLAG,
    OPTION_LIST,
};

struct option_list {
    const char **value; /* NULL-terminated; NULL when empty */
    size_t count, capacity;
};

struct option {
    const char *key; /* "sleep_time" */
    enum option_type type;
    char letter;            /* 'o', or 0 */
    const char *name;       /* "sleep-time" */
    const char *short_word; /* "st", or NULL */
    const char *argument;   /* "SECONDS", NULL for flags */
    const char *(*choice)(size_t index);
    double minimum;
    unsigned long commands; /* bit 1 << enum command_number */
    bool configurable;
    const char *help; /* the effect in one line; after a newline the rest, for the manual */
    size_t offset;    /* of its value in struct options */
};

enum option_number {
#define OPTION(key, ...) OPTION_NUMBER_##key,
#include "schema/option.def"
    OPTION_COUNT
};
extern const struct option option_table[OPTION_COUNT];

/* C types of the values, by option type. */
#define OPTION_VALUE_TEXT const char *
#define OPTION_VALUE_PATH const char *
#define OPTION_VALUE_WORDS const char *
#define OPTION_VALUE_CHOICE const char *
#define OPTION_VALUE_NUMBER double
#define OPTION_VALUE_INTEGER int
#define OPTION_VALUE_FLAG bool
#define OPTION_VALUE_LIST struct option_list

/* The values; unset options are 0, NULL or false. */
struct options {
#define OPTION(key, type, ...) OPTION_VALUE_##type key;
#include "schema/option.def"
    bool given[OPTION_COUNT]; /* anywhere */
    bool typed[OPTION_COUNT]; /* among the words of the command line */
    char **owned;             /* memory that values point into */
    size_t owned_count;
};

/* Parse the words after the command's name. Operands are moved to the front of `words`; *operands is their number.
 * 0, or EXIT_USAGE after saying what is wrong. */
int options_parse(struct options *options, const struct command *command, int count, char **words, int *operands);
/* Convert `text` and store it; `origin` ("--sleep-time", "config.json: sleep_time") is for messages. 0 or
 * EXIT_USAGE. */
int option_store(struct options *options, const struct option *option, const char *text, const char *origin);
/* Add one value to a LIST option. */
int option_add(struct options *options, const struct option *option, const char *text, const char *origin);
/* The number of a process; false where the text is none. */
bool option_pid(const char *text, pid_t *ret);
/* Keep malloc'ed memory until options_release; returns it, or NULL without memory. */
char *options_own(struct options *options, char *memory);
void options_release(struct options *options);

/* The option with this name of `length` letters, or with this letter: one that the command takes, or any; NULL: there
 * is none. */
const struct option *option_find(const struct command *command, const char *name, size_t length);
bool option_applies(const struct option *option, const struct command *command);
/* Returns true if the help of the command lists the option. Trackers take more options, mostly from configuration
 * files. */
bool option_is_listed(const struct option *option, const struct command *command);
/* "run", or a general hint where to read more: "see gpu-tracker run --help". */
const char *help_hint(const struct command *command, char *text, size_t size);

/* The command's options become the library's. */

struct gt_tracker_options settings_tracker(const struct options *options);
/* Files that are read when they are checked, and again by each tracker: what comes through a pipe is kept for that. */
int settings_keep_files(const struct gt_tracker_options *settings, struct gt_error *error);
struct gt_trace_request request_of(const struct options *options); /* the part of traces to be read */
/* How a job on a server is asked; the questions are printed with --explain. */
struct gt_job_server_options settings_job(const struct options *options);
/* Gives "-" among the operands the path of standard input. */
void name_input(int count, char **operands);

/* ---- Configuration ---- */

/* Defaults come from files and from the environment. Who wins, first to last:
 *   the command line
 *   the file of --tconfig
 *   the environment: GPU_TRACKER_SLEEP_TIME, ...
 *   the project's file, named by the environment variable GPU_TRACKER_CONFIG
 *   the user's file, $XDG_CONFIG_HOME/gpu-tracker/config.json (~/.config/gpu-tracker/config.json)
 * A file is one JSON object; its keys are those of option.def that are configurable; null leaves the default. */
#define CONFIG_ENVIRONMENT_PREFIX "GPU_TRACKER_"
#define CONFIG_PROJECT_VARIABLE CONFIG_ENVIRONMENT_PREFIX "CONFIG"

enum { CONFIG_VARIABLE_SIZE = 80 };

/* The environment variable of an option: "GPU_TRACKER_SLEEP_TIME". */
const char *config_variable(const struct option *option, char text[CONFIG_VARIABLE_SIZE]);

/* The object of settings in a file. 0 or an exit status, after saying what is wrong. */
int config_read(json_t **ret, const char *path);

/* Fill in what the command line left open, for the options that `command` takes. 0 or an exit status, after saying what
 * is wrong. */
int config_apply(struct options *options, const struct command *command);

#endif
