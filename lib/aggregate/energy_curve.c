#include "aggregate/energy_curve.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/attribute.h"
#include "base/number.h"
#include "collect/collector.h"

bool gt_energy_is_estimated(const struct gt_energy_source *source)
{
    return !strncmp(source->name, GT_ESTIMATED_SOURCE, strlen(GT_ESTIMATED_SOURCE));
}

static double or_nothing(double error)
{
    return isnan(error) ? 0 : error;
}

double gt_energy_run_error(const struct gt_energy_run *run, bool of_job)
{
    const struct gt_counter_fields *counter = run->counter;
    double joules = gt_energy_part(&run->end->device[run->device], of_job ? GT_ENERGY_JOB : GT_ENERGY_TOTAL);
    double most = joules / run->seconds;
    bool is_known = run->source->refresh > 0 && run->seconds > 0 && !gt_energy_is_estimated(run->source);
    if (!is_known || isnan(joules) || run->end->missing[run->device] > 0)
        return NAN;
    if (counter)
        most = fmax(most, of_job ? counter->job_most_watts : counter->most_watts);
    /* The greatest power of long gaps is a mean: within one it may be twice that. */
    most *= run->period <= 2 * run->source->refresh && run->period > 0 ? 1 : 2;
    double error = run->source->refresh * most + (counter && counter->doubt > 0 ? counter->doubt : 0);
    if (of_job && run->device == GT_ENERGY_CPU)
        error += gt_tick_seconds() * most + or_nothing(run->end->share_error) + or_nothing(run->end->placement_error);
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
    return GT_ORDER(x->start, y->start);
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

/* Quantities of a point, after the parts. Only CPUs have those after the first. */
enum { MISSING = GT_ENERGY_PARTS, CPU_SECONDS, PLACEMENT_ERROR, SHARE_ERROR };
_Static_assert(SHARE_ERROR + 1 == GT_ENERGY_QUANTITIES, "quantities");

/* CPU time and energy are compared over this number of the times that a share is a mean of. */
static const double SHARES = 3, PARTS = 2;

static void init_device(struct gt_device_curve *device, bool is_cpu, const struct gt_energy_source *source)
{
    gt_curve_init(&device->curve, is_cpu ? GT_ENERGY_QUANTITIES : MISSING + 1);
    device->refresh = source->refresh > 0 ? source->refresh : 0;
    device->is_estimated = gt_energy_is_estimated(source);
    device->guessed = SIZE_MAX;
    device->unread_from = NAN;
    for (int part = 0; part < GT_ENERGY_PARTS; part++)
        device->last[part] = NAN;
}

void gt_energy_curve_init(struct gt_energy_curve *curve, const struct gt_machine *machine)
{
    *curve = (struct gt_energy_curve){.time = NAN};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        init_device(&curve->device[i], i == GT_ENERGY_CPU, &machine->energy_source[i]);
        curve->device[i].share_seconds = gt_energy_share_seconds(i);
    }
}

void gt_energy_curve_follow(struct gt_energy_curve *curve, const struct gt_machine *machine, double since)
{
    gt_energy_curve_init(curve, machine);
    curve->is_live = true;
    curve->since = since;
}

void gt_energy_curve_bound(struct gt_energy_curve *curve, const struct gt_curve_moments *moments)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        gt_curve_bound(&curve->device[i].curve, moments, SHARES * curve->device[i].share_seconds);
}

void gt_energy_curve_release(struct gt_energy_curve *curve)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        gt_curve_release(&curve->device[i].curve);
}

/* A counter that does not move was not read, or is read more often than it is renewed: the joules of its next move were drawn
 * in all the time since its last. */
