/* The launched job: its processes' ends and stops, and the signals that come to gpu-tracker in its place. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch.h"

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

void job_signals(struct watch *watch)
{
    siginfo_t signal;
    while (signals_next(&watch->signals, &signal))
        handle(watch, &signal);
    if (watch->is_child)
        job_children(watch);
}

/* The kernel's waitid also gives the resources used, even of a process that stays a zombie, as glibc's does not. */
static int look(id_t which, pid_t pid, int options, siginfo_t *info, struct rusage *usage)
{
    info->si_pid = 0;
    return (int)syscall(SYS_waitid, which, pid, info, options | WNOHANG, usage);
}

static void note_end(struct watch *watch, pid_t pid, const struct rusage *usage, int wait_status)
{
    if (pid == watch->main) {
        watch->main_ended = true;
        watch->wait_status = wait_status;
    }
    if (watch->tracker)
        gt_tracker_reaped(watch->tracker, pid, wait_status, usage);
}

static void reap(struct watch *watch, const siginfo_t *info, const struct rusage *usage)
{
    siginfo_t again;
    pid_t pid = info->si_pid;
    if (pid == watch->main)
        watch_tick(watch); /* while /proc still has it */
    note_end(watch, pid, usage,
             info->si_code == CLD_EXITED ? W_EXITCODE(info->si_status, 0) : W_EXITCODE(0, info->si_status));
    if (waitpid(pid, NULL, 0) < 0 && errno != ECHILD)
        look(P_PID, pid, WEXITED, &again, NULL);
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

/* The shell waits for this process: it has to stop for the shell to see that the job has. */
static void follow_stop(struct watch *watch, int number)
{
    siginfo_t info;
    progress_erase(&watch->progress);
    watch->stop_received = 0;
    signal_stop_self(number);
    int status = look(P_PID, watch->main, WCONTINUED, &info, NULL);
    if (status < 0 || info.si_pid == 0)
        kill(watch->main, SIGCONT); /* only this process was continued, or nobody tells */
}

static void follow_one(struct watch *watch, int number)
{
    if (watch->stop_received || owns_terminal())
        follow_stop(watch, number);
}

static void follow(struct watch *watch)
{
    siginfo_t info;
    while (look(P_PID, watch->main, WSTOPPED | WCONTINUED, &info, NULL) == 0 && info.si_pid) {
        if (info.si_code != CLD_CONTINUED)
            follow_one(watch, info.si_status);
    }
}

/* Where nothing waits for processes: the last field is the status of one that has ended, man 5 proc_pid_stat. */
static bool has_ended(pid_t pid, int *wait_status)
{
    char path[64], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    bool is_told = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    const char *state = strrchr(text, ')'), *last = strrchr(text, ' ');
    return is_told && state && !strncmp(state, ") Z", 3) && sscanf(last, "%d", wait_status) == 1;
}

/* Where waitid is forbidden: who has ended is gone as soon as that is told, so of the command it is asked before. */
static int take_with_wait4(struct watch *watch)
{
    struct pollfd ended = {watch->tracker ? gt_tracker_pidfd(watch->tracker) : -1, POLLIN, 0};
    struct rusage usage;
    int status;
    pid_t pid;
    if (!watch->main_ended && ended.fd >= 0 && poll(&ended, 1, 0) > 0)
        watch_tick(watch);
    while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage)) > 0)
        if (WIFEXITED(status) || WIFSIGNALED(status))
            note_end(watch, pid, &usage, status);
        else if (pid == watch->main && WIFSTOPPED(status))
            follow_one(watch, WSTOPSIG(status));
    if (pid < 0 && errno != ECHILD && !watch->main_ended && has_ended(watch->main, &status)) {
        watch_tick(watch);
        watch_warn(watch, "The system forbids to wait for processes: what they used last is not measured");
        watch->main_ended = true;
        watch->wait_status = status;
    }
    return pid;
}

void job_children(struct watch *watch)
{
    siginfo_t info;
    struct rusage usage;
    int status;
    while ((status = look(P_ALL, 0, WEXITED | WNOWAIT, &info, &usage)) == 0 && info.si_pid)
        reap(watch, &info, &usage);
    if (status < 0 && errno != ECHILD)
        status = take_with_wait4(watch);
    /* As a subreaper this process is at last the parent of every descendant. */
    bool none_left = watch->owns_children ? status < 0
                                          : !watch->tracker || !gt_tracker_processes(watch->tracker, NULL, 0);
    watch->all_ended = watch->main_ended && none_left;
    if (!watch->main_ended)
        follow(watch);
}
