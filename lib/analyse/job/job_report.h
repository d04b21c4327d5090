/* The report of a job: what all its ranks used, counted once; its machines; its ranks with the worst marked; and what
 * to ask for next time. */
#ifndef GT_ANALYSE_JOB_JOB_REPORT_H
#define GT_ANALYSE_JOB_JOB_REPORT_H

#include "analyse/job/job.h"
#include "report/report.h"

struct gt_job_report_options {
    const char *heat; /* a metric that is told over time; NULL: none but a picture on pages */
    bool page, all;   /* it is for a page; people see each rank */
};

/* `options` may be NULL. */
int gt_job_report(struct gt_report **ret, const struct gt_job *job, const struct gt_job_report_options *options,
                  struct gt_error *error);

#endif
