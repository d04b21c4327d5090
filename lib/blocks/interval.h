/* Intervals: the calls of code blocks, made by pairing the rows that mark where they start and stop.
 *
 * Rows may come in any order. How they are paired, within one file and process:
 *   1. A row with a call number belongs to the row of the same thread, block and call number.
 *   2. Other rows are taken in time order for each thread (files without threads: for the process) and block, and nest: a
 *      stop ends the latest call still open. At one and the same time, stops of calls begun earlier come first, then
 *      starts, then the stops of calls that took no time.
 *   3. Time is the monotonic clock where it was recorded. Without it, when time order leaves more rows without a partner
 *      than it must, the order of the file is tried: the clock was set back.
 *   4. A start without a stop is a call that never ended: it lasts to the end of what is known, and says so. It is left out
 *      of every figure of its block, as in the original, and told beside them.
 *   5. A stop without a start is left out and counted.
 *
 * Self time is the time of a call less that of the calls begun inside it, on the same thread; of calls that ended, less that of
 * those that ended. */
#ifndef GT_BLOCKS_INTERVAL_H
#define GT_BLOCKS_INTERVAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "blocks/block.h"

/* One row of a sub-tracking file. Times in seconds; what the file does not have is -1 or NaN. */
struct gt_block_event {
    uint32_t name;
    uint16_t source;  /* number of the file: process numbers of different files are different processes */
    uint8_t position; /* enum gt_position */
    uint64_t row;     /* place in its file */
    int64_t process, thread, call, total;
    double timestamp, monotonic, cpu_time;
};

struct gt_interval {
    uint32_t name;
    uint16_t source;
    bool unfinished;
    bool stepped; /* the wall clock was set back meanwhile and no other was recorded: its length is not known */
    int64_t process, thread, call;
    double start, stop;             /* seconds since the epoch; stop is INFINITY while unfinished */
    double clock_start, clock_stop; /* monotonic clock, NaN without */
    double cpu_start, cpu_stop;     /* CPU clock of the process, NaN when not recorded */
    double elapsed, self;           /* seconds, NaN when not known; filled in by gt_intervals_close */
    uint64_t timepoints;            /* samples inside, filled in by the join */
};

/* Return the begin and the end by the clock that never steps, where it was recorded. */
static inline double gt_interval_begin(const struct gt_interval *interval)
{
    return isnan(interval->clock_start) ? interval->start : interval->clock_start;
}

static inline double gt_interval_end(const struct gt_interval *interval)
{
    return isnan(interval->clock_start) ? interval->stop : interval->clock_stop;
}

static inline bool gt_interval_is_of_thread(const struct gt_interval *x, const struct gt_interval *y)
{
    return x->source == y->source && x->process == y->process && x->thread == y->thread;
}

struct gt_intervals {
    struct gt_interval *interval;
    size_t count;
    uint64_t orphans;             /* stops without a start, */
    struct gt_block_event orphan; /* and one of them */
    bool has_monotonic;           /* every row has that clock */
};

/* Pair `events`, which are sorted on the way. 0 or -ENOMEM. */
int gt_intervals_pair(struct gt_intervals *ret, struct gt_block_event *events, size_t count);
/* Close what never ended at `end` (seconds since the epoch; on the monotonic clock `clock_end`), and compute elapsed and
 * self times. Sorts the intervals by file, process, thread and start. 0 or -ENOMEM. */
int gt_intervals_close(struct gt_intervals *intervals, double end, double clock_end);
void gt_intervals_release(struct gt_intervals *intervals);

#endif
