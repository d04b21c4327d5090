/* Figures of curves. A value with a window is the mean over the time before it, so its share of a stretch of time is that of the
 * overlap, and integrals are exact. Without one, as AIPowerMeter records, a curve is straight between its points. */
#include <math.h>

#include "analyse/experiment/experiment.h"

static double within(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Where point number `i` of a segment begins to count. */
static double begin_of(const struct gt_experiment_line *line, size_t i, bool is_first)
{
    double window = line->kind == GT_EXPERIMENT_STATE ? NAN : line->window[i];
    if (!isnan(window))
        return line->point[i].date - window;
    return is_first ? line->point[i].date : line->point[i - 1].date;
}

/* The integral of what lies between point i - 1 and point i, or in the window of point i, up to the bounds. */
static double part_of(const struct gt_experiment_line *line, size_t i, bool is_first, double start, double end)
{
    const struct gt_experiment_point *now = &line->point[i];
    double begin = begin_of(line, i, is_first), from = within(start, begin, now->date);
    double to = within(end, begin, now->date), length = now->date - begin;
    if (line->kind == GT_EXPERIMENT_AMOUNT && !(length > 0))
        return start <= now->date && now->date <= end ? now->value : 0;
    if (!(to > from))
        return 0;
    if (line->kind == GT_EXPERIMENT_AMOUNT)
        return now->value * (to - from) / length;
    if (line->kind == GT_EXPERIMENT_RATE && !isnan(line->window[i]))
        return now->value * (from == begin && to == now->date ? line->window[i] : to - from); /* dates are coarser */
    double slope = (now->value - now[-1].value) / length;
    return (to - from) * (now[-1].value + slope * ((from + to) / 2 - begin));
}

struct sums {
    double duration, total, maximum, first, last;
};

static void add_segment(const struct gt_experiment_line *line, const struct gt_experiment_stretch *segment,
                        double start, double end, struct sums *sums)
{
    for (size_t i = segment->first; i < segment->first + segment->count; i++) {
        bool is_first = i == segment->first;
        const struct gt_experiment_point *point = &line->point[i];
        double begin = begin_of(line, i, is_first);
        if (begin > end || point->date < start)
            continue;
        sums->duration += within(end, begin, point->date) - within(start, begin, point->date);
        sums->total += part_of(line, i, is_first, start, end);
        sums->first = fmin(sums->first, fmax(begin, start));
        sums->last = fmax(sums->last, fmin(point->date, end));
        if (point->date <= end && !(sums->maximum >= point->value))
            sums->maximum = point->value;
    }
}

/* One point alone, or several at one moment, have no time to be divided by. */
static double mean_at(const struct gt_experiment_line *line, double start, double end)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < line->count; i++)
        if (line->point[i].date >= start && line->point[i].date <= end) {
            sum += line->point[i].value;
            count++;
        }
    return count ? sum / (double)count : NAN;
}

void gt_experiment_figures(const struct gt_experiment *experiment, size_t curve, double start, double end,
                           struct gt_experiment_figures *ret)
{
    const struct gt_experiment_line *line = &experiment->line[curve];
    double from = isnan(start) ? -INFINITY : start, to = isnan(end) ? INFINITY : end;
    struct sums sums = {0, 0, NAN, INFINITY, -INFINITY};
    for (size_t s = 0; s < line->segment_count; s++)
        add_segment(line, &line->segment[s], from, to, &sums);
    bool is_any = sums.first <= sums.last;
    *ret = (struct gt_experiment_figures){
        .duration = is_any ? sums.duration : NAN,
        .start = is_any ? sums.first : NAN,
        .end = is_any ? sums.last : NAN,
        .total = is_any ? sums.total : NAN,
        .average = sums.duration > 0 ? sums.total / sums.duration : mean_at(line, from, to),
        .maximum = sums.maximum,
    };
}

/* The recorder's own time: that of its curve that lasts longest, of the processors and GPUs if there are any. */
void gt_experiment_span(const struct gt_experiment *experiment, double start, double end,
                        struct gt_experiment_figures *ret)
{
    struct gt_experiment_figures one;
    *ret = (struct gt_experiment_figures){NAN, NAN, NAN, NAN, NAN, NAN};
    for (int pass = 0; pass < 2 && isnan(ret->duration); pass++)
        for (size_t i = 0; i < experiment->count; i++) {
            if (experiment->line[i].group > GT_EXPERIMENT_GPU && pass == 0)
                continue;
            gt_experiment_figures(experiment, i, start, end, &one);
            if (!(ret->duration >= one.duration) && !isnan(one.duration))
                *ret = (struct gt_experiment_figures){one.duration, one.start, one.end, NAN, NAN, NAN};
        }
}

/* ---- at moments of one's choosing -------------------------------------------------------------------------------- */

static double value_at(const struct gt_experiment_line *line, double time)
{
    for (size_t s = 0; s < line->segment_count; s++) {
        const struct gt_experiment_stretch *segment = &line->segment[s];
        for (size_t i = segment->first; i < segment->first + segment->count; i++) {
            const struct gt_experiment_point *now = &line->point[i];
            double begin = begin_of(line, i, i == segment->first);
            if (!(begin <= time && time <= now->date))
                continue;
            if (line->kind != GT_EXPERIMENT_STATE && !isnan(line->window[i]))
                return now->value;
            if (time == now->date || i == segment->first)
                return now->value;
            return now[-1].value + (now->value - now[-1].value) * (time - begin) / (now->date - begin);
        }
    }
    return NAN;
}

void gt_experiment_interpolate(const struct gt_experiment *experiment, size_t curve, int cumulative,
                               const double *times, size_t count, double *values)
{
    struct gt_experiment_figures whole, part;
    gt_experiment_figures(experiment, curve, NAN, NAN, &whole);
    for (size_t i = 0; i < count; i++) {
        values[i] = cumulative ? NAN : value_at(&experiment->line[curve], times[i]);
        if (!cumulative || !(whole.start <= times[i] && times[i] <= whole.end))
            continue;
        gt_experiment_figures(experiment, curve, NAN, times[i], &part);
        values[i] = part.total;
    }
}
