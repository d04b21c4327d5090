/* The pictures of a job's page: steps of its ranks, what each rank's time goes into, idle times and collectives over time. */
#ifndef GT_ANALYSE_ADVICE_JOB_FIGURES_H
#define GT_ANALYSE_ADVICE_JOB_FIGURES_H

#include "analyse/advice/advice.h"
#include "analyse/trace/ranks.h"

/* Keys of the pictures, to which findings lead. */
#define GT_JOB_STEPS "ranks_and_steps"
#define GT_JOB_TIME "time_of_ranks"
#define GT_JOB_PATH "held_steps"
#define GT_JOB_COURSE "time_over_time"
#define GT_JOB_SKEW "collective_skew"
#define GT_JOB_LAST "last_to_collectives"
#define GT_JOB_LENGTHS "step_lengths"

/* Adds those that the traces have figures for; the adviser has looked at them. Returns 0 or -ENOMEM. */
int gt_job_figures(const struct gt_adviser *adviser, struct gt_node *root, const struct gt_rank_figures *rank,
                   size_t ranks);

#endif
