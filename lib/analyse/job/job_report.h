/* The report of a job: totals of all ranks, nodes, ranks with remarks, and what to request next time. */
#ifndef GT_ANALYSE_JOB_JOB_REPORT_H
#define GT_ANALYSE_JOB_JOB_REPORT_H

#include "analyse/job/job.h"
#include "analyse/job/rank_scores.h"
#include "analyse/usage/usage.h"
#include "report/report.h"

struct gt_job_report_options {
    const char *heat; /* a metric to show over time; NULL: only a picture on pages */
    bool page, all;   /* for a page; text shows each rank */
};

/* `options` may be NULL. */
int gt_job_report(struct gt_report **ret, const struct gt_job *job, const struct gt_job_report_options *options,
                  struct gt_error *error);

/* What to request next time. */

/* Memory is the upper bound of the largest node. Cores are the 95th percentile of the busiest rank. GPUs are those
 * used. Time is the job's if all ranks ended well. Slurm counts by node and rank, PBS and LSF by node, containers by
 * rank. */
void gt_job_next_time(struct gt_next_time *ret, const struct gt_job *job, const char *kind);
/* Append the request in the scheduler's words. -ENOENT: unknown kind. */
int gt_job_request(struct gt_buffer *out, const struct gt_job *job, const char *kind);
/* Append the reasons: "of 500 GB of memory a node used 31 GB, at most 34 GB; of 64 cores the busiest rank 9.2; ..." */
void gt_job_request_reasons(struct gt_buffer *out, const struct gt_job *job);

/* The summary of a job: how it ended, totals in a few lines, and remarkable ranks. */

void gt_job_brief(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers);

#endif
