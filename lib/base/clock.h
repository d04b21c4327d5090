/* The clock, so that tests can inject their own. */
#ifndef GT_BASE_CLOCK_H
#define GT_BASE_CLOCK_H

#include <stdint.h>

struct gt_clock {
    int64_t (*real)(void *context);      /* ns since 1970-01-01 UTC */
    int64_t (*monotonic)(void *context); /* ns, never steps */
    void *context;
};

#define GT_SECOND INT64_C(1000000000)

extern const struct gt_clock gt_clock_system;

int64_t gt_clock_real(const struct gt_clock *clock);
int64_t gt_clock_monotonic(const struct gt_clock *clock);

#endif
