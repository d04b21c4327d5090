#include "collect/energy/power.h"

#include <math.h>

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
