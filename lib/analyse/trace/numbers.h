/* Numbers in a list, and their statistics. Percentiles are exact, with linear interpolation between the closest ranks (numpy's and
 * pandas' default; type 7 of Hyndman and Fan, The American Statistician 50, 1996). All NaN of an empty list. */
#ifndef GT_ANALYSE_NUMBERS_H
#define GT_ANALYSE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

struct gt_table;

struct gt_numbers {
    double *value;
    size_t count, capacity;
    bool is_sorted;
};

int gt_numbers_add(struct gt_numbers *values, double value);
double gt_numbers_total(const struct gt_numbers *values); /* 0 of none */
double gt_numbers_mean(const struct gt_numbers *values);
double gt_numbers_percentile(struct gt_numbers *values, double percent); /* sorts */
void gt_numbers_clear(struct gt_numbers *values);
void gt_numbers_release(struct gt_numbers *values);

/* Cells mean min max p50 p95 p99; their columns with and without microseconds as unit. */
#define GT_NUMBERS_COLUMNS "number:mean number:min number:max number:p50 number:p95 number:p99"
#define GT_NUMBERS_COLUMNS_US "number:mean_us number:min_us number:max_us number:p50_us number:p95_us number:p99_us"
void gt_numbers_cells(struct gt_table *table, struct gt_numbers *values);

/* Do two lists of numbers differ? */

/* Two-sided p of the rank sum test of Mann and Whitney (Annals of Mathematical Statistics 18, 1947), normal approximation with
 * corrections for ties and continuity. NaN when a list has fewer than 4 values, or all values are equal. Sorts the lists. */
double gt_significance(struct gt_numbers *a, struct gt_numbers *b);

/* Holm's correction (Scandinavian Journal of Statistics 6, 1979) of many values of p: those that stay at or below 0.05 differ, and
 * the chance that any of them does by accident is 5 % at most. NaN stays, and counts for nothing. 0 or -ENOMEM. */
int gt_significance_correct(double *p, size_t count);

#endif
