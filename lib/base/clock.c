#include "base/clock.h"

#include <stddef.h>

int64_t gt_clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * GT_SECOND + t.tv_nsec;
}

static int64_t real(void *context)
{
    (void)context;
    return gt_clock_ns(CLOCK_REALTIME);
}

static int64_t monotonic(void *context)
{
    (void)context;
    return gt_clock_ns(CLOCK_MONOTONIC);
}

const struct gt_clock gt_clock_system = {real, monotonic, NULL};

int64_t gt_clock_real(const struct gt_clock *clock)
{
    return clock->real(clock->context);
}

int64_t gt_clock_monotonic(const struct gt_clock *clock)
{
    return clock->monotonic(clock->context);
}
