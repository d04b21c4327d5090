#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/root.h"
#include "message.h"

/* ---- a line of progress ---- */

enum { LINE_SIZE = 200, REFRESH_NS = 500000000 };

void progress_open(struct progress *progress, bool wanted)
{
    *progress = (struct progress){.start = gt_clock_ns(CLOCK_MONOTONIC)};
    if (wanted && isatty(STDERR_FILENO))
        progress->next_ns = progress->start + REFRESH_NS;
}

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void bytes_text(char *text, size_t size, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1000;
    if (isnan(bytes))
        snprintf(text, size, "n/a");
    else
        snprintf(text, size, "%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes, units[unit]);
}

static void share_text(char *text, size_t size, double ratio)
{
    if (isnan(ratio))
        snprintf(text, size, "n/a");
    else
        snprintf(text, size, "%.0f %%", ratio * 100);
}

static double value(const struct gt_tracker *tracker, const char *metric)
{
    return gt_tracker_value(tracker, GT_SCOPE_COMBINED, gt_metric_find(metric));
}

static size_t line_text(char *line, size_t size, int64_t elapsed, const struct gt_tracker *tracker)
{
    char ram[24], gpu_ram[24], cpu[24], gpu[24];
    long long seconds = elapsed / 1000000000;
    bytes_text(ram, sizeof ram, value(tracker, "ram"));
    bytes_text(gpu_ram, sizeof gpu_ram, value(tracker, "gpu_ram"));
    share_text(cpu, sizeof cpu, value(tracker, "cpu_utilization"));
    share_text(gpu, sizeof gpu, value(tracker, "gpu_utilization"));
    snprintf(line, size, "%lld:%02lld:%02lld  RAM %s  CPU %s  GPU %s  GPU RAM %s", seconds / 3600, seconds / 60 % 60,
             seconds % 60, ram, cpu, gpu, gpu_ram);
    return strlen(line);
}

/* A line that the terminal has wrapped since, because it became narrower, covers more than one row. */
static size_t erase_text(char *text, size_t size, size_t drawn)
{
    size_t rows = drawn ? (drawn - 1) / columns() : 0;
    if (rows)
        return (size_t)snprintf(text, size, "\r\033[%zuA\033[J", rows);
    return (size_t)snprintf(text, size, "\r\033[K");
}

static void progress_draw(struct progress *progress, const struct gt_tracker *tracker, int64_t now_ns)
{
    char text[LINE_SIZE + 32], line[LINE_SIZE];
    if (!progress->next_ns || now_ns < progress->next_ns || !tracker)
        return;
    progress->next_ns += (now_ns - progress->next_ns) / REFRESH_NS * REFRESH_NS + REFRESH_NS;
    size_t length = line_text(line, sizeof line, now_ns - progress->start, tracker);
    size_t width = columns() - 1; /* a full line would make some terminals wrap */
    if (length > width)
        length = width;
    size_t start = erase_text(text, sizeof text, progress->drawn);
    memcpy(text + start, line, length);
    gt_file_write_all(STDERR_FILENO, text, start + length);
    progress->drawn = length;
}

static void progress_erase(struct progress *progress)
{
    char text[32];
    if (progress->drawn)
        gt_file_write_all(STDERR_FILENO, text, erase_text(text, sizeof text, progress->drawn));
    progress->drawn = 0;
}

static void progress_close(struct progress *progress)
{
    progress_erase(progress);
    progress->next_ns = 0;
}

/* ---- watching ---- */

/* Between two looks for signals that no descriptor tells of. */
static const int64_t SIGNALS_PAUSE_NS = 20000000;

void watch_warn(void *context, const char *sentence)
{
    struct watch *watch = context;
    if (watch->is_quiet)
        return;
    size_t length = strlen(watch->told);
    if (length + strlen(sentence) + 2 <= sizeof watch->told)
        snprintf(watch->told + length, sizeof watch->told - length, "%s\n", sentence);
    progress_erase(&watch->progress);
    say("%s", sentence);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

/* Most signals of the terminal reach the command by themselves, since it is in the same process group; those of the job's
 * own processes were meant for us. */
static bool is_for_command(const struct watch *watch, const siginfo_t *signal)
{
    pid_t sender = signal->si_pid;
    bool is_session_leader = getsid(0) == getpid();
    if (signal->si_signo == SIGHUP && signal->si_code == SI_KERNEL && is_session_leader)
        return true; /* the terminal has gone: only the leader is told */
    if (signal->si_code != SI_USER && signal->si_code != SI_QUEUE && signal->si_code != SI_TKILL)
        return false;
    return !watch->main_ended && sender != getpid() && !(watch->tracker && gt_tracker_contains(watch->tracker, sender));
}

static void handle(struct watch *watch, const siginfo_t *signal)
{
    int number = signal->si_signo;
    if (number == SIGCHLD)
        return;
    if (!watch->is_child || watch->main_ended) {
        watch->interrupted |= signal_asks_for_end(number);
        return;
    }
    if (signal_stops(number))
        watch->stop_received = number;
    if (number == SIGCONT)
        watch->stop_received = 0;
    if (is_for_command(watch, signal))
        kill(watch->main, number);
}

/* Without a shell of its own a process that stops the terminal's job would leave the terminal to nobody. */
static bool owns_terminal(void)
{
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return false;
    bool owns = tcgetpgrp(terminal) == getpgrp();
    close(terminal);
    return owns;
}

/* 0 with info->si_pid, which is 0 when there is nothing to tell. */
static int look(const struct watch *watch, int what, siginfo_t *info)
{
    info->si_pid = 0;
    return waitid(P_PID, (id_t)watch->main, info, what | WNOHANG);
}

/* The shell waits for this process: it has to stop for the shell to see that the job has. */
static void follow_stop(struct watch *watch, int number)
{
    siginfo_t info;
    progress_erase(&watch->progress);
    watch->stop_received = 0;
    signal_stop_self(number);
    if (look(watch, WCONTINUED, &info) < 0 || info.si_pid == 0)
        kill(watch->main, SIGCONT); /* only this process was continued, or nobody tells */
}

/* Where nothing tells of stops: the third field, man 5 proc_pid_stat. */
static bool has_stopped(pid_t pid)
{
    char text[256];
    const char *state = gt_root_read_process(NULL, pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    return state && !strncmp(state, ") T", 3);
}

static void follow_stops(struct watch *watch)
{
    siginfo_t info;
    int status;
    while ((status = look(watch, WSTOPPED | WCONTINUED, &info)) == 0 && info.si_pid)
        if (info.si_code != CLD_CONTINUED && (watch->stop_received || owns_terminal()))
            follow_stop(watch, info.si_status);
    bool is_untold = status < 0 && errno != ECHILD;
    if (is_untold && has_stopped(watch->main) && (watch->stop_received || owns_terminal()))
        follow_stop(watch, watch->stop_received ? watch->stop_received : SIGTSTP);
}

static int take_signals(void *context, int fd)
{
    (void)fd;
    struct watch *watch = context;
    siginfo_t signal;
    while (signals_next(&watch->signals, &signal))
        handle(watch, &signal);
    if (watch->is_child && !watch->main_ended)
        follow_stops(watch);
    return !watch->interrupted;
}

/* ---- The run ----------------------------------------------------------------------------------------------------- */

static int turn(void *context, int64_t *wake_ns)
{
    struct watch *watch = context;
    int64_t now = gt_clock_monotonic(&gt_clock_system);
    progress_draw(&watch->progress, watch->tracker, now);
    if (watch->progress.next_ns && watch->tracker)
        *wake_ns = watch->progress.next_ns;
    if (watch->signals.fd >= 0)
        return 1;
    if (*wake_ns > now + SIGNALS_PAUSE_NS)
        *wake_ns = now + SIGNALS_PAUSE_NS;
    return take_signals(watch, -1);
}

static void note_sample(void *context, int status, const struct gt_error *error)
{
    struct watch *watch = context;
    if (status >= 0)
        return;
    progress_erase(&watch->progress);
    say("%s; no more samples are taken", error->text);
}

static void note_end(void *context, pid_t pid, int wait_status)
{
    struct watch *watch = context;
    if (pid != watch->main)
        return;
    watch->main_ended = true;
    watch->wait_status = wait_status;
}

int watch_run(struct watch *watch)
{
    struct gt_run_options options = GT_INIT(struct gt_run_options);
    bool can_wait_for_all = watch->tracker || watch->owns_children;
    options.until = watch->waits_for_all && can_wait_for_all ? GT_UNTIL_ALL_END : GT_UNTIL_MAIN_ENDS;
    options.child = watch->is_child ? watch->main : 0;
    options.fds = &watch->signals.fd;
    options.fd_count = 1;
    options.ready = take_signals;
    options.turn = turn;
    options.sampled = note_sample;
    options.reaped = note_end;
    options.context = watch;
    int status = gt_tracker_run(watch->tracker, &options, NULL);
    progress_erase(&watch->progress);
    watch->main_ended |= status > 0;
    return status < 0 ? status : 0;
}

void watch_close(struct watch *watch)
{
    progress_close(&watch->progress);
    signals_close(&watch->signals);
    gt_tracker_close(watch->tracker);
}
