#include "collect/energy/power.h"

#include <math.h>

double gt_power_integrate(struct gt_power_integral *integral, int64_t now_ns, double watts)
{
    if (isnan(watts))
        return NAN;
    if (!isnan(integral->watts))
        integral->joules += (integral->watts + watts) / 2 * (double)(now_ns - integral->last_ns) / 1e9;
    integral->watts = watts;
    integral->last_ns = now_ns;
    return integral->joules;
}