static int add(struct gt_device_curve *device, double time, const struct gt_energy *energy,
               const double now[GT_ENERGY_QUANTITIES])
{
    bool is_first = !device->is_measured, is_gap = now[MISSING] > device->last[MISSING];
    bool has_moved = energy->total > device->last[GT_ENERGY_TOTAL];
    if (!isnan(now[MISSING]))
        device->missing = now[MISSING];
    if (isnan(energy->total) || isnan(energy->job)) {
        device->unread_from = isnan(device->unread_from) ? time : device->unread_from;
        return 0;
    }
    /* The time before the first reading is not outside of the recording, but missing; or covered by it, where the counter had not
     * moved. */
    if (is_first && now[MISSING] >= 0 && device->unread_from < time &&
        gt_curve_add(&device->curve, device->unread_from, (const double[GT_ENERGY_QUANTITIES]){0}) < 0)
        return -ENOMEM;
    device->is_measured = true;
    device->time = time;
    for (int i = 0; i < GT_ENERGY_QUANTITIES; i++)
        device->last[i] = fmax(device->last[i], now[i]); /* that which is a number */
    return is_first || is_gap || has_moved ? gt_curve_add(&device->curve, time, device->last) : 0;
}

/* The moves around `since` and the latest two are enough for a curve that is asked for the time since then alone. */
static void thin(struct gt_curve *curve, double since)
{
    size_t after = gt_curve_find(curve, since);
    for (; after > 2; after--)
        gt_curve_remove(curve, 0);
    after = after ? after : 1;
    while (curve->count > after + 3)
        gt_curve_remove(curve, after + 1);
}

int gt_energy_curve_add(struct gt_energy_curve *curve, double time, const struct gt_energy_reading *reading)
{
    int status = 0;
    curve->time = time;
    for (int i = 0; i < GT_ENERGY_DEVICES && status == 0; i++) {
        struct gt_device_curve *device = &curve->device[i];
        const double now[GT_ENERGY_QUANTITIES] = {
            [GT_ENERGY_TOTAL] = reading->device[i].total,
            [GT_ENERGY_JOB] = reading->device[i].job,
            [GT_ENERGY_OTHER] = reading->device[i].other,
            [GT_ENERGY_IDLE] = reading->device[i].idle,
            [GT_ENERGY_UNATTRIBUTED] = reading->device[i].unattributed,
            [MISSING] = reading->missing[i],
            [CPU_SECONDS] = reading->cpu_time,
            [PLACEMENT_ERROR] = reading->placement_error,
            [SHARE_ERROR] = reading->share_error,
        };
        status = add(device, time, &reading->device[i], now);
        if (curve->is_live)
            thin(&device->curve, curve->since);
    }
    return status;
}

static double power_before(const struct gt_curve *curve, size_t point, size_t part)
{
    double seconds = point ? gt_curve_time(curve, point) - gt_curve_time(curve, point - 1) : 0;
    return seconds > 0 ? (gt_curve_value(curve, point, part) - gt_curve_value(curve, point - 1, part)) / seconds : 0;
}

/* A point `seconds` after the last, up to where power was as before for `late` seconds. */
static int add_guess(struct gt_device_curve *device, size_t last, double seconds, double late)
{
    double point[GT_ENERGY_QUANTITIES];
    memcpy(point, device->last, sizeof point);
    for (int part = 0; part < GT_ENERGY_PARTS; part++)
        point[part] += late * power_before(&device->curve, last, (size_t)part);
    return gt_curve_add(&device->curve, gt_curve_time(&device->curve, last) + seconds, point);
}

/* Within one refresh a counter that stands still may be late: power is as before. Beyond that nothing was drawn. The time in
 * which it could not be read any more is missing. */
static int finish(struct gt_device_curve *device, double end)
{
    gt_curve_finish(&device->curve);
    if (!device->is_measured)
        return 0;
    size_t last = device->curve.count - 1;
    double seconds = device->time - gt_curve_time(&device->curve, last);
    int status = seconds > 0 ? add_guess(device, last, seconds, seconds <= device->refresh ? seconds : 0) : 0;
    if (status < 0 || !(end > device->time) || !(device->missing > device->last[MISSING]))
        return status;
    device->last[MISSING] = device->missing;
    return gt_curve_add(&device->curve, end, device->last);
}

int gt_energy_curve_finish(struct gt_energy_curve *curve)
{
    int status = 0;
    for (int i = 0; i < GT_ENERGY_DEVICES && status == 0; i++)
        status = finish(&curve->device[i], curve->time);
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
        marks |= device->is_measured && device->last[MISSING] > 0 ? GT_ENERGY_IS_PARTIAL : 0u;
    }
    return marks;
}

