#include "schema/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Those that may be chosen for memory and for time have a name; a symbol alone stands behind amounts only. */
struct unit {
    enum gt_unit base;
    double factor;
    const char *name, *symbols[2]; /* further symbols are NULL */
};

static const struct unit units[] = {
    {GT_BYTES, 1, "bytes", {"B"}},
    {GT_BYTES, 1e3, "kilobytes", {"kB", "KB"}},
    {GT_BYTES, 1e6, "megabytes", {"MB"}},
    {GT_BYTES, 1e9, "gigabytes", {"GB"}},
    {GT_BYTES, 1e12, "terabytes", {"TB"}},
    {GT_BYTES, 0x1p10, "kibibytes", {"KiB"}},
    {GT_BYTES, 0x1p20, "mebibytes", {"MiB"}},
    {GT_BYTES, 0x1p30, "gibibytes", {"GiB"}},
    {GT_BYTES, 0x1p40, "tebibytes", {"TiB"}},
    {GT_SECONDS, 1, "seconds", {"s"}},
    {GT_SECONDS, 60, "minutes", {"min"}},
    {GT_SECONDS, 3600, "hours", {"h"}},
    {GT_SECONDS, 86400, "days", {"d"}},
    {GT_SECONDS, 1e-3, "milliseconds", {"ms"}},
    {GT_SECONDS, 1e-6, NULL, {"us"}},
    {GT_JOULES, 1, NULL, {"J"}},
    {GT_JOULES, 1e3, NULL, {"kJ"}},
    {GT_JOULES, 3600, NULL, {"Wh"}},
    {GT_JOULES, 3.6e6, NULL, {"kWh"}},
    {GT_WATTS, 1, NULL, {"W"}},
    {GT_WATTS, 1e3, NULL, {"kW"}},
    {GT_RATIO, 0.01, NULL, {"%"}},
    {GT_COUNT, 1, NULL, {"cores", "core"}},
};

enum { UNITS = sizeof units / sizeof *units };

/* The unit of this place among those of a base that have names. */
static const char *name_of(enum gt_unit base, size_t index)
{
    for (size_t i = 0; i < UNITS; i++)
        if (units[i].base == base && units[i].name && index-- == 0)
            return units[i].name;
    return NULL;
}

const char *gt_memory_unit(size_t index)
{
    return name_of(GT_BYTES, index);
}

const char *gt_time_unit(size_t index)
{
    return name_of(GT_SECONDS, index);
}

static bool has_symbol(const struct unit *unit, const char *symbol)
{
    for (size_t i = 0; i < 2 && unit->symbols[i]; i++)
        if (strcmp(symbol, unit->symbols[i]) == 0)
            return true;
    return false;
}

/* Finds one with a name, by that or a symbol; NULL: there is none. */
static const struct unit *find(enum gt_unit base, const char *name)
{
    for (size_t i = 0; name && i < UNITS; i++)
        if (units[i].base == base && units[i].name && (!strcmp(name, units[i].name) || has_symbol(&units[i], name)))
            return &units[i];
    return NULL;
}

const char *gt_unit_full_name(const char *name)
{
    const struct unit *unit = find(GT_BYTES, name);
    if (!unit)
        unit = find(GT_SECONDS, name);
    return unit ? unit->name : name;
}

const char *gt_unit_symbol(const char *name)
{
    const struct unit *unit = find(GT_BYTES, name);
    if (!unit)
        unit = find(GT_SECONDS, name);
    return unit ? unit->symbols[0] : NULL;
}

int gt_unit_memory(const char *name, double *ret, struct gt_error *error)
{
    const struct unit *unit = find(GT_BYTES, name);
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
    const struct unit *unit = find(GT_SECONDS, name);
    if (!unit)
        return gt_error_set(error, EINVAL,
                            "\"%s\" is not a time unit; choose seconds, minutes, hours or days (s, min, h, d), or ms",
                            name ? name : "");
    *ret = unit->factor;
    return 0;
}

void gt_unit_symbols(struct gt_buffer *out, enum gt_unit base)
{
    const char *separator = "";
    for (size_t i = 0; i < UNITS; i++)
        if (units[i].base == base) {
            gt_buffer_printf(out, "%s%s", separator, units[i].symbols[0]);
            separator = ", ";
        }
}

int gt_unit_of_amount(const char *symbol, enum gt_unit *ret_unit, double *ret_factor)
{
    for (size_t i = 0; i < UNITS; i++)
        if (has_symbol(&units[i], symbol)) {
            *ret_unit = units[i].base;
            *ret_factor = units[i].factor;
            return 0;
        }
    return -EINVAL;
}
