/* Placement divides the CPU time of a process among processor packages. Linux does not count that.
 *
 * Where the affinity mask of each thread lies in one package it is known exactly, and called bound. Else a thread's time is
 * counted where it last ran (field 39 of /proc/PID/task/TID/stat), in halves when that was another package than at the look
 * before. Looks are a tenth of a second apart at least, and more with many threads; until the next, and for threads that ended, the
 * process's time is divided as at the last. The sum over packages is the process's CPU time, which has a source of its own.
 *
 * Nothing of this is done on machines whose snapshot has no packages: a process then has no placement. */
#ifndef GT_COLLECT_PROCESS_PLACEMENT_H
#define GT_COLLECT_PROCESS_PLACEMENT_H

#include "collect/collector.h"

struct gt_placement_thread;

struct gt_placement {
    double recent[GT_PACKAGES];       /* CPU seconds used between the last two readings */
    double recent_bound[GT_PACKAGES]; /* the bound part of them */
    double recent_moved[GT_PACKAGES]; /* the part of threads that were seen to have moved */
    double split[GT_PACKAGES];        /* of a CPU second, as at the last look; the sum is 1 */
    double bound_split[GT_PACKAGES];  /* the bound part of that */
    double moved_split[GT_PACKAGES];  /* the part of threads that were elsewhere at the look before */
    bool is_known;                    /* there was a look */
    bool has_rested;                  /* used nothing for some time since */
    double seconds;                   /* CPU time at the last reading */
    int64_t looked_ns;
    struct gt_placement_thread *thread; /* as at the last look; private to placement.c */
    size_t thread_count, thread_capacity;
};

void gt_placement_free(struct gt_placement *placement);

extern const struct gt_collector_type gt_collector_placement;

#endif
