/* Statistics over one value of each rank: spread, imbalance and outliers.
 *
 * * A rank is off if its value differs from the median by more than five standard deviations (1.4826 * MAD) and by more
 * than 5 % of the median. If there are values over time, at least half of them must differ from the median of their
 * time by more than 5 % on the same side. So neither chance (one of 1,000 healthy ranks is 3.3 deviations off) nor a
 * short disturbance counts. */
#ifndef GT_ANALYSE_JOB_RANK_SCORES_H
#define GT_ANALYSE_JOB_RANK_SCORES_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/job/job.h"
#include "base/buffer.h"

/* Spread of the known values. NaN: none. */
struct gt_spread {
    size_t count;
    double least, quarter, median, three_quarters, most, mean;
    double deviation; /* MAD: the median distance from the median */
};

/* Find the spread without NaN. -ENOMEM. */
int gt_spread_of(struct gt_spread *ret, const double *values, size_t count);
/* Returns most / mean - 1: the share of time that equal parts of the work would save. */
double gt_spread_imbalance(const struct gt_spread *spread);
/* Returns true for a distance of more than five deviations and 5 %, with at least five ranks. */
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
    double share_off;   /* share of its parts that differ by 5 % on the same side; NaN: unknown */
    double since_start; /* mean of its later parts / mean of the first tenth - 1; NaN: unknown */
    bool is_off;
    bool with_node; /* the median of its node is off on the same side, and the node has other ranks */
};

/* Score all ranks. `spread` and `nodes`, which may be NULL, get the spread of the last group, and the score of the
 * median of each of its nodes. -ENOMEM. */
int gt_rank_scores(const struct gt_rank_figures *figures, struct gt_spread *spread, struct gt_rank_score *ranks,
                   struct gt_rank_score *nodes);

/* ---- Which ranks of a job differ from the others, and in what ---- */

#define GT_JOB_NO_LAUNCH ((size_t)-1)

enum gt_job_figure { GT_JOB_CORES, GT_JOB_MEMORY, GT_JOB_GPU_USE, GT_JOB_TIME, GT_JOB_FIGURES };

struct gt_job_outliers {
    struct gt_spread all[GT_JOB_FIGURES];
    struct gt_spread (*step)[GT_JOB_FIGURES];  /* of each launch */
    struct gt_spread (*peers)[GT_JOB_FIGURES]; /* [2 * launch + complete]: of the ranks that a rank is compared with */
    size_t uneven; /* launch with the largest imbalance of cores; GT_JOB_NO_LAUNCH: unknown */
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
/* Append remarks about a rank, "failed with 3; least CPU, 0.62 times the median". Returns the distance from the median
 * in deviations; infinity if it did not end well, 0 for no outlier. An unfinished recording counts only if others of
 * its step have samples two minutes later. */
double gt_job_remark(struct gt_buffer *out, const struct gt_job_outliers *outliers, const struct gt_job *job,
                     size_t member);
/* Returns true if its recording is not finished, but others of its step and attempt are. */
bool gt_job_is_late(const struct gt_job_outliers *outliers, const struct gt_job *job, size_t member);
/* Append how the command of a tracker ended, and return true, if it did not end well. The ends of ranks below are
 * unknown. */
bool gt_job_remark_end(struct gt_buffer *out, const struct gt_job_rank *rank);

#endif
