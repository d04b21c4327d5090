/* The list of runs, for those who see only the public header. */
#include "analyse/past_runs.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/energy.h"
#include "api/program.h"
#include "api/tracker.h"
#include "base/utf8.h"
#include "base/secret.h"
#include "store/store.h"

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

int gt_run_keep(const struct gt_tracker *tracker, char *const words[], char **change, struct gt_error *error)
{
    const struct gt_recorder *recorder = &tracker->recorder;
    char path[PATH_MAX], folder[PATH_MAX], *recording = NULL;
    struct gt_buffer command = {0};
    struct gt_past_run run;
    if (change)
        *change = NULL;
    int status = gt_past_runs_path(path, sizeof path, error);
    if (!status && gt_secret_hide(&command, words) < 0)
        status = gt_error_system(error, ENOMEM, "list of runs");
    if (!status) {
        cut(command.data);
        recording = gt_recorder_has_recording(recorder) ? realpath(recorder->path, NULL) : NULL;
        describe(&run, recorder, command.data, getcwd(folder, sizeof folder), recording);
        if (change)
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

int gt_runs_report(const char *const *words, size_t count, size_t most, struct gt_report **ret, struct gt_error *error)
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

int gt_run_recording(long long back, char **ret, struct gt_error *error)
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
