/* Starting the command: found in PATH before anything else happens, forked, held until the tracker is armed, executed.
 * It gets the signal mask, dispositions, descriptors, terminal and process group that gpu-tracker was started with.
 * Signals, privileges and the heap of gpu-tracker itself. */
#ifndef CLI_JOB_LAUNCH_H
#define CLI_JOB_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- Signals ----
 * They are taken when there is time for them instead of interrupting. The command gets back what gpu-tracker was started
 * with. */

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

/* ---- The command ---- */

struct gt_group;

struct launch {
    pid_t pid;
    int gate;   /* writing here lets the child execute the command */
    int result; /* what execvp said; nothing when it succeeded */
};

/* Find the file of `program` in PATH, into `path` of PATH_MAX bytes. 0, or EXIT_NOT_FOUND or EXIT_NOT_EXECUTABLE after
 * saying why it cannot be executed. */
int launch_check(const char *program, char *path);
/* Fork the child, which enters `group` (NULL: none) and waits. 0 or negative errno. */
int launch_fork(struct launch *launch, char *const *words, const struct signals *signals, const struct gt_group *group);
/* Let it execute the command: 0, or the errno of execvp (the child has ended then). */
int launch_release(struct launch *launch);
/* End a child that still waits. */
void launch_cancel(struct launch *launch);

/* Privileges that the program has and its user has not: set user or group ID, or file capabilities (AT_SECURE of
 * getauxval(3)).
 *
 * What takes them is opened first, then they are given up for good, and only then anything of the user's is looked
 * at: words, configuration, files. Neither the job nor who executes a program for the user loses anything that the
 * user has. */

bool privilege_is_raised(void);
/* First of all. `executes`: the command starts another program, which must be able to gain privileges, as by sudo. 0 or
 * an exit status. Nothing is done in an ordinary program. */
int privilege_drop(bool follows_processes, bool executes);
/* Once the other program has been forked: this one gains nothing any more. */
void privilege_seal(void);

/* Keeps the heap of a tracker small, which allocates little and uses a part of it. */
void heap_keep_small(void);

#endif
