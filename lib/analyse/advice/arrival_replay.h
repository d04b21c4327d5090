/* Collectives are replayed with earlier arrivals, to find the time that ranks would save. Times are in ns. */
#ifndef GT_ANALYSE_ADVICE_ARRIVAL_REPLAY_H
#define GT_ANALYSE_ADVICE_ARRIVAL_REPLAY_H

#include "analyse/advice/findings.h"

enum gt_replay_kind {
    GT_REPLAY_WITHOUT, /* a collective begins when the last of the ranks arrives that are not left out */
    GT_REPLAY_EVEN,    /* at the mean of their arrivals */
    GT_REPLAY_ALONE    /* each rank waits for no other */
};

struct gt_replay {
    const struct gt_collectives *all;
    struct gt_replay_part *part; /* of each arrival */
    size_t *order;               /* collectives by their last arrival */
    double *saved;               /* of each rank */
    size_t parts;
};

/* Returns the arrivals, in their order: node device stream part event last start end met launched computed computed_wait. `start` and
 * `end` are those of the event by its own clock, `met` when the last rank comes; `computed` is the part of start..end,
 * and `computed_wait` that of start..met, in which the device computes. `device` is GT_NO_KEY on the host; `launched` is
 * that of gt_view_launched_work. */
struct gt_rows gt_arrival_rows(const struct gt_analysis_input *input, const struct gt_collectives *all);
/* The query owns what is made, and fails without memory. */
void gt_replay_open(struct gt_replay *replay, const struct gt_analysis_input *input, const struct gt_collectives *all,
                    const struct gt_rows *arrivals);
/* Returns the ns that each rank saves, valid until the next replay. `is_left_out` is by rank; NULL: none. */
const double *gt_replay(struct gt_replay *replay, enum gt_replay_kind kind, const bool *is_left_out);

/* The ranks that others wait for at collectives. Some may come last together, and who comes last may itself have been
 * held by another collective just before: then it is who that one waited for. */

/* Ranks are places in gt_collectives.rank. */
struct gt_late_ranks {
    size_t *blamed; /* of each collective: the first of the ranks that it waits for; SIZE_MAX: none is late by itself */
    size_t *root;   /* of each collective: that in which they were late by themselves, mostly the same */
    size_t *first;  /* of each rank: the first of those that mostly come last together with it, or it alone */
    bool *is_held; /* of each arrival: it is with the last, because the rank waited in another collective just before */
};

/* The query owns them, and fails without memory. */
struct gt_late_ranks gt_late_ranks_find(struct gt_query *query, const struct gt_collectives *all);

static inline size_t gt_late_rank_of(const struct gt_collectives *all, const struct gt_arrival *arrival)
{
    return (size_t)(gt_collectives_rank(all, arrival->node) - all->rank);
}

/* Does any rank wait for longer than clocks may be wrong? */
static inline bool gt_is_waited_in(const struct gt_collective *collective)
{
    return (double)(collective->last - collective->first) > collective->error;
}

/* Returns the place of the device of an arrival; GT_TRACE_NONE: of the host. */
uint32_t gt_arrival_device(const struct gt_analysis_input *input, const struct gt_arrival *arrival);
#endif
