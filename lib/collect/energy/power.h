/* Power is added up to energy where nothing counts energy itself. */
#ifndef GT_COLLECT_ENERGY_POWER_H
#define GT_COLLECT_ENERGY_POWER_H

#include <stdbool.h>
#include <stdint.h>

struct gt_power_integral {
    double joules;
    double watts; /* of the last reading; NaN before the first: set it so */
    int64_t last_ns;
    bool is_missing; /* there was no reading since */
    double doubt;    /* INFINITY: there was none for long, and what was drawn then is not in the sum */
};

/* Returns joules since the first reading, by the trapezoidal rule. For watts that are NaN it returns NaN, and the next reading covers a
 * short gap. */
double gt_power_integrate(struct gt_power_integral *integral, int64_t now_ns, double watts);
/* Returns the doubt as a frame has it, and clears it. */
double gt_power_doubt(struct gt_power_integral *integral);

#endif
