/* The kernel's process events connector is a source of gt_event (collect/process/events.h). */
#ifndef GT_COLLECT_PROC_EVENTS_H
#define GT_COLLECT_PROC_EVENTS_H

#include "base/root.h"
#include "collect/collector.h"
#include "collect/process/event.h"

struct gt_proc_events {
    int fd;
    struct gt_datagrams *datagrams;
};

/* Fills *availability; `events` is usable when that says GT_READY, and untouched otherwise. */
int gt_proc_events_open(struct gt_proc_events *events, struct gt_availability *availability, struct gt_error *error);
/* Returns 1 with a FORK, EXIT or LOST, 0 when nothing waits, or negative errno. */
int gt_proc_events_next(struct gt_proc_events *events, struct gt_event *ret);
void gt_proc_events_close(struct gt_proc_events *events);

#endif
