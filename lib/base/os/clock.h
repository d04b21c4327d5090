/* This tells the time. Code that tests drive through time asks a struct gt_clock, in whose place they put their own. */
#ifndef GT_BASE_OS_CLOCK_H
#define GT_BASE_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct gt_clock {
    int64_t (*real)(void *context);      /* ns since 1970-01-01 UTC */
    int64_t (*monotonic)(void *context); /* ns, never steps */
    void *context;
};

#define GT_SECOND INT64_C(1000000000)

extern const struct gt_clock gt_clock_system;

/* Read one of the kernel's clocks, as clock_gettime(2) names them. In ns. */
int64_t gt_clock_ns(clockid_t id);
int64_t gt_clock_real(const struct gt_clock *clock);
int64_t gt_clock_monotonic(const struct gt_clock *clock);

/* Returns seconds, as near as a double can be: nanoseconds since 1970 do not fit into one. */
static inline double gt_seconds(int64_t ns)
{
    return (double)(ns / GT_SECOND) + (double)(ns % GT_SECOND) / 1e9;
}

/* Reads a date of ISO 8601: "2026-01-31 12:00:00.5+01:00", with "T" or "Z", too; without a zone it is local time, without a time of day
 * the day's begin. Returns seconds since 1970, NaN for anything else. `text` may be NULL. */
double gt_date_read(const char *text);
/* Reads a moment: a date, or seconds (or milliseconds and so on) since 1970. Returns false for anything else, and for what is before
 * 1973: a meter's own clock that began at 0 tells no moment. */
bool gt_time_read(const char *text, int64_t *ret_ns);

#endif
