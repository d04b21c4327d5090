#include "aggregate/energy_course.h"

enum { JOULES, CPU_SECONDS, QUANTITIES };

void gt_energy_course_init(struct gt_energy_course *course, const struct gt_machine *machine)
{
    *course = (struct gt_energy_course){0};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_device_course *device = &course->device[i];
        gt_curve_init(&device->curve, QUANTITIES);
        device->refresh = machine->energy_source[i].refresh > 0 ? machine->energy_source[i].refresh : 0;
    }
}

void gt_energy_course_release(struct gt_energy_course *course)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        gt_curve_release(&course->device[i].curve);
}

static double known(double value, double last)
{
    return value > last ? value : last;
}

/* A counter that stands still was not read, or asked more often than it is renewed: what it has at its next move was drawn
 * in all the time since its last. */
static int add(struct gt_device_course *device, double time, double total, double job, double cpu_seconds)
{
    bool is_first = !device->is_measured;
    if (isnan(total) || isnan(job))
        return 0;
    device->is_measured = true;
    device->time = time;
    device->last[JOULES] = known(job, device->last[JOULES]);
    device->last[CPU_SECONDS] = known(cpu_seconds, device->last[CPU_SECONDS]);
    if (!is_first && !(total > device->total))
        return 0;
    device->total = total;
    return gt_curve_add(&device->curve, time, device->last);
}

int gt_energy_course_add(struct gt_energy_course *course, double time, const double *system, const double *job)
{
    int status = 0;
    for (int i = 0; i < GT_ENERGY_DEVICES && status == 0; i++) {
        enum gt_metric_id metric = gt_energy_metrics[i];
        status = add(&course->device[i], time, system[metric], job[metric], job[GT_CPU_TIME]);
    }
    return status;
}

int gt_energy_course_finish(struct gt_energy_course *course)
{
    int status = 0;
    for (int i = 0; i < GT_ENERGY_DEVICES && status == 0; i++) {
        struct gt_device_course *device = &course->device[i];
        gt_curve_finish(&device->curve);
        if (device->is_measured && device->time > gt_curve_time(&device->curve, device->curve.count - 1))
            status = gt_curve_add(&device->curve, device->time, device->last);
    }
    return status;
}

bool gt_energy_course_is_measured(const struct gt_energy_course *course)
{
    bool any = false;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        any |= course->device[i].is_measured;
    return any;
}

/* ---- gaps ---- */

struct gap {
    double start, seconds, rise;
};

static struct gap gap_before(const struct gt_curve *curve, size_t point)
{
    double start = gt_curve_time(curve, point - 1);
    return (struct gap){start, gt_curve_time(curve, point) - start,
                        gt_curve_value(curve, point, JOULES) - gt_curve_value(curve, point - 1, JOULES)};
}

static double covered(const struct gap *gap, struct gt_time_stretch stretch)
{
    double from = fmax(stretch.start, gap->start), to = fmin(stretch.stop, gap->start + gap->seconds);
    return gap->seconds > 0 ? fmax(0, to - from) / gap->seconds : 0;
}

/* The part of a gap that is covered may be the sum of rounded ones. */
static const double WHOLE = 1 - 1e-9;

static void close_gap(const struct gt_device_course *device, size_t point, double part, struct gt_spent *spent)
{
    struct gap gap = gap_before(&device->curve, point);
    spent->joules += fmin(part, 1) * gap.rise;
    if (part < WHOLE)
        spent->error += fmax(part, 1 - part) * gap.rise + device->refresh * gap.rise / gap.seconds;
}

/* The first gap that ends after `time`. */
static size_t first_gap(const struct gt_curve *curve, double time)
{
    size_t point = gt_curve_find(curve, time);
    return point ? point : 1;
}

static bool is_inside(const struct gt_curve *curve, struct gt_time_stretch stretch)
{
    return curve->count > 1 && stretch.start < gt_curve_time(curve, curve->count - 1) &&
           stretch.stop > gt_curve_time(curve, 0);
}

static struct gt_spent over(const struct gt_device_course *device, const struct gt_time_stretch *stretch, size_t count)
{
    const struct gt_curve *curve = &device->curve;
    struct gt_spent spent = {0};
    size_t point = 0; /* 0: no gap is open */
    double part = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!is_inside(curve, stretch[i]))
            continue;
        any = true;
        for (size_t next = first_gap(curve, stretch[i].start); next < curve->count; next++) {
            struct gap gap = gap_before(curve, next);
            if (gap.start >= stretch[i].stop)
                break;
            if (next != point && point)
                close_gap(device, point, part, &spent);
            part = (next == point ? part : 0) + covered(&gap, stretch[i]);
            point = next;
        }
    }
    if (point)
        close_gap(device, point, part, &spent);
    return any ? spent : (struct gt_spent){NAN, NAN};
}

struct gt_spent gt_energy_course_over(const struct gt_energy_course *course, enum gt_energy_device device,
                                      const struct gt_time_stretch *stretch, size_t count)
{
    return over(&course->device[device], stretch, count);
}

/* ---- CPU energy by CPU time ---- */

static double clamp(double value, double least, double most)
{
    return fmin(fmax(value, least), most);
}

/* The samples before and after a stretch. */
struct frame {
    size_t before, after;
};

static struct frame frame_of(const struct gt_curve *curve, struct gt_time_stretch stretch)
{
    size_t after = gt_curve_find(curve, stretch.stop);
    if (after && gt_curve_time(curve, after - 1) >= stretch.stop)
        after--;
    return (struct frame){first_gap(curve, stretch.start) - 1, after < curve->count ? after : curve->count - 1};
}

static double between(const struct gt_curve *curve, struct gt_time_stretch stretch, size_t quantity)
{
    double first = gt_curve_time(curve, 0), last = gt_curve_time(curve, curve->count - 1);
    return gt_curve_at(curve, clamp(stretch.stop, first, last), quantity) -
           gt_curve_at(curve, clamp(stretch.start, first, last), quantity);
}

struct gt_spent gt_energy_course_of_cpu(const struct gt_energy_course *course, struct gt_time_stretch stretch,
                                        double cpu_seconds)
{
    const struct gt_device_course *device = &course->device[GT_ENERGY_CPU];
    const struct gt_curve *curve = &device->curve;
    struct gt_spent by_time = over(device, &stretch, 1);
    if (isnan(by_time.joules) || isnan(cpu_seconds))
        return by_time;
    double job_seconds = between(curve, stretch, CPU_SECONDS);
    if (!(job_seconds > 0))
        return by_time;
    struct frame frame = frame_of(curve, stretch);
    double most = gt_curve_value(curve, frame.after, JOULES) - gt_curve_value(curve, frame.before, JOULES);
    double seconds = gt_curve_time(curve, frame.after) - gt_curve_time(curve, frame.before);
    double joules = fmin(by_time.joules * cpu_seconds / job_seconds, most);
    double error = fmin(by_time.error, fmin(joules, most - joules));
    return (struct gt_spent){joules, error + device->refresh * most / seconds};
}
