/* The report of a job: what all its ranks used, counted once; its machines; its ranks with the worst marked; and what
 * to ask for next time. */
#ifndef GT_ANALYSE_JOB_JOB_REPORT_H
#define GT_ANALYSE_JOB_JOB_REPORT_H

#include "analyse/job/job.h"
#include "analyse/job/rank_scores.h"
#include "analyse/usage/next_time.h"
#include "report/report.h"

struct gt_job_report_options {
    const char *heat; /* a metric that is told over time; NULL: none but a picture on pages */
    bool page, all;   /* it is for a page; people see each rank */
};

/* `options` may be NULL. */
int gt_job_report(struct gt_report **ret, const struct gt_job *job, const struct gt_job_report_options *options,
                  struct gt_error *error);

/* What to ask for next time, from what the ranks of a job used. */

/* Memory: the worst node's upper bound. Cores: 95 of 100 stretches of the busiest rank. GPUs: those that were used. Time: the job's, where
 * all ranks ended well. As the scheduler `kind` counts: of a node and a rank for Slurm, of a node for PBS and LSF, of a rank for
 * containers. */
void gt_job_next_time(struct gt_next_time *ret, const struct gt_job *job, const char *kind);
/* Appends the request in the scheduler's words. -ENOENT: there is no such kind. */
int gt_job_request(struct gt_buffer *out, const struct gt_job *job, const char *kind);
/* "of 500 GB of memory a node 31 GB to 34 GB were used, of 64 cores 9.2 by the busiest rank, ..." */
void gt_job_request_reasons(struct gt_buffer *out, const struct gt_job *job);

/* The brief of a job: how it ended, its totals in a few lines, and which ranks to look at. */

void gt_job_brief(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers);

#endif
