/* What the processes of each rank below one tracker use together. */
#ifndef GT_AGGREGATE_LOCAL_RANKS_H
#define GT_AGGREGATE_LOCAL_RANKS_H

#include "sample/sampler.h"

/* Take in a reading, all but energy. */
void gt_local_ranks_add(const struct gt_sampler *sampler);
/* Take in what a process has drawn since the last call for it. */
void gt_local_ranks_draw(const struct gt_process *process, enum gt_energy_device device, double joules);
/* Fill in the ranks so far, in the order of their numbers; the caller frees them. Returns 0 or -ENOMEM. */
int gt_local_ranks_list(const struct gt_sampler *sampler, struct gt_local_rank **ret, size_t *count);

#endif
