#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

static void numbers_read_whole_texts_only(void **state)
{
    (void)state;
    double value = 7;
    assert_int_equal(gt_number_double("1.5e3", &value), 0);
    assert_true(value == 1500);
    static const char *const bad[] = {"", " ", "\n1", "1x", "1 2", "0x10", "nan", "inf", "--1", "1,5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (gt_number_double(bad[i], &value) >= 0)
            fail_msg("\"%s\" was read as %g", bad[i], value);
    }
    assert_int_equal(gt_number_double("1e999", &value), -ERANGE);
    assert_true(value == 1500);
}

static void integers_have_limits(void **state)
{
    (void)state;
    int64_t value = 0;
    assert_int_equal(gt_number_i64("-9223372036854775808", &value), 0);
    assert_true(value == INT64_MIN);
    assert_int_equal(gt_number_i64("9223372036854775808", &value), -ERANGE);
    assert_int_equal(gt_number_i64("12.5", &value), -EINVAL);
}

static void texts_read_back_as_the_same_number(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.1, "0.1"},   {3, "3.0"},         {1e16, "1e+16"}, {1e-5, "1e-05"},   {123456789.125, "123456789.125"},
        {-0.0, "-0.0"}, {5e-324, "5e-324"}, {NAN, "nan"},    {INFINITY, "inf"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[GT_NUMBER_SIZE];
        gt_number_repr(text, rows[i].value);
        assert_string_equal(text, rows[i].text);
    }
}

static void rounding_goes_by_the_exact_value(void **state)
{
    (void)state;
    static const struct {
        double value;
        int decimals;
        const char *text;
    } rows[] = {
        {2, 3, "2.0"},      {67.2541, 3, "67.254"}, {0.0005, 3, "0.001"}, {2.5, 0, "2.0"},
        {2.675, 2, "2.67"}, {1e-9, 3, "0.0"},       {NAN, 3, "nan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[GT_NUMBER_SIZE];
        gt_number_rounded(text, rows[i].value, rows[i].decimals);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_whole_texts_only),
        cmocka_unit_test(integers_have_limits),
        cmocka_unit_test(texts_read_back_as_the_same_number),
        cmocka_unit_test(rounding_goes_by_the_exact_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
