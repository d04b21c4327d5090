/* Horovod's timelines tell when each rank has a tensor ready: within NEGOTIATE_ALLREDUCE, ticks named by the ranks' numbers; the
 * operation itself follows on the same track. All times are those of the rank that wrote the file. */
#ifndef GT_ANALYSE_TRACE_HOROVOD_H
#define GT_ANALYSE_TRACE_HOROVOD_H

#include "analyse/gpu/lists.h"

struct gt_horovod_arrival {
    uint32_t track, rank; /* index, and the string of its number */
    uint32_t name;        /* string: "NEGOTIATE_ALLREDUCE" */
    int64_t number;       /* of the negotiation on its track, from 0 */
    int64_t start, end;   /* when it was ready, and when the operation had ended */
};

/* Calls `take` for each rank of each negotiation that an operation follows, until it fails. Returns 0 or a negative errno. */
int gt_horovod_arrivals(const struct gt_analysis_input *input,
                        int (*take)(void *context, const struct gt_horovod_arrival *arrival), void *context);

#endif
