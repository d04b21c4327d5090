#include "job/track.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/program.h"
#include "blocks/block_injection.h"
#include "blocks/block_run.h"
#include "base/os/file.h"
#include "base/os/rank.h"
#include "base/os/root.h"
#include "base/os/secret.h"
#include "serve/jobs.h"
#include "job/launch.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "job/watch.h"

/* ---- commands that start their work elsewhere ---- */

static const struct launcher {
    const char *program, *where; /* where its work runs */
    const char *instead;
    bool is_local_in_slurm;   /* inside a job of one node its tasks are found */
    const char *local_option; /* with it the work is a descendant */
} launchers[] = {
    {"srun", "on other machines", "srun gpu-tracker run --tracking-file run-%j-%r.sqlite -- ...", true, NULL},
    {"sbatch", "later and elsewhere", "gpu-tracker run inside the script", false, NULL},
    {"qsub", "later and elsewhere", "gpu-tracker run inside the script", false, NULL},
    {"bsub", "later and elsewhere", "bsub gpu-tracker run -- ...", false, NULL},
    {"docker", "in a container of the daemon's", "gpu-tracker run inside the container", false, NULL},
    {"kubectl", "in a pod", "gpu-tracker run inside the pod", false, NULL},
    {"ssh", "on another machine", "ssh HOST gpu-tracker run -- ...", false, NULL},
    {"systemd-run", "below systemd", "systemd-run --scope", false, "--scope"},
};

static bool has_option(char *const *words, const char *option)
{
    for (; option && *words; words++)
        if (strcmp(*words, option) == 0)
            return true;
    return false;
}

static void note_launcher(struct watch *watch, char *const *words)
{
    const char *program = gt_file_name(words[0]), *nodes = getenv("SLURM_JOB_NUM_NODES");
    bool is_in_slurm = getenv("SLURM_JOB_ID") && nodes && strcmp(nodes, "1") == 0;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *launcher = &launchers[i];
        if (strcmp(program, launcher->program) == 0 && !has_option(words, launcher->local_option) &&
            !(launcher->is_local_in_slurm && is_in_slurm))
            gt_warn(watch_warn, watch, "%s starts its work %s, where these figures do not reach: try %s", program,
                    launcher->where, launcher->instead);
    }
}

/* In "python3 x.py --tf x.csv" the program gets the option, and nothing is recorded. Only names that hardly any other
 * program has. */
static void note_misplaced_option(struct watch *watch, char *const *words)
{
    const char *program = gt_file_name(words[0]);
    for (; *words && strcmp(gt_file_name(*words), "gpu-tracker") != 0; words++) {
        size_t length = strcspn(*words, "=");
        const struct option *option = strncmp(*words, "--", 2) == 0 ? option_find(&command_run, *words + 2, length - 2)
                                                                    : NULL;
        if (!option || !option_is_listed(option, &command_run) || !strchr(option->name, '-') ||
            option == &option_table[OPTION_NUMBER_no_history])
            continue;
        gt_warn(watch_warn, watch,
                "%.*s is after the command, so %.100s gets it: options of gpu-tracker come before the command",
                (int)length, *words, program);
        return;
    }
}

/* ---- tracking ---- */

enum { SURVIVORS_NAMED = 20 };

struct track {
    struct gt_tracker_options settings;
    struct output output;
    struct watch watch;
    char mark[48];         /* see leave_mark */
    char blocks[PATH_MAX]; /* where the command's processes leave their code blocks, "" when not asked for */
    struct gt_block_injection injection;
    struct gt_group *group;
    const char *pattern;  /* the name of the recording as it was typed, or NULL */
    char taken[PATH_MAX]; /* its name, once no other may take it; "" where it is not taken beforehand */
    const char *address;  /* to which the recording is sent, or NULL */
    bool has_place; /* the name holds the place of this rank, so that it may be recorded beside another of that name */
    bool is_strict; /* what could not be recorded or reported makes the exit status */
};

/* A rank continues without its recording if that cannot be made: many launchers end all ranks when one fails. */
static bool is_dispensable(const struct track *track)
{
    return track->settings.tracking_file && !track->is_strict && gt_rank_has_others();
}

