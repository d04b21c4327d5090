/* Arithmetic of points that were read elsewhere: straight lines between them, as in recordings without windows. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "analyse/experiment/experiment.h"
#include "gpu_tracker.h"

size_t gt_points_integrate(const struct gt_experiment_point *points, size_t count, double start, double end,
                           double *sums)
{
    double sum = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].date < start || points[i].date > end)
            continue;
        double part = kept ? (points[i].date - points[i - 1].date) * (points[i].value + points[i - 1].value) / 2 : 0;
        sum += isnan(part) ? 0 : part;
        sums[kept++] = isnan(part) ? NAN : sum;
    }
    return kept;
}

void gt_points_interpolate(const struct gt_experiment_point *points, size_t count, const double *times,
                           size_t time_count, double *values)
{
    size_t next = 0;
    for (size_t i = 0; i < time_count; i++) {
        while (next < count && points[next].date < times[i])
            next++;
        if (next == 0 || next == count || points[next].date == times[i]) {
            values[i] = count ? points[next < count ? next : count - 1].value : NAN;
            continue;
        }
        const struct gt_experiment_point *before = &points[next - 1], *after = &points[next];
        values[i] = before->value +
                    (after->value - before->value) * (times[i] - before->date) / (after->date - before->date);
    }
}

int gt_bytes_text(double bytes, const char *suffix, char *text, size_t size)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"};
    size_t unit = 0;
    while (fabs(bytes) >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    int length = snprintf(text, size, "%.1f%s%s", bytes, units[unit], suffix);
    return length < (int)size ? 0 : -ENAMETOOLONG;
}
