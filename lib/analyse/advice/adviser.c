#include "analyse/advice/adviser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

static const double LEAST = 5;

void gt_advise(struct gt_adviser *adviser, struct gt_gain gain, const char *see, const char *format, ...)
{
    va_list list;
    if (gain.percent < LEAST || adviser->status < 0)
        return;
    struct gt_advice *advice = GT_GROW_LIST(adviser, advice);
    if (!advice) {
        adviser->status = -ENOMEM;
        return;
    }
    *advice = (struct gt_advice){gain, see, NULL};
    va_start(list, format);
    if (vasprintf(&advice->sentence, format, list) < 0) {
        adviser->status = -ENOMEM;
        adviser->count--;
    }
    va_end(list);
}

double gt_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

struct gt_gain gt_gain_of(double part, double whole)
{
    double percent = gt_percent(part, whole);
    return (struct gt_gain){isnan(percent) ? 0 : percent, part / 1e3};
}

const char *gt_advice_bytes(double bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    snprintf(text, 32, unit && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}
