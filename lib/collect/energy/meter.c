#include "collect/energy/meter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/csv.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "collect/collector.h"

/* One line of the file: its columns, and the row in them. */

enum { GT_METER_COLUMNS = 64 };

struct gt_meter_columns {
    char separator;
    int time;                       /* -1: not known yet */
    int is_ok;                      /* column of "true" and "false", -1: none */
    double scale[GT_METER_COLUMNS]; /* watts for each unit of a column, 0: none of watts */
};

/* A row of the file. Joules are those since the first row. */
struct point {
    int64_t at_ns;
    double watts, joules;
};

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

/* Watts for each unit of a column of that name; 0: it is not of power. */
static double scale_of(const char *name)
{
    static const char *const units[] = {"w", "p", "kw", "mw"};
    static const double scales[] = {1, 1, 1e3, 1e-3};
    size_t at = strlen(name);
    char last[8] = "";
    if (strcasestr(name, "milliwatt"))
        return 1e-3;
    if (strcasestr(name, "kilowatt"))
        return 1e3;
    while (at > 0 && strchr(")] ", name[at - 1]))
        at--;
    size_t end = at;
    while (at > 0 && isalpha((unsigned char)name[at - 1]))
        at--;
    snprintf(last, sizeof last, "%.*s", (int)(end - at), name + at);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcasecmp(last, units[i]))
            return scales[i];
    return (strcasestr(name, "watt") && !strcasestr(name, "hour")) || strcasestr(name, "power") ? 1 : 0;
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

/* Take `line` as the header, or as the first of two columns without one (*is_row). `wanted`: names of columns of watts, separated by
 * commas; NULL: all. 1: it is, 0: it is not, -ENOENT: it lacks a wanted column, -EINVAL: none of watts. The line is changed. */
static int meter_header(struct gt_meter_columns *ret, char *line, const char *wanted, bool *is_row)
{
    char *field[GT_METER_COLUMNS];
    double watts;
    int64_t at_ns;
    char separator = strchr(line, ';') ? ';' : strchr(line, '\t') ? '\t' : ',';
    *ret = (struct gt_meter_columns){.separator = separator, .time = -1, .is_ok = -1};
    *is_row = false;
    int count = split(line, ret->separator, field);
    if (count == 2 && !wanted && gt_time_read(field[0], &at_ns) && read_watts(field[1], ret->separator, &watts)) {
        ret->time = 0;
        ret->scale[1] = 1;
        *is_row = true;
        return 1;
    }
    for (int i = count - 1; i >= 0; i--) {
        const char *name = field[i];
        if (!strcasecmp(name, "t") || !strcasecmp(name, "ts") || !strcasecmp(name, "epoch") ||
            !strncasecmp(name, "time", 4) || !strncasecmp(name, "date", 4))
            ret->time = i;
        if (!strcasecmp(name, "frame_is_ok"))
            ret->is_ok = i;
    }
    return ret->time < 0 || count < 2 ? 0 : take_names(ret, field, count, wanted);
}

