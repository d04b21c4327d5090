/* top: a job from its recording, in a terminal or as text. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/program.h"
#include "base/number.h"
#include "base/root.h"
#include "jobs.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "screen.h"

enum {
    MOST_JOBS = 100,
    MOST_RECENT = 10,
    NAMES_TRIED = 30,
    ROWS = 60,
    COLUMNS = 80,
    LEAST_COLUMNS = 20,
    MOST_COLUMNS = 1000
};

static int columns_of_output(void)
{
    struct winsize size;
    int64_t columns = 0;
    const char *wanted = getenv("COLUMNS");
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        columns = size.ws_col;
    else if (!wanted || gt_number_i64(wanted, &columns) < 0)
        columns = COLUMNS;
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns > MOST_COLUMNS ? MOST_COLUMNS : (int)columns;
}

static int print_text(struct gt_view *view, int rows)
{
    char *text = NULL;
    struct gt_error error = {0};
    const struct output output = {.fd = STDOUT_FILENO};
    int status = gt_view_text(view, columns_of_output(), rows, &text, &error);
    status = status < 0 ? say_failure(status, &error) : output_text(&output, text, strlen(text));
    free(text);
    return status;
}

/* A recording has its first sample a moment after its tracker has begun. */
static int open_view(struct gt_view **ret, const char *path, const struct gt_view_options *options, bool is_running,
                     struct gt_error *error)
{
    static const struct timespec MOMENT = {.tv_nsec = 50000000};
    int status;
    for (int patience = is_running ? 40 : 0; (status = gt_view_open(ret, path, options, NULL)) < 0 && patience;
         patience--)
        nanosleep(&MOMENT, NULL);
    return status < 0 ? gt_view_open(ret, path, options, error) : status;
}

static bool is_live(const struct options *options)
{
    return !options->once && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
}

static int show(const struct options *options, const char *path, bool is_running, bool is_ascii)
{
    struct gt_error error = {0};
    struct gt_view *view = NULL;
    const struct gt_view_options wanted = {
        .against = options->against, .moment = options->seek, .ascii = is_ascii, .is_still = !is_live(options)};
    int status = open_view(&view, path, &wanted, is_running, &error);
    if (status < 0)
        return say_unread(status, &error, path);
    status = is_live(options) ? screen_run(view) : print_text(view, ROWS);
    gt_view_close(view);
    return status;
}

/* ---- Which job --------------------------------------------------------------------------------------------------- */

struct list {
    struct screen_job job[MOST_JOBS + MOST_RECENT];
    size_t count;
    bool is_ascii;
};

static void add_running(struct list *list, const struct job *jobs, size_t count)
{
    const struct gt_view_options wanted = {.is_still = 1};
    for (size_t i = 0; i < count; i++) {
        struct screen_job *job = &list->job[list->count];
        if (gt_view_open(&job->view, jobs[i].recording, &wanted, NULL) < 0)
            continue;
        job->recording = gt_view_path(job->view);
        list->count++;
        snprintf(job->brief.name, sizeof job->brief.name, "%d", (int)jobs[i].tracker);
        gt_view_brief(job->view, &job->brief);
    }
}

static bool is_listed(const struct list *list, const char *recording)
{
    bool is_known = false;
    for (size_t i = 0; i < list->count; i++)
        is_known = is_known || !strcmp(list->job[i].recording, recording);
    return is_known;
}

/* Past runs whose recordings still exist, the latest first. */
static void add_recent(struct list *list)
{
    size_t most = list->count + MOST_RECENT;
    for (int back = 1; back <= NAMES_TRIED && list->count < most; back++) {
        struct screen_job *job = &list->job[list->count];
        char *recording = NULL;
        if (gt_run_recording(back, &recording, NULL) < 0)
            continue;
        snprintf(job->brief.name, sizeof job->brief.name, "@%d", back);
        if (is_listed(list, recording) || gt_view_brief_read(&job->brief, recording, NULL) < 0) {
            free(recording);
            continue;
        }
        job->recording = recording;
        list->count++;
    }
}

static void release_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!list->job[i].view)
            free((char *)list->job[i].recording);
        gt_view_close(list->job[i].view);
    }
    free(list);
}

static int print_row(const struct gt_view_brief *brief, bool is_ascii)
{
    struct gt_view_cell cell[MOST_COLUMNS];
    const struct gt_view_grid grid = {columns_of_output(), 1, cell};
    const struct output output = {.fd = STDOUT_FILENO};
    struct gt_buffer text = {0};
    gt_view_brief_draw(&grid, brief);
    if (is_ascii)
        gt_cells_to_ascii(&grid);
    int status = gt_cells_write(&grid, &text);
    if (!status)
        status = output_text(&output, text.data, text.length);
    gt_buffer_release(&text);
    return status < 0 ? EXIT_TRACKER : status;
}

static int print_list(const struct list *list)
{
    say("%zu jobs run: name one by the number in front, or its recording", list->count);
    int status = print_row(NULL, list->is_ascii);
    for (size_t i = 0; i < list->count && !status; i++)
        status = print_row(&list->job[i].brief, list->is_ascii);
    return status;
}

