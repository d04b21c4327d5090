#include "aggregate/whole_course.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"

static const int64_t SHORTEST_NS = 1000 * 1000;

static const struct {
    enum gt_scope scope;
    enum gt_metric_id metric;
} wanted[] = {
    {GT_SCOPE_COMBINED, GT_RAM},
    {GT_SCOPE_MAIN, GT_RAM},
    {GT_SCOPE_DESCENDANTS, GT_RAM},
    {GT_SCOPE_COMBINED, GT_SWAP},
    {GT_SCOPE_COMBINED, GT_CPU_UTILIZATION},
    {GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION},
    {GT_SCOPE_COMBINED, GT_GPU_RAM},
    {GT_SCOPE_SYSTEM, GT_GPU_RAM},
    {GT_SCOPE_COMBINED, GT_CPU_ENERGY},
    {GT_SCOPE_SYSTEM, GT_CPU_ENERGY},
    {GT_SCOPE_COMBINED, GT_GPU_ENERGY},
    {GT_SCOPE_SYSTEM, GT_GPU_POWER},
    {GT_SCOPE_COMBINED, GT_READ_BYTES},
    {GT_SCOPE_COMBINED, GT_WRITTEN_BYTES},
    {GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_RECEIVED},
    {GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_SENT},
};

enum { WANTED = sizeof wanted / sizeof *wanted };

static struct gt_whole_course_line *add_line(struct gt_whole_course *course, enum gt_scope scope,
                                             enum gt_metric_id metric, int device)
{
    struct gt_whole_course_line *line = GT_GROW_BY_ONE(course->line, course->lines);
    if (!line)
        return NULL;
    *line = (struct gt_whole_course_line){.scope = scope, .metric = metric, .device = device, .counted = NAN};
    course->lines++;
    return line;
}

struct gt_whole_course *gt_whole_course_new(void)
{
    struct gt_whole_course *course = calloc(1, sizeof *course);
    if (!course)
        return NULL;
    course->references = 1;
    course->span_ns = SHORTEST_NS;
    course->is_whole = true;
    for (int i = 0; i < WANTED; i++)
        if (!add_line(course, wanted[i].scope, wanted[i].metric, -1)) {
            gt_whole_course_release(course);
            return NULL;
        }
    return course;
}

struct gt_whole_course *gt_whole_course_keep(struct gt_whole_course *course)
{
    course->references++;
    return course;
}

void gt_whole_course_release(struct gt_whole_course *course)
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

static void join(struct gt_whole_course_span *span, const struct gt_whole_course_span *more)
{
    if (!more->count)
        return;
    span->least = span->count ? fminf(span->least, more->least) : more->least;
    span->most = span->count ? fmaxf(span->most, more->most) : more->most;
    span->sum += more->sum;
    span->count += more->count;
}

static void halve(struct gt_whole_course *course)
{
    for (size_t i = 0; i < course->lines; i++) {
        struct gt_whole_course_span *span = course->line[i].span;
        for (size_t k = 0; span && k < GT_WHOLE_COURSE_SPANS; k++) {
            struct gt_whole_course_span one = span[k];
            span[k] = (struct gt_whole_course_span){0};
            join(&span[k / 2], &one);
        }
    }
    course->span_ns *= 2;
    course->spans = (course->spans + 1) / 2;
}

/* The value of a sample, or what a counter grew by each second since the sample before. */
static double figure(struct gt_whole_course_line *line, double value, double seconds)
{
    if (gt_metrics[line->metric].kind != GT_COUNTER)
        return value;
    double grown = value - line->counted;
    line->counted = value;
    return seconds > 0 && grown >= 0 ? grown / seconds : NAN;
}

/* Samples without the metric, which were passed over, hold nothing. */
static int keep_value(const struct gt_whole_course *course, struct gt_whole_course_line *line, double value)
{
    if (GT_GROW_TO(line->value, line->value_capacity, course->samples) < 0)
        return -ENOMEM;
    while (line->values < course->samples - 1)
        line->value[line->values++] = NAN;
    line->value[line->values++] = (float)value;
    return 0;
}

