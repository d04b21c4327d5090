/* One line of a power meter's file: what its columns are, and what they say. */
#ifndef GT_COLLECT_METER_LINE_H
#define GT_COLLECT_METER_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum { GT_METER_COLUMNS = 64 };

struct gt_meter_columns {
    char separator;
    int time;                       /* -1: not known yet */
    int is_ok;                      /* column of "true" and "false", -1: none */
    double scale[GT_METER_COLUMNS]; /* watts for each unit of a column, 0: none of watts */
};

struct gt_meter_row {
    int64_t at_ns;
    double watts;
};

/* Take `line` as the header, or as the first of two columns without one (*is_row). `wanted`: names of columns of watts, separated by
 * commas; NULL: all. 1: it is, 0: it is not, -ENOENT: it lacks a wanted column, -EINVAL: none of watts. The line is changed. */
int gt_meter_header(struct gt_meter_columns *ret, char *line, const char *wanted, bool *is_row);
/* 1: a row, 0: a frame that is not ok, -EINVAL: neither. The line is changed. */
int gt_meter_line(const struct gt_meter_columns *columns, char *line, struct gt_meter_row *ret);

/* A moment: seconds (or milliseconds and so on) since 1970, or ISO 8601, local time without a zone. Anything before 1973 is none. */
bool gt_meter_time(const char *text, int64_t *ret_ns);

#endif