/* Let the user choose a job in the terminal; elsewhere print the running ones. */
static int show_list(const struct options *options, const struct job *jobs, size_t count, bool is_ascii)
{
    struct list *list = calloc(1, sizeof *list);
    size_t number = 0;
    if (!list) {
        say("out of memory");
        return EXIT_TRACKER;
    }
    list->is_ascii = is_ascii;
    add_running(list, jobs, count);
    bool can_choose = is_live(options) && screen_is_built();
    if (can_choose)
        add_recent(list);
    int status = can_choose ? screen_choose(list->job, list->count, is_ascii, &number) : print_list(list);
    if (can_choose && !status && number < list->count)
        status = show(options, list->job[number].recording, list->job[number].view != NULL, is_ascii);
    release_list(list);
    return status;
}

/* The fourth field of man 5 proc_pid_stat; 0: not known. */
static pid_t parent_of(pid_t pid)
{
    char text[512];
    int parent = 0;
    const char *behind = gt_root_read_process(NULL, pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    return behind && sscanf(behind, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* The job with this tracker or this process, or NULL. */
static const struct job *find_job(const struct job *jobs, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].tracker == pid || (parent_of(pid) == jobs[i].tracker && jobs[i].tracker > 1))
            return &jobs[i];
    return NULL;
}

/* ---- A process that nobody follows -------------------------------------------------------------------------------- */

/* What it says goes to a file: it is told where nothing comes of it. */
static pid_t start_sampler(const char *path, const char *said, const char *pid)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(said, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            dup2(fd, STDERR_FILENO);
        execl("/proc/self/exe", "gpu-tracker", "attach", "--detail", "--disable-logs", "--tracking-file", path,
              "--output", "/dev/null", pid, (char *)NULL);
        _exit(EXIT_TRACKER);
    }
    return child;
}

/* Is there a recording with a sample or two? What the sampler had to say it has said. */
static bool wait_for_samples(pid_t sampler, const char *path)
{
    static const struct timespec MOMENT = {.tv_nsec = 50000000};
    struct timespec two_samples = {.tv_sec = 1, .tv_nsec = 200000000};
    siginfo_t info = {0};
    for (int patience = 200; patience > 0 && access(path, R_OK) < 0; patience--) {
        if (waitid(P_PID, (id_t)sampler, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
            return false;
        nanosleep(&MOMENT, NULL);
    }
    nanosleep(&two_samples, NULL);
    return access(path, R_OK) == 0;
}

static void tell(const char *said)
{
    char line[1024];
    FILE *file = fopen(said, "re");
    while (file && fgets(line, sizeof line, file))
        fputs(line, stderr);
    if (file)
        fclose(file);
}

static int follow(const struct options *options, const char *pid, bool is_ascii)
{
    const char *place = getenv("TMPDIR");
    char folder[PATH_MAX - 32], path[PATH_MAX], said[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/gpu-tracker-top-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(folder)) {
        say("top: cannot make a folder like %s: %s", folder, strerror(errno));
        return EXIT_TRACKER;
    }
    snprintf(path, sizeof path, "%s/top.sqlite", folder);
    snprintf(said, sizeof said, "%s/said", folder);
    int status = EXIT_TRACKER, ended;
    pid_t sampler = start_sampler(path, said, pid);
    if (sampler > 0) {
        if (wait_for_samples(sampler, path))
            status = show(options, path, true, is_ascii);
        else
            tell(said);
        kill(sampler, SIGTERM); /* it ends; the process it follows goes on */
        waitpid(sampler, &ended, 0);
    }
    unlink(path);
    unlink(said);
    rmdir(folder);
    return status;
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static int show_running(const struct options *options, const struct job *jobs, size_t count, bool is_ascii)
{
    if (!count) {
        jobs_check();
        return say_usage(
            "top: no recorded job of yours runs here: start one with gpu-tracker run --tracking-file FILE -- "
            "COMMAND, or name a recording");
    }
    return count > 1 ? show_list(options, jobs, count, is_ascii) : show(options, jobs[0].recording, true, is_ascii);
}

static int run(const struct options *options, int count, char **operands)
{
    int64_t pid = 0;
    struct job *jobs = calloc(MOST_JOBS, sizeof *jobs);
    size_t running = jobs ? jobs_list(jobs, MOST_JOBS) : 0;
    bool is_ascii = options->ascii || screen_is_ascii() || (is_live(options) && !screen_takes_utf8());
    bool is_pid = count && gt_number_i64(operands[0], &pid) == 0;
    const struct job *job = is_pid ? find_job(jobs, running, (pid_t)pid) : NULL;
    int status;
    if (!count)
        status = show_running(options, jobs, running, is_ascii);
    else if (job)
        status = show(options, job->recording, true, is_ascii);
    else if (is_pid)
        status = follow(options, operands[0], is_ascii);
    else
        status = show(options, operands[0], false, is_ascii);
    free(jobs);
    return status;
}

const struct command command_top = {
    .name = "top",
    .synopsis = "[FILE|PID]",
    .summary = "Show a job live in the terminal, or replay a recording",
    .description =
        "Shows memory, CPU, GPUs, code blocks and processes of a recording. The job may still run, also on another machine that writes to a shared file system. The arrow keys move in time. Without a name it shows your running recorded job. PID shows the job of that process, or the process from now on. Processes and single GPUs need --detail of run, code blocks need --blocks.\n\n"
        "Keys never end the job. ? lists them, q quits. With --once, or if standard output is not a terminal, it prints one picture as text. NO_COLOR is respected.",
    .operand = OPERAND_FILE,
    .most = 1,
    .run = run,
};
