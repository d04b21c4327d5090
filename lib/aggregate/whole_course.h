/* The whole course of a recording, for pages that people zoom into: every sample while there are at most GT_WHOLE_COURSE_SAMPLES, and always
 * least, mean and greatest value of at most GT_WHOLE_COURSE_SPANS spans of equal length. When the spans are used up, neighbours are
 * joined and spans become twice as long. */
#ifndef GT_AGGREGATE_WHOLE_COURSE_H
#define GT_AGGREGATE_WHOLE_COURSE_H

#include "sample/sample.h"

enum { GT_WHOLE_COURSE_SPANS = 16384, GT_WHOLE_COURSE_SAMPLES = 1 << 22 };

struct gt_whole_course_span {
    uint32_t count; /* samples that had the metric; 0: nothing known */
    float least, most;
    double sum;
};

/* A metric of a scope, or of one GPU. Counters are told as their growth a second: energy as power. */
struct gt_whole_course_line {
    enum gt_scope scope;
    enum gt_metric_id metric;
    int device;
    double counted; /* the counter at the sample before */
    uint64_t known; /* samples that had the metric */
    struct gt_whole_course_span *span;
    float *value; /* [values], NaN where nothing is known; later samples hold nothing */
    size_t values, value_capacity;
};

struct gt_whole_course {
    int references;
    int64_t first_ns, counted_ns, span_ns;
    size_t spans;   /* in use */
    size_t samples; /* in `time` and in the lines' values; 0 when there were too many */
    bool is_whole;  /* they are all there */
    double *time;   /* seconds from the first sample */
    size_t time_capacity;
    uint64_t seen;
    double last; /* time of the last sample */
    struct gt_whole_course_line *line;
    size_t lines;
};

/* Returns an empty course with one reference, or NULL. */
struct gt_whole_course *gt_whole_course_new(void);
struct gt_whole_course *gt_whole_course_keep(struct gt_whole_course *course);
void gt_whole_course_release(struct gt_whole_course *course); /* accepts NULL */
/* Returns 0 or -ENOMEM. */
int gt_whole_course_add(struct gt_whole_course *course, const struct gt_sample *sample);
/* Finds a line in which something is known; `device` is that of a GPU or -1. NULL: there is none. */
const struct gt_whole_course_line *gt_whole_course_find(const struct gt_whole_course *course, enum gt_scope scope,
                                                        enum gt_metric_id metric, int device);
/* Returns the length of a span in seconds. */
double gt_course_span_length(const struct gt_whole_course *course);

#endif
