#include "signals.h"

#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool signal_asks_for_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool signal_stops(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

bool signal_was_sent(const siginfo_t *signal)
{
    return signal->si_code == SI_USER || signal->si_code == SI_QUEUE || signal->si_code == SI_TKILL;
}

static void take(struct signals *signals, const sigset_t *set)
{
    struct sigaction ordinary = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &ordinary, &signals->original_child);
    sigprocmask(SIG_BLOCK, set, &signals->original);
    signals->fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void signals_take_all(struct signals *signals)
{
    /* A fault of this program is its own. */
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&set, own[i]);
    take(signals, &set);
}

void signals_take_ending(struct signals *signals)
{
    sigset_t set;
    sigemptyset(&set);
    for (int number = 1; number < SIGRTMIN; number++)
        if (signal_asks_for_end(number))
            sigaddset(&set, number);
    take(signals, &set);
}

void signals_restore(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->original_child, NULL);
    sigprocmask(SIG_SETMASK, &signals->original, NULL);
}

bool signals_next(const struct signals *signals, siginfo_t *ret)
{
    struct signalfd_siginfo came;
    if (read(signals->fd, &came, sizeof came) != (ssize_t)sizeof came)
        return false;
    *ret = (siginfo_t){.si_signo = (int)came.ssi_signo, .si_code = came.ssi_code};
    ret->si_pid = (pid_t)came.ssi_pid;
    return true;
}

void signals_close(struct signals *signals)
{
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
}

void signal_stop_self(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* here the process stops */
    sigprocmask(SIG_BLOCK, &set, NULL);
}
