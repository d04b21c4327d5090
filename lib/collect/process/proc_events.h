/* The kernel's process events connector as a source of gt_event (collect/process/events.h). */
#ifndef GT_COLLECT_PROC_EVENTS_H
#define GT_COLLECT_PROC_EVENTS_H

#include "collect/process/events.h"

struct gt_proc_events {
    int fd;
    struct gt_datagrams *datagrams;
};

/* Fills *availability; `connector` is usable when that says GT_READY, and untouched otherwise. */
int gt_proc_events_open(struct gt_proc_events *connector, struct gt_availability *availability, struct gt_error *error);
/* 1: a FORK, EXIT or LOST; 0: nothing waits; negative errno. */
int gt_proc_events_next(struct gt_proc_events *connector, struct gt_event *ret);
void gt_proc_events_close(struct gt_proc_events *connector);

#endif