static void tell_of_rank(const struct track *track)
{
    if (track->pattern && gt_rank_has_others() && !strstr(track->pattern, "%r"))
        say("%%r in the name of the recording gives each rank one of its own");
}

static void do_without_blocks(struct track *track)
{
    if (*track->blocks)
        gt_blocks_cancel(track->blocks);
    *track->blocks = '\0';
    unsetenv(GT_BLOCKS_ENVIRONMENT);
    gt_block_injection_unset(&track->injection);
}

static void do_without_recording(struct track *track, const struct gt_error *error)
{
    say("nothing is recorded: %s", error->text);
    tell_of_rank(track);
    track->settings.tracking_file = NULL;
    do_without_blocks(track);
}

/* The name may be taken by another step or an earlier attempt of the job. */
static bool has_place(const struct options *options)
{
    const char *pattern = options->tracking_file;
    if (!pattern || options->overwrite || options->strict_recording || !gt_rank() || strstr(pattern, "%p"))
        return false;
    return strstr(pattern, "%r") || (strstr(pattern, "%h") && gt_rank_has_others());
}

/* Checks all options except the recording. A missing input file is a usage error. */
static int check_options(const struct track *track)
{
    struct gt_error error = {0};
    struct gt_tracker_options without = track->settings;
    without.tracking_file = NULL;
    int status = settings_keep_files(&track->settings, &error);
    if (status >= 0)
        status = gt_tracker_check(&without, &error);
    return status < 0 ? say_unread(status, &error, NULL) : 0;
}

static int check_recording(struct track *track, struct gt_error *error)
{
    int status = gt_tracker_check(&track->settings, error);
    if (status == -EEXIST && track->has_place)
        return 0; /* take_name finds another */
    if (status >= 0 || exit_status_of(status) == EXIT_USAGE || !is_dispensable(track))
        return status;
    do_without_recording(track, error);
    return 0;
}

/* Warns that the folder of the recording was created: its name may be mistyped. Jobs with several ranks need no
 * warning. */
static void tell_of_folder(struct track *track)
{
    char copy[PATH_MAX];
    const char *path = track->settings.tracking_file;
    if (!path || strchr(path, '%') || gt_rank_has_others() || strlen(path) >= sizeof copy)
        return;
    strcpy(copy, path);
    const char *folder = dirname(copy);
    if (access(folder, F_OK) < 0 && errno == ENOENT)
        gt_warn(watch_warn, &track->watch, "made the folder %s: it was not there", folder);
}

/* `pattern` as it was typed, with its %j. */
static void tell_of_job(struct track *track, const char *pattern)
{
    struct gt_buffer job = {0};
    const char *place = pattern ? strstr(pattern, "%j") : NULL;
    if (place && gt_rank_job(&job) == GT_RANK_JOB_OF_LAUNCH)
        gt_warn(
            watch_warn, &track->watch,
            "no scheduler or launcher tells the number of this job: %%j is %.200s, for the ranks started together on "
            "this machine; GPU_TRACKER_JOB=NAME gives all ranks a name",
            job.data);
    gt_buffer_release(&job);
}

/* Everything that can be wrong is found here, before anything is started or written. */
static int prepare(struct track *track, const struct options *options, bool as_original)
{
    struct gt_error error = {0};
    heap_keep_small();
    *track = (struct track){.settings = settings_tracker(options)};
    track->is_strict = options->strict_recording;
    track->pattern = options->tracking_file;
    track->has_place = has_place(options);
    track->watch.is_quiet = options->disable_logs;
    track->watch.waits_for_all = options->wait && strcmp(options->wait, "all") == 0;
    track->watch.signals.fd = -1;
    track->settings.warn = watch_warn;
    track->settings.context = &track->watch;
    int status = output_prepare(&track->output, options, as_original ? STDOUT_FILENO : STDERR_FILENO);
    if (status)
        return status;
    track->output.as_original = as_original;
    if (!as_original)
        output_prefer_summary(&track->output, options);
    status = check_options(track);
    if (status)
        return status;
    status = check_recording(track, &error);
    /* A thousand summaries would say less than one: with a recording, rank 0 reports alone. */
    const char *rank = gt_rank();
    track->output.is_quiet |= track->output.is_brief && track->settings.tracking_file && gt_rank_has_others() && rank &&
                              strcmp(rank, "0") != 0;
    if (status >= 0)
        status = gt_rules_check(options->limits.value, &error);
    if (status >= 0)
        tell_of_folder(track);
    if (status >= 0)
        tell_of_job(track, options->tracking_file);
    return status < 0 ? say_failure(status, &error) : 0;
}

