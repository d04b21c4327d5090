/* What to ask for next time, from what the ranks of a job used. */
#ifndef GT_ANALYSE_JOB_JOB_REQUEST_H
#define GT_ANALYSE_JOB_JOB_REQUEST_H

#include "analyse/job/job.h"
#include "analyse/usage/next_time.h"
#include "report/report.h"

/* Memory: the worst node's upper bound. Cores: 95 of 100 stretches of the busiest rank. GPUs: those that were used. Time: the job's, where
 * all ranks ended well. As the scheduler `kind` counts: of a node and a rank for Slurm, of a node for PBS and LSF, of a rank for
 * containers. */
void gt_job_next_time(struct gt_next_time *ret, const struct gt_job *job, const char *kind);
/* Appends the request in the scheduler's words. -ENOENT: there is no such kind. */
int gt_job_request(struct gt_buffer *out, const struct gt_job *job, const char *kind);
/* "of 500 GB of memory a node 31 GB to 34 GB were used, of 64 cores 9.2 by the busiest rank, ..." */
void gt_job_request_reasons(struct gt_buffer *out, const struct gt_job *job);
/* The section "next_time". */
void gt_job_request_section(struct gt_node *root, const struct gt_job *job);

#endif
