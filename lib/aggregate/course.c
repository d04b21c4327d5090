#include "aggregate/course.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"

enum { CHECK_EVERY = 1024 };

struct gt_course *gt_course_new(int64_t shortest_ns, size_t spans, size_t lines, bool keeps_samples)
{
    struct gt_course *course = malloc(sizeof *course);
    if (!course)
        return NULL;
    *course = (struct gt_course){.references = 1, .span_ns = shortest_ns, .capacity = spans, .is_whole = keeps_samples};
    while (course->lines < lines)
        if (gt_course_line_add(course) < 0) {
            gt_course_release(course);
            return NULL;
        }
    return course;
}

struct gt_course *gt_course_keep(struct gt_course *course)
{
    course->references++;
    return course;
}

void gt_course_release(struct gt_course *course)
{
    if (!course || --course->references)
        return;
    for (size_t i = 0; i < course->lines; i++) {
        free(course->line[i].span);
        free(course->line[i].value);
    }
    free(course->line);
    free(course->time);
    free(course);
}

int gt_course_line_add(struct gt_course *course)
{
    struct gt_course_line *line = GT_GROW_BY_ONE(course->line, course->lines);
    if (!line)
        return -ENOMEM;
    *line = (struct gt_course_line){0};
    return (int)course->lines++;
}

void gt_course_rate_init(struct gt_course_rate *rate)
{
    *rate = (struct gt_course_rate){NAN, NAN, NAN, NAN};
}

double gt_course_rate_next(struct gt_course_rate *rate, double at, double counter)
{
    static const double LONGEST_HELD = 4; /* a driver's pace may slow down by so much from one reading to the next */
    if (isnan(counter))
        return at - rate->at <= LONGEST_HELD * rate->span ? rate->rate : NAN;
    double grown = counter - rate->counter, seconds = at - rate->at;
    *rate = (struct gt_course_rate){counter, at, seconds, seconds > 0 && grown >= 0 ? grown / seconds : NAN};
    return rate->rate;
}

static void join(struct gt_course_span *to, const struct gt_course_span *from)
{
    if (!from->count)
        return;
    to->least = to->count ? fmin(to->least, from->least) : from->least;
    to->most = to->count ? fmax(to->most, from->most) : from->most;
    to->sum += from->sum;
    to->count += from->count;
}

static void join_neighbours(struct gt_course *course, size_t from)
{
    for (size_t i = 0; i < course->lines; i++) {
        struct gt_course_span *span = course->line[i].span;
        if (!span)
            continue;
        struct gt_course_span one = span[from];
        span[from] = (struct gt_course_span){0};
        join(&span[from / 2], &one);
    }
}

/* Most spans of a young course are empty, and are not looked at. */
static void halve(struct gt_course *course)
{
    for (size_t span = 0; span < course->capacity; span++) {
        uint64_t bit = UINT64_C(1) << span % 64;
        if (!(course->used[span / 64] & bit))
            continue;
        join_neighbours(course, span);
        course->used[span / 64] &= ~bit;
        course->used[span / 128] |= UINT64_C(1) << span / 2 % 64;
    }
    course->span_ns *= 2;
    course->spans = (course->spans + 1) / 2;
}

static void drop_values(struct gt_course_line *line)
{
    free(line->value);
    line->value = NULL;
    line->values = line->value_capacity = 0;
    line->is_dropped = true;
}

static void forget_samples(struct gt_course *course)
{
    course->is_whole = false;
    course->samples = 0;
    for (size_t i = 0; i < course->lines; i++)
        drop_values(&course->line[i]);
}

static void drop_lines_beyond(struct gt_course *course, size_t values)
{
    size_t kept = 0;
    for (size_t i = 0; i < course->lines; i++) {
        struct gt_course_line *line = &course->line[i];
        kept += line->value ? course->samples : 0;
        if (line->value && kept > values)
            drop_values(line);
    }
}

int gt_course_sample_begin(struct gt_course *course, int64_t since_ns)
{
    if (since_ns < 0)
        return 0;
    while (since_ns / course->span_ns >= (int64_t)course->capacity)
        halve(course);
    course->now = (size_t)(since_ns / course->span_ns);
    course->used[course->now / 64] |= UINT64_C(1) << course->now % 64;
    if (course->spans <= course->now)
        course->spans = course->now + 1;
    course->last = (double)since_ns / GT_SECOND;
    course->seen++;
    if (course->is_whole && course->samples == GT_COURSE_SAMPLES)
        forget_samples(course);
    if (!course->is_whole)
        return 1;
    if (GT_GROW_TO(course->time, course->time_capacity, course->samples + 1) < 0)
        return -ENOMEM;
    course->time[course->samples++] = course->last;
    if (course->samples % CHECK_EVERY == 0)
        drop_lines_beyond(course, GT_COURSE_VALUES);
    return 1;
}

/* The samples before that did not have the line hold nothing. */
static int keep_value(const struct gt_course *course, struct gt_course_line *line, double value)
{
    if (GT_GROW_TO(line->value, line->value_capacity, course->samples) < 0)
        return -ENOMEM;
    while (line->values < course->samples - 1)
        line->value[line->values++] = NAN;
    line->value[line->values++] = (float)value;
    return 0;
}

int gt_course_add(struct gt_course *course, size_t number, double value)
{
    struct gt_course_line *line = &course->line[number];
    if (isnan(value) && !line->known)
        return 0;
    if (!line->span && !(line->span = calloc(course->capacity, sizeof *line->span)))
        return -ENOMEM;
    if (!isnan(value))
        join(&line->span[course->now], &(struct gt_course_span){value, value, value, 1});
    line->known += !isnan(value);
    return course->is_whole && !line->is_dropped ? keep_value(course, line, value) : 0;
}

int gt_course_take(struct gt_course *course, int64_t since_ns, const double *value)
{
    int status = gt_course_sample_begin(course, since_ns);
    for (size_t i = 0; i < course->lines && status > 0; i++)
        if (gt_course_add(course, i, value[i]) < 0)
            status = -ENOMEM;
    return status < 0 ? status : 0;
}

struct gt_course_span gt_course_over(const struct gt_course *course, size_t line, size_t from, size_t to)
{
    struct gt_course_span all = {0};
    for (size_t i = from; line < course->lines && course->line[line].span && i < to && i < course->spans; i++)
        join(&all, &course->line[line].span[i]);
    return all;
}

struct gt_course_span gt_course_between(const struct gt_course *course, size_t line, double from, double to)
{
    if (!course || !(to > from))
        return (struct gt_course_span){0};
    double length = gt_course_span_length(course);
    size_t first = (size_t)fmax(0, from / length), end = (size_t)fmax(0, ceil(to / length));
    return gt_course_over(course, line, first, end > first ? end : first + 1);
}

size_t gt_course_step(const struct gt_course *course)
{
    size_t step = 1;
    while (course->spans > GT_COURSE_SPANS * step)
        step *= 2;
    return step;
}

double gt_course_span_length(const struct gt_course *course)
{
    return (double)course->span_ns / GT_SECOND;
}
