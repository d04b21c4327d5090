/* CPU time between two samples, split.
 *
 * Samples tell how much CPU time was used from one to the next, not when. Clocks and the list of processes tell of some pieces of it
 * exactly between which two moments each was used. Every piece is taken off what the samples tell before the rest is spread evenly over
 * the time between two samples, so that what a busy block used just before a sample is not given to the block behind it. Of a piece that
 * spans several samples no more is taken off between two of them than they tell; what is over is taken off behind it or, when there is
 * too little, before it, for counters may be late. Parts are never more than the whole: the pieces and the rest are together what the
 * samples tell. */
#ifndef GT_ANALYSE_BLOCKS_CPU_SPLIT_H
#define GT_ANALYSE_BLOCKS_CPU_SPLIT_H

#include "aggregate/curve.h"
#include "aggregate/energy_curve.h"

/* A piece: CPU seconds that were used from start to stop. */
struct gt_cpu_piece {
    double start, stop, seconds;
    size_t first, last; /* the gaps between two samples that it lies in */
};

/* All zero is none. Times are seconds on the clock of the samples. */
struct gt_cpu_split {
    struct gt_curve counted; /* what samples tell; one quantity, see gt_cpu_split_init */
    struct gt_cpu_piece *piece;
    size_t pieces, capacity;
    struct gt_curve all, rest; /* CPU seconds up to a moment; once finished */
};

/* Stretches and pieces begin and end at `moments`, see gt_curve_bound. */
void gt_cpu_split_init(struct gt_cpu_split *split, const struct gt_curve_moments *moments);
/* Adds a sample. 0 or -ENOMEM. */
int gt_cpu_split_count(struct gt_cpu_split *split, double time, double seconds);
/* Adds a piece; one without CPU time is left out. 0 or -ENOMEM. */
int gt_cpu_split_know(struct gt_cpu_split *split, double start, double stop, double seconds);
/* Splits it. `sharer`: stretches of those who share the rest in equal parts while they last, in any order. 0 or -ENOMEM. */
int gt_cpu_split_finish(struct gt_cpu_split *split, const struct gt_time_stretch *sharer, size_t sharers);
/* Return the CPU seconds of a stretch: all, and one sharer's part of the rest; NaN: the samples do not tell. */
double gt_cpu_split_all(const struct gt_cpu_split *split, struct gt_time_stretch stretch);
double gt_cpu_split_rest(const struct gt_cpu_split *split, struct gt_time_stretch stretch);
void gt_cpu_split_release(struct gt_cpu_split *split);

#endif
