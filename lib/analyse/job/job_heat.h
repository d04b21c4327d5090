/* Ranks by time: one metric of each rank, of each stretch of time. */
#ifndef GT_ANALYSE_JOB_JOB_HEAT_H
#define GT_ANALYSE_JOB_JOB_HEAT_H

#include "analyse/job/job.h"
#include "report/report.h"

struct gt_job_heat_options {
    const char *metric; /* NULL: use of GPUs, or else of CPUs */
    bool all;           /* people see a row for each rank, however many */
    bool only_page;     /* nothing but the picture of pages */
};

/* Adds the picture for pages, a drawing in characters for text, and each figure for programs. -EINVAL: there is no such metric; -ENOENT:
 * no recording has it, which is no error without a metric. */
int gt_job_heat(struct gt_node *root, const struct gt_job *job, const struct gt_job_heat_options *options,
                struct gt_error *error);

#endif
