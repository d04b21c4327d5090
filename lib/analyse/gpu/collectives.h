/* Collectives are matched over ranks: the same communicator, the same place in its order, the same size. Kineto writes what
 * NCCL's kernels belong to beside them ("Process Group Name", "Seq", "In msg nelems", ...); kernels without are matched by
 * their order alone. A kernel begins when its rank arrives and ends when all have the data, so the ends of one collective
 * are one moment: by them the clocks of ranks are compared. Times are in ns. */
#ifndef GT_ANALYSE_GPU_COLLECTIVES_H
#define GT_ANALYSE_GPU_COLLECTIVES_H

#include "analyse/gpu/lists.h"

/* An analysis has the reader keep these, one behind the other. */
#define GT_COLLECTIVE_ARGUMENTS                                                                                       \
    "Collective name", "Process Group Name", "Process Group Description", "Process Group Ranks", "Seq", "Group size", \
        "In msg nelems", "Out msg nelems", "dtype"

enum gt_collective_kind {
    GT_ALLREDUCE,
    GT_ALLGATHER,
    GT_REDUCE_SCATTER,
    GT_ALLTOALL,
    GT_BROADCAST,
    GT_REDUCE,
    GT_BARRIER,
    GT_OTHER_COLLECTIVE,
    GT_COLLECTIVE_KINDS
};
extern const char *const gt_collective_kind_names[GT_COLLECTIVE_KINDS];

/* A rank's part in a collective, by the clock of the first rank. */
struct gt_arrival {
    uint32_t node; /* a place */
    int64_t start, end;
    size_t event; /* the kernel; SIZE_MAX in Horovod's timelines */
};

struct gt_collective {
    enum gt_collective_kind kind;
    uint32_t group;            /* string that people know the communicator by; GT_TRACE_NONE: it is not told */
    size_t from, to;           /* its arrivals */
    double size;               /* ranks in the communicator; NaN not told */
    size_t absent;             /* of these, without a part in it in their traces: they may have come last */
    size_t untraced;           /* of these, without a part in any collective of the communicator */
    double bytes;              /* of the greater of what goes in and comes out; NaN not told */
    int64_t first, last, next; /* first and last arrival, and the one before the last */
    int64_t end;               /* median of the ends */
    double error;              /* of the clocks of its ranks */
    uint32_t latest;           /* who came last, a place; GT_TRACE_NONE: the clocks do not tell it */
};

/* The clock of a rank beside that of the first one it shares collectives with. */
struct gt_rank_clock {
    uint32_t node;
    size_t collectives;  /* it took part in */
    size_t latest;       /* it came last to */
    int64_t offset;      /* its clock is ahead by so much */
    double error;        /* 95 % of the ends that it shares lie within this; NaN: it shares none */
    double waited;       /* for those who came later */
    double kept_waiting; /* how long it came behind the median of the others, where it came last */
};

struct gt_collectives {
    struct gt_collective *collective; /* by communicator, then in their order */
    struct gt_arrival *arrival;
    struct gt_rank_clock *rank; /* by node */
    size_t count, ranks;
    size_t alone;      /* kernels of communication that no other rank's trace has a part of */
    size_t incomplete; /* collectives in which ranks took part that have no trace */
    size_t cut;        /* other collectives that the trace of a rank does not reach: it ends earlier or begins later */
    size_t unlike;     /* kernels that stand at one place of the order, and differ in kind or size */
    size_t to_another; /* sends and receives: two ranks' alone */
};

/* Finds them once for an analysis, which keeps them. `first` is the number of the first of GT_COLLECTIVE_ARGUMENTS. Returns 0 or -ENOMEM,
 * and then *ret has none. */
int gt_collectives_find(const struct gt_analysis_input *input, uint32_t first, const struct gt_collectives **ret);
/* Returns true for a send or receive, which is no collective: one of two ranks alone. */
bool gt_is_to_another(const struct gt_analysis_input *input, uint32_t first, size_t event);
/* Returns ns of communication by keys such as "node device": keys sum to_another, which is the part in sends and receives. */
struct gt_rows gt_communication_times(const struct gt_analysis_input *input, uint32_t first, const char *keys);
/* Returns them by rank: node collectives latest waited kept_waiting offset error. */
struct gt_rows gt_collective_ranks(const struct gt_analysis_input *input, uint32_t first);
const struct gt_rank_clock *gt_collectives_rank(const struct gt_collectives *collectives, uint32_t node); /* or NULL */

/* Returns how many ranks of a communicator, which has `of`, have no trace; of the one with the most such ranks. */
size_t gt_collectives_absent(const struct gt_collectives *collectives, size_t *of);

/* From the last arrival on nobody waits any more; where ranks are absent, that is not known. */
static inline int64_t gt_collective_transfer(const struct gt_collective *collective)
{
    return collective->end > collective->last ? collective->end - collective->last : 0;
}
/* Returns the factor from the algorithm's to the bus's bandwidth, as NCCL's tests have it. */
double gt_collective_bus_factor(const struct gt_collective *collective);

#endif
