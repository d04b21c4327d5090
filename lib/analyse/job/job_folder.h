/* The questions about code blocks that a folder of recordings answers. */
#ifndef GT_ANALYSE_JOB_JOB_FOLDER_H
#define GT_ANALYSE_JOB_JOB_FOLDER_H

#include "analyse/job/job_source.h"

int gt_job_folder_calls(void *folder, const struct gt_job *job,
                        int (*take)(void *context, const struct gt_job_calls *calls), void *context,
                        struct gt_error *error);
int gt_job_folder_steps(void *folder, const struct gt_job *job,
                        int (*take)(void *context, const struct gt_job_step *step), void *context,
                        struct gt_error *error);

#endif