/* 1: a row, 0: a frame that is not ok, -EINVAL: neither. The line is changed. */
static int meter_line(const struct gt_meter_columns *columns, char *line, struct point *ret)
{
    char *field[GT_METER_COLUMNS];
    int count = split(line, columns->separator, field);
    *ret = (struct point){0};
    if (columns->time >= count || !gt_time_read(field[columns->time], &ret->at_ns))
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

enum { CHUNK = 65536, LONGEST_LINE = 16384, HEADER_LINES = 5 };
static const size_t MOST_ROWS = 50000000;

struct gt_meter {
    int fd;
    char *path;
    char *wanted; /* inside path's memory, NULL: all columns */
    struct gt_meter_columns columns;
    bool has_columns, was_told;
    uint64_t line, left_out;
    char *text; /* what was read and has no line end yet */
    size_t length;
    struct point *point;
    size_t count, capacity;
};

/* What is written there meanwhile is read later, as only a file allows. -ENOENT comes without a sentence. */
static int open_file(const char *path, struct gt_error *error)
{
    struct gt_error trouble = {0};
    int status = gt_given_file_check(path, &trouble);
    int fd = status < 0 ? status : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (status >= 0 && fd < 0)
        return gt_error_system(error, errno, "power meter %s", path);
    return status < 0 && status != -ENOENT ? gt_error_set(error, trouble.code, "power meter %s", trouble.text) : fd;
}

static int open_named(struct gt_meter *meter, const char *name, struct gt_error *error)
{
    meter->path = strdup(name);
    meter->text = malloc(CHUNK + LONGEST_LINE + 1);
    if (!meter->path || !meter->text)
        return gt_error_system(error, ENOMEM, "%s", name);
    meter->fd = open_file(name, error);
    char *colon = strrchr(meter->path, ':');
    if (meter->fd == -ENOENT && colon && colon[1]) {
        *colon = '\0';
        meter->wanted = colon + 1;
        meter->fd = open_file(meter->path, error);
    }
    return meter->fd < 0 ? gt_error_system(error, -meter->fd, "power meter %s", meter->path) : 0;
}

static int add_row(struct gt_meter *meter, struct point row)
{
    const struct point last = meter->count ? meter->point[meter->count - 1] : row;
    if (meter->count && row.at_ns <= last.at_ns) {
        meter->left_out++; /* a clock that was set back, or a line that was written twice */
        return 0;
    }
    row.joules = last.joules + (last.watts + row.watts) / 2 * ((double)(row.at_ns - last.at_ns) / 1e9);
    return meter->count < MOST_ROWS ? GT_APPEND(meter, point, row) : -ENOMEM;
}

/* Some devices put a line of their own above the header. */
static int take_header(struct gt_meter *meter, char *line, struct gt_error *error)
{
    bool is_row;
    char *copy = strdup(line);
    if (!copy)
        return gt_error_system(error, ENOMEM, "power meter %s", meter->path);
    int status = meter_header(&meter->columns, copy, meter->wanted, &is_row);
    free(copy);
    meter->has_columns = status > 0;
    if (status == -ENOENT)
        return gt_error_set(error, EINVAL, "power meter %s: it has no column named like each of \"%.100s\"",
                            meter->path, meter->wanted);
    if (status < 0)
        return gt_error_set(error, EINVAL, "power meter %s: no column of watts; name it: FILE:COLUMN", meter->path);
    if (!meter->has_columns && meter->line >= HEADER_LINES)
        return gt_error_set(error, EINVAL, "power meter %s: this is not a CSV file of time and watts", meter->path);
    return is_row;
}

static int take_line(struct gt_meter *meter, char *line, struct gt_error *error)
{
    struct point row;
    meter->line++;
    if (!meter->has_columns) {
        int status = take_header(meter, line, error);
        if (status <= 0)
            return status;
    }
    if (!line[strspn(line, " \t\r")])
        return 0;
    char begin[32];
    snprintf(begin, sizeof begin, "%.31s", line);
    int status = meter_line(&meter->columns, line, &row);
    if (status > 0)
        return add_row(meter, row) < 0 ? gt_error_system(error, ENOMEM, "power meter %s", meter->path) : 0;
    meter->left_out++;
    if (status == 0 || meter->was_told)
        return 0;
    meter->was_told = true;
    for (char *c = begin; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
    return gt_error_set(error, EINVAL, "power meter %s: line %llu: \"%s\" is not a time and watts", meter->path,
                        (unsigned long long)meter->line, begin);
}

/* The whole lines; what follows the last line end stays. -ENOMEM ends it, for the rest the first trouble is kept. */
static int take_lines(struct gt_meter *meter, struct gt_error *error)
{
    char *line = meter->text, *end;
    int status = 0;
    meter->text[meter->length] = '\0';
    while (status != -ENOMEM && (end = memchr(line, '\n', meter->length - (size_t)(line - meter->text)))) {
        *end = '\0';
        int taken = take_line(meter, line, error);
        status = taken < 0 && status == 0 ? taken : status;
        line = end + 1;
        if (taken < 0 && !meter->has_columns)
            break;
    }
    meter->length -= (size_t)(line - meter->text);
    memmove(meter->text, line, meter->length);
    if (meter->length > LONGEST_LINE)
        return gt_error_set(error, EINVAL, "power meter %s: this is not a CSV file of time and watts", meter->path);
    return status;
}

int gt_meter_read(struct gt_meter *meter, struct gt_error *error)
{
    int status = 0;
    while (status != -ENOMEM && (status >= 0 || meter->has_columns)) {
        ssize_t length = read(meter->fd, meter->text + meter->length, CHUNK);
        if (length < 0 && errno != EAGAIN && errno != EINTR)
            return gt_error_system(error, errno, "power meter %s", meter->path);
        if (length <= 0)
            break;
        meter->length += (size_t)length;
        int taken = take_lines(meter, error);
        if (meter->length > LONGEST_LINE)
            return taken;
        status = taken < 0 && status == 0 ? taken : status;
    }
    return status;
}

int gt_meter_open(struct gt_meter **ret, const char *name, struct gt_error *error)
{
    struct gt_meter *meter = calloc(1, sizeof *meter);
    *ret = NULL;
    if (!meter)
        return gt_error_system(error, ENOMEM, "power meter %s", name);
    meter->fd = -1;
    int status = open_named(meter, name, error);
    if (status >= 0)
        status = gt_meter_read(meter, error);
    if (status < 0) {
        gt_meter_close(meter);
        return status;
    }
    *ret = meter;
    return 0;
}

void gt_meter_close(struct gt_meter *meter)
{
    if (!meter)
        return;
    gt_close_fd(meter->fd);
    free(meter->path);
    free(meter->text);
    free(meter->point);
    free(meter);
}

double gt_meter_period(const struct gt_meter *meter)
{
    size_t count = meter->count;
    return count < 2 ? NAN
                     : (double)(meter->point[count - 1].at_ns - meter->point[0].at_ns) / 1e9 / (double)(count - 1);
}

uint64_t gt_meter_left_out(const struct gt_meter *meter)
{
    return meter->left_out;
}

/* Watts and joules at a moment between two points, or up to two periods beyond them. */
static bool at(const struct gt_meter *meter, int64_t at_ns, struct point *ret)
{
    if (!meter->count)
        return false;
    size_t passed = GT_SEARCH(0, meter->count, i, meter->point[i].at_ns <= at_ns);
    const struct point *before = &meter->point[passed ? passed - 1 : 0];
    double seconds = (double)(at_ns - before->at_ns) / 1e9;
    *ret = *before;
    if (passed && passed < meter->count) {
        const struct point *after = before + 1;
        ret->watts += (after->watts - before->watts) * seconds / ((double)(after->at_ns - before->at_ns) / 1e9);
    } else if (seconds != 0 && !(fabs(seconds) <= 2 * gt_meter_period(meter))) {
        return false;
    }
    ret->joules += (before->watts + ret->watts) / 2 * seconds;
    return true;
}

double gt_meter_watts(const struct gt_meter *meter, int64_t at_ns)
{
    struct point point;
    return at(meter, at_ns, &point) ? point.watts : NAN;
}

double gt_meter_joules(const struct gt_meter *meter, int64_t from_ns, int64_t to_ns)
{
    struct point from, to;
    return at(meter, from_ns, &from) && at(meter, to_ns, &to) ? to.joules - from.joules : NAN;
}

/* The collector "meter": what an external power meter writes into a file while the job runs. */

static const enum gt_metric_id metrics[] = {GT_WALL_POWER, GT_WALL_ENERGY};

struct state {
    struct gt_meter *meter;
    const struct gt_clock *clock;
    int64_t begin_ns; /* real time; 0: no sample yet */
    double joules;
};

static void meter_close(void *opaque)
{
    gt_meter_close(((struct state *)opaque)->meter);
}

static int meter_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                      struct gt_availability *availability, struct gt_error *error)
{
    (void)snapshot;
    struct state *state = opaque;
    if (!options->power_meter)
        return gt_unavailable(availability, GT_ABSENT, NULL, "no file of a meter was given (--power-meter)");
    int status = gt_meter_open(&state->meter, options->power_meter, error);
    if (status < 0)
        return status;
    state->clock = options->clock;
    state->begin_ns = gt_clock_real(options->clock);
    availability->refresh = gt_meter_period(state->meter);
    snprintf(availability->source, sizeof availability->source, "external power meter, %.100s", options->power_meter);
    return 0;
}

static int meter_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    struct state *state = opaque;
    int status = gt_meter_read(state->meter, error);
    int64_t now_ns = gt_clock_real(state->clock); /* as in the lines of the meter */
    double joules = gt_meter_joules(state->meter, state->begin_ns, now_ns);
    snapshot->system[GT_WALL_POWER] = gt_meter_watts(state->meter, now_ns);
    if (!isnan(joules))
        snapshot->system[GT_WALL_ENERGY] = state->joules = fmax(state->joules, joules);
    return status;
}

static void meter_describe(const void *opaque, char *text, size_t size)
{
    const struct state *state = opaque;
    snprintf(text, size, "power added up over time; a line every %.3g s, lines left out: %llu",
             gt_meter_period(state->meter), (unsigned long long)state->meter->left_out);
}

const struct gt_collector_type gt_collector_meter = {
    .name = "meter",
    .help = "power at the wall, from the file of an external meter",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .source = "external power meter",
    .refresh = NAN,
    .state_size = sizeof(struct state),
    .open = meter_open,
    .collect = meter_collect,
    .close = meter_close,
    .describe = meter_describe,
    .missing = "the meter's file has no lines of the time of the run",
};
