/* For whom ranks wait at collectives. Some may come last together, and who comes last may itself have been held by another
 * collective just before: then it is who that one waited for. */
#ifndef GT_ANALYSE_ADVICE_LATE_RANKS_H
#define GT_ANALYSE_ADVICE_LATE_RANKS_H

#include "analyse/gpu/collectives.h"

/* Ranks are places in gt_collectives.rank. */
struct gt_late_ranks {
    size_t *blamed; /* of each collective: the first of the ranks that it waits for; SIZE_MAX: nobody stands out */
    size_t *root;   /* of each collective: that in which they were late by themselves, mostly the same */
    size_t *first;  /* of each rank: the first of those that mostly come last together with it, or it alone */
};

/* Returns 0 or -ENOMEM. */
int gt_late_ranks_find(const struct gt_collectives *all, struct gt_late_ranks *ret);
void gt_late_ranks_release(struct gt_late_ranks *late);

static inline size_t gt_late_rank_of(const struct gt_collectives *all, const struct gt_arrival *arrival)
{
    return (size_t)(gt_collectives_rank(all, arrival->node) - all->rank);
}

/* Does any rank wait for longer than clocks may be wrong? */
static inline bool gt_is_waited_in(const struct gt_collective *collective)
{
    return (double)(collective->last - collective->first) > collective->error;
}

#endif