/* ---- gaps ---- */

struct gap {
    double start, seconds, rise;
};

static struct gap gap_before(const struct gt_curve *curve, size_t point, size_t part)
{
    double start = gt_curve_time(curve, point - 1);
    return (struct gap){start, gt_curve_time(curve, point) - start,
                        gt_curve_value(curve, point, part) - gt_curve_value(curve, point - 1, part)};
}

static double covered(const struct gap *gap, struct gt_time_stretch stretch)
{
    double from = fmax(stretch.start, gap->start), to = fmin(stretch.stop, gap->start + gap->seconds);
    return gap->seconds > 0 ? fmax(0, to - from) / gap->seconds : 0;
}

/* The part of a gap that is covered may be the sum of rounded ones. */
static const double WHOLE = 1 - 1e-9;

/* CPU seconds each second, of the job: with less it has no rate. */
static const double LEAST_USE = 0.05;

/* A part that may be due to rounding. */
static const double LEAST_MISSING = 1e-6, LEAST_COVERED = 1e-3;

/* Some stretches: a part of the joules, and the parts of its error. */
struct figure {
    enum gt_energy_part part;
    double joules, interpolation, lag, placement, share;
};

static void close_gap(const struct gt_device_curve *device, size_t point, double covered_part, struct figure *figure)
{
    struct gap gap = gap_before(&device->curve, point, figure->part);
    figure->joules += fmin(covered_part, 1) * gap.rise;
    if (covered_part < WHOLE && point < device->guessed)
        figure->interpolation += fmax(covered_part, 1 - covered_part) * gap.rise;
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

/* In what is guessed, power is that before the last reading. */
static double lag_in(const struct gt_device_curve *device, size_t point, enum gt_energy_part part)
{
    const struct gt_curve *curve = &device->curve;
    bool is_guess = point >= device->guessed;
    size_t from = is_guess ? device->guessed - 1 : point - 1, to = is_guess ? curve->count - 1 : point;
    double seconds = gt_curve_time(curve, to) - gt_curve_time(curve, from);
    double share = part == GT_ENERGY_JOB ? fmax(0, device->share_seconds - seconds) : 0;
    return (device->refresh + share) * power_before(curve, is_guess ? from : point, part);
}

static void end_chain(const struct gt_device_curve *device, const struct chain *chain, struct figure *figure)
{
    if (chain->first)
        figure->lag += fmax(lag_in(device, chain->first, figure->part), lag_in(device, chain->last, figure->part));
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
        figure->lag += lag_in(device, chain->shared = first, figure->part);
    chain->last = last;
}

static struct figure over(const struct gt_device_curve *device, enum gt_energy_part part,
                          const struct gt_time_stretch *stretch, size_t count)
{
    const struct gt_curve *curve = &device->curve;
    struct figure figure = {.part = part};
    struct chain chain = {0};
    size_t point = 0; /* 0: no gap is open */
    double covered_part = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_inside(curve, stretch[i]))
            continue;
        chain_device(device, &chain, stretch[i], &figure);
        for (size_t next = first_gap(curve, stretch[i].start); next < curve->count; next++) {
            struct gap gap = gap_before(curve, next, part);
            if (gap.start >= stretch[i].stop)
                break;
            if (next != point && point)
                close_gap(device, point, covered_part, &figure);
            covered_part = (next == point ? covered_part : 0) + covered(&gap, stretch[i]);
            point = next;
        }
    }
    if (point)
        close_gap(device, point, covered_part, &figure);
    end_chain(device, &chain, &figure);
    return chain.first ? figure : (struct figure){part, NAN, NAN, NAN, NAN, NAN};
}

static void ends(const struct gt_device_curve *device, struct gt_time_stretch stretch, size_t quantity,
                 double *ret_first, double *ret_last)
{
    const struct gt_curve *curve = &device->curve;
    double first = gt_curve_time(curve, 0), last = gt_curve_time(curve, curve->count - 1);
    *ret_first = gt_curve_at(curve, fmin(fmax(stretch.start, first), last), quantity);
    *ret_last = gt_curve_at(curve, fmin(fmax(stretch.stop, first), last), quantity);
}

