#include "aggregate/sample_course.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "collect/collector.h"

static const int64_t SHORTEST_NS = 1000 * 1000;

static const struct {
    enum gt_scope scope;
    enum gt_metric_id metric;
    bool is_for_pages;
    double refresh; /* seconds between two readings, where samples repeat the one before */
} wanted[] = {
    {GT_SCOPE_COMBINED, GT_RAM, false, 0},
    {GT_SCOPE_MAIN, GT_RAM, false, 0},
    {GT_SCOPE_DESCENDANTS, GT_RAM, false, 0},
    {GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, false, 0},
    {GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION, false, 0},
    {GT_SCOPE_COMBINED, GT_GPU_RAM, false, 0},
    {GT_SCOPE_SYSTEM, GT_GPU_RAM, false, 0},
    {GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION, false, 0},
    {GT_SCOPE_COMBINED, GT_CPU_ENERGY, false, 0},
    {GT_SCOPE_SYSTEM, GT_CPU_ENERGY, false, 0},
    {GT_SCOPE_COMBINED, GT_GPU_ENERGY, false, 0},
    {GT_SCOPE_SYSTEM, GT_GPU_POWER, false, 0},
    {GT_SCOPE_COMBINED, GT_SWAP, true, 0},
    {GT_SCOPE_COMBINED, GT_READ_BYTES, true, 0},
    {GT_SCOPE_COMBINED, GT_WRITTEN_BYTES, true, 0},
    {GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_RECEIVED, true, GT_COLLECT_SLOW_NS / 1e9},
    {GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_SENT, true, GT_COLLECT_SLOW_NS / 1e9},
};

static int add_line(struct gt_sample_course *course, enum gt_scope scope, enum gt_metric_id metric, int device,
                    double refresh)
{
    struct gt_sample_course_line *line = GT_GROW_BY_ONE(course->line, course->lines);
    int number = line ? gt_course_line_add(course->course) : -ENOMEM;
    if (number < 0)
        return number;
    *line = (struct gt_sample_course_line){.scope = scope, .metric = metric, .device = device, .refresh = refresh};
    gt_course_rate_init(&line->rate);
    course->lines++;
    return number;
}

static int begin(struct gt_sample_course *course, int64_t now_ns)
{
    int status = 0;
    course->first_ns = course->last_ns = now_ns;
    course->course = gt_course_new(SHORTEST_NS, course->is_fine ? GT_COURSE_FINE_SPANS : GT_COURSE_SPANS, 0,
                                   course->is_fine && !course->is_bounded);
    if (!course->course)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status >= 0; i++)
        if (course->is_fine || !wanted[i].is_for_pages)
            status = add_line(course, wanted[i].scope, wanted[i].metric, -1, wanted[i].refresh);
    return status;
}

static int line_of_gpu(struct gt_sample_course *course, int device)
{
    for (size_t i = 0; i < course->lines; i++)
        if (course->line[i].device == device)
            return (int)i;
    return add_line(course, GT_SCOPE_GPU, GT_GPU_UTILIZATION, device, 0);
}

static int add_gpus(struct gt_sample_course *course, const struct gt_sample *sample)
{
    int status = 0;
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count && status >= 0; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope != GT_SCOPE_GPU || row->device < 0)
            continue;
        status = line_of_gpu(course, row->device);
        if (status >= 0)
            status = gt_course_add(course->course, (size_t)status, row->value[GT_GPU_UTILIZATION]);
    }
    return status;
}

int gt_sample_course_add(struct gt_sample_course *course, const struct gt_sample *sample)
{
    int status = course->course ? 0 : begin(course, sample->monotonic_ns);
    if (status < 0 || sample->monotonic_ns < course->last_ns)
        return status < 0 ? status : 0;
    status = gt_course_sample_begin(course->course, sample->monotonic_ns - course->first_ns);
    double at = (double)(sample->monotonic_ns - course->first_ns) / GT_SECOND;
    for (size_t i = 0; i < course->lines && course->line[i].device < 0 && status >= 0; i++) {
        struct gt_sample_course_line *line = &course->line[i];
        double value = sample->row[line->scope].value[line->metric];
        bool is_repeated = value == line->rate.counter && at - line->rate.at < line->refresh;
        if (gt_metrics[line->metric].kind == GT_COUNTER)
            value = gt_course_rate_next(&line->rate, at, is_repeated ? NAN : value);
        status = gt_course_add(course->course, i, value);
    }
    course->last_ns = sample->monotonic_ns;
    if (status >= 0)
        status = add_gpus(course, sample);
    return status < 0 ? status : 0;
}

int gt_sample_course_find(const struct gt_sample_course *course, enum gt_scope scope, enum gt_metric_id metric,
                          int device)
{
    for (size_t i = 0; i < course->lines; i++) {
        const struct gt_sample_course_line *line = &course->line[i];
        if (line->scope == scope && line->metric == metric && line->device == device)
            return course->course->line[i].known ? (int)i : -1;
    }
    return -1;
}

double gt_sample_course_value(const struct gt_sample_course *course, int line, size_t from, size_t to)
{
    enum gt_metric_id metric = course->line[line].metric;
    bool is_size = gt_metrics[metric].unit == GT_BYTES && gt_metrics[metric].kind == GT_GAUGE;
    struct gt_course_span span = gt_course_over(course->course, (size_t)line, from, to);
    return !span.count ? NAN : is_size ? span.most : span.sum / span.count;
}

size_t gt_sample_course_points(const struct gt_sample_course *course)
{
    size_t step = course->course ? gt_course_step(course->course) : 1;
    return course->course ? (course->course->spans + step - 1) / step : 0;
}

double gt_sample_course_point(const struct gt_sample_course *course, int line, size_t point)
{
    size_t step = gt_course_step(course->course);
    return gt_sample_course_value(course, line, point * step, (point + 1) * step);
}

double gt_sample_course_time(const struct gt_sample_course *course, size_t point)
{
    return ((double)point + 0.5) * (double)gt_course_step(course->course) * gt_course_span_length(course->course);
}

void gt_sample_course_release(struct gt_sample_course *course)
{
    gt_course_release(course->course);
    free(course->line);
    *course = (struct gt_sample_course){0};
}
