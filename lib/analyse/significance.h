/* Do two lists of numbers differ? */
#ifndef GT_ANALYSE_SIGNIFICANCE_H
#define GT_ANALYSE_SIGNIFICANCE_H

#include "analyse/numbers.h"

/* Two-sided p of the rank sum test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947), normal approximation with
 * corrections for ties and continuity. NaN when a list has fewer than 4 values, or all values are equal. Sorts the lists. */
double gt_significance(struct gt_numbers *a, struct gt_numbers *b);

#endif
