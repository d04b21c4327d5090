/* A job is watched until it ends: signals are passed on to it, its stops followed, a line about it drawn. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include <stdbool.h>

#include "gpu_tracker.h"
#include "signals.h"
#include "status.h"
#include "witness.h"

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
