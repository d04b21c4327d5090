#include "collect/energy/meter_line.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/csv.h"
#include "base/number.h"

static const double MOST_WATTS = 1e9;

/* Take blanks, quotes and the sign of a comment away. */
static char *strip(char *text)
{
    static const char around[] = " \t\r\"'#";
    text += strspn(text, around);
    for (size_t length = strlen(text); length && strchr(around, text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

static int split(char *line, char separator, char *field[GT_METER_COLUMNS])
{
    size_t count = gt_csv_split(line, separator, field, GT_METER_COLUMNS);
    for (size_t i = 0; i < count; i++)
        field[i] = strip(field[i]);
    return (int)count;
}

static char separator_of(const char *line)
{
    return strchr(line, ';') ? ';' : strchr(line, '\t') ? '\t' : ',';
}

static bool has(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

static bool is_time(const char *name)
{
    static const char *const names[] = {"t", "epoch", "ts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return !strncasecmp(name, "time", 4) || !strncasecmp(name, "date", 4);
}

/* Watts for each unit of a column of that name; 0: it is not of power. */
static double scale_of(const char *name)
{
    static const char *const units[] = {"w", "p", "kw", "mw"};
    static const double scales[] = {1, 1, 1e3, 1e-3};
    size_t length = strlen(name), at = length;
    char last[8] = "";
    if (has(name, "milliwatt") || has(name, "kilowatt"))
        return has(name, "milliwatt") ? 1e-3 : 1e3;
    while (at > 0 && strchr(")] ", name[at - 1]))
        at--;
    size_t end = at;
    while (at > 0 && isalpha((unsigned char)name[at - 1]))
        at--;
    snprintf(last, sizeof last, "%.*s", (int)(end - at), name + at);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(last, units[i]))
            return scales[i];
    return (has(name, "watt") && !has(name, "hour")) || has(name, "power") ? 1 : 0;
}

static int64_t days_since_epoch(int64_t year, int month, int day)
{
    /* Of the proleptic Gregorian calendar, years from March on. */
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400, of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "2026-01-31 12:00:00.5+01:00"; without a zone it is the local time. */
static bool read_date(const char *text, double *ret)
{
    int year, month, day, hour, minute, used = 0, zone_hour, zone_minute = 0;
    double second = 0;
    if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d%n", &year, &month, &day, &hour, &minute, &used) != 5 || !used)
        return false;
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 24 || minute < 0 || minute > 59)
        return false;
    const char *rest = text + used;
    if (*rest == ':') {
        char digits[24];
        size_t length = strspn(rest + 1, "0123456789.");
        snprintf(digits, sizeof digits, "%.*s", (int)length, rest + 1);
        if (gt_number_double(digits, &second) < 0 || second > 61)
            return false;
        rest += 1 + length;
    }
    *ret = (double)(days_since_epoch(year, month, day) * 86400 + hour * 3600 + minute * 60) + second;
    if (!strcmp(rest, "Z"))
        return true;
    if (sscanf(rest, "%*1[+-]%2d:%2d", &zone_hour, &zone_minute) >= 1 ||
        sscanf(rest, "%*1[+-]%2d%2d", &zone_hour, &zone_minute) >= 1) {
        *ret -= (*rest == '-' ? -1 : 1) * (zone_hour * 3600.0 + zone_minute * 60.0);
        return true;
    }
    struct tm local = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute, .tm_isdst = -1};
    time_t whole = mktime(&local);
    *ret = (double)whole + second;
    return !*rest && whole != (time_t)-1;
}

/* Seconds since 1970, before that of no use to us: a meter's own clock that began at 0 tells no moment. */
bool gt_meter_time(const char *text, int64_t *ret_ns)
{
    static const double EARLIEST = 1e8, LATEST = 9e9; /* 1973, 2255: nanoseconds in 64 bits */
    double value;
    if (gt_number_double(text, &value) < 0 && !read_date(text, &value))
        return false;
    for (int i = 0; i < 3 && value >= LATEST; i++)
        value /= 1e3;
    if (!(value >= EARLIEST && value < LATEST))
        return false;
    *ret_ns = (int64_t)(floor(value) * 1e9) + (int64_t)llround((value - floor(value)) * 1e9);
    return true;
}

static bool read_watts(char *text, char separator, double *ret)
{
    char *comma = separator == ';' ? strchr(text, ',') : NULL;
    if (comma)
        *comma = '.';
    return gt_number_double(text, ret) == 0 && fabs(*ret) <= MOST_WATTS;
}

/* Keep the columns that the user named; each must be there. */
static int keep_wanted(struct gt_meter_columns *columns, char *const field[], int count, const char *wanted)
{
    bool keep[GT_METER_COLUMNS] = {false};
    for (const char *name = wanted; name && *name;) {
        size_t length = strcspn(name, ",");
        bool is_there = false;
        for (int i = 0; i < count; i++)
            if (strlen(field[i]) == length && !strncasecmp(field[i], name, length))
                is_there = keep[i] = true;
        if (!is_there)
            return -ENOENT;
        name += length + (name[length] == ',');
    }
    for (int i = 0; i < GT_METER_COLUMNS; i++)
        columns->scale[i] = !keep[i] ? 0 : columns->scale[i] > 0 ? columns->scale[i] : 1;
    return 1;
}

static int take_names(struct gt_meter_columns *columns, char *const field[], int count, const char *wanted)
{
    int watts = 0, other = -1;
    for (int i = 0; i < count; i++) {
        if (i == columns->time || i == columns->is_ok)
            continue;
        columns->scale[i] = columns->is_ok >= 0 && *field[i] ? 1 : scale_of(field[i]);
        watts += columns->scale[i] > 0;
        other = *field[i] ? i : other;
    }
    if (wanted)
        return keep_wanted(columns, field, count, wanted);
    if (!watts && count == 2 && other >= 0) {
        columns->scale[other] = 1;
        watts = 1;
    }
    return watts ? 1 : -EINVAL;
}

int gt_meter_header(struct gt_meter_columns *ret, char *line, const char *wanted, bool *is_row)
{
    char *field[GT_METER_COLUMNS];
    double watts;
    int64_t at_ns;
    *ret = (struct gt_meter_columns){.separator = separator_of(line), .time = -1, .is_ok = -1};
    *is_row = false;
    int count = split(line, ret->separator, field);
    if (count == 2 && !wanted && gt_meter_time(field[0], &at_ns) && read_watts(field[1], ret->separator, &watts)) {
        ret->time = 0;
        ret->scale[1] = 1;
        *is_row = true;
        return 1;
    }
    for (int i = count - 1; i >= 0; i--) {
        if (is_time(field[i]))
            ret->time = i;
        if (!strcasecmp(field[i], "frame_is_ok"))
            ret->is_ok = i;
    }
    return ret->time < 0 || count < 2 ? 0 : take_names(ret, field, count, wanted);
}

int gt_meter_line(const struct gt_meter_columns *columns, char *line, struct gt_meter_row *ret)
{
    char *field[GT_METER_COLUMNS];
    int count = split(line, columns->separator, field);
    *ret = (struct gt_meter_row){0};
    if (columns->time >= count || !gt_meter_time(field[columns->time], &ret->at_ns))
        return -EINVAL;
    if (columns->is_ok >= 0 && (columns->is_ok >= count || strcasecmp(field[columns->is_ok], "true") != 0))
        return 0;
    for (int i = 0; i < GT_METER_COLUMNS; i++) {
        double value;
        if (columns->scale[i] <= 0)
            continue;
        if (i >= count || !read_watts(field[i], columns->separator, &value))
            return -EINVAL;
        ret->watts += value * columns->scale[i];
    }
    return ret->watts >= 0 ? 1 : -EINVAL; /* nothing that is measured gives power back */
}
