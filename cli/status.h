/* run --status: the last line of the terminal tells how the job is doing, and so do the window's title and the taskbar,
 * while the job writes above it. Nothing stands between the job and its terminal, so what it writes there is not known;
 * see docs/recording.md. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/tracker.h"

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
void status_draw(struct status *status, int64_t now_ns);
/* Give the terminal back until the next drawing: the job stops. */
void status_leave(struct status *status);
/* And for good. */
void status_close(struct status *status);

#endif
