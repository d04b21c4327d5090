#include "aggregate/energy_curve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/attribute.h"

bool gt_energy_is_estimated(const struct gt_energy_source *source)
{
    return !strncmp(source->name, "estimated", strlen("estimated"));
}

double gt_energy_lag(const struct gt_energy_source *source, double joules, double seconds)
{
    bool is_known = source->refresh > 0 && seconds > 0 && !gt_energy_is_estimated(source);
    return is_known ? source->refresh * joules / seconds : NAN;
}

static double or_nothing(double error)
{
    return isnan(error) ? 0 : error;
}

double gt_energy_run_error(const struct gt_energy_run *run, bool of_job)
{
    const struct gt_counter_fields *counter = run->counter;
    double joules = (of_job ? run->job : run->system)[gt_energy_metrics[run->device]], mean = joules / run->seconds;
    double lag = gt_energy_lag(run->source, joules, run->seconds);
    double most = counter && (of_job ? counter->job_most_watts : counter->most_watts) > mean
                      ? (of_job ? counter->job_most_watts : counter->most_watts)
                      : mean;
    if (isnan(lag) || run->system[gt_missing_metrics[run->device]] > 0)
        return NAN;
    /* The greatest power of long gaps is a mean: within one it may be twice that. */
    most *= run->period <= 2 * run->source->refresh && run->period > 0 ? 1 : 2;
    double error = run->source->refresh * most + (counter && counter->doubt > 0 ? counter->doubt : 0);
    if (of_job && run->device == GT_ENERGY_CPU)
        error += gt_tick_seconds() * most + or_nothing(run->job[GT_CPU_ENERGY_SHARE_ERROR]) +
                 or_nothing(run->job[GT_CPU_ENERGY_PLACEMENT_ERROR]);
    return error;
}

void gt_spent_add(struct gt_spent *sum, struct gt_spent part)
{
    bool is_first = isnan(sum->joules);
    sum->missing = fmax(sum->missing, part.missing);
    if (!isnan(part.joules)) {
        sum->joules = is_first ? part.joules : sum->joules + part.joules;
        sum->error = is_first ? part.error : sum->error + part.error;
        sum->is_estimated |= part.is_estimated;
    }
    if (sum->missing > 0)
        sum->error = NAN;
}

static int by_start(const void *a, const void *b)
{
    const struct gt_time_stretch *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

size_t gt_time_stretches_merge(struct gt_time_stretch *stretch, size_t count)
{
    size_t kept = 0;
    qsort(stretch, count, sizeof *stretch, by_start);
    for (size_t i = 0; i < count; i++)
        if (kept && stretch[i].start <= stretch[kept - 1].stop)
            stretch[kept - 1].stop = fmax(stretch[kept - 1].stop, stretch[i].stop);
        else
            stretch[kept++] = stretch[i];
    return kept;
}

void gt_energy_curve_init(struct gt_energy_curve *curve, const struct gt_machine *machine)
{
    *curve = (struct gt_energy_curve){0};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_device_curve *device = &curve->device[i];
        gt_curve_init(&device->curve, GT_COURSE_QUANTITIES);
        device->refresh = machine->energy_source[i].refresh > 0 ? machine->energy_source[i].refresh : 0;
        device->has_packages = i == GT_ENERGY_CPU;
        device->share_seconds = gt_energy_share_seconds(i);
        device->is_estimated = gt_energy_is_estimated(&machine->energy_source[i]);
        device->unread_from = device->unread_to = NAN;
    }
}

void gt_energy_curve_release(struct gt_energy_curve *curve)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        gt_curve_release(&curve->device[i].curve);
}

static double known(double value, double last)
{
    return value > last ? value : last;
}

/* Whether a later reading makes up for it is seen then. */
static void note_unread(struct gt_device_curve *device, double time, double missing)
{
    if (!device->is_measured && isnan(device->unread_from))
        device->unread_from = time;
    if (missing > device->last[GT_COURSE_MISSING]) {
        device->unread_to = time;
        device->unread_missing = missing;
    }
}

