#include "base/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Three digits: those behind the point go as the number grows. */
static int decimals(double value)
{
    double size = fabs(value);
    return size == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
}

static const char *unknown(char *ret)
{
    return strcpy(ret, "n/a");
}

static const char *scaled(char *ret, double value, double step, const char *const units[], size_t count)
{
    size_t unit = 0;
    if (isnan(value))
        return unknown(ret);
    for (; fabs(value) >= 999.5 && unit + 1 < count; unit++)
        value /= step;
    snprintf(ret, GT_QUANTITY_SIZE, "%.*f %s", unit ? decimals(value) : 0, value, units[unit]);
    return ret;
}

const char *gt_quantity_bytes(char *ret, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    return scaled(ret, bytes, 1000, units, sizeof units / sizeof *units);
}

const char *gt_quantity_binary(char *ret, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    return scaled(ret, bytes, 1024, units, sizeof units / sizeof *units);
}

/* Two neighbouring units: days and hours, hours and minutes, minutes and seconds. */
static const char *mixed(char *ret, double seconds)
{
    long long whole = llround(seconds);
    long long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
    if (days)
        snprintf(ret, GT_QUANTITY_SIZE, "%lld d %lld h", days, hours);
    else if (hours)
        snprintf(ret, GT_QUANTITY_SIZE, "%lld h %lld min", hours, minutes);
    else
        snprintf(ret, GT_QUANTITY_SIZE, "%lld min %lld s", minutes, whole % 60);
    return ret;
}

const char *gt_quantity_time(char *ret, double seconds)
{
    if (isnan(seconds))
        return unknown(ret);
    if (fabs(seconds) < 0.9995)
        snprintf(ret, GT_QUANTITY_SIZE, "%.0f ms", seconds * 1000);
    else if (seconds < 9.95)
        snprintf(ret, GT_QUANTITY_SIZE, "%.1f s", seconds);
    else if (seconds < 59.5)
        snprintf(ret, GT_QUANTITY_SIZE, "%.0f s", seconds);
    else
        return mixed(ret, fmin(seconds, 1e15));
    return ret;
}

const char *gt_quantity_clock(char *ret, double seconds)
{
    if (isnan(seconds))
        return unknown(ret);
    long long whole = (long long)fmax(0, fmin(seconds, 1e15)), hours = whole / 3600;
    if (hours)
        snprintf(ret, GT_QUANTITY_SIZE, "%lld:%02lld:%02lld", hours, whole / 60 % 60, whole % 60);
    else
        snprintf(ret, GT_QUANTITY_SIZE, "%lld:%02lld", whole / 60, whole % 60);
    return ret;
}

const char *gt_quantity_about(char *ret, double seconds)
{
    if (isnan(seconds))
        return unknown(ret);
    if (seconds < 90)
        snprintf(ret, GT_QUANTITY_SIZE, "~%.0f s", seconds);
    else if (seconds < 5400)
        snprintf(ret, GT_QUANTITY_SIZE, "~%.0f min", seconds / 60);
    else
        snprintf(ret, GT_QUANTITY_SIZE, "~%.1f h", fmin(seconds, 1e12) / 3600);
    return ret;
}

const char *gt_quantity_energy(char *ret, double joules)
{
    static const char *const units[] = {"J", "kJ"};
    if (isnan(joules))
        return unknown(ret);
    if (fabs(joules) < 9.995)
        snprintf(ret, GT_QUANTITY_SIZE, "%.1f J", joules);
    else if (fabs(joules) < 359950) /* 0.1 kWh */
        return scaled(ret, joules, 1000, units, 2);
    else
        snprintf(ret, GT_QUANTITY_SIZE, "%.*f kWh", decimals(joules / 3.6e6), joules / 3.6e6);
    return ret;
}

const char *gt_quantity_number(char *ret, double value)
{
    if (isnan(value))
        return unknown(ret);
    snprintf(ret, GT_QUANTITY_SIZE, "%.*f", decimals(value), fmax(-1e15, fmin(value, 1e15)));
    return ret;
}

const char *gt_quantity_percent(char *ret, double ratio)
{
    if (isnan(ratio))
        return unknown(ret);
    snprintf(ret, GT_QUANTITY_SIZE, "%.0f %%", fmax(-1e15, fmin(ratio * 100, 1e15)));
    return ret;
}
