#include "report/column_scale.h"

#include <math.h>
#include <string.h>

struct step {
    double by;
    const char *unit;
};

static const struct step times[] = {{1e6, "s"}, {1e3, "ms"}, {1, "us"}, {1e-3, "ns"}};
static const struct step sizes[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "bytes"}};

static double greatest_in(const struct gt_table *table, size_t column)
{
    double greatest = 0;
    for (size_t row = 0; row < gt_table_rows(table); row++) {
        double value = gt_table_is_missing(table, row, column) ? 0 : fabs(gt_table_cell_display(table, row, column));
        greatest = isfinite(value) ? fmax(greatest, value) : greatest;
    }
    return greatest;
}

/* Columns of one group have one unit, so that their numbers can be compared along a row. */
enum group { OTHERS, MOMENTS, MEANS, STATISTICS };

static enum group group_of(const char *key)
{
    static const char *const moments[] = {"start_us", "end_us", "peak_at_us"};
    static const char *const statistics[] = {"min_", "max_", "p50_", "p95_", "p99_"};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++)
        if (!strcmp(key, moments[i]))
            return MOMENTS;
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++)
        if (!strncmp(key, statistics[i], 4))
            return STATISTICS;
    return strncmp(key, "mean_", 5) ? OTHERS : MEANS;
}

/* Minima and maxima may be far from what is usual: their unit is that of the means. */
static double greatest_of_group(const struct gt_table *table, const char *unit, enum group group)
{
    double greatest = 0;
    for (size_t i = 0; i < table->columns; i++)
        if (table->column[i].flags & GT_COLUMN_SCALED && !strcmp(table->column[i].unit, unit) &&
            group_of(table->column[i].key) == group)
            greatest = fmax(greatest, greatest_in(table, i));
    return greatest;
}

static const struct step *step_of(const char *unit, double number)
{
    bool is_time = !strcmp(unit, "us");
    const struct step *step = is_time ? times : sizes;
    size_t count = is_time ? sizeof times / sizeof *times : sizeof sizes / sizeof *sizes;
    while (--count && number < step->by)
        step++;
    return step;
}

struct gt_column_scale gt_column_scale(const struct gt_table *table, size_t column)
{
    const struct gt_table_column *of = &table->column[column];
    enum group group = group_of(of->key);
    struct gt_column_scale scale = {.by = 1, .is_moment = group == MOMENTS};
    if (!(of->flags & GT_COLUMN_SCALED) || (strcmp(of->unit, "us") && strcmp(of->unit, "bytes")))
        return scale;
    double own = greatest_in(table, column);
    double greatest = greatest_of_group(table, of->unit, group == STATISTICS ? MEANS : group);
    if (!(greatest > 0))
        greatest = greatest_of_group(table, of->unit, group);
    if (!(greatest > 0))
        return scale;
    const struct step *step = step_of(of->unit, greatest);
    if (own > 0 && own < step->by / 1000) /* nothing but zeros before the digits */
        step = step_of(of->unit, own);
    scale.by = step->by;
    scale.unit = step->unit;
    return scale;
}
