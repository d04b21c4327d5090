/* Which ranks of a job differ from the others, and in what. */
#ifndef GT_ANALYSE_JOB_JOB_OUTLIERS_H
#define GT_ANALYSE_JOB_JOB_OUTLIERS_H

#include "analyse/job/job.h"
#include "analyse/job/rank_scores.h"
#include "base/buffer.h"

#define GT_JOB_NO_LAUNCH ((size_t)-1)

enum gt_job_figure { GT_JOB_CORES, GT_JOB_MEMORY, GT_JOB_GPU_USE, GT_JOB_TIME, GT_JOB_FIGURES };

struct gt_job_outliers {
    struct gt_spread all[GT_JOB_FIGURES];
    struct gt_spread (*step)[GT_JOB_FIGURES];  /* of each launch */
    struct gt_spread (*peers)[GT_JOB_FIGURES]; /* [2 * launch + complete]: to these a rank is compared */
    size_t uneven; /* the launch whose ranks are busy most differently; GT_JOB_NO_LAUNCH: none has several that tell */
};

const char *gt_job_figure_key(enum gt_job_figure figure);
const char *gt_job_figure_title(enum gt_job_figure figure);
const char *gt_job_figure_unit(enum gt_job_figure figure); /* NULL: none */
double gt_job_figure(const struct gt_job *job, size_t member, enum gt_job_figure figure);
/* -ENOMEM. Release it in any case. */
int gt_job_outliers_find(struct gt_job_outliers *ret, const struct gt_job *job);
void gt_job_outliers_release(struct gt_job_outliers *outliers);
/* Appends what is remarkable about a rank, "failed with 3; least CPU, 0.62 of the median"; nothing where there is nothing. Returns
 * how far it is off, in deviations; infinity where it did not end well, 0 where it is no outlier. That a recording is not finished alone
 * is nothing, as while it runs, unless others of its step were heard of two minutes later. */
double gt_job_remark(struct gt_buffer *out, const struct gt_job_outliers *outliers, const struct gt_job *job,
                     size_t member);
/* Its recording is not finished, and others of its step and attempt are. */
bool gt_job_is_late(const struct gt_job_outliers *outliers, const struct gt_job *job, size_t member);
/* Appends how the command of a tracker ended, where that was not well, and returns true then. That of ranks below it is not known. */
bool gt_job_remark_end(struct gt_buffer *out, const struct gt_job_rank *rank);

#endif
