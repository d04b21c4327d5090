#include "analyse/trace/significance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"

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

static int compare(const void *a, const void *b)
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
    qsort(sorted, known, sizeof *sorted, compare);
    for (size_t i = 0; i < known; i++)
        *sorted[i] = least = fmax(least, fmin(1, *sorted[i] * (double)(known - i)));
    free(sorted);
    return 0;
}
