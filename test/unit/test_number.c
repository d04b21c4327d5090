#include "base/number.h"
#include "support/test.h"

TEST(numbers_read_whole_texts_only)
{
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

TEST(integers_have_limits)
{
    int64_t value = 0;
    assert_int_equal(gt_number_i64("-9223372036854775808", &value), 0);
    assert_true(value == INT64_MIN);
    assert_int_equal(gt_number_i64("9223372036854775808", &value), -ERANGE);
    assert_int_equal(gt_number_i64("12.5", &value), -EINVAL);
}

TEST(texts_read_back_as_the_same_number)
{
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

TEST(rounding_goes_by_the_exact_value)
{
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

/* At powers of two a double's neighbours are not equally far away; here is the whole range of them. */
TEST(no_shorter_decimal_reads_back)
{
    for (int power = -1074; power < 1024; power++) {
        char text[GT_NUMBER_SIZE], shorter[GT_NUMBER_SIZE];
        double value = ldexp(1, power), read;
        gt_number_repr(text, value);
        assert_int_equal(gt_number_double(text, &read), 0);
        assert_true(read == value);
        int digits = 0;
        for (const char *p = text; *p && *p != 'e'; p++)
            digits += (*p >= '0' && *p <= '9') && (digits || *p != '0');
        if (power >= 0 && power < 54) /* integers written with ".0" */
            continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits > 1 ? digits - 2 : 0, value);
        assert_true(digits == 1 || strtod(shorter, NULL) != value);
    }
}

/* Random numbers of all sizes, as Python's repr() and round() write them. */
TEST(texts_are_those_of_python)
{
    static const char script[] =
        "import math, random, struct\n"
        "random.seed(20)\n"
        "def show(v):\n"
        "    n = random.randint(0, 9)\n"
        "    print(v.hex(), repr(v), n, repr(round(v, n)))\n"
        "for k in range(-1074, 1024):\n"
        "    v = math.ldexp(1.0, k)\n"
        "    show(math.nextafter(v, 0)); show(-math.nextafter(v, math.inf))\n"
        "for k in range(-323, 309):\n"
        "    show(float(f\"1e{k}\")); show(math.nextafter(float(f\"1e{k}\"), 0))\n"
        "for _ in range(5000):\n"
        "    v = struct.unpack(\"d\", random.randbytes(8))[0]\n"
        "    show(v if math.isfinite(v) else 1.0)\n"
        "    show(random.uniform(0, 10 ** random.randint(-12, 18)))\n"
        "    show(round(random.uniform(0, 10 ** random.randint(-3, 12)), random.randint(0, 12)))\n"
        "    show(random.randint(0, 10 ** 15) / random.choice([1, 2, 3, 8, 1e3, 1e6, 1e9]))\n";
    char command[sizeof script + 32], exact[64], repr[64], rounded[64], text[GT_NUMBER_SIZE];
    snprintf(command, sizeof command, "python3 -c '%s'", script);
    FILE *python = popen(command, "re");
    assert_non_null(python);
    int decimals, count = 0;
    for (; fscanf(python, "%63s %63s %d %63s", exact, repr, &decimals, rounded) == 4; count++) {
        double value = strtod(exact, NULL), read;
        gt_number_repr(text, value);
        assert_string_equal(text, repr);
        assert_int_equal(gt_number_double(text, &read), 0);
        assert_true(read == value);
        gt_number_rounded(text, value, decimals);
        assert_string_equal(text, rounded);
    }
    assert_int_equal(pclose(python), 0);
    assert_int_equal(count, 2 * 2098 + 2 * 632 + 4 * 5000);
}

TEST(ranges_end_at_what_is_none)
{
    const char *list = "0-3,8,5-4\n,9";
    long first, last;
    static const long expected[][2] = {{0, 3}, {8, 8}, {5, 4}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(gt_number_range_next(&list, &first, &last), 1);
        assert_int_equal(first, expected[i][0]);
        assert_int_equal(last, expected[i][1]);
    }
    assert_int_equal(gt_number_range_next(&list, &first, &last), 0);
    list = "\n";
    assert_int_equal(gt_number_range_next(&list, &first, &last), 0);
}
