/* One line on the terminal that says how the job is doing, refreshed in place. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu_tracker.h"

struct progress {
    int timer;     /* readable when the line should be drawn again; -1: there is no line */
    int64_t start; /* CLOCK_MONOTONIC, ns */
    size_t drawn;  /* characters on the screen */
};

/* Without `wanted`, or when standard error is no terminal, all the others do nothing. 0 or negative errno. */
int progress_open(struct progress *progress, bool wanted);
void progress_draw(struct progress *progress, const struct gt_tracker *tracker);
void progress_erase(struct progress *progress);
void progress_close(struct progress *progress);

#endif