/* Two steps of a job may begin at once: each gets names of its own. */
static int take_name(struct track *track, struct options *options)
{
    struct gt_error error = {0};
    if (!track->has_place || !track->settings.tracking_file)
        return 0;
    int status = gt_recording_take_name(track->taken, sizeof track->taken, &track->settings, &error);
    if (status < 0) {
        *track->taken = '\0';
        if (!is_dispensable(track))
            return say_failure(status, &error);
        do_without_recording(track, &error);
        return 0;
    }
    if (status > 0 && strcmp(gt_rank(), "0") == 0) /* which reports for all */
        gt_warn(watch_warn, &track->watch, "%s exists already: each rank records beside it, into %s",
                options->tracking_file, track->taken);
    options->tracking_file = track->taken;
    track->settings.tracking_file = track->taken;
    track->settings.overwrite = true; /* what holds the name */
    return 0;
}

static void name_survivors(const struct watch *watch)
{
    pid_t pids[SURVIVORS_NAMED];
    size_t count = watch->tracker ? gt_tracker_processes(watch->tracker, pids, SURVIVORS_NAMED) : 0;
    if (!count || watch->is_quiet)
        return;
    char text[900] = "";
    for (size_t i = 0; i < count && i < SURVIVORS_NAMED; i++) {
        char name[64];
        size_t length = strlen(text);
        ssize_t read = gt_root_read_process(NULL, pids[i], "comm", name, sizeof name);
        if (read > 0 && name[read - 1] == '\n') /* the name may hold others */
            name[read - 1] = '\0';
        if (read > 0)
            snprintf(text + length, sizeof text - length, "%s%d (%s)", length ? ", " : "", (int)pids[i], name);
    }
    if (*text)
        say("still running: %s%s; --wait all would wait", text, count > SURVIVORS_NAMED ? ", ..." : "");
}

static int command_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? EXIT_SIGNAL + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static int collect_blocks(struct track *track, const struct options *options)
{
    struct gt_error error = {0};
    if (!*track->blocks)
        return 0;
    gt_block_injection_end(&track->injection, track->blocks, command_status(track->watch.wait_status), watch_warn,
                           &track->watch);
    int kept = gt_block_memory_collect(track->blocks, options->tracking_file, track->watch.main, &error);
    int status = gt_blocks_collect(track->blocks, options->tracking_file, track->watch.main, watch_warn, &track->watch,
                                   &error);
    if (status < 0) {
        say("%s; the blocks stay in %s, where analyze reads them", error.text, track->blocks);
        return exit_status_of(status);
    }
    return kept < 0 ? say_failure(kept, &error) : 0;
}

/* The report, whatever happened to the job; the exit status of writing it. *collected is that of bringing its blocks to
 * the recording, which the report tells of, too. `words`: the command, to be kept in the list of runs, or NULL. */
static int conclude(struct track *track, const struct options *options, char **words, int *collected)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    if (!track->watch.tracker)
        return EXIT_TRACKER; /* reported when it began */
    int finished = gt_tracker_finish(track->watch.tracker, &error);
    if (finished < 0) {
        if (!strstr(track->watch.told, error.text))
            say("%s", error.text);
        if (finished == -EEXIST)
            tell_of_rank(track);
        error = (struct gt_error){0};
    }
    *collected = collect_blocks(track, options);
    gt_tracker_sent_to(track->watch.tracker, track->address);
    char *change = words ? past_keep(options, track->watch.tracker, words) : NULL;
    int status = (track->output.is_brief ? gt_tracker_summary : gt_tracker_report)(track->watch.tracker, &report,
                                                                                   &error);
    bool is_noted = change && status >= 0 && gt_report_note(report, "change", change) > 0 && track->output.is_brief;
    if (change && !is_noted && !track->watch.is_quiet)
        say("%s", change);
    free(change);
    if (status >= 0 && !track->output.is_brief) /* else the sentences follow the summary */
        gt_tracker_judge(track->watch.tracker, options->limits.value, gt_report_broken_rule, report, NULL);
    status = output_result(&track->output, status, report, &error);
    return finished < 0 ? EXIT_TRACKER : status;
}

