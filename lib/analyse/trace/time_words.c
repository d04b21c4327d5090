#include "analyse/trace/time_words.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

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

const char *gt_moment_words(int64_t ns, char text[48])
{
    static const time_t first_of_2000 = 946684800;
    time_t seconds = (time_t)(ns / GT_SECOND);
    struct tm utc;
    char date[32];
    if (seconds < first_of_2000 || !gmtime_r(&seconds, &utc) ||
        !strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc)) {
        snprintf(text, 48, "%s by a clock of its own", gt_time_words((double)ns, date));
        return text;
    }
    snprintf(text, 48, "%s.%06d UTC", date, (int)(ns % GT_SECOND / 1000));
    return text;
}
