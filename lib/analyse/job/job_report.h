/* The report of a job: what all its ranks used, counted once; its machines; its ranks with the worst marked; and what to ask for next time. */
#ifndef GT_ANALYSE_JOB_JOB_REPORT_H
#define GT_ANALYSE_JOB_JOB_REPORT_H

#include "analyse/job/job.h"
#include "report/report.h"

int gt_job_report(struct gt_report **ret, const struct gt_job *job, struct gt_error *error);

#endif
