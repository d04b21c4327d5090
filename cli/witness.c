#include "witness.h"

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

#include "base/file.h"
#include "base/root.h"
#include "gpu_tracker.h"
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

bool witness_saw(struct witness *witness, const siginfo_t *signal)
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

void witness_dismiss(const struct witness *witness)
{
    if (witness->pid)
        kill(witness->pid, SIGKILL);
}

void witness_close(struct witness *witness)
{
    if (!witness->pid)
        return;
    witness_dismiss(witness);
    close(witness->fd);
    waitpid(witness->pid, NULL, __WCLONE);
    *witness = (struct witness){.fd = -1};
}
