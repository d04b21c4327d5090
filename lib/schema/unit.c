#include "schema/unit.h"

#include <errno.h>
#include <string.h>

const char *const gt_memory_units[] = {"bytes", "kilobytes", "megabytes", "gigabytes", "terabytes", NULL};
const char *const gt_time_units[] = {"seconds", "minutes", "hours", "days", NULL};

static int find(const char *what, const char *name, const char *const names[], const double factors[],
                const char *choices, double *ret, struct gt_error *error)
{
    for (int i = 0; names[i]; i++)
        if (name && !strcmp(name, names[i])) {
            *ret = factors[i];
            return 0;
        }
    return gt_error_set(error, EINVAL, "\"%s\" is not a %s unit; choose %s", name ? name : "", what, choices);
}

int gt_unit_memory(const char *name, double *ret, struct gt_error *error)
{
    static const double factors[] = {1, 1e3, 1e6, 1e9, 1e12};
    return find("memory", name, gt_memory_units, factors, "bytes, kilobytes, megabytes, gigabytes or terabytes", ret,
                error);
}

int gt_unit_time(const char *name, double *ret, struct gt_error *error)
{
    static const double factors[] = {1, 60, 3600, 86400};
    return find("time", name, gt_time_units, factors, "seconds, minutes, hours or days", ret, error);
}
