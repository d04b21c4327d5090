/* What every unit test begins with: cmocka, assert_close, and TEST, which defines a test and has it run by the main function of test.c. */
#ifndef TEST_SUPPORT_TEST_H
#define TEST_SUPPORT_TEST_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Defines a test, which may use its `state`, with what comes before and after it: each a function of cmocka, or NULL. */
#define TEST_WITH(name, before, after)                             \
    static void name(void **);                                     \
    __attribute__((constructor)) static void test_add_##name(void) \
    {                                                              \
        test_add(#name, name, before, after);                      \
    }                                                              \
    static void name(__attribute__((unused)) void **state)
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* The same with what the setup leaves in *state as a parameter: TEST_OF(struct thing *thing, name, before, after). */
#define TEST_OF(fixture, name, before, after) \
    static void of_##name(fixture);           \
    TEST_WITH(name, before, after)            \
    {                                         \
        of_##name(*state);                    \
    }                                         \
    static void of_##name(__attribute__((unused)) fixture)

/* Says once what comes before and after all tests of a program: ALL_TESTS(before, after); */
#define ALL_TESTS(before, after)                                  \
    __attribute__((constructor)) static void test_add_group(void) \
    {                                                             \
        test_group(before, after);                                \
    }                                                             \
    void test_group(CMFixtureFunction, CMFixtureFunction)

void test_add(const char *name, CMUnitTestFunction function, CMFixtureFunction before, CMFixtureFunction after);
void test_group(CMFixtureFunction before, CMFixtureFunction after);
/* Run those whose names match a pattern of the shell, or all of them with NULL. Returns how many failed. */
int test_run(const char *pattern);

/* Under the sanitizers memory is in question, not figures: tests of many repetitions make do with few. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#define FEWER(many, few) (SANITIZED ? (few) : (many))

/* What is missing is close to what is missing only; cmocka's assert_float_equal takes floats, and to it NaN equals everything. */
static inline bool is_close(double found, double expected, double most_apart)
{
    return found == expected || (isnan(found) && isnan(expected)) || fabs(found - expected) <= most_apart;
}

#define assert_close(found, expected, most_apart)                                                                 \
    do {                                                                                                          \
        double close_found = (found), close_expected = (expected), close_apart = (most_apart);                    \
        if (!is_close(close_found, close_expected, close_apart))                                                  \
            fail_msg("%s is %.17g, not %.17g; most apart: %g", #found, close_found, close_expected, close_apart); \
    } while (0)

#endif
