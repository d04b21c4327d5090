/* Frequent samples wait here until several are summed up and recorded together. What that touches lies cold after each rest, and is then
 * fetched once for all of them. Of each sample the backlog holds only the values that are known. */
#ifndef GT_RECORD_BACKLOG_H
#define GT_RECORD_BACKLOG_H

#include "store/column.h"

struct gt_backlog {
    char *bytes; /* of the samples that wait, one behind the other */
    size_t length, capacity, taken;
    int64_t first_ns;           /* CLOCK_MONOTONIC: of the one that waits longest */
    struct gt_sample_copy copy; /* the one that was taken last */
};

/* Returns 0, or -ENOMEM with the backlog as it was. */
int gt_backlog_add(struct gt_backlog *backlog, const struct gt_sample *sample);
/* Returns true where they are not to wait for the next sample, which comes after `period_ns`. */
bool gt_backlog_is_due(const struct gt_backlog *backlog, int64_t now_ns, int64_t period_ns);
/* Take the sample that waits longest, which is valid until the next call. 1: there was one, 0: there was none, or -ENOMEM. */
int gt_backlog_take(struct gt_backlog *backlog, const struct gt_sample **ret);
void gt_backlog_release(struct gt_backlog *backlog);

#endif
