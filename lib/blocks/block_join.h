/* Samples are joined with intervals in one pass over the samples, beside one over the sorted borders of the intervals.
 * Calls that never ended are no part of a block's figures, and have figures of their own.
 *
 * A sample belongs to a block when start <= time <= stop for one of its calls, and counts once for the block however many
 * calls cover it. Counters are integrated over the time that the block's calls cover: the counter's value at each border
 * of that time is interpolated linearly between the samples around it, or the known begin and end of the recording
 * (outside of them it is the nearest), and the rises are added up.
 *
 * Cost: samples x blocks open at once x columns, plus a sort of the intervals; never samples x calls. */
#ifndef GT_BLOCKS_BLOCK_JOIN_H
#define GT_BLOCKS_BLOCK_JOIN_H

#include "blocks/interval.h"
#include "blocks/distribution.h"

struct gt_block_join;

struct gt_block_join_shape {
    size_t blocks;   /* names of intervals are below this */
    size_t gauges;   /* values whose distribution is wanted */
    size_t counters; /* values that only grow */
};

struct gt_block_total {
    uint64_t timepoints;
    uint64_t counter_samples;      /* samples that the counters rest on: those inside, and the nearest outside */
    double covered;                /* seconds that its calls cover */
    const double *counter;         /* [counters], NaN when not measured */
    struct gt_distribution *gauge; /* [gauges], NULL without a timepoint */
};

/* `use_monotonic`: intervals and samples meet on the monotonic clock. The intervals are borrowed until the close; their
 * order must not change before gt_block_join_finish. */
int gt_block_join_open(struct gt_block_join **ret, const struct gt_block_join_shape *shape,
                       struct gt_intervals *intervals, bool use_monotonic);
/* Tells, before the first sample, when the counters stood at 0. */
void gt_block_join_begin(struct gt_block_join *join, double time);
/* Adds a sample: its time in seconds, its gauges and its counters. Samples that go back in time are allowed, and cost more. */
int gt_block_join_add(struct gt_block_join *join, double time, const double *gauges, const double *counters);
/* Tells, after the last sample, how the counters stood at the end; NaN: as at the last sample. Without samples they rose from 0. */
void gt_block_join_end(struct gt_block_join *join, double time, double *counters);
/* Fills in, after all samples, the counters, and the timepoints of each interval. */
void gt_block_join_finish(struct gt_block_join *join);
/* Return the figures of a block's calls that ended, and of those that never did; borrowed until the close. */
struct gt_block_total gt_block_join_block(const struct gt_block_join *join, size_t block);
struct gt_block_total gt_block_join_unfinished(const struct gt_block_join *join, size_t block);
/* Returns the same for all samples, inside blocks or not. */
struct gt_block_total gt_block_join_overall(const struct gt_block_join *join);
/* Returns the seconds of the latest sample; NaN: there was none. */
double gt_block_join_last(const struct gt_block_join *join);
void gt_block_join_close(struct gt_block_join *join);

#endif
