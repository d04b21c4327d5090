/* A driver is a collector on a thread of its own, because a call of a driver may never return. The caller waits for an answer for a
 * limited time, then goes on without it, and at the end leaves the thread behind. */
#ifndef GT_SAMPLE_DRIVER_H
#define GT_SAMPLE_DRIVER_H

#include "collect/collector.h"

struct gt_driver;

/* Begin to open a collector on a new thread. 0, -ENOMEM, or -EAGAIN where there can be no thread. */
int gt_driver_open(struct gt_driver **ret, const struct gt_collector_type *type,
                   const struct gt_collect_options *options, const struct gt_snapshot *snapshot,
                   struct gt_error *error);
/* Wait up to `seconds` until it is open: results as of the collector's `open`, with its devices in the snapshot, to which nobody else may
 * have added any since. *driver is NULL then unless the collector is ready; *state is the collector's. -EINPROGRESS: it is not open yet.
 * A driver that does not answer within GT_DRIVER_PATIENCE is broken. */
#define GT_DRIVER_PATIENCE 10
int gt_driver_opened(struct gt_driver **driver, double seconds, void **state, struct gt_snapshot *snapshot,
                     struct gt_availability *availability, struct gt_error *error);
/* Collect as the collector's `collect` does. Returns -ETIMEDOUT while the driver does not answer; the first time `error` has a sentence.
 * Its devices are then marked as old and have no values. */
int gt_driver_collect(struct gt_driver *driver, struct gt_snapshot *snapshot, struct gt_error *error);
/* Close the collector. If its driver does not answer, the thread and its memory are left behind. Accepts NULL. */
void gt_driver_close(struct gt_driver *driver);

/* Note the end of the main process, and of those that outlive it. A reading of a slow driver may take longer than a job. */
void gt_snapshot_see_end(struct gt_snapshot *snapshot, const struct gt_root *root);

#endif
