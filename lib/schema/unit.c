#include "schema/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct unit {
    const char *name, *symbols[2]; /* further symbols are NULL */
    double factor;
};

static const struct unit memory_units[] = {
    {"bytes", {"B"}, 1},
    {"kilobytes", {"kB", "KB"}, 1e3},
    {"megabytes", {"MB"}, 1e6},
    {"gigabytes", {"GB"}, 1e9},
    {"terabytes", {"TB"}, 1e12},
    {"kibibytes", {"KiB"}, 1024},
    {"mebibytes", {"MiB"}, 1048576},
    {"gibibytes", {"GiB"}, 1073741824},
    {"tebibytes", {"TiB"}, 1099511627776},
};

static const struct unit time_units[] = {
    {"seconds", {"s"}, 1},  {"minutes", {"min"}, 60},       {"hours", {"h"}, 3600},
    {"days", {"d"}, 86400}, {"milliseconds", {"ms"}, 1e-3},
};

enum {
    MEMORY_UNITS = sizeof memory_units / sizeof *memory_units,
    TIME_UNITS = sizeof time_units / sizeof *time_units,
};

const char *gt_memory_unit(size_t index)
{
    return index < MEMORY_UNITS ? memory_units[index].name : NULL;
}

const char *gt_time_unit(size_t index)
{
    return index < TIME_UNITS ? time_units[index].name : NULL;
}

static bool is_called(const struct unit *unit, const char *name)
{
    if (strcmp(name, unit->name) == 0)
        return true;
    for (size_t i = 0; i < 2 && unit->symbols[i]; i++)
        if (strcmp(name, unit->symbols[i]) == 0)
            return true;
    return false;
}

static const struct unit *find(const struct unit *units, size_t count, const char *name)
{
    for (size_t i = 0; name && i < count; i++)
        if (is_called(&units[i], name))
            return &units[i];
    return NULL;
}

const char *gt_unit_full_name(const char *name)
{
    const struct unit *unit = find(memory_units, MEMORY_UNITS, name);
    if (!unit)
        unit = find(time_units, TIME_UNITS, name);
    return unit ? unit->name : name;
}

int gt_unit_memory(const char *name, double *ret, struct gt_error *error)
{
    const struct unit *unit = find(memory_units, MEMORY_UNITS, name);
    if (!unit)
        return gt_error_set(
            error, EINVAL,
            "\"%s\" is not a memory unit; choose bytes, kilobytes, megabytes, gigabytes, terabytes (B, kB, MB, "
            "GB, TB), KiB, MiB, GiB or TiB",
            name ? name : "");
    *ret = unit->factor;
    return 0;
}

int gt_unit_time(const char *name, double *ret, struct gt_error *error)
{
    const struct unit *unit = find(time_units, TIME_UNITS, name);
    if (!unit)
        return gt_error_set(error, EINVAL,
                            "\"%s\" is not a time unit; choose seconds, minutes, hours or days (s, min, h, d), or ms",
                            name ? name : "");
    *ret = unit->factor;
    return 0;
}
