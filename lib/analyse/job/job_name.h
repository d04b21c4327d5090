/* Names of jobs: "[cluster:]id[.step][+restart]". Steps and restarts are parts of one job. */
#ifndef GT_ANALYSE_JOB_JOB_NAME_H
#define GT_ANALYSE_JOB_JOB_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of "alps:42" in "alps:42.0+1". */
size_t gt_job_name_base(const char *job);
/* Are both of one job? */
bool gt_job_name_is_same(const char *one, const char *other);
/* Is `job`, or the job that it is a step of, called `name`, with the cluster or without? */
bool gt_job_name_is_meant(const char *job, const char *name);

#endif
