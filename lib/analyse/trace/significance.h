/* Do two lists of numbers differ? */
#ifndef GT_ANALYSE_SIGNIFICANCE_H
#define GT_ANALYSE_SIGNIFICANCE_H

#include "analyse/trace/numbers.h"

/* Two-sided p of the rank sum test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947), normal approximation with
 * corrections for ties and continuity. NaN when a list has fewer than 4 values, or all values are equal. Sorts the lists. */
double gt_significance(struct gt_numbers *a, struct gt_numbers *b);

/* Holm's correction (Scandinavian Journal of Statistics 6, 1979) of many values of p: those that stay at or below 0.05 differ, and
 * the chance that any of them does by accident is 5 % at most. NaN stays, and counts for nothing. 0 or -ENOMEM. */
int gt_significance_correct(double *p, size_t count);

#endif