/* A counter that stands still was not read, or asked more often than it is renewed: what it has at its next move was drawn
 * in all the time since its last. */
static int add(struct gt_device_curve *device, double time, double total, double job, double missing,
               const double *job_values)
{
    bool is_first = !device->is_measured, is_gap = missing > device->last[GT_COURSE_MISSING];
    if (isnan(total) || isnan(job)) {
        note_unread(device, time, isnan(total) ? missing : NAN);
        return 0;
    }
    if (is_first && is_gap && device->unread_from < time &&
        gt_curve_add(&device->curve, device->unread_from, device->last) < 0)
        return -ENOMEM;
    device->is_measured = true;
    device->unread_to = NAN;
    device->time = time;
    device->last[GT_COURSE_JOULES] = known(job, device->last[GT_COURSE_JOULES]);
    device->last[GT_COURSE_CPU_SECONDS] = known(job_values[GT_CPU_TIME], device->last[GT_COURSE_CPU_SECONDS]);
    if (device->has_packages)
        device->last[GT_COURSE_PLACEMENT_ERROR] = known(job_values[GT_CPU_ENERGY_PLACEMENT_ERROR],
                                                        device->last[GT_COURSE_PLACEMENT_ERROR]);
    if (device->share_seconds > 0)
        device->last[GT_COURSE_SHARE_ERROR] = known(job_values[GT_CPU_ENERGY_SHARE_ERROR],
                                                    device->last[GT_COURSE_SHARE_ERROR]);
    device->last[GT_COURSE_MISSING] = known(missing, device->last[GT_COURSE_MISSING]);
    if (!is_first && !is_gap && !(total > device->total))
        return 0;
    device->total = total;
    return gt_curve_add(&device->curve, time, device->last);
}

int gt_energy_curve_add(struct gt_energy_curve *curve, double time, const double *system, const double *job)
{
    int status = 0;
    for (int i = 0; i < GT_ENERGY_DEVICES && status == 0; i++) {
        enum gt_metric_id metric = gt_energy_metrics[i];
        status = add(&curve->device[i], time, system[metric], job[metric], system[gt_missing_metrics[i]], job);
    }
    return status;
}

static double power_before(const struct gt_curve *curve, size_t point)
{
    double seconds = point ? gt_curve_time(curve, point) - gt_curve_time(curve, point - 1) : 0;
    return seconds > 0
               ? (gt_curve_value(curve, point, GT_COURSE_JOULES) - gt_curve_value(curve, point - 1, GT_COURSE_JOULES)) /
                     seconds
               : 0;
}

/* Within one refresh a counter that stands still may be late: power is as before. Beyond that it stands still in truth. */
static int add_end(struct gt_device_curve *device)
{
    size_t last = device->curve.count - 1;
    double seconds = device->time - gt_curve_time(&device->curve, last);
    if (!(seconds > 0))
        return 0;
    if (seconds <= device->refresh)
        device->last[GT_COURSE_JOULES] += seconds * power_before(&device->curve, last);
    return gt_curve_add(&device->curve, device->time, device->last);
}

/* It could not be read any more: the rest is not outside of the recording, but missing. */
static int add_unread(struct gt_device_curve *device)
{
    if (!(device->unread_to > device->time))
        return 0;
    device->last[GT_COURSE_MISSING] = device->unread_missing;
    return gt_curve_add(&device->curve, device->unread_to, device->last);
}

int gt_energy_curve_finish(struct gt_energy_curve *curve)
{
    int status = 0;
    for (int i = 0; i < GT_ENERGY_DEVICES && status == 0; i++) {
        struct gt_device_curve *device = &curve->device[i];
        gt_curve_finish(&device->curve);
        if (device->is_measured && (status = add_end(device)) == 0)
            status = add_unread(device);
    }
    return status;
}

bool gt_energy_curve_is_measured(const struct gt_energy_curve *curve)
{
    bool any = false;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        any |= curve->device[i].is_measured;
    return any;
}

