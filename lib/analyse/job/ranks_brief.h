/* The brief of a job: how it ended, its totals in a few lines, and which ranks to look at. */
#ifndef GT_ANALYSE_JOB_RANKS_BRIEF_H
#define GT_ANALYSE_JOB_RANKS_BRIEF_H

#include "analyse/job/job_outliers.h"
#include "report/report.h"

void gt_job_brief(struct gt_node *root, const struct gt_job *job, const struct gt_job_outliers *outliers);

#endif
