#include "view/course.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHORTEST = 0.01;

int gt_course_init(struct gt_course *course, size_t lines)
{
    *course = (struct gt_course){.span = SHORTEST, .lines = lines};
    course->cell = calloc(GT_COURSE_SPANS * lines, sizeof *course->cell);
    return course->cell ? 0 : -ENOMEM;
}

void gt_course_release(struct gt_course *course)
{
    free(course->cell);
    *course = (struct gt_course){0};
}

static void join(struct gt_course_cell *to, struct gt_course_cell from)
{
    if (!from.count)
        return;
    to->least = to->count ? fmin(to->least, from.least) : from.least;
    to->most = to->count ? fmax(to->most, from.most) : from.most;
    to->sum += from.sum;
    to->count += from.count;
}

static void halve(struct gt_course *course)
{
    size_t half = (GT_COURSE_SPANS / 2) * course->lines;
    for (size_t span = 0; span < GT_COURSE_SPANS; span++)
        for (size_t line = 0; line < course->lines; line++) {
            struct gt_course_cell cell = course->cell[span * course->lines + line];
            course->cell[span * course->lines + line] = (struct gt_course_cell){0};
            join(&course->cell[span / 2 * course->lines + line], cell);
        }
    memset(course->cell + half, 0, half * sizeof *course->cell);
    course->span *= 2;
    course->spans = (course->spans + 1) / 2;
}

void gt_course_add(struct gt_course *course, double seconds, const double *value)
{
    if (!(seconds >= 0) || !(seconds < 1e12))
        return;
    while (seconds / course->span >= GT_COURSE_SPANS)
        halve(course);
    size_t span = (size_t)(seconds / course->span);
    if (span >= course->spans)
        course->spans = span + 1;
    for (size_t line = 0; line < course->lines; line++)
        if (!isnan(value[line]))
            join(&course->cell[span * course->lines + line],
                 (struct gt_course_cell){value[line], value[line], value[line], 1});
}

struct gt_course_cell gt_course_over(const struct gt_course *course, size_t line, double from, double to)
{
    struct gt_course_cell all = {0};
    if (!course->spans || !(to > from) || line >= course->lines)
        return all;
    size_t first = (size_t)fmax(0, from / course->span), end = (size_t)fmax(0, ceil(to / course->span));
    for (size_t span = first; span < course->spans && (span < end || span == first); span++)
        join(&all, course->cell[span * course->lines + line]);
    return all;
}