unsigned gt_energy_curve_marks(const struct gt_energy_curve *curve)
{
    unsigned marks = 0;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const struct gt_device_curve *device = &curve->device[i];
        marks |= device->is_measured && device->is_estimated ? GT_ENERGY_IS_ESTIMATED : 0u;
        marks |= device->is_measured && device->last[GT_COURSE_MISSING] > 0 ? GT_ENERGY_IS_PARTIAL : 0u;
    }
    return marks;
}

/* ---- gaps ---- */

struct gap {
    double start, seconds, rise;
};

static struct gap gap_before(const struct gt_curve *curve, size_t point)
{
    double start = gt_curve_time(curve, point - 1);
    return (struct gap){start, gt_curve_time(curve, point) - start,
                        gt_curve_value(curve, point, GT_COURSE_JOULES) -
                            gt_curve_value(curve, point - 1, GT_COURSE_JOULES)};
}

static double covered(const struct gap *gap, struct gt_time_stretch stretch)
{
    double from = fmax(stretch.start, gap->start), to = fmin(stretch.stop, gap->start + gap->seconds);
    return gap->seconds > 0 ? fmax(0, to - from) / gap->seconds : 0;
}

/* The part of a gap that is covered may be the sum of rounded ones. */
static const double WHOLE = 1 - 1e-9;

/* CPU time and energy are compared over so many of the times that a share is a mean of. */
static const double SHARES = 3, PARTS = 2;
/* CPU seconds each second, of the job: with less it has no rate. */
static const double LEAST_USE = 0.05;

/* A part that may be due to rounding. */
static const double LEAST_MISSING = 1e-6, LEAST_COVERED = 1e-3;

/* Of some stretches, and what of their error is due to what. */
struct figure {
    double joules, interpolation, lag, placement, share;
};

static void close_gap(const struct gt_device_curve *device, size_t point, double part, struct figure *figure)
{
    struct gap gap = gap_before(&device->curve, point);
    figure->joules += fmin(part, 1) * gap.rise;
    if (part < WHOLE)
        figure->interpolation += fmax(part, 1 - part) * gap.rise;
}

/* The first gap that ends after `time`. */
static size_t first_gap(const struct gt_curve *curve, double time)
{
    size_t point = gt_curve_find(curve, time);
    return point ? point : 1;
}

/* The last gap that begins before `time`. */
static size_t last_gap(const struct gt_curve *curve, double time)
{
    size_t point = gt_curve_find(curve, time);
    if (point > 1 && gt_curve_time(curve, point - 1) >= time)
        point--;
    return point < curve->count ? point : curve->count - 1;
}

static bool is_inside(const struct gt_curve *curve, struct gt_time_stretch stretch)
{
    return curve->count > 1 && stretch.start < gt_curve_time(curve, curve->count - 1) &&
           stretch.stop > gt_curve_time(curve, 0);
}

/* Stretches of which each begins in the gap in which the one before it ended; gaps by number, 0: none. */
struct chain {
    size_t first, last, shared;
};

static double lag_in(const struct gt_device_curve *device, size_t point)
{
    struct gap gap = gap_before(&device->curve, point);
    return gap.seconds > 0 ? (device->refresh + fmax(0, device->share_seconds - gap.seconds)) * gap.rise / gap.seconds
                           : 0;
}

static void end_chain(const struct gt_device_curve *device, const struct chain *chain, struct figure *figure)
{
    if (chain->first)
        figure->lag += fmax(lag_in(device, chain->first), lag_in(device, chain->last));
}

static void chain_device(const struct gt_device_curve *device, struct chain *chain, struct gt_time_stretch stretch,
                         struct figure *figure)
{
    size_t first = first_gap(&device->curve, stretch.start), last = last_gap(&device->curve, stretch.stop);
    if (first != chain->last) {
        end_chain(device, chain, figure);
        *chain = (struct chain){first, last, 0};
        return;
    }
    bool all_in_one = chain->first == first && last == first;
    if (!all_in_one && chain->shared != first)
        figure->lag += lag_in(device, chain->shared = first);
    chain->last = last;
}

