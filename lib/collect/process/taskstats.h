/* The kernel's exit records are a source of gt_event (collect/process/events.h). */
#ifndef GT_COLLECT_TASKSTATS_H
#define GT_COLLECT_TASKSTATS_H

#include "base/root.h"
#include "collect/collector.h"
#include "collect/process/event.h"

struct gt_taskstats {
    int fd;
    unsigned short family; /* the number generic netlink gave the family */
    char cpus[128];        /* the mask registered for: "0-7" */
    struct gt_datagrams *datagrams;
};

/* Fills *availability; `taskstats` is usable when that says GT_READY, and untouched otherwise. */
int gt_taskstats_open(struct gt_taskstats *taskstats, const struct gt_root *root, struct gt_availability *availability,
                      struct gt_error *error);
/* Ask the kernel for a batch. Returns how many came, or -ENOBUFS when some were lost and the caller should ask again. */
int gt_taskstats_receive(struct gt_taskstats *taskstats);
/* Returns 1 with the next RECORD of the batch, or 0 at its end. */
int gt_taskstats_next(struct gt_taskstats *taskstats, struct gt_event *ret);
void gt_taskstats_close(struct gt_taskstats *taskstats);

#endif
