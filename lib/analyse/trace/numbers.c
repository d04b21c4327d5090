#include "analyse/trace/numbers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"
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
