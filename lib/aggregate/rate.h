/* Utilisation from a counter of CPU seconds.
 *
 * The CPU time of short-lived children becomes known only when their parent waits for them, so one interval may be charged
 * with work of an earlier one. No interval can use more than all cores: what is above that is carried into the next. */
#ifndef GT_AGGREGATE_RATE_H
#define GT_AGGREGATE_RATE_H

#include <stdint.h>

/* The CPU time of the machine comes in clock ticks of 10 ms: over less than this (50 ms, and some lateness) it tells nothing. */
enum { GT_RATE_TICKS_NS = 45 * 1000 * 1000 };

struct gt_rate {
    double last;   /* counter at the end of the last interval, seconds */
    double carry;  /* seconds not yet shown */
    int64_t at_ns; /* end of the last interval, CLOCK_MONOTONIC; 0: none yet */
};

/* Mean number of cores in use since the last call; NaN in the first call or when nothing was measured. A call less than
 * `shortest_ns` after the last interval's end returns NaN and lets the interval go on. */
double gt_rate_next(struct gt_rate *rate, double counter, int64_t now_ns, int64_t shortest_ns, double ceiling);

#endif
