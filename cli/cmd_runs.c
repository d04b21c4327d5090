/* The list of runs: the command, keeping a run that has ended, and names like @1. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/program.h"
#include "base/number.h"
#include "track.h"
#include "gpu_tracker.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "launch.h"

/* Runs in CI are not listed by default: the home directory is often that of a throwaway machine. */
static bool is_wanted(const struct options *options)
{
    const char *ci = getenv("CI");
    if (options->no_history)
        return false;
    if (options->given[OPTION_NUMBER_history])
        return options->history;
    return !ci || !*ci;
}

char *past_keep(const struct options *options, const struct gt_tracker *tracker, char *const *words)
{
    char *change = NULL;
    struct gt_error error = {0};
    if (!tracker || !is_wanted(options) || privilege_is_raised())
        return NULL;
    int status = gt_run_keep(tracker, words, &change, &error);
    bool has_place = status != -ENOENT && status != -EROFS && status != -EACCES && status != -ENOTDIR;
    bool is_told = status < 0 && !options->disable_logs && (has_place || options->given[OPTION_NUMBER_history]);
    if (is_told)
        say("the list of runs does not have this one: %s", error.text);
    return change;
}

/* Reads "@1" or "@12"; false for another text. */
static bool read_name(const char *text, long long *back)
{
    int64_t number;
    if (*text != '@' || text[1 + strspn(text + 1, "0123456789")] || gt_number_i64(text + 1, &number) < 0)
        return false;
    *back = number;
    return true;
}

/* The latest run, as people call it elsewhere. */
static bool means_latest(const char *text)
{
    text += *text == '@';
    return strcmp(text, "last") == 0 || strcmp(text, "latest") == 0;
}

/* `before` of the text stays in front: "NAME=". */
static int resolve(struct options *options, const char **text, size_t before)
{
    long long back;
    char *path = NULL;
    struct gt_error error = {0};
    if (means_latest(*text + before) && access(*text + before, F_OK) < 0)
        return say_usage("%s: No such file or directory: did you mean @1, the latest run?", *text + before);
    if (!read_name(*text + before, &back))
        return 0;
    int status = gt_run_recording(back, &path, &error);
    if (status < 0)
        return say_unread(status, &error, *text + before);
    size_t size = before + strlen(path) + 1;
    char *resolved = options_own(options, malloc(size));
    if (resolved)
        snprintf(resolved, size, "%.*s%s", (int)before, *text, path);
    free(path);
    if (!resolved) {
        say("out of memory");
        return EXIT_TRACKER;
    }
    *text = resolved;
    return 0;
}

static int resolve_list(struct options *options, struct option_list *list)
{
    int status = 0;
    for (size_t i = 0; !status && i < list->count; i++) {
        const char *equals = strchr(list->value[i], '=');
        status = resolve(options, &list->value[i], equals ? (size_t)(equals + 1 - list->value[i]) : 0);
    }
    return status;
}

int past_resolve(struct options *options, const struct command *command, int count, char **operands)
{
    int status = options->recording ? resolve(options, &options->recording, 0) : 0;
    if (!status && options->against)
        status = resolve(options, &options->against, 0);
    if (!status)
        status = resolve_list(options, &options->map);
    bool has_names = option_applies(&option_table[OPTION_NUMBER_map], command);
    for (int i = 0; !status && i < count && command->operand == OPERAND_FILE; i++) {
        const char *text = operands[i], *equals = has_names ? strchr(text, '=') : NULL;
        status = resolve(options, &text, equals ? (size_t)(equals + 1 - text) : 0);
        operands[i] = (char *)text;
    }
    return status;
}

enum { ROWS = 20 };

static int run(const struct options *options, int count, char **operands)
{
    struct output output;
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (count == 1 && operands[0][0] == '@' && operands[0][1] &&
        !operands[0][1 + strspn(operands[0] + 1, "0123456789")])
        return say_usage("runs: '%s' is a run, and words are looked for: gpu-tracker report %s prints it", operands[0],
                         operands[0]);
    size_t most = options->all ? 0 : options->top ? (size_t)options->top : ROWS;
    int status = output_prepare(&output, options, STDOUT_FILENO);
    if (status)
        return status;
    status = gt_runs_report((const char *const *)operands, (size_t)count, most, &report, &error);
    return output_result(&output, status, report, &error);
}

const struct command command_runs = {
    .name = "runs",
    .synopsis = "[WORD...]",
    .summary = "List your past runs; @1 is the latest",
    .description =
        "gpu-tracker run adds a row for each run: command, folder, start, exit status, time, peak memory, CPU time, energy, and the path of its recording. WORDs select runs with all of them in command or folder. @1, @2, ... name recordings in other commands: gpu-tracker report @1.\n\n"
        "The list is $XDG_STATE_HOME/gpu-tracker/runs.sqlite, or ~/.local/state/gpu-tracker/runs.sqlite. Only you can read it. It holds at most 10,000 runs, without words that resemble passwords and keys. A run is not added with --no-history, with -e, if history is false in a configuration file or in GPU_TRACKER_HISTORY, or if CI is set. Remove the file to forget all runs.",
    .operand = OPERAND_NONE,
    .most = -1,
    .run = run,
};
