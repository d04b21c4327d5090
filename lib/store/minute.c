#include "store/minute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const char *const gt_minute_statistic_names[GT_MINUTE_STATISTICS] = {"mean", "min", "max", "last"};

static const int64_t LENGTH_S = 60;

static int64_t begin_of(int64_t real_ns)
{
    int64_t seconds = real_ns / GT_SECOND;
    return seconds - seconds % LENGTH_S;
}

int gt_minute_init(struct gt_minute *minute, size_t columns)
{
    *minute = (struct gt_minute){.count = columns, .figure = calloc(columns, sizeof *minute->figure)};
    return minute->figure ? 0 : -ENOMEM;
}

void gt_minute_release(struct gt_minute *minute)
{
    free(minute->figure);
    *minute = (struct gt_minute){0};
}

bool gt_minute_is_over(const struct gt_minute *minute, int64_t real_ns)
{
    return minute->weight && begin_of(real_ns) != minute->begin_s;
}

void gt_minute_next(struct gt_minute *minute)
{
    minute->number++;
    minute->weight = 0;
    memset(minute->figure, 0, minute->count * sizeof *minute->figure);
}

void gt_minute_begin_sample(struct gt_minute *minute, int64_t real_ns)
{
    minute->begin_s = begin_of(real_ns);
    minute->weight++;
}

void gt_minute_add(struct gt_minute *minute, size_t column, double value)
{
    struct gt_minute_figure *figure = &minute->figure[column];
    if (isnan(value))
        return;
    if (!figure->count++)
        figure->min = figure->max = value;
    else if (value < figure->min)
        figure->min = value;
    else if (value > figure->max)
        figure->max = value;
    figure->sum += value;
    figure->last = value;
}

static bool has_only_last(const struct gt_column *column)
{
    return column->scope >= 0 && gt_metrics[column->metric].kind != GT_GAUGE;
}

double gt_minute_value(const struct gt_minute *minute, const struct gt_columns *columns, size_t column,
                       enum gt_minute_statistic statistic)
{
    const struct gt_minute_figure *figure = &minute->figure[column];
    if (!figure->count || (statistic != GT_MINUTE_LAST && has_only_last(&columns->column[column])))
        return NAN;
    switch (statistic) {
    case GT_MINUTE_MEAN: return figure->sum / figure->count;
    case GT_MINUTE_MIN: return figure->min;
    case GT_MINUTE_MAX: return figure->max;
    default: return figure->last;
    }
}