static double between(const struct gt_device_curve *device, struct gt_time_stretch stretch, size_t quantity)
{
    double first, last;
    ends(device, stretch, quantity, &first, &last);
    return last - first;
}

/* Adds the errors of the job's share of CPU energy. Those of the share are independent: their squares add up. */
static void add_share_errors(const struct gt_device_curve *device, const struct gt_time_stretch *stretch, size_t count,
                             struct figure *figure)
{
    double squares = 0, first, last;
    for (size_t i = 0; i < count; i++) {
        if (!is_inside(&device->curve, stretch[i]))
            continue;
        figure->placement += between(device, stretch[i], PLACEMENT_ERROR);
        ends(device, stretch[i], SHARE_ERROR, &first, &last);
        squares += last * last - first * first;
    }
    figure->share += sqrt(fmax(0, squares));
}

/* The part of the stretches in which it is not known what the device drew. */
static double missing_part(const struct gt_device_curve *device, const struct gt_time_stretch *stretch, size_t count)
{
    const struct gt_curve *curve = &device->curve;
    double missing = 0, seconds = 0;
    double first = curve->count ? gt_curve_time(curve, 0) : 0;
    double last = curve->count ? gt_curve_time(curve, curve->count - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_inside(curve, stretch[i]))
            continue;
        missing += between(device, stretch[i], MISSING);
        seconds += fmin(stretch[i].stop, last) - fmax(stretch[i].start, first);
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

static struct gt_spent spent_over(const struct gt_device_curve *device, enum gt_energy_part part,
                                  const struct gt_time_stretch *stretch, size_t count)
{
    struct figure figure = over(device, part, stretch, count);
    if (part == GT_ENERGY_JOB && device->curve.width == GT_ENERGY_QUANTITIES)
        add_share_errors(device, stretch, count, &figure);
    return spent_of(device, figure, missing_part(device, stretch, count));
}

struct gt_spent gt_energy_curve_over(const struct gt_energy_curve *curve, enum gt_energy_device device,
                                     enum gt_energy_part part, const struct gt_time_stretch *stretch, size_t count)
{
    return spent_over(&curve->device[device], part, stretch, count);
}

double gt_energy_curve_at(const struct gt_energy_curve *curve, enum gt_energy_device device, enum gt_energy_part part,
                          double time)
{
    double sum = NAN;
    if (device < GT_ENERGY_DEVICES)
        return gt_curve_at(&curve->device[device].curve, time, part);
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        gt_add_known(&sum, gt_curve_at(&curve->device[i].curve, time, part));
    }
    return sum;
}

/* ---- up to now ---- */

/* Power goes on as before for one refresh; what a counter misses meanwhile is missing. */
static int guess_present(struct gt_device_curve *device, double now)
{
    size_t last = device->curve.count - 1;
    double seconds = now - gt_curve_time(&device->curve, last), late = fmin(seconds, device->refresh);
    double *missing = &device->last[MISSING], before = *missing;
    int status = 0;
    device->guessed = last + 1;
    if (!(seconds > 0))
        return 0;
    *missing = before + (device->missing - before) * late / seconds;
    if (late > 0 && late < seconds)
        status = add_guess(device, last, late, late);
    *missing = device->missing;
    if (status == 0)
        status = add_guess(device, last, seconds, late);
    *missing = before;
    return status;
}

