/* One line on the terminal that says how the job is doing, refreshed in place. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_tracker.h"

struct progress {
    int64_t next_ns; /* when the line should be drawn again, CLOCK_MONOTONIC; 0: there is no line */
    int64_t start;
    size_t drawn; /* characters on the screen */
};

/* Without `wanted`, or when standard error is no terminal, all the others do nothing. */
void progress_open(struct progress *progress, bool wanted);
/* If it is time for it. */
void progress_draw(struct progress *progress, const struct gt_tracker *tracker, int64_t now_ns);
void progress_erase(struct progress *progress);
void progress_close(struct progress *progress);

#endif