/* A sentence behind a report for programs, on the same stream, would spoil it. */
static bool ends_in_sentence(const struct output *output)
{
    bool is_read = strcmp(output->format, "text") == 0 || strcmp(output->format, "markdown") == 0;
    return !output->is_brief && (output->path || output->fd != STDERR_FILENO || is_read);
}

/* The original counts signals as negative status codes; so does its sentence. */
static void say_completed(FILE *stream, int wait_status)
{
    int code = WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    fprintf(stream, "Resource tracking complete. Process completed with status code: %d\n", code);
    fflush(stream);
}

/* What the programs of the command mark for other tools. */
static int prepare_injection(struct track *track, const struct options *options)
{
    struct gt_error error = {0};
    const char *suffix = strrchr(options->tracking_file, '.');
    track->injection.domains = options->blocks_domains;
    track->injection.names = options->blocks_names;
    track->injection.most = options->blocks_most;
    track->injection.patterns = options->python_blocks.value;
    track->injection.allocator = options->blocks_memory;
    if (options->blocks_memory && !gt_block_injection_hooks(&track->injection))
        return say_usage(
            "--blocks-memory: it is read at the borders of blocks of Python: give --blocks-from torch or --python-blocks");
    if (options->blocks_memory && (!suffix || strcmp(suffix, ".sqlite") != 0))
        return say_usage("--blocks-memory: it is kept with a .sqlite tracking file, not %s", options->tracking_file);
    int status = gt_block_injection_check(&track->injection, &error);
    return status == -EINVAL ? say_usage("%s", error.text) : status < 0 ? say_failure(status, &error) : 0;
}

/* The option that makes code blocks be collected, or NULL. */
static const char *wish_for_blocks(const struct options *options)
{
    bool is_default = options->blocks_from && !options->typed[OPTION_NUMBER_blocks_from];
    if (options->blocks || options->python_blocks.count)
        return options->blocks ? "blocks" : "python-blocks";
    return options->blocks_from && (!is_default || options->tracking_file) ? "blocks-from" : NULL;
}

/* The option that has been typed for --blocks-from where that is missing, or NULL. */
static const char *wish_for_ranges(const struct options *options)
{
    bool has_most = options->typed[OPTION_NUMBER_blocks_most] && !options->python_blocks.count;
    const char *name = options->typed[OPTION_NUMBER_blocks_domains] ? "blocks-domains"
                       : options->typed[OPTION_NUMBER_blocks_names] ? "blocks-names"
                       : has_most                                   ? "blocks-most"
                                                                    : NULL;
    return options->blocks_from ? NULL : name;
}

/* `program`: the file of the command. */
static int prepare_blocks(struct track *track, const struct options *options, const char *program)
{
    struct gt_error error = {0};
    const char *wish = wish_for_blocks(options);
    if (!wish && options->blocks_memory)
        return say_usage(
            "--blocks-memory: it is read at the borders of blocks: give --blocks-from torch or --python-blocks");
    const char *without = wish_for_ranges(options);
    if (without)
        return say_usage("--%s: it chooses among the ranges of --blocks-from, which is not given", without);
    if (!wish)
        return 0;
    if (options->blocks_from && gt_block_sources_read(options->blocks_from, &track->injection.sources, &error) < 0)
        return say_usage("--blocks-from: %s", error.text);
    if (!options->tracking_file)
        return say_usage("--%s: the blocks are kept with a tracking file: give --tracking-file", wish);
    if (!track->settings.tracking_file)
        return 0; /* reported already */
    int status = prepare_injection(track, options);
    if (status)
        return status;
    status = gt_blocks_prepare(track->blocks, sizeof track->blocks, options->tracking_file, options->overwrite, &error);
    if (status < 0 && is_dispensable(track)) {
        do_without_recording(track, &error);
        return 0;
    }
    if (status < 0)
        return say_failure(status, &error);
    setenv(GT_BLOCKS_ENVIRONMENT, track->blocks, 1);
    if (options->blocks_cpu)
        setenv(GT_BLOCKS_CPU_ENVIRONMENT, options->blocks_cpu, 1);
    gt_block_injection_set(&track->injection, program, watch_warn, &track->watch);
    return 0;
}