void gt_energy_curve_take(struct gt_energy_curve *curve, struct gt_energy_drawn *ret)
{
    const struct gt_time_stretch stretch = {curve->since, curve->time};
    struct gt_spent sum[GT_ENERGY_PARTS];
    for (int part = 0; part < GT_ENERGY_PARTS; part++)
        sum[part] = (struct gt_spent){.joules = NAN, .error = NAN};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_device_curve *device = &curve->device[i];
        if (!device->is_measured)
            continue;
        bool is_known = guess_present(device, curve->time) == 0;
        for (int part = 0; part < GT_ENERGY_PARTS && is_known; part++) {
            struct gt_spent spent = spent_over(device, (enum gt_energy_part)part, &stretch, 1);
            spent.error = device->refresh > 0 ? spent.error : NAN;
            gt_spent_add(&sum[part], spent);
        }
        device->curve.count = device->guessed; /* the guess is forgotten */
        device->guessed = SIZE_MAX;
    }
    *ret = (struct gt_energy_drawn){.total = sum[GT_ENERGY_TOTAL].joules,
                                    .job = sum[GT_ENERGY_JOB].joules,
                                    .other = sum[GT_ENERGY_OTHER].joules,
                                    .idle = sum[GT_ENERGY_IDLE].joules,
                                    .unattributed = sum[GT_ENERGY_UNATTRIBUTED].joules,
                                    .error = sum[GT_ENERGY_TOTAL].error,
                                    .job_error = sum[GT_ENERGY_JOB].error,
                                    .is_estimated = sum[GT_ENERGY_TOTAL].is_estimated};
    if (!isnan(curve->time))
        curve->since = curve->time;
}

/* ---- CPU energy by CPU time ---- */

/* A stretch around a shorter one that is long enough to compare CPU time and energy: the one is counted in ticks, the other a mean. */
static struct gt_time_stretch around(const struct gt_device_curve *device, struct gt_time_stretch stretch)
{
    double more = fmax(0, SHARES * device->share_seconds - (stretch.stop - stretch.start)) / 2;
    return (struct gt_time_stretch){stretch.start - more, stretch.stop + more};
}

/* The greatest difference between the joules of a CPU second of the job in a part of the stretch and the mean. Each part is longer than
 * the time that a share is a mean of, and holds a whole gap; a second draws between nothing and twice the mean. */
static double spread(const struct gt_device_curve *device, struct gt_time_stretch stretch, double mean)
{
    const struct gt_curve *curve = &device->curve;
    double most = 0;
    size_t last = last_gap(curve, stretch.stop) + 1, from = first_gap(curve, stretch.start) - 1;
    for (size_t to = from + 1; to < curve->count && to <= last; to++) {
        double used = gt_curve_value(curve, to, CPU_SECONDS) - gt_curve_value(curve, from, CPU_SECONDS);
        double seconds = gt_curve_time(curve, to) - gt_curve_time(curve, from);
        if (seconds < PARTS * device->share_seconds || !(used > LEAST_USE * seconds))
            continue;
        double rise = gt_curve_value(curve, to, GT_ENERGY_JOB) - gt_curve_value(curve, from, GT_ENERGY_JOB);
        most = fmax(most, fabs(rise / used - mean));
        from = to;
    }
    return fmin(most, mean);
}

struct gt_spent gt_energy_curve_of_cpu(const struct gt_energy_curve *curve, struct gt_time_stretch stretch,
                                       double cpu_seconds)
{
    const struct gt_device_curve *device = &curve->device[GT_ENERGY_CPU];
    struct gt_time_stretch wide = around(device, stretch);
    struct figure by_time = over(device, GT_ENERGY_JOB, &stretch, 1);
    double missing = missing_part(device, &stretch, 1);
    add_share_errors(device, &wide, 1, &by_time);
    if (isnan(by_time.joules) || isnan(cpu_seconds))
        return spent_of(device, by_time, missing);
    double used = between(device, wide, CPU_SECONDS);
    if (!(used > 0))
        return spent_of(device, by_time, missing);
    double rate = between(device, wide, GT_ENERGY_JOB) / used, part = fmin(1, cpu_seconds / used);
    double joules = rate * cpu_seconds;
    /* The job's joules in all gaps that the stretch touches: no part of it drew more. */
    double rest = gt_curve_value(&device->curve, last_gap(&device->curve, wide.stop), GT_ENERGY_JOB) -
                  gt_curve_value(&device->curve, first_gap(&device->curve, wide.start) - 1, GT_ENERGY_JOB) - joules;
    double interpolation = cpu_seconds * spread(device, wide, rate) + fmin(joules, part * by_time.interpolation);
    struct figure figure = {.joules = joules,
                            .interpolation = rest >= 0 ? fmin(interpolation, rest) : interpolation,
                            .lag = fmin(joules, part * by_time.lag),
                            .placement = part * by_time.placement,
                            .share = part * by_time.share};
    return spent_of(device, figure, missing);
}
