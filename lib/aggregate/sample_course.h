/* The course of a recording, for pictures: some metrics of its samples over time, and how busy each GPU was. A counter is told as its
 * growth a second: energy as power. */
#ifndef GT_AGGREGATE_SAMPLE_COURSE_H
#define GT_AGGREGATE_SAMPLE_COURSE_H

#include "aggregate/course.h"
#include "sample/sample.h"

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
