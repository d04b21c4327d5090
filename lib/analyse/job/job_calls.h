/* The calls of code blocks of a job, summed up by name and rank, and compared by number over all ranks. */
#ifndef GT_ANALYSE_JOB_JOB_CALLS_H
#define GT_ANALYSE_JOB_JOB_CALLS_H

#include "analyse/job/job.h"
#include "base/map.h"
#include "blocks/interval.h"

/* All calls of a rank. */
struct gt_calls_of_rank {
    struct gt_strings names;
    struct gt_interval *interval;
    size_t interval_count, interval_capacity;
};

/* In the order of names (of bytes), then of ranks. */
int gt_job_calls_by_name(const struct gt_job *job, int (*take)(void *context, const struct gt_job_calls *calls),
                         void *context, struct gt_error *error);
/* In the order of names, then of steps of the job, then of numbers. */
int gt_job_calls_by_number(const struct gt_job *job, int (*take)(void *context, const struct gt_job_step *step),
                           void *context, struct gt_error *error);

#endif
