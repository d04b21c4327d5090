#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/root.h"
#include "message.h"

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
    say("%s", sentence);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

/* A program that makes a process group of its own, as timeout does, would lead ours already and stay in it, had the shell started
 * it: what comes to all of ours is for all of its. 0: it has none. */
static pid_t group_of_its_own(const struct watch *watch)
{
    pid_t group = getpgid(watch->main);
    return group > 1 && group != getpgrp() ? group : 0;
}

static bool comes_from_terminal(int number)
{
    return signal_asks_for_end(number) || signal_stops(number) || number == SIGCONT || number == SIGWINCH;
}

/* Those of the job's own processes were meant for us. */
static bool comes_from_job(const struct watch *watch, pid_t sender)
{
    return sender == getpid() || (watch->tracker && gt_tracker_contains(watch->tracker, sender));
}

/* Returns whom to hand a signal on to, as kill(2) is told it; 0: nobody. What the terminal and others send to the process group has
 * reached the command by itself. */
static pid_t receiver_of(struct watch *watch, const siginfo_t *signal)
{
    bool was_seen = witness_saw(&watch->witness, signal);
    bool leads_session = getsid(0) == getpid(), leads_group = getpgrp() == getpid();
    if (signal->si_signo == SIGHUP && signal->si_code == SI_KERNEL && leads_session)
        return watch->main; /* the terminal has gone: only the leader is told */
    if (signal_was_sent(signal) && comes_from_job(watch, signal->si_pid))
        return 0;
    if (signal_was_sent(signal) && !was_seen)
        return watch->main;
    bool went_to_group = was_seen && (signal_was_sent(signal) || comes_from_terminal(signal->si_signo));
    return went_to_group && leads_group ? -group_of_its_own(watch) : 0;
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
    pid_t receiver = receiver_of(watch, signal);
    if (receiver)
        kill(receiver, number);
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
    status_leave(&watch->status);
    watch->stop_received = 0;
    signal_stop_self(number);
    pid_t group = group_of_its_own(watch);
    if (look(watch, WCONTINUED, &info) < 0 || info.si_pid == 0)
        kill(group ? -group : watch->main, SIGCONT); /* only this process was continued, or nobody tells */
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
    status_draw(&watch->status, now);
    if (watch->status.next_ns && watch->status.line && watch->status.next_ns < *wake_ns)
        *wake_ns = watch->status.next_ns;
    if (watch->signals.fd >= 0)
        return 1;
    if (*wake_ns > now + SIGNALS_PAUSE_NS)
        *wake_ns = now + SIGNALS_PAUSE_NS;
    return take_signals(watch, -1);
}

static void note_sample(void *context, int status, const struct gt_error *error)
{
    (void)context;
    if (status >= 0)
        return;
    say("%s; no more samples are taken", error->text);
}

static void note_end(void *context, pid_t pid, int wait_status)
{
    struct watch *watch = context;
    if (pid != watch->main)
        return;
    watch->main_ended = true;
    watch->wait_status = wait_status;
    witness_dismiss(&watch->witness);
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
    status_close(&watch->status);
    watch->main_ended |= status > 0;
    return status < 0 ? status : 0;
}

void watch_close(struct watch *watch)
{
    status_close(&watch->status);
    witness_close(&watch->witness);
    signals_close(&watch->signals);
    gt_tracker_close(watch->tracker);
}
