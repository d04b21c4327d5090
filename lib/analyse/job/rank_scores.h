/* Statistics over one figure of each rank: its spread, what the imbalance costs, and which ranks and nodes are off.
 *
 * A rank is off where its figure is further from the median than five standard deviations, as the median distance from the median
 * tells them (1.4826 times it, for a normal distribution), and more than a twentieth of the median; and, where figures by stretches of
 * time are given, on the same side of the median of the stretch by more than a twentieth in at least half of its stretches. Among a
 * thousand healthy ranks one is 3.3 deviations off by chance, and a short trouble of one rank moves its mean: neither counts. */
#ifndef GT_ANALYSE_JOB_RANK_SCORES_H
#define GT_ANALYSE_JOB_RANK_SCORES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/job/job.h"
#include "base/buffer.h"

/* The figures that are known. NaN: there are none. */
struct gt_spread {
    size_t count;
    double least, quarter, median, three_quarters, most, mean;
    double deviation; /* the median distance from the median */
};

/* -ENOMEM. NaN is left out. */
int gt_spread_of(struct gt_spread *ret, const double *values, size_t count);
/* The greatest over the mean, less 1: by so much the job is longer than with the same work in equal parts. */
double gt_spread_imbalance(const struct gt_spread *spread);
/* By five deviations and a twentieth, of at least five ranks. */
bool gt_spread_is_off(const struct gt_spread *spread, double value);

struct gt_rank_figures {
    size_t ranks, parts, nodes;
    const double *value; /* of each rank, NaN: not known */
    const double *part;  /* [rank][part], NaN: not known; NULL without parts */
    const size_t *node;  /* of each rank; NULL: not by node */
    const size_t *group; /* of each rank, which is compared within its group; NULL: one group */
    size_t groups;
};

struct gt_rank_score {
    double deviations;  /* from the median, signed */
    double ratio;       /* to the median */
    double share_off;   /* of its stretches, by a twentieth on the same side; NaN: not known */
    double since_start; /* the mean of its later stretches over that of the first tenth, less 1; NaN: not known */
    bool is_off;
    bool with_node; /* the median of its node is off likewise, and the node has other ranks */
};

/* Score all ranks. `spread` and `nodes`, which may be NULL, get the spread of the last group, and the score of the median of
 * each of its nodes. -ENOMEM. */
int gt_rank_scores(const struct gt_rank_figures *figures, struct gt_spread *spread, struct gt_rank_score *ranks,
                   struct gt_rank_score *nodes);

/* ---- Which ranks of a job differ from the others, and in what ---- */

#define GT_JOB_NO_LAUNCH ((size_t)-1)

enum gt_job_figure { GT_JOB_CORES, GT_JOB_MEMORY, GT_JOB_GPU_USE, GT_JOB_TIME, GT_JOB_FIGURES };

struct gt_job_outliers {
    struct gt_spread all[GT_JOB_FIGURES];
    struct gt_spread (*step)[GT_JOB_FIGURES];  /* of each launch */
    struct gt_spread (*peers)[GT_JOB_FIGURES]; /* [2 * launch + complete]: to these a rank is compared */
    size_t uneven; /* the launch whose ranks are busy most differently; GT_JOB_NO_LAUNCH: none has several that tell */
};

extern const struct gt_job_figure_info {
    const char *key, *title, *unit; /* unit NULL: none */
    const char *name;               /* in remarks */
    double least;                   /* smaller distances from the median are ignored */
} gt_job_figure_infos[GT_JOB_FIGURES];
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
