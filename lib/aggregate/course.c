#include "aggregate/course.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "collect/collector.h"

enum { CHECK_EVERY = 1024 };

/* Returns the number of the new line, or -ENOMEM. */
static int add_course_line(struct gt_course *course)
{
    struct gt_course_line *line = GT_GROW_BY_ONE(course->line, course->lines);
    if (!line)
        return -ENOMEM;
    *line = (struct gt_course_line){0};
    return (int)course->lines++;
}

struct gt_course *gt_course_new(int64_t shortest_ns, size_t spans, size_t lines, bool keeps_samples)
{
    struct gt_course *course = malloc(sizeof *course);
    if (!course)
        return NULL;
    *course = (struct gt_course){.references = 1, .span_ns = shortest_ns, .capacity = spans, .is_whole = keeps_samples};
    while (course->lines < lines)
        if (add_course_line(course) < 0) {
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

/* Begins a sample, `since_ns` after the begin. Returns 1, 0 when it lies before the begin, or -ENOMEM. */
static int begin_sample(struct gt_course *course, int64_t since_ns)
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

/* Adds the value of a line in the sample begun last; NaN: it is not known. Returns 0 or -ENOMEM. */
static int add_value(struct gt_course *course, size_t number, double value)
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
    int status = begin_sample(course, since_ns);
    for (size_t i = 0; i < course->lines && status > 0; i++)
        if (add_value(course, i, value[i]) < 0)
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

double gt_course_span_length(const struct gt_course *course)
{
    return (double)course->span_ns / GT_SECOND;
}

/* ---- Samples of a recording ---------------------------------------------------------------------------------------- */

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
    int number = line ? add_course_line(course->course) : -ENOMEM;
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
            status = add_value(course->course, (size_t)status, row->value[GT_GPU_UTILIZATION]);
    }
    return status;
}

int gt_sample_course_add(struct gt_sample_course *course, const struct gt_sample *sample)
{
    int status = course->course ? 0 : begin(course, sample->monotonic_ns);
    if (status < 0 || sample->monotonic_ns < course->last_ns)
        return status < 0 ? status : 0;
    status = begin_sample(course->course, sample->monotonic_ns - course->first_ns);
    double at = (double)(sample->monotonic_ns - course->first_ns) / GT_SECOND;
    for (size_t i = 0; i < course->lines && course->line[i].device < 0 && status >= 0; i++) {
        struct gt_sample_course_line *line = &course->line[i];
        double value = sample->row[line->scope].value[line->metric];
        bool is_repeated = value == line->rate.counter && at - line->rate.at < line->refresh;
        if (gt_metrics[line->metric].kind == GT_COUNTER)
            value = gt_course_rate_next(&line->rate, at, is_repeated ? NAN : value);
        status = add_value(course->course, i, value);
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

/* Returns how many spans are joined to one where a picture has GT_COURSE_SPANS at most: a power of two. */
static size_t picture_step(const struct gt_course *course)
{
    size_t step = 1;
    while (course->spans > GT_COURSE_SPANS * step)
        step *= 2;
    return step;
}

size_t gt_sample_course_points(const struct gt_sample_course *course)
{
    size_t step = course->course ? picture_step(course->course) : 1;
    return course->course ? (course->course->spans + step - 1) / step : 0;
}

double gt_sample_course_point(const struct gt_sample_course *course, int line, size_t point)
{
    size_t step = picture_step(course->course);
    return gt_sample_course_value(course, line, point * step, (point + 1) * step);
}

double gt_sample_course_time(const struct gt_sample_course *course, size_t point)
{
    return ((double)point + 0.5) * (double)picture_step(course->course) * gt_course_span_length(course->course);
}

void gt_sample_course_release(struct gt_sample_course *course)
{
    gt_course_release(course->course);
    free(course->line);
    *course = (struct gt_sample_course){0};
}
