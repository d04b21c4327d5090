#include "aggregate/idle_power.h"

#include <math.h>

void gt_idle_power_init(struct gt_idle_power *power, int64_t start_ns)
{
    *power = (struct gt_idle_power){.watts = NAN, .since_ns = start_ns, .is_begun = true};
}

static void begin(struct gt_idle_power *power, int64_t now_ns, double joules, double busy)
{
    power->since_ns = now_ns;
    power->joules = joules;
    power->busy = busy;
    power->is_begun = true;
}

void gt_idle_power_see(struct gt_idle_power *power, int64_t now_ns, double joules, double busy, bool is_idle,
                       double least, double allowance)
{
    bool has_moved = joules > power->shown;
    power->shown = joules;
    if (!is_idle)
        power->is_begun = false;
    if (joules <= 0)
        begin(power, now_ns, joules, busy);
    if (!has_moved)
        return;
    double seconds = (double)(now_ns - power->since_ns) / 1e9;
    if (power->is_begun && seconds < least)
        return;
    if (power->is_begun && busy - power->busy <= allowance * seconds)
        power->watts = fmin(power->watts, (joules - power->joules) / seconds);
    begin(power, now_ns, joules, busy);
}

double gt_idle_power_take(struct gt_idle_power *power, double joules, double seconds)
{
    double idle = power->watts * (power->untaken += seconds);
    if (!(joules > 0))
        return 0;
    power->untaken = 0;
    return isnan(idle) ? 0 : fmin(joules, idle);
}
