/* A rank is the place of this process in a parallel job, as the program that launched it wrote it into the environment. */
#ifndef GT_BASE_RANK_H
#define GT_BASE_RANK_H

#include <stdbool.h>

#include "base/buffer.h"

/* The rank as text, or NULL outside of parallel jobs. The nearest launcher wins: mpirun inside a batch script of Slurm counts its own
 * ranks, while Slurm's variables say 0 in each of them. */
const char *gt_rank(void);
/* Append the number of the job that a scheduler, or GPU_TRACKER_JOB, gave, with the number in the array where elements share the first.
 * 1, 0 when there is none, or -ENOMEM. */
int gt_rank_job(struct gt_buffer *out);
/* The job is known to have more ranks than this one. */
bool gt_rank_has_others(void);

#endif
