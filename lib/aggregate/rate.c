#include "aggregate/rate.h"

#include <math.h>

double gt_rate_next(struct gt_rate *rate, double counter, int64_t now_ns, int64_t shortest_ns, double ceiling)
{
    if (isnan(counter))
        return NAN;
    if (!rate->at_ns) {
        rate->last = counter;
        rate->at_ns = now_ns;
        return NAN;
    }
    if (now_ns - rate->at_ns < shortest_ns || now_ns == rate->at_ns)
        return NAN;
    double seconds = (double)(now_ns - rate->at_ns) / 1e9;
    double used = counter - rate->last + rate->carry;
    double shown = fmax(0, fmin(used, ceiling * seconds));
    rate->carry = used - shown;
    rate->last = counter;
    rate->at_ns = now_ns;
    return shown / seconds;
}
