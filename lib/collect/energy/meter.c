#include "collect/energy/meter.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/given_file.h"
#include "base/grow.h"
#include "collect/energy/meter_line.h"

enum { CHUNK = 65536, LONGEST_LINE = 16384, HEADER_LINES = 5 };
static const size_t MOST_ROWS = 50000000;

/* Joules are those since the first row. */
struct point {
    int64_t at_ns;
    double watts, joules;
};

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

static int add_row(struct gt_meter *meter, const struct gt_meter_row *row)
{
    const struct point *last = meter->count ? &meter->point[meter->count - 1] : NULL;
    if (last && row->at_ns <= last->at_ns) {
        meter->left_out++; /* a clock that was set back, or a line that was written twice */
        return 0;
    }
    struct point *point = meter->count < MOST_ROWS ? GT_GROW_LIST(meter, point) : NULL;
    if (!point)
        return -ENOMEM;
    last = point > meter->point ? point - 1 : NULL;
    double seconds = last ? (double)(row->at_ns - last->at_ns) / 1e9 : 0;
    double joules = last ? last->joules + (last->watts + row->watts) / 2 * seconds : 0;
    *point = (struct point){row->at_ns, row->watts, joules};
    return 0;
}

/* Some devices put a line of their own above the header. */
static int take_header(struct gt_meter *meter, char *line, struct gt_error *error)
{
    bool is_row;
    char *copy = strdup(line);
    if (!copy)
        return gt_error_system(error, ENOMEM, "power meter %s", meter->path);
    int status = gt_meter_header(&meter->columns, copy, meter->wanted, &is_row);
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
    struct gt_meter_row row;
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
    int status = gt_meter_line(&meter->columns, line, &row);
    if (status > 0)
        return add_row(meter, &row) < 0 ? gt_error_system(error, ENOMEM, "power meter %s", meter->path) : 0;
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
    if (meter->fd >= 0)
        close(meter->fd);
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

/* The last point not after `at_ns`; -1: none. */
static ptrdiff_t find(const struct gt_meter *meter, int64_t at_ns)
{
    size_t low = 0, high = meter->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (meter->point[middle].at_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (ptrdiff_t)low - 1;
}

/* Watts and joules at a moment between two points, or up to two periods beyond them. */
static bool at(const struct gt_meter *meter, int64_t at_ns, struct point *ret)
{
    if (!meter->count)
        return false;
    ptrdiff_t found = find(meter, at_ns), i = found < 0 ? 0 : found;
    const struct point *before = &meter->point[i];
    double seconds = (double)(at_ns - before->at_ns) / 1e9;
    *ret = *before;
    if (found >= 0 && (size_t)i + 1 < meter->count) {
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
