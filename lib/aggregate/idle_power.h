/* The idle power of a device: the least that it was seen to draw while idle, from one move of its counter to a later one. Readings
 * in which it did not move tell nothing. */
#ifndef GT_AGGREGATE_IDLE_POWER_H
#define GT_AGGREGATE_IDLE_POWER_H

#include <stdbool.h>
#include <stdint.h>

struct gt_idle_power {
    double watts;        /* NaN: not seen yet */
    int64_t since_ns;    /* where the present stretch began, with a move */
    double joules, busy; /* then */
    double shown;        /* joules at the last reading */
    double untaken;      /* seconds of which the counter has not shown yet what was drawn */
    bool is_begun;
};

/* Counting begins, with 0 joules. */
void gt_idle_power_init(struct gt_idle_power *power, int64_t start_ns);
/* A reading: joules and busy CPU seconds since the start. `is_idle`: the device was idle since the reading before, as far as that is
 * known without the busy time. The stretch must have `least` seconds, and at most `allowance` busy CPU seconds for each. */
void gt_idle_power_see(struct gt_idle_power *power, int64_t now_ns, double joules, double busy, bool is_idle,
                       double least, double allowance);

/* Idle energy in the joules that a counter shows after so many seconds more; 0 where idle power is not known. */
double gt_idle_power_take(struct gt_idle_power *power, double joules, double seconds);

#endif
