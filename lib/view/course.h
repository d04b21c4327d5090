/* The course of several figures in bounded memory: least, mean and most of each in at most GT_COURSE_SPANS spans of equal length. When
 * they are used up, neighbours are joined and spans become twice as long. */
#ifndef GT_VIEW_COURSE_H
#define GT_VIEW_COURSE_H

#include <stddef.h>
#include <stdint.h>

enum { GT_COURSE_SPANS = 512 };

struct gt_course_cell {
    double least, most, sum;
    uint32_t count; /* 0: nothing is known */
};

struct gt_course {
    double span;  /* seconds */
    size_t spans; /* in use */
    size_t lines;
    struct gt_course_cell *cell; /* [GT_COURSE_SPANS][lines] */
};

/* 0 or -ENOMEM. */
int gt_course_init(struct gt_course *course, size_t lines);
void gt_course_release(struct gt_course *course);
/* `value`: of every line, NaN where it is not known, at a moment in seconds from the begin, 0 or more. */
void gt_course_add(struct gt_course *course, double seconds, const double *value);
/* What a line was from `from` to `to`. count is 0 where nothing is known. */
struct gt_course_cell gt_course_over(const struct gt_course *course, size_t line, double from, double to);

#endif
