/* Signals taken when there is time for them instead of interrupting. The command gets back what gpu-tracker was started
 * with. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
    int fd; /* readable when one is there */
    sigset_t original;
    struct sigaction original_child; /* SIGCHLD may have been ignored, and then nothing could be waited for */
};

/* Take every signal that can be passed on. */
void signals_take_all(struct signals *signals);
/* Take only those that ask for an end: SIGINT, SIGTERM, SIGHUP, SIGQUIT. */
void signals_take_ending(struct signals *signals);
/* In the child, before it executes the command. */
void signals_restore(const struct signals *signals);
/* Is a signal pending? Then what came. */
bool signals_next(const struct signals *signals, siginfo_t *ret);
void signals_close(struct signals *signals);

bool signal_asks_for_end(int number);
bool signal_stops(int number);
/* By a process, not by the kernel or the terminal. */
bool signal_was_sent(const siginfo_t *signal);

/* Stop this process as `number` stops processes by default; returns when it has been continued. */
void signal_stop_self(int number);

#endif
