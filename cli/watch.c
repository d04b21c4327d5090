#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/root.h"
#include "gpu_tracker.h"
#include "message.h"
#include "signals.h"

enum {
    PATIENCE_MS = 50, /* one that sends to each process of a list needs microseconds, if it is not interrupted */
    ANSWER_MS = 1000, /* a witness that was stopped does not answer */
};

struct question {
    int serial, number, patience_ms;
};

struct answer {
    int serial;
    bool is_there;
    int code;     /* si_code */
    pid_t sender; /* 0: outside the namespace */
};

/* ---- In the process of the witness: made without the C library's fork, so only what is safe in a signal handler ---- */

/* The place of this process's arguments in memory: fields 48 and 49 of man 5 proc_pid_stat. */
static char *own_arguments(size_t *length)
{
    enum { FIRST_AFTER_NAME = 3, ARG_START = 48, ARG_END = 49 };
    char text[1024];
    char *rest = gt_root_read_process(NULL, getpid(), "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    unsigned long start = 0, end = 0;
    for (int field = FIRST_AFTER_NAME; rest && (rest = strchr(rest, ' ')) && field <= ARG_END; field++) {
        rest++;
        if (field == ARG_START)
            start = strtoul(rest, NULL, 10);
        if (field == ARG_END)
            end = strtoul(rest, NULL, 10);
    }
    *length = end > start ? end - start : 0;
    return (char *)start; /* NOLINT: the kernel tells an address as a number */
}

/* "signals of: python train.py": the command follows the name of this program among its arguments, so there is room. */
static void take_name(char *const *words)
{
    static const char title[] = "signals of:";
    size_t length, count = 0;
    char *arguments = own_arguments(&length);
    prctl(PR_SET_NAME, "gt-witness");
    while (words[count])
        count++;
    if (!count || words[0] < arguments + sizeof title || words[0] >= arguments + length)
        return;
    size_t kept = (size_t)(arguments + length - words[0]);
    memmove(arguments + sizeof title, words[0], kept);
    memcpy(arguments, title, sizeof title);
    memset(arguments + sizeof title + kept, 0, length - sizeof title - kept);
}

static _Noreturn void bear_witness(int fd, pid_t asker, char *const *words, const struct gt_group *group)
{
    struct question question;
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != asker)
        _exit(0);
    take_name(words);
    gt_group_enter(group); /* late: the memory it has is charged to the tracker's group */
    dup2(fd, STDIN_FILENO);
    gt_close_from(STDIN_FILENO + 1);
    if (write(STDIN_FILENO, &(struct answer){0}, sizeof(struct answer)) < 0)
        _exit(0);
    while (read(STDIN_FILENO, &question, sizeof question) == (ssize_t)sizeof question) {
        siginfo_t came = {0};
        sigemptyset(&set);
        sigaddset(&set, question.number);
        bool is_there = sigtimedwait(&set, &came, &(struct timespec){0, question.patience_ms * 1000000L}) > 0;
        struct answer answer = {question.serial, is_there, came.si_code, came.si_pid};
        if (write(STDIN_FILENO, &answer, sizeof answer) < 0)
            break;
    }
    _exit(0);
}

/* ---- In gpu-tracker's ---------------------------------------------------------------------------------------------- */

/* A child that sends no signal when it ends is none that wait(2) tells of without __WCLONE: the job's are waited for beside it. */
void witness_start(struct witness *witness, char *const *words, const struct gt_group *group)
{
    int ends[2];
    pid_t asker = getpid();
    *witness = (struct witness){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    long pid = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
    if (pid == 0)
        bear_witness(ends[1], asker, words, group);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return;
    }
    witness->pid = (pid_t)pid;
    witness->fd = ends[0];
}

void witness_await(const struct witness *witness)
{
    struct pollfd ready = {witness->fd, POLLIN, 0};
    struct answer in_place;
    if (witness->pid && poll(&ready, 1, ANSWER_MS) > 0)
        recv(witness->fd, &in_place, sizeof in_place, 0);
}

/* Signals to a group are sent under a lock of the kernel's that setpgid(2) takes, too: after it, all have been sent. */
static void wait_for_sender(void)
{
    setpgid(0, getpgrp());
}

/* Was it sent what this process was? Takes up to 50 ms where the answer is no. */
static bool witness_saw(struct witness *witness, const siginfo_t *signal)
{
    bool may_follow = signal_was_sent(signal) &&
                      signal->si_signo < SIGRTMIN; /* those from SIGRTMIN on are counted, and may be many */
    struct question question = {++witness->serial, signal->si_signo, may_follow ? PATIENCE_MS : 0};
    struct answer answer = {0};
    if (!witness->pid)
        return false;
    wait_for_sender();
    if (send(witness->fd, &question, sizeof question, MSG_NOSIGNAL) < 0)
        return false;
    while (answer.serial != question.serial) {
        struct pollfd ready = {witness->fd, POLLIN, 0};
        if (poll(&ready, 1, ANSWER_MS) <= 0 || recv(witness->fd, &answer, sizeof answer, 0) != (ssize_t)sizeof answer)
            return false;
    }
    return answer.is_there && answer.sender == signal->si_pid && answer.code == signal->si_code;
}

/* It is asked no more, and ends while other things are done. */
static void witness_dismiss(const struct witness *witness)
{
    if (witness->pid)
        kill(witness->pid, SIGKILL);
}

static void witness_close(struct witness *witness)
{
    if (!witness->pid)
        return;
    witness_dismiss(witness);
    close(witness->fd);
    waitpid(witness->pid, NULL, __WCLONE);
    *witness = (struct witness){.fd = -1};
}

/* ---- watching ---- */

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

static void follow_stops(struct watch *watch)
{
    siginfo_t info;
    while (look(watch, WSTOPPED | WCONTINUED, &info) == 0 && info.si_pid)
        if (info.si_code != CLD_CONTINUED && (watch->stop_received || owns_terminal()))
            follow_stop(watch, info.si_status);
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
    return 1;
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
