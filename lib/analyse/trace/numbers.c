#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/trace/numbers.h"
#include "base/grow.h"
#include "base/order.h"
#include "report/report.h"

int gt_numbers_add(struct gt_numbers *values, double value)
{
    double *place = GT_GROW_LIST(values, value);
    if (!place)
        return -ENOMEM;
    *place = value;
    values->is_sorted = false;
    return 0;
}

double gt_numbers_total(const struct gt_numbers *values)
{
    double total = 0;
    for (size_t i = 0; i < values->count; i++)
        total += values->value[i];
    return total;
}

double gt_numbers_mean(const struct gt_numbers *values)
{
    return values->count ? gt_numbers_total(values) / (double)values->count : NAN;
}

double gt_numbers_percentile(struct gt_numbers *values, double percent)
{
    if (!values->count)
        return NAN;
    if (!values->is_sorted)
        qsort(values->value, values->count, sizeof *values->value, gt_order_doubles);
    values->is_sorted = true;
    double rank = percent / 100 * (double)(values->count - 1);
    double low = values->value[(size_t)floor(rank)], high = values->value[(size_t)ceil(rank)];
    return low + (high - low) * (rank - floor(rank));
}

void gt_numbers_cells(struct gt_table *table, struct gt_numbers *values)
{
    static const double percents[] = {0, 100, 50, 95, 99};
    gt_numbers_percentile(values, 0); /* sorted, so that the sum does not depend on the order of arrival */
    gt_table_number(table, gt_numbers_mean(values));
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        gt_table_number(table, gt_numbers_percentile(values, percents[i]));
}

void gt_numbers_clear(struct gt_numbers *values)
{
    values->count = 0;
    values->is_sorted = false;
}

void gt_numbers_release(struct gt_numbers *values)
{
    free(values->value);
    *values = (struct gt_numbers){0};
}

/* ---- do two lists differ? ---- */

double gt_significance(struct gt_numbers *a, struct gt_numbers *b)
{
    enum { FEWEST = 4 };
    if (a->count < FEWEST || b->count < FEWEST)
        return NAN;
    gt_numbers_percentile(a, 0);
    gt_numbers_percentile(b, 0);
    double n = (double)a->count, m = (double)b->count, all = n + m, ranks = 0, ties = 0, rank = 1;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        double value = j >= b->count || (i < a->count && a->value[i] <= b->value[j]) ? a->value[i] : b->value[j];
        double of_a = 0, of_b = 0;
        for (; i < a->count && a->value[i] == value; i++)
            of_a++;
        for (; j < b->count && b->value[j] == value; j++)
            of_b++;
        double tied = of_a + of_b;
        ranks += of_a * (rank + (tied - 1) / 2);
        ties += tied * tied * tied - tied;
        rank += tied;
    }
    double statistic = ranks - n * (n + 1) / 2, mean = n * m / 2;
    double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (!(variance > 0))
        return NAN;
    double distance = fmax(fabs(statistic - mean) - 0.5, 0);
    return erfc(distance / sqrt(2 * variance));
}

static int compare_values(const void *a, const void *b)
{
    double x = **(double *const *)a, y = **(double *const *)b;
    return GT_ORDER(x, y);
}

int gt_significance_correct(double *p, size_t count)
{
    double **sorted = calloc(count + 1, sizeof *sorted), least = 0;
    size_t known = 0;
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            sorted[known++] = &p[i];
    qsort(sorted, known, sizeof *sorted, compare_values);
    for (size_t i = 0; i < known; i++)
        *sorted[i] = least = fmax(least, fmin(1, *sorted[i] * (double)(known - i)));
    free(sorted);
    return 0;
}
