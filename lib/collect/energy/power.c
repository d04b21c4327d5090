#include "collect/energy/power.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "collect/collector.h"

/* A reading that fails is made up for by those around it, if they are not further apart. */
static const double LONGEST_GAP = 5;

double gt_power_integrate(struct gt_power_integral *integral, int64_t now_ns, double watts)
{
    double seconds = (double)(now_ns - integral->last_ns) / 1e9;
    if (isnan(watts)) {
        integral->is_missing = true;
        return NAN;
    }
    if (!isnan(integral->watts) && integral->is_missing && seconds > LONGEST_GAP)
        integral->doubt = INFINITY;
    else if (!isnan(integral->watts))
        integral->joules += (integral->watts + watts) / 2 * seconds;
    integral->watts = watts;
    integral->last_ns = now_ns;
    integral->is_missing = false;
    return integral->joules;
}

double gt_power_doubt(struct gt_power_integral *integral)
{
    double doubt = integral->doubt;
    integral->doubt = 0;
    return doubt;
}

double gt_energy_counter_read(struct gt_energy_counter *counter, double joules)
{
    if (isnan(joules))
        return NAN;
    if (joules > counter->last)
        counter->total += joules - counter->last;
    counter->resets += joules < counter->last;
    counter->last = joules;
    return counter->total;
}

double gt_energy_counter_doubt(struct gt_energy_counter *counter)
{
    bool is_new = counter->resets > counter->reported;
    counter->reported = counter->resets;
    return is_new ? INFINITY : 0;
}

/* ---- A counter held against power --------------------------------------------------------------------------------- */

/* A counter that is off by this factor is wrong. */
static const double TOLERANCE = 4;

static bool are_alike(double counted, double expected)
{
    return counted < expected * TOLERANCE && counted > expected / TOLERANCE;
}

static void judge_window(struct gt_energy_check *check)
{
    static const double shortest_window = 2, least_joules = 50;
    if (check->seconds < shortest_window || check->expected < least_joules)
        return;
    bool agrees = are_alike(check->counted, check->expected);
    check->has_agreed |= agrees;
    check->disagreements = agrees ? 0 : check->disagreements + 1;
    check->is_wrong |= check->disagreements > 1;
    check->counted = check->expected = check->seconds = 0;
}

static void check_reading(struct gt_energy_check *check, int64_t now_ns, double joules, double watts)
{
    if (isnan(joules) || isnan(watts))
        return;
    if (!isnan(check->joules)) {
        double seconds = (double)(now_ns - check->last_ns) / 1e9, expected = seconds * (watts + check->watts) / 2;
        check->seconds += seconds;
        check->expected += expected;
        check->counted += joules - check->joules;
        check->all_seconds += seconds;
        check->all_expected += expected;
        check->all_counted += joules - check->joules;
        judge_window(check);
    }
    check->joules = joules;
    check->watts = watts;
    check->last_ns = now_ns;
}

static double better(const struct gt_energy_check *check, double counted, double summed)
{
    static const double least_joules = 5;
    if (isnan(summed))
        return check->is_wrong ? NAN : counted;
    if (isnan(counted))
        return check->has_agreed && !check->is_wrong ? NAN : summed;
    bool is_odd = !check->has_agreed && fabs(counted - summed) > least_joules && !are_alike(counted, summed);
    return check->is_wrong || is_odd ? summed : counted;
}

static bool has_enough(const struct gt_energy_check *check)
{
    static const double shortest = 4, least_joules = 50;
    return check->all_seconds >= shortest && fmax(check->all_counted, check->all_expected) >= least_joules;
}

static bool agrees(const struct gt_energy_check *check)
{
    static const double most_apart = 0.25;
    return fabs(check->all_counted - check->all_expected) <= most_apart * fmax(check->all_counted, check->all_expected);
}

/* ---- GPUs --------------------------------------------------------------------------------------------------------- */

void gt_gpu_meter_init(struct gt_gpu_meter *meter)
{
    *meter = (struct gt_gpu_meter){.counter.last = NAN, .integral.watts = NAN, .check.joules = NAN};
}

/* A counter that was set back lost what was drawn between two readings; power has it. */
static double bridge(struct gt_gpu_meter *meter, double counted, double summed)
{
    bool was_set_back = meter->counter.resets > meter->bridged;
    if (was_set_back && summed > meter->summed)
        meter->counter.total += summed - meter->summed;
    else if (was_set_back)
        meter->doubt = INFINITY;
    meter->bridged = meter->counter.resets;
    meter->summed = summed;
    return isnan(counted) ? NAN : meter->counter.total;
}

double gt_gpu_meter_read(struct gt_gpu_meter *meter, int64_t now_ns, double joules, double watts)
{
    double summed = gt_power_integrate(&meter->integral, now_ns, watts);
    double counted = bridge(meter, gt_energy_counter_read(&meter->counter, joules), summed);
    check_reading(&meter->check, now_ns, counted, watts);
    double chosen = better(&meter->check, counted, summed);
    meter->read_ns = now_ns;
    meter->shown = fmax(meter->shown, chosen);
    return isnan(chosen) ? NAN : meter->shown;
}

void gt_gpu_meter_rest(struct gt_gpu_meter *meter, int64_t now_ns)
{
    if (!isnan(meter->integral.watts))
        gt_power_integrate(&meter->integral, now_ns, 0);
    meter->check.joules = NAN;
}

double gt_gpu_meter_doubt(struct gt_gpu_meter *meter)
{
    struct gt_energy_check *check = &meter->check;
    bool is_apart = has_enough(check) && !agrees(check), is_by_power = check->is_wrong || isnan(meter->counter.last);
    double apart = is_apart ? fabs(check->all_counted - check->all_expected) : 0;
    double by_power = gt_power_doubt(&meter->integral);
    double by_counter = meter->doubt + fmax(0, apart - check->doubted);
    meter->doubt = 0;
    if (is_by_power)
        return by_power;
    check->doubted = fmax(check->doubted, apart);
    return by_counter;
}

int gt_gpu_meter_report(struct gt_gpu_meter *meter, const struct gt_device *device, struct gt_error *error)
{
    struct gt_energy_check *check = &meter->check;
    if (check->is_wrong && !check->is_wrong_reported) {
        check->is_wrong_reported = true;
        return gt_error_set(error, EIO,
                            "GPU %d (%s, %s): its energy counter contradicts its power; the power is added up instead",
                            device->index, device->name, device->uuid);
    }
    if (check->is_wrong || check->is_difference_reported || !check->has_agreed || !has_enough(check) || agrees(check))
        return 0;
    check->is_difference_reported = true;
    return gt_error_set(error, EIO,
                        "GPU %d (%s, %s): its energy counter has %.4g J, and its power adds up to %.4g J, in %.3g s; "
                        "the counter is used",
                        device->index, device->name, device->uuid, check->all_counted, check->all_expected,
                        check->all_seconds);
}

void gt_gpu_meter_describe(const struct gt_gpu_meter *meter, char *text, size_t size)
{
    const struct gt_energy_check *check = &meter->check;
    *text = '\0';
    if (has_enough(check))
        snprintf(text, size, "counter %.4g J, power added up %.4g J in %.4g s: they %s, the %s is used",
                 check->all_counted, check->all_expected, check->all_seconds, agrees(check) ? "agree" : "disagree",
                 check->is_wrong ? "power" : "counter");
}
