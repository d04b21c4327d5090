#include "analyse/trace/time_words.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct gt_time_unit gt_time_unit_of(double ns)
{
    static const struct gt_time_unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t unit = 0;
    while (unit + 1 < sizeof units / sizeof *units && fabs(ns) < units[unit].ns)
        unit++;
    return units[unit];
}

const char *gt_time_words(double ns, char text[32])
{
    struct gt_time_unit unit = gt_time_unit_of(ns);
    double value = ns / unit.ns;
    snprintf(text, 32, "%.*f %s", fabs(value) < 10 ? 2 : fabs(value) < 100 ? 1 : 0, value, unit.name);
    return isnan(ns) ? NULL : text;
}
