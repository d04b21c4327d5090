/* Two tests tell which of many figures differ, and by how much two means do. */
#ifndef GT_ANALYSE_COMPARE_STATISTICS_H
#define GT_ANALYSE_COMPARE_STATISTICS_H

#include <stddef.h>

/* With fewer runs on a side nothing is told: 3 against 3 can be divided in 20 ways only. */
enum { GT_FEWEST_RUNS = 4 };

/* `value` has a row for each figure and a column for each run: [row * runs + run], NaN where the run lacks the
 * figure. The first `baselines` runs are one group, the others the second. `ret_p` gets for each row the chance that
 * runs of one and the same program differ as much somewhere in the table; NaN where a group has fewer than
 * GT_FEWEST_RUNS values. Rows with a p of at most 0.05 differ, and in at most 5 of 100 tables of equal groups there
 * is any such row, whatever the distribution of the figures and however they depend on each other.
 *
 * Test: P. Westfall and S. Young, Resampling-Based Multiple Testing, 1993, the step-down procedure with the largest
 * statistic. Like Holm's it takes the rows from the most conspicuous on, but the limit of each step is that of the
 * largest statistic among the rows that are left when whole runs change groups, instead of Bonferroni's bound. All
 * ways of dividing the runs are tried, or some thousands of them by random numbers, which are always the same.
 * Statistic: the difference of the means over its standard error (Welch's), to which a thousandth of the figure is
 * added in square, so that figures that hardly vary say no more than their size.
 *
 * 0 or -ENOMEM. */
int gt_permutation_test(const double *value, size_t rows, size_t baselines, size_t runs, double *ret_p);

/* Tells the 95 % confidence interval of mean(b) - mean(a), without supposing that both vary alike (B. Welch,
 * Biometrika 34, 1947). NaN when a list has fewer than 2 values. */
void gt_welch_interval(const double *a, size_t a_count, const double *b, size_t b_count, double *ret_low,
                       double *ret_high);

#endif