static struct figure over(const struct gt_device_curve *device, const struct gt_time_stretch *stretch, size_t count)
{
    const struct gt_curve *curve = &device->curve;
    struct figure figure = {0};
    struct chain chain = {0};
    size_t point = 0; /* 0: no gap is open */
    double part = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_inside(curve, stretch[i]))
            continue;
        chain_device(device, &chain, stretch[i], &figure);
        for (size_t next = first_gap(curve, stretch[i].start); next < curve->count; next++) {
            struct gap gap = gap_before(curve, next);
            if (gap.start >= stretch[i].stop)
                break;
            if (next != point && point)
                close_gap(device, point, part, &figure);
            part = (next == point ? part : 0) + covered(&gap, stretch[i]);
            point = next;
        }
    }
    if (point)
        close_gap(device, point, part, &figure);
    end_chain(device, &chain, &figure);
    return chain.first ? figure : (struct figure){NAN, NAN, NAN, NAN, NAN};
}

static double clamp(double value, double least, double most)
{
    return fmin(fmax(value, least), most);
}

static void ends(const struct gt_device_curve *device, struct gt_time_stretch stretch, size_t quantity,
                 double *ret_first, double *ret_last)
{
    const struct gt_curve *curve = &device->curve;
    double first = gt_curve_time(curve, 0), last = gt_curve_time(curve, curve->count - 1);
    *ret_first = gt_curve_at(curve, clamp(stretch.start, first, last), quantity);
    *ret_last = gt_curve_at(curve, clamp(stretch.stop, first, last), quantity);
}

static double between(const struct gt_device_curve *device, struct gt_time_stretch stretch, size_t quantity)
{
    double first, last;
    ends(device, stretch, quantity, &first, &last);
    return last - first;
}

/* How far off the job's share is because it is not known on which package CPU time was used. */
static double placement_error(const struct gt_device_curve *device, const struct gt_time_stretch *stretch, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += is_inside(&device->curve, stretch[i]) ? between(device, stretch[i], GT_COURSE_PLACEMENT_ERROR) : 0;
    return sum;
}

/* The part of the stretches of which it is not known what the device drew. */
static double missing_part(const struct gt_device_curve *device, const struct gt_time_stretch *stretch, size_t count)
{
    const struct gt_curve *curve = &device->curve;
    double missing = 0, seconds = 0;
    double first = curve->count ? gt_curve_time(curve, 0) : 0;
    double last = curve->count ? gt_curve_time(curve, curve->count - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_inside(curve, stretch[i]))
            continue;
        missing += between(device, stretch[i], GT_COURSE_MISSING);
        seconds += clamp(stretch[i].stop, first, last) - clamp(stretch[i].start, first, last);
    }
    return seconds > 0 && missing > LEAST_MISSING * seconds ? fmin(1, missing / seconds) : 0;
}

static struct gt_spent spent_of(const struct gt_device_curve *device, struct figure figure, double missing)
{
    bool is_known = !device->is_estimated && !missing;
    double error = is_known ? figure.interpolation + figure.lag + figure.placement + figure.share : NAN;
    if (missing > 1 - LEAST_COVERED)
        return (struct gt_spent){.joules = NAN, .error = NAN, .missing = missing};
    return (struct gt_spent){figure.joules, error, device->is_estimated && !isnan(figure.joules), missing};
}

/* How far off the job's share is in stretches that do not overlap. */
static double share_error(const struct gt_device_curve *device, const struct gt_time_stretch *stretch, size_t count)
{
    double sum = 0, first, last;
    for (size_t i = 0; i < count; i++) {
        if (!is_inside(&device->curve, stretch[i]))
            continue;
        ends(device, stretch[i], GT_COURSE_SHARE_ERROR, &first, &last);
        sum += last * last - first * first;
    }
    return sqrt(fmax(0, sum));
}