/* Marks the environment in a Slurm job: tasks of srun are not descendants, and are found by the mark. */
static void leave_mark(struct track *track)
{
    const char *outer = getenv(GT_RUN_ENVIRONMENT);
    struct timespec now;
    char marks[1024];
    if (!getenv("SLURM_JOB_ID"))
        return;
    clock_gettime(CLOCK_BOOTTIME, &now);
    snprintf(track->mark, sizeof track->mark, "%d.%lld.%ld", (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
    snprintf(marks, sizeof marks, "%s%s%s", outer ? outer : "", outer ? " " : "", track->mark);
    if (setenv(GT_RUN_ENVIRONMENT, marks, 1) == 0)
        track->settings.mark = track->mark;
}

/* Returns true if a shell had living children before it executed this program: they do not belong to the job. Reaps
 * ended ones. */
static bool has_children(void)
{
    siginfo_t info;
    pid_t ended = 1;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        return true;
    while (ended > 0)
        ended = waitpid(-1, NULL, WNOHANG);
    return ended == 0;
}

/* The child waits while the tracker is armed: 0, an exit status, or negative errno. */
static int start(struct track *track, const struct options *options, char **words)
{
    struct launch launch;
    struct gt_error error = {0};
    status_prepare(&track->watch.status, options->progress);
    leave_mark(track);
    track->watch.owns_children = !has_children();
    track->settings.launched = track->watch.owns_children;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* not inherited: descendants whose parent ends come to us, as to an init */
    gt_group_create(&track->group, NULL);
    track->settings.group = track->group;
    signals_take_all(&track->watch.signals);
    int status = track->watch.signals.fd < 0 ? -errno
                                             : launch_fork(&launch, words, &track->watch.signals, track->group);
    if (status < 0)
        return say_trouble("cannot start '%s': %s", words[0], strerror(-status));
    privilege_seal();
    witness_start(&track->watch.witness, words, track->group);
    track->settings.aside = track->watch.witness.pid;
    track->watch.main = launch.pid;
    track->watch.is_child = true;
    status = gt_tracker_open(&track->watch.tracker, launch.pid, &track->settings, &error);
    bool may_be_the_file = track->settings.tracking_file && exit_status_of(status) != EXIT_USAGE;
    if (status < 0 && may_be_the_file && !track->is_strict) { /* another has made it meanwhile, perhaps */
        do_without_recording(track, &error);
        status = gt_tracker_open(&track->watch.tracker, launch.pid, &track->settings, &error);
    }
    if (status < 0 && (exit_status_of(status) == EXIT_USAGE || track->is_strict)) {
        launch_cancel(&launch);
        return say_failure(status, &error);
    }
    if (status < 0)
        say("nothing is measured: %s", error.text);
    witness_await(&track->watch.witness);
    int code = launch_release(&launch);
    if (!code)
        return 0;
    waitpid(launch.pid, NULL, 0);
    say("'%s': cannot execute: %s", words[0], strerror(code));
    return code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int watch(struct track *track, const struct options *options, char **words)
{
    jobs_announce(track->watch.tracker ? gt_tracker_recording_path(track->watch.tracker) : NULL, track->watch.is_quiet);
    status_begin(&track->watch.status, track->watch.tracker, *track->blocks ? track->blocks : NULL,
                 options->no_history ? NULL : words);
    prctl(PR_SET_TIMERSLACK, 1ul);
    int status = watch_run(&track->watch);
    jobs_withdraw();
    if (status < 0)
        say("cannot watch process %d: %s", (int)track->watch.main, strerror(-status));
    return status;
}

/* Say and write the results once the command has ended. Its status, whatever could not be written, unless that is
 * wanted. */
static int end(struct track *track, const struct options *options, char **words, bool as_original)
{
    if (!options->quiet)
        name_survivors(&track->watch);
    if (as_original)
        say_completed(stdout, track->watch.wait_status);
    int collected = 0, written = conclude(track, options, as_original ? NULL : words, &collected);
    if (!as_original && !options->quiet && ends_in_sentence(&track->output))
        say_completed(stderr, track->watch.wait_status);
    int status = command_status(track->watch.wait_status);
    return status || !track->is_strict ? status : written ? written : collected;
}

/* Names each broken rule. Returns 0 or EXIT_BROKEN_RULE; the exit status of a failed command has precedence. */
static int judge(const struct track *track, const struct options *options)
{
    struct gt_error error = {0};
    if (!options->limits.count)
        return 0;
    if (!track->watch.tracker) {
        say("nothing was measured, which breaks '%s'", options->limits.value[0]);
        return EXIT_BROKEN_RULE;
    }
    int broken = gt_tracker_judge(track->watch.tracker, options->limits.value, say_warning, NULL, &error);
    return broken < 0 ? say_failure(broken, &error) : broken ? EXIT_BROKEN_RULE : 0;
}

/* Starts the command, watches it until its end, and reports. */
static int run_prepared(struct track *track, const struct options *options, char **words, bool as_original)
{
    struct gt_buffer text = {0};
    gt_secret_hide(&text, words);
    track->settings.command = text.data;
    note_launcher(&track->watch, words);
    note_misplaced_option(&track->watch, words);
    int status = start(track, options, words);
    if (!status) {
        if (watch(track, options, words) < 0)
            waitpid(track->watch.main, &track->watch.wait_status, 0);
        status = end(track, options, words, as_original);
        int judged = judge(track, options);
        status = status ? status : judged;
    } else if (*track->blocks) {
        gt_blocks_cancel(track->blocks);
    }
    watch_close(&track->watch);
    gt_block_injection_unset(&track->injection);
    gt_group_close(track->group);
    gt_buffer_release(&text);
    return status;
}

int track_command(const struct options *given, char **words, bool as_original)
{
    static struct track track; /* too large for a small stack */
    char program[PATH_MAX];
    struct options own = *given, *options = &own; /* the name of the recording may become another */
    struct ship *ship;
    int status = ship_begin(&ship, options);
    if (status)
        return status;
    status = prepare(&track, options, as_original);
    track.address = ship_address(ship);
    if (!status)
        status = launch_check(words[0], program);
    if (!status)
        status = take_name(&track, options);
    if (!status)
        status = prepare_blocks(&track, options, program);
    if (!status)
        status = run_prepared(&track, options, words, as_original);
    if (*track.taken)
        gt_recording_give_name_back(track.taken);
    ship_end(ship);
    return status;
}

static int track_prepared_process(const struct options *options, pid_t pid, const char *address)
{
    static struct track track; /* too large for a small stack */
    struct gt_error error = {0};
    int status = prepare(&track, options, false);
    if (status)
        return status;
    track.watch.main = pid;
    track.address = address;
    status_prepare(&track.watch.status, options->progress);
    signals_take_ending(&track.watch.signals);
    status = track.watch.signals.fd < 0 ? gt_error_system(&error, errno, "signals")
                                        : gt_tracker_open(&track.watch.tracker, pid, &track.settings, &error);
    if (status < 0) {
        status = say_failure(status, &error);
    } else {
        int watched = watch(&track, options, NULL);
        int collected;
        status = conclude(&track, options, NULL, &collected);
        if (!track.output.is_quiet && (track.output.is_brief || ends_in_sentence(&track.output)))
            fprintf(stderr, "Resource tracking complete. Process %d %s.\n", (int)pid,
                    track.watch.main_ended ? "has ended" : "goes on");
        status = watched < 0 ? EXIT_TRACKER : status;
    }
    watch_close(&track.watch);
    return status;
}

int track_process(const struct options *options, pid_t pid)
{
    struct options own = *options;
    struct ship *ship;
    int status = ship_begin(&ship, &own);
    if (status)
        return status;
    status = track_prepared_process(&own, pid, ship_address(ship));
    ship_end(ship);
    return status;
}
