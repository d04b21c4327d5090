/* Dates and moments, as files have them. */
#include "base/os/clock.h"
#include "support/test.h"

TEST(dates_with_and_without_a_zone)
{
    setenv("TZ", "UTC-1", 1);
    tzset();
    static const struct {
        const char *text;
        double seconds;
    } examples[] = {{"1970-01-02T00:00:00.25Z", 86400.25},
                    {"1970-01-02 01:30:00+01:30", 86400},
                    {"1970-01-01T22:30-0130", 86400},
                    {"1970-01-02T02+02", NAN},
                    {"1970-01-02T02:00+02", 86400},
                    {"1970-01-02 01:00:00", 86400},
                    {"1970-01-02", 82800},
                    {"1970-01-02Z", 86400},
                    {"2024-02-29T12:00:00.5+00:00", 1709208000.5},
                    {"yesterday", NAN},
                    {"1970-01-02 01:30:00 often", NAN},
                    {"1970-01-02 01:30:00+01:30 often", NAN},
                    {"1970-13-02", NAN},
                    {"1970-01-02 25:00", NAN},
                    {"1970-01-02 01:00:70", NAN},
                    {NULL, NAN}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        double seconds = gt_date_read(examples[i].text);
        assert_true(isnan(examples[i].seconds) ? isnan(seconds) : seconds == examples[i].seconds);
    }
}

TEST(moments)
{
    int64_t ns;
    assert_true(gt_time_read("1700000000.5", &ns));
    assert_true(ns == INT64_C(1700000000500000000));
    assert_true(gt_time_read("1700000000500", &ns));
    assert_true(ns == INT64_C(1700000000500000000));
    assert_true(gt_time_read("2023-11-14T22:13:20Z", &ns));
    assert_true(ns == INT64_C(1700000000000000000));
    assert_false(gt_time_read("12.5", &ns));
    assert_false(gt_time_read("1970-01-02", &ns));
    assert_false(gt_time_read("", &ns));
}
