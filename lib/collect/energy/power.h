/* Energy of one device from its power, or from a counter. */
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
/* Returns the doubt as a snapshot has it, and clears it. */
double gt_power_doubt(struct gt_power_integral *integral);

/* An energy counter of a driver: joules since the driver was loaded. A drop means that it was loaded again. */
struct gt_energy_counter {
    double last; /* NaN before the first reading: set it so */
    double total;
    uint32_t resets;
    uint32_t reported; /* of them, by gt_energy_counter_doubt */
};

/* Returns joules since the first reading. For NaN it returns NaN, and the counter goes on at the next reading. */
double gt_energy_counter_read(struct gt_energy_counter *counter, double joules);
/* Returns the doubt as a snapshot has it: INFINITY where the counter was set back since the last call, else 0. */
double gt_energy_counter_doubt(struct gt_energy_counter *counter);

#endif
