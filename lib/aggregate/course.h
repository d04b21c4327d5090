/* A course keeps values over time in bounded memory, for pictures: least value, greatest value and sum of each in spans of equal
 * length. When the spans are used up, neighbours are joined and spans become twice as long. A course may also keep every value, of as many
 * lines as GT_COURSE_VALUES allows: the last lines are dropped first. */
#ifndef GT_AGGREGATE_COURSE_H
#define GT_AGGREGATE_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/sample.h"

enum { GT_COURSE_SPANS = 512, GT_COURSE_FINE_SPANS = 16384, GT_COURSE_SAMPLES = 1 << 20, GT_COURSE_VALUES = 1 << 22 };

struct gt_course_span {
    double least, most, sum;
    uint32_t count; /* 0: nothing is known */
};

struct gt_course_line {
    uint64_t known;              /* samples that had a value */
    struct gt_course_span *span; /* NULL while nothing is known */
    float *value;                /* [values], NaN where nothing is known; later samples hold nothing */
    size_t values, value_capacity;
    bool is_dropped; /* its values: there were too many */
};

struct gt_course {
    int references;
    int64_t span_ns;
    size_t capacity, spans;                   /* that there may be, and that are in use */
    size_t now;                               /* the span of the latest sample */
    uint64_t used[GT_COURSE_FINE_SPANS / 64]; /* a bit for each span: a sample fell into it */
    bool is_whole;                            /* every sample is kept: */
    size_t samples;                           /* in `time` and in the values of lines; 0 when they are not kept */
    double *time;                             /* seconds from the begin */
    size_t time_capacity;
    uint64_t seen;
    double last; /* seconds from the begin to the latest sample */
    struct gt_course_line *line;
    size_t lines;
};

/* The growth of a counter each second, from one reading of its source to the next. */
struct gt_course_rate {
    double counter, at; /* as last read, seconds; NaN: not yet */
    double span;        /* seconds from the reading before to that one */
    double rate;        /* between the two; NaN: not known */
};

void gt_course_rate_init(struct gt_course_rate *rate);
/* Returns the rate at a sample. One in which the counter was not read (NaN) has the rate of the one before, for some times the time
 * between readings. */
double gt_course_rate_next(struct gt_course_rate *rate, double at, double counter);

/* Returns a course with one reference and nothing known, or NULL. Its spans are `shortest_ns` long at first. */
struct gt_course *gt_course_new(int64_t shortest_ns, size_t spans, size_t lines, bool keeps_samples);
struct gt_course *gt_course_keep(struct gt_course *course);
void gt_course_release(struct gt_course *course); /* accepts NULL */

/* Does both with a value for every line. Returns 0 or -ENOMEM. */
int gt_course_take(struct gt_course *course, int64_t since_ns, const double *value);

/* Joins the spans from number `from` to before number `to`. */
struct gt_course_span gt_course_over(const struct gt_course *course, size_t line, size_t from, size_t to);
/* Joins the spans that touch these seconds. Nothing is known of a course that is NULL. */
struct gt_course_span gt_course_between(const struct gt_course *course, size_t line, double from, double to);
/* Returns the length of a span in seconds. */
double gt_course_span_length(const struct gt_course *course);

/* The course of a recording, for pictures: some metrics of its samples over time, and how busy each GPU was. A counter is shown as its
 * growth a second: energy as power. */
struct gt_sample_course_line {
    enum gt_scope scope;
    enum gt_metric_id metric;
    int device;     /* of a GPU, else -1 */
    double refresh; /* seconds; 0: every sample has a reading of its own */
    struct gt_course_rate rate;
};

struct gt_sample_course {
    /* Set before the first sample: as pages want it that people zoom into, with further metrics and every sample. */
    bool is_fine;
    bool is_bounded;          /* set with it: without every sample */
    struct gt_course *course; /* NULL before the first sample */
    int64_t first_ns, last_ns;
    struct gt_sample_course_line *line; /* [course->lines] */
    size_t lines;
};

/* Returns 0 or -ENOMEM. */
int gt_sample_course_add(struct gt_sample_course *course, const struct gt_sample *sample);
/* Finds a line in which something is known; `device` is that of a GPU or -1. Returns its number, or -1. */
int gt_sample_course_find(const struct gt_sample_course *course, enum gt_scope scope, enum gt_metric_id metric,
                          int device);
/* Returns the greatest value of a size, or the mean of anything else, in the spans from number `from` to before number `to`; NaN: nothing
 * is known. */
double gt_sample_course_value(const struct gt_sample_course *course, int line, size_t from, size_t to);
/* Returns how many points a small picture has, the value of one, NaN where nothing is known, and its time: the middle of its spans,
 * seconds. */
size_t gt_sample_course_points(const struct gt_sample_course *course);
double gt_sample_course_point(const struct gt_sample_course *course, int line, size_t point);
double gt_sample_course_time(const struct gt_sample_course *course, size_t point);
void gt_sample_course_release(struct gt_sample_course *course);

#endif
