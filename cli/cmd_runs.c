/* The list of runs: the command, keeping a run that has ended, and names like @1. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/energy.h"
#include "analyse/past_runs.h"
#include "api/tracker.h"
#include "base/number.h"
#include "base/os/secret.h"
#include "base/utf8.h"
#include "job/launch.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "store/store.h"
#include "job/track.h"

/* Longer commands are cut. */
enum { COMMAND_MOST = 4000 };

/* One that is known for a part of the time is not to be compared with others. */
static double energy_of(const struct gt_recorder *recorder)
{
    const struct gt_outcome *outcome = &recorder->outcome;
    struct gt_energy_reading end;
    gt_energy_reading_take(&end, outcome->value[GT_SCOPE_SYSTEM], outcome->value[GT_SCOPE_COMBINED]);
    const struct gt_energy_figures figures = {
        .machine = &recorder->machine, .outcome = outcome, .end = &end, .seconds = outcome->elapsed};
    return gt_energy_known_part(&figures) < 1 ? NAN : outcome->value[GT_SCOPE_COMBINED][GT_ENERGY];
}

/* Texts are borrowed from the tracker and the arguments. */
static void describe(struct gt_past_run *ret, const struct gt_recorder *recorder, char *command, char *folder,
                     char *recording)
{
    const struct gt_outcome *outcome = &recorder->outcome;
    const double *job = outcome->value[GT_SCOPE_COMBINED];
    const struct gt_statistic *gpu_ram = &recorder->summary.of[GT_SCOPE_COMBINED][GT_GPU_RAM];
    *ret = (struct gt_past_run){
        .start = (double)recorder->machine.start_real_ns / 1e9,
        .command = command,
        .folder = folder,
        .host = (char *)recorder->machine.host,
        .recording = recording,
        .exit_status = outcome->exit_status,
        .elapsed = outcome->elapsed,
        .ram_peak = job[GT_RAM_PEAK],
        .cpu_time = job[GT_CPU_TIME],
        .gpu_ram_peak = gpu_ram->count ? gpu_ram->max : NAN,
        .energy = energy_of(recorder),
    };
}

/* Not within a character. */
static void cut(char *text)
{
    size_t length = 0;
    while (length < COMMAND_MOST && text[length])
        length += (size_t)(gt_utf8_length(text + length) ? gt_utf8_length(text + length) : 1);
    text[length] = '\0';
}

static int find_change(char **ret, const struct gt_past_run *run, const char *path, struct gt_error *error)
{
    struct gt_past_runs earlier = {0};
    struct gt_buffer text = {0};
    struct gt_past_runs_filter filter = {.like = run, .most = GT_CHANGE_RUNS_MOST};
    int status = gt_past_runs_read(&earlier, path, &filter, error);
    if (!status && gt_past_runs_change(&text, run, &earlier) < 0)
        status = gt_error_system(error, ENOMEM, "list of runs");
    gt_past_runs_release(&earlier);
    return gt_buffer_give(&text, status, ret, NULL);
}

/* Keeps a finished run: its words without what looks like a secret, the folder of this process, and its main values.
 * *change gets one clause about differences from earlier runs of the same words in the same folder, or NULL. */
static int keep_run(const struct gt_tracker *tracker, char *const words[], char **change, struct gt_error *error)
{
    const struct gt_recorder *recorder = &tracker->recorder;
    char path[PATH_MAX], folder[PATH_MAX], *recording = NULL;
    struct gt_buffer command = {0};
    struct gt_past_run run;
    *change = NULL;
    int status = gt_past_runs_path(path, sizeof path, error);
    if (!status && gt_secret_hide(&command, words) < 0)
        status = gt_error_system(error, ENOMEM, "list of runs");
    if (!status) {
        cut(command.data);
        recording = gt_recorder_has_recording(recorder) ? realpath(recorder->path, NULL) : NULL;
        describe(&run, recorder, command.data, getcwd(folder, sizeof folder), recording);
        status = find_change(change, &run, path, error);
    }
    if (!status)
        status = gt_past_runs_add(path, &run, error);
    gt_buffer_release(&command);
    free(recording);
    return status;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Its file may have been removed, or hold a later run by now, which began at another moment. */
static bool is_kept(const struct gt_past_run *run)
{
    const double exactness = 5e-6; /* of moments in recordings */
    struct stat facts;
    struct gt_recording *recording;
    if (!run->recording || stat(run->recording, &facts) < 0)
        return false;
    if (!S_ISREG(facts.st_mode))
        return S_ISDIR(facts.st_mode); /* folders of experiments do not tell when they began */
    if (gt_recording_open(&recording, run->recording, NULL) < 0)
        return false;
    double start = (double)gt_recording_machine(recording)->start_real_ns / 1e9;
    gt_recording_close(recording);
    return !(start > 0) || fabs(start - run->start) < exactness;
}

static void drop_those_gone(struct gt_past_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        if (!is_kept(&runs->run[i])) {
            free(runs->run[i].recording);
            runs->run[i].recording = NULL;
        }
}

/* Makes a table of the latest `most` runs (0: all) with all of the words in command or folder. */
static int report_runs(const char *const *words, size_t count, size_t most, struct gt_report **ret,
                       struct gt_error *error)
{
    char path[PATH_MAX];
    struct gt_past_runs runs = {0};
    struct gt_past_runs_filter filter = {.words = words, .word_count = count, .most = most};
    int status = gt_past_runs_path(path, sizeof path, error);
    if (!status)
        status = gt_past_runs_read(&runs, path, &filter, error);
    drop_those_gone(&runs);
    if (!status)
        status = gt_past_runs_table(ret, &runs, error);
    gt_past_runs_release(&runs);
    return status;
}

static int take_recording(char **ret, const struct gt_past_runs *runs, long long back, struct gt_error *error)
{
    const struct gt_past_run *run = runs->run;
    if (!runs->count || back < 1)
        return gt_error_set(error, ENOENT, "unknown run @%lld: gpu-tracker runs lists all", back);
    if (!run->recording)
        return gt_error_set(error, ENOENT, "run @%lld (%.200s) kept no recording: it was run without --tracking-file",
                            back, run->command ? run->command : "");
    if (access(run->recording, F_OK) < 0)
        return gt_error_system(error, errno, "the recording of run @%lld, %s", back, run->recording);
    if (!is_kept(run))
        return gt_error_set(error, ENOENT, "the recording of run @%lld is gone: %.300s holds another run now", back,
                            run->recording);
    *ret = strdup(run->recording);
    return *ret ? 0 : gt_error_system(error, ENOMEM, "list of runs");
}

int past_recording(long long back, char **ret, struct gt_error *error)
{
    char path[PATH_MAX];
    struct gt_past_runs runs = {0};
    struct gt_past_runs_filter filter = {.back = back, .most = 1};
    int status = gt_past_runs_path(path, sizeof path, error);
    if (!status)
        status = gt_past_runs_read(&runs, path, &filter, error);
    if (!status)
        status = take_recording(ret, &runs, back, error);
    gt_past_runs_release(&runs);
    return status;
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

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
    int status = keep_run(tracker, words, &change, &error);
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
    int status = past_recording(back, &path, &error);
    if (status < 0)
        return say_unread(status, &error, *text + before);
    size_t size = before + strlen(path) + 1;
    char *resolved = options_own(options, malloc(size));
    if (resolved)
        snprintf(resolved, size, "%.*s%s", (int)before, *text, path);
    free(path);
    if (!resolved)
        return say_trouble("out of memory");
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
    status = report_runs((const char *const *)operands, (size_t)count, most, &report, &error);
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
