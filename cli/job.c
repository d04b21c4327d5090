/* The launched job: its processes' ends and stops, and the signals that come to gpu-tracker in its place. */
#include <errno.h>
#include <fcntl.h>
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

static void reap(struct watch *watch, pid_t pid, const struct rusage *usage, const siginfo_t *info)
{
    int wait_status = info->si_code == CLD_EXITED ? W_EXITCODE(info->si_status, 0) : W_EXITCODE(0, info->si_status);
    if (pid == watch->main) {
        watch_tick(watch); /* while /proc still has it */
        watch->main_ended = true;
        watch->wait_status = wait_status;
    }
    if (watch->tracker)
        gt_tracker_reaped(watch->tracker, pid, wait_status, usage);
    waitpid(pid, NULL, 0);
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
    if (look(P_PID, watch->main, WCONTINUED, &info, NULL) == 0 && info.si_pid == 0)
        kill(watch->main, SIGCONT); /* only this process was continued */
}

static void follow(struct watch *watch)
{
    siginfo_t info;
    while (look(P_PID, watch->main, WSTOPPED | WCONTINUED, &info, NULL) == 0 && info.si_pid) {
        if (info.si_code != CLD_CONTINUED && (watch->stop_received || owns_terminal()))
            follow_stop(watch, info.si_status);
    }
}

void job_children(struct watch *watch)
{
    siginfo_t info;
    struct rusage usage;
    int status;
    while ((status = look(P_ALL, 0, WEXITED | WNOWAIT, &info, &usage)) == 0 && info.si_pid)
        reap(watch, info.si_pid, &usage, &info);
    /* As a subreaper this process is at last the parent of every descendant. */
    bool none_left = watch->owns_children ? status < 0
                                          : !watch->tracker || !gt_tracker_processes(watch->tracker, NULL, 0);
    watch->all_ended = watch->main_ended && none_left;
    if (!watch->main_ended)
        follow(watch);
}
