#include "aggregate/energy_window.h"

#include "aggregate/energy_curve.h"

/* What is missing may be rounded. */
static const double ALL = 0.999;

static bool read_device(struct gt_energy_reading *ret, enum gt_energy_device device, double time, const double *system,
                        const double *job)
{
    double placement = device == GT_ENERGY_CPU ? job[GT_CPU_ENERGY_PLACEMENT_ERROR] : NAN;
    ret->time = time;
    double share = device == GT_ENERGY_CPU ? job[GT_CPU_ENERGY_SHARE_ERROR] : NAN;
    ret->placement_error = isnan(placement) ? 0 : placement;
    ret->share_error = isnan(share) ? 0 : share;
    for (int part = 0; part < GT_ENERGY_PARTS; part++)
        if (isnan(ret->joules[part] = gt_energy_part(device, part, system, job)))
            return false;
    return true;
}

void gt_energy_window_add(struct gt_energy_window *window, double time, const double *system, const double *job)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_window_device *device = &window->device[i];
        struct gt_energy_reading reading;
        if (!isnan(system[gt_missing_metrics[i]]))
            device->missing = system[gt_missing_metrics[i]];
        if (!read_device(&reading, i, time, system, job))
            continue;
        if (!device->is_measured) {
            device->is_measured = true;
            device->before = device->previous = device->last = reading;
        } else if (reading.joules[GT_ENERGY_TOTAL] > device->last.joules[GT_ENERGY_TOTAL]) {
            device->previous = device->last;
            device->last = reading;
            if (!device->has_moved)
                device->after = reading;
            device->has_moved = true;
        }
    }
    window->end = time;
}

static double rise(const struct gt_energy_reading *from, const struct gt_energy_reading *to, enum gt_energy_part part)
{
    return to->joules[part] - from->joules[part];
}

static double power(const struct gt_energy_reading *from, const struct gt_energy_reading *to, enum gt_energy_part part)
{
    return to->time > from->time ? rise(from, to, part) / (to->time - from->time) : 0;
}

/* Joules that a counter may have more than at its latest move, `seconds` ago. */
static double late(const struct gt_energy_reading *from, const struct gt_energy_reading *to, double seconds,
                   double refresh, enum gt_energy_part part)
{
    return power(from, to, part) * fmin(seconds, refresh);
}

/* How far off the job's part is because it is not known on which package its CPU time was used. */
static double placement(const struct gt_window_device *device, double covered, enum gt_energy_part part)
{
    if (part != GT_ENERGY_JOB)
        return 0;
    return covered * (device->after.placement_error - device->before.placement_error) + device->last.placement_error -
           device->after.placement_error;
}

/* The same because of clock ticks; see energy_course.h. */
static double share(const struct gt_window_device *device, enum gt_energy_part part)
{
    double first = device->before.share_error, last = device->last.share_error;
    return part == GT_ENERGY_JOB ? sqrt(fmax(0, last * last - first * first)) : 0;
}

static struct gt_spent figure(const struct gt_energy_window *window, const struct gt_window_device *device,
                              double refresh, double share_seconds, enum gt_energy_part part)
{
    double seconds = window->end - window->begin;
    double missing = seconds > 0 ? fmax(0, device->missing - device->missing_at_begin) / seconds : 0;
    bool is_known = refresh > 0 && !(missing > 0);
    double at_end = late(&device->previous, &device->last, window->end - device->last.time, refresh, part);
    double lag = refresh + fmax(0, share_seconds - seconds);
    double end_power = power(&device->previous, &device->last, part);
    if (missing > ALL)
        return (struct gt_spent){.joules = NAN, .error = NAN, .missing = 1};
    if (!device->has_moved) {
        double at_begin = late(&device->previous, &device->last, window->begin - device->last.time, refresh, part);
        return (struct gt_spent){at_end - at_begin, is_known ? lag * end_power : NAN, false, missing};
    }
    double gap = device->after.time - device->before.time, first = rise(&device->before, &device->after, part);
    double covered = fmin(1, (device->after.time - window->begin) / gap);
    double interpolation = covered < 1 ? fmax(covered, 1 - covered) * first : 0;
    double joules = covered * first + rise(&device->after, &device->last, part) + at_end;
    lag *= fmax(first / gap, end_power);
    double error = interpolation + lag + placement(device, covered, part) + share(device, part);
    return (struct gt_spent){joules, is_known ? error : NAN, false, missing};
}

static void begin_next(struct gt_energy_window *window)
{
    window->begin = window->end;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_window_device *device = &window->device[i];
        device->before = device->last;
        device->missing_at_begin = device->missing;
        device->has_moved = false;
    }
}

struct gt_window_energy gt_energy_window_end(struct gt_energy_window *window,
                                             const struct gt_energy_source source[GT_ENERGY_DEVICES])
{
    struct gt_spent sum[GT_ENERGY_PARTS];
    struct gt_window_energy ret = {0};
    for (int part = 0; part < GT_ENERGY_PARTS; part++) {
        sum[part] = (struct gt_spent){.joules = NAN, .error = NAN};
        for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
            if (!window->device[i].is_measured)
                continue;
            bool is_estimated = gt_energy_is_estimated(&source[i]);
            double share_seconds = part == GT_ENERGY_JOB ? gt_energy_share_seconds(i) : 0;
            struct gt_spent spent = figure(window, &window->device[i], source[i].refresh, share_seconds, part);
            spent.is_estimated = is_estimated;
            spent.error = is_estimated ? NAN : spent.error;
            gt_spent_add(&sum[part], spent);
        }
        ret.part[part] = sum[part].joules;
    }
    ret.error = sum[GT_ENERGY_TOTAL].error;
    ret.job_error = sum[GT_ENERGY_JOB].error;
    ret.is_estimated = sum[GT_ENERGY_TOTAL].is_estimated;
    begin_next(window);
    return ret;
}
