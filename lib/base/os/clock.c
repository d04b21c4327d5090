#include "base/os/clock.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

int64_t gt_clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * GT_SECOND + t.tv_nsec;
}

static int64_t real(void *context)
{
    (void)context;
    return gt_clock_ns(CLOCK_REALTIME);
}

static int64_t monotonic(void *context)
{
    (void)context;
    return gt_clock_ns(CLOCK_MONOTONIC);
}

const struct gt_clock gt_clock_system = {.real = real, .monotonic = monotonic};

int64_t gt_clock_real(const struct gt_clock *clock)
{
    return clock->real(clock->context);
}

int64_t gt_clock_monotonic(const struct gt_clock *clock)
{
    return clock->monotonic(clock->context);
}

/* ":30.25"; the seconds may be missing. */
static bool read_seconds(const char **text, double *ret)
{
    char digits[24];
    if (**text != ':')
        return true;
    size_t length = strspn(*text + 1, "0123456789.");
    snprintf(digits, sizeof digits, "%.*s", (int)length, *text + 1);
    *text += 1 + length;
    return gt_number_double(digits, ret) == 0 && *ret <= 61;
}

/* "Z", "+01:00", "-0530", "+01" as seconds east of Greenwich. */
static bool read_zone(const char *text, double *ret)
{
    int hours = 0, minutes = 0, used = 0;
    char sign[2] = "+";
    if (strcmp(text, "Z") && (sscanf(text, "%1[+-]%2d:%2d%n", sign, &hours, &minutes, &used) < 3 || text[used]) &&
        (sscanf(text, "%1[+-]%2d%n%2d%n", sign, &hours, &used, &minutes, &used) < 2 || text[used]))
        return false;
    *ret = (*sign == '-' ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
    return true;
}

static double whole_minutes(int year, int month, int day, int hour, int minute, bool is_local)
{
    struct tm parts = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute, .tm_isdst = -1};
    time_t whole = is_local ? mktime(&parts) : timegm(&parts);
    return whole == (time_t)-1 ? NAN : (double)whole;
}

double gt_date_read(const char *text)
{
    int year, month, day, hour = 0, minute = 0, used = 0;
    double second = 0, zone;
    if (!text || sscanf(text, "%4d-%2d-%2d%n%*1[T ]%2d:%2d%n", &year, &month, &day, &used, &hour, &minute, &used) < 3)
        return NAN;
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 24 || minute < 0 || minute > 59)
        return NAN;
    const char *rest = text + used;
    if (!read_seconds(&rest, &second))
        return NAN;
    double moment = whole_minutes(year, month, day, hour, minute, !*rest) + second;
    if (!*rest)
        return moment;
    return read_zone(rest, &zone) ? moment - zone : NAN;
}

bool gt_time_read(const char *text, int64_t *ret_ns)
{
    static const double EARLIEST = 1e8, LATEST = 9e9; /* 1973, 2255: nanoseconds in 64 bits */
    double value;
    if (gt_number_double(text, &value) < 0)
        value = gt_date_read(text);
    for (int i = 0; i < 3 && value >= LATEST; i++)
        value /= 1e3;
    if (!(value >= EARLIEST && value < LATEST))
        return false;
    *ret_ns = (int64_t)(floor(value) * 1e9) + (int64_t)llround((value - floor(value)) * 1e9);
    return true;
}
