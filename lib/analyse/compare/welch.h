/* An interval tells by how much the means of two lists of numbers differ. */
#ifndef GT_ANALYSE_WELCH_H
#define GT_ANALYSE_WELCH_H

#include <stddef.h>

/* Tells the 95 % confidence interval of mean(b) - mean(a), without supposing that both vary alike (B. Welch, Biometrika 34, 1947). NaN
 * when a list has fewer than 2 values. */
void gt_welch_interval(const double *a, size_t a_count, const double *b, size_t b_count, double *ret_low,
                       double *ret_high);

/* Returns the two-sided quantile of Student's t distribution: a value lies between -t and t with this probability (0 to 1). */
double gt_student_quantile(double probability, double degrees_of_freedom);

#endif
