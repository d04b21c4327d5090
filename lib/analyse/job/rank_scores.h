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
/* More than a twentieth from the median. */
bool gt_spread_differs(const struct gt_spread *spread, double value);
double gt_spread_deviations(const struct gt_spread *spread,
                            double value); /* from the median, signed; NaN where all are equal */

struct gt_rank_figures {
    size_t ranks, parts, nodes;
    const double *value; /* of each rank, NaN: not known */
    const double *part;  /* [rank][part], NaN: not known; NULL without parts */
    const size_t *node;  /* of each rank; NULL: not by node */
};

struct gt_rank_score {
    double deviations;  /* from the median, signed */
    double ratio;       /* to the median */
    double share_off;   /* of its stretches, by a twentieth on the same side; NaN: not known */
    double since_start; /* the mean of its later stretches over that of the first tenth, less 1; NaN: not known */
    bool is_off;
    bool with_node; /* the median of its node is off likewise, and the node has other ranks */
};

/* `nodes`, which may be NULL, gets the score of the median of each node. -ENOMEM. */
int gt_rank_scores(const struct gt_rank_figures *figures, struct gt_spread *spread, struct gt_rank_score *ranks,
                   struct gt_rank_score *nodes);
/* Each rank among those of its own group alone: `group` of each rank, counted from 0. -ENOMEM. */
int gt_rank_scores_within(const struct gt_rank_figures *figures, const size_t *group, size_t groups,
                          struct gt_rank_score *ranks);

#endif
