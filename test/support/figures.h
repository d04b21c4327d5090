/* Comparing figures where cmocka's assert_float_equal would not do: it takes floats, and to it NaN equals everything. */
#ifndef TEST_SUPPORT_FIGURES_H
#define TEST_SUPPORT_FIGURES_H

#include <math.h>
#include <stdbool.h>

/* What is missing is close to what is missing only. */
static inline bool is_close(double found, double expected, double most_apart)
{
    return found == expected || (isnan(found) && isnan(expected)) || fabs(found - expected) <= most_apart;
}

/* Needs <cmocka.h>. */
#define assert_close(found, expected, most_apart)                                                                 \
    do {                                                                                                          \
        double close_found = (found), close_expected = (expected), close_apart = (most_apart);                    \
        if (!is_close(close_found, close_expected, close_apart))                                                  \
            fail_msg("%s is %.17g, not %.17g; most apart: %g", #found, close_found, close_expected, close_apart); \
    } while (0)

#endif