struct gt_spent gt_energy_curve_over(const struct gt_energy_curve *curve, enum gt_energy_device device,
                                     const struct gt_time_stretch *stretch, size_t count)
{
    const struct gt_device_curve *of = &curve->device[device];
    struct figure figure = over(of, stretch, count);
    figure.placement = placement_error(of, stretch, count);
    figure.share = share_error(of, stretch, count);
    return spent_of(of, figure, missing_part(of, stretch, count));
}

/* ---- CPU energy by CPU time ---- */

/* A stretch around a shorter one in which CPU time and energy tell enough of each other: the one is counted in ticks, the other a mean. */
static struct gt_time_stretch around(const struct gt_device_curve *device, struct gt_time_stretch stretch)
{
    double more = fmax(0, SHARES * device->share_seconds - (stretch.stop - stretch.start)) / 2;
    return (struct gt_time_stretch){stretch.start - more, stretch.stop + more};
}

/* What a CPU second of the job draws differs within the stretch: from mean to the farthest of its parts, of which each is longer
 * than a share is a mean of, and holds a whole gap; but it draws between nothing and twice the mean. */
static double spread(const struct gt_device_curve *device, struct gt_time_stretch stretch, double mean)
{
    const struct gt_curve *curve = &device->curve;
    double most = 0;
    size_t last = last_gap(curve, stretch.stop) + 1, from = first_gap(curve, stretch.start) - 1;
    for (size_t to = from + 1; to < curve->count && to <= last; to++) {
        double used = gt_curve_value(curve, to, GT_COURSE_CPU_SECONDS) -
                      gt_curve_value(curve, from, GT_COURSE_CPU_SECONDS);
        double seconds = gt_curve_time(curve, to) - gt_curve_time(curve, from);
        if (seconds < PARTS * device->share_seconds || !(used > LEAST_USE * seconds))
            continue;
        double rise = gt_curve_value(curve, to, GT_COURSE_JOULES) - gt_curve_value(curve, from, GT_COURSE_JOULES);
        most = fmax(most, fabs(rise / used - mean));
        from = to;
    }
    return fmin(most, mean);
}

/* What the job drew in all gaps that the stretch touches: no part of it drew more. */
static double whole_gaps(const struct gt_device_curve *device, struct gt_time_stretch stretch)
{
    const struct gt_curve *curve = &device->curve;
    return gt_curve_value(curve, last_gap(curve, stretch.stop), GT_COURSE_JOULES) -
           gt_curve_value(curve, first_gap(curve, stretch.start) - 1, GT_COURSE_JOULES);
}

struct gt_spent gt_energy_curve_of_cpu(const struct gt_energy_curve *curve, struct gt_time_stretch stretch,
                                       double cpu_seconds)
{
    const struct gt_device_curve *device = &curve->device[GT_ENERGY_CPU];
    struct gt_time_stretch wide = around(device, stretch);
    struct figure by_time = over(device, &stretch, 1);
    double missing = missing_part(device, &stretch, 1);
    by_time.placement = placement_error(device, &wide, 1);
    by_time.share = share_error(device, &wide, 1);
    if (isnan(by_time.joules) || isnan(cpu_seconds))
        return spent_of(device, by_time, missing);
    double used = between(device, wide, GT_COURSE_CPU_SECONDS);
    if (!(used > 0))
        return spent_of(device, by_time, missing);
    double rate = between(device, wide, GT_COURSE_JOULES) / used, part = fmin(1, cpu_seconds / used);
    double joules = rate * cpu_seconds, rest = whole_gaps(device, wide) - joules;
    double interpolation = cpu_seconds * spread(device, wide, rate) + fmin(joules, part * by_time.interpolation);
    struct figure figure = {.joules = joules,
                            .interpolation = rest >= 0 ? fmin(interpolation, rest) : interpolation,
                            .lag = fmin(joules, part * by_time.lag),
                            .placement = part * by_time.placement,
                            .share = part * by_time.share};
    return spent_of(device, figure, missing);
}
