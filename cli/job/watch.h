/* A job is watched until it ends: signals are passed on to it, its stops followed, a line about it drawn. */
#ifndef CLI_JOB_WATCH_H
#define CLI_JOB_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/tracker.h"
#include "job/launch.h"

/* Whom was a signal meant for? One that was sent to the whole process group, or to each process of a control group, has reached the job
 * by itself: passed on it would come twice. Nothing tells the receiver, so a process beside the job that takes no signals of
 * its own accord is asked whether it was sent the same. */

struct gt_group;

struct witness {
    pid_t pid;  /* 0: there is none, and nothing was seen */
    int fd;     /* where it is asked */
    int serial; /* of the last question */
};

/* `words`: the command; who looks for its words in a command line (pkill -f) is to find the witness with it, and who looks for
 * gpu-tracker is not. Without a process for it witness->pid is 0.
 * `group`: the job's control group, or NULL. */
void witness_start(struct witness *witness, char *const *words, const struct gt_group *group);
/* Wait until it is where the job will be: a signal to the tracker's control group alone is not to reach it on its way there. */
void witness_await(const struct witness *witness);

/* ---- run --status ---- */

/* The last line of the terminal tells how the job is doing, and so do the window's title and the taskbar,
 * while the job writes above it. Nothing stands between the job and its terminal, so what it writes there is not known;
 * see docs/recording.md. */
struct status {
    /* When the line is drawn again, CLOCK_MONOTONIC; 0: there is none, or it was given back for good. */
    int64_t next_ns;
    int rows; /* of the terminal whose last one is reserved; 0: none is */
    bool has_title, has_taskbar;
    bool is_titled;           /* the title is this program's by now */
    int guard;                /* to the process that sets the terminal right where this one is killed, or -1 */
    struct status_line *line; /* NULL until the job has begun */
};

/* Before the job begins. Without `wanted`, and where standard output or standard error is no terminal, TERM is dumb, or
 * another job has the terminal, there is no line. */
void status_prepare(struct status *status, bool wanted);
/* The job is tracked. `blocks`: the folder of its code blocks, or NULL; `words`: its command, or NULL. */
void status_begin(struct status *status, const struct gt_tracker *tracker, const char *blocks, char *const words[]);

/* ---- The watch ---- */

struct watch {
    struct gt_tracker *tracker; /* NULL: nothing can be measured, and the job runs */
    struct signals signals;
    struct status status;
    struct witness witness;
    pid_t main;
    bool is_child;      /* launched, not attached to */
    bool owns_children; /* every child that is waited for belongs to the job */
    bool waits_for_all; /* the descendants count, too */
    bool is_quiet;      /* no warnings */
    char told[1500];    /* the warnings so far, as many as fit */

    bool main_ended;
    int wait_status;   /* of the main process, once it has ended; only when it was a child */
    bool interrupted;  /* asked to end before the job did */
    int stop_received; /* a stop signal that came here and not yet led to a stop, or 0 */
};

/* Watch until the end that was asked for. 0 or negative errno. */
int watch_run(struct watch *watch);
/* For gt_tracker_options.warn: `context` is the struct watch. */
void watch_warn(void *context, const char *sentence);
void watch_close(struct watch *watch);

#endif
