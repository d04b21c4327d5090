/* Power that is added up to energy, where nothing counts energy itself. */
#ifndef GT_COLLECT_POWER_H
#define GT_COLLECT_POWER_H

#include <stdbool.h>
#include <stdint.h>

struct gt_power_integral {
    double joules;
    double watts; /* of the last reading; NaN before the first: set it so */
    int64_t last_ns;
    bool is_missing; /* there was no reading since */
    double doubt;    /* INFINITY: there was none for long, and what was drawn then is not in the sum */
};

/* Joules since the first reading, by the trapezoidal rule. NaN in, NaN out, and the next reading covers a short gap. */
double gt_power_integrate(struct gt_power_integral *integral, int64_t now_ns, double watts);
/* As a frame has it; asked for once. */
double gt_power_doubt(struct gt_power_integral *integral);

#endif