static int add_value(const struct gt_whole_course *course, struct gt_whole_course_line *line, size_t span, double value)
{
    if (isnan(value) && !line->known)
        return 0;
    if (!line->span && !(line->span = calloc(GT_WHOLE_COURSE_SPANS, sizeof *line->span)))
        return -ENOMEM;
    if (!isnan(value))
        join(&line->span[span], &(struct gt_whole_course_span){1, (float)value, (float)value, value});
    int status = course->is_whole ? keep_value(course, line, value) : 0;
    line->known += !isnan(value);
    return status;
}

/* Beyond a number of samples the spans are all that there is. */
static int add_time(struct gt_whole_course *course, double time)
{
    course->seen++;
    course->last = time;
    if (!course->is_whole)
        return 0;
    if (course->samples < GT_WHOLE_COURSE_SAMPLES) {
        if (GT_GROW_TO(course->time, course->time_capacity, course->samples + 1) < 0)
            return -ENOMEM;
        course->time[course->samples++] = time;
        return 0;
    }
    course->is_whole = false;
    course->samples = 0;
    for (size_t i = 0; i < course->lines; i++) {
        free(course->line[i].value);
        course->line[i].value = NULL;
        course->line[i].values = 0;
    }
    return 0;
}

static struct gt_whole_course_line *line_of_gpu(struct gt_whole_course *course, int device, enum gt_metric_id metric)
{
    for (size_t i = WANTED; i < course->lines; i++)
        if (course->line[i].device == device && course->line[i].metric == metric)
            return &course->line[i];
    return add_line(course, GT_SCOPE_GPU, metric, device);
}

static int add_gpus(struct gt_whole_course *course, const struct gt_sample *sample, size_t span)
{
    int status = 0;
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count && status == 0; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope != GT_SCOPE_GPU || row->device < 0)
            continue;
        struct gt_whole_course_line *line = line_of_gpu(course, row->device, GT_GPU_UTILIZATION);
        status = line ? add_value(course, line, span, row->value[GT_GPU_UTILIZATION]) : -ENOMEM;
    }
    return status;
}

int gt_whole_course_add(struct gt_whole_course *course, const struct gt_sample *sample)
{
    if (!course->seen)
        course->first_ns = course->counted_ns = sample->monotonic_ns;
    int64_t since = sample->monotonic_ns - course->first_ns;
    if (since < 0 || sample->monotonic_ns < course->counted_ns)
        return 0;
    while (since / course->span_ns >= GT_WHOLE_COURSE_SPANS)
        halve(course);
    size_t span = (size_t)(since / course->span_ns);
    course->spans = span + 1;
    int status = add_time(course, (double)since / GT_SECOND);
    double seconds = (double)(sample->monotonic_ns - course->counted_ns) / GT_SECOND;
    for (size_t i = 0; i < WANTED && status == 0; i++) {
        struct gt_whole_course_line *line = &course->line[i];
        double value = figure(line, sample->row[line->scope].value[line->metric], seconds);
        status = add_value(course, line, span, value);
    }
    course->counted_ns = sample->monotonic_ns;
    return status < 0 ? status : add_gpus(course, sample, span);
}

const struct gt_whole_course_line *gt_whole_course_find(const struct gt_whole_course *course, enum gt_scope scope,
                                                        enum gt_metric_id metric, int device)
{
    for (size_t i = 0; i < course->lines; i++) {
        const struct gt_whole_course_line *line = &course->line[i];
        if (line->scope == scope && line->metric == metric && line->device == device)
            return line->known ? line : NULL;
    }
    return NULL;
}

double gt_course_span_length(const struct gt_whole_course *course)
{
    return (double)course->span_ns / GT_SECOND;
}
