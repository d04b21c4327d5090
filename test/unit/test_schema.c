/* Units, the table of metrics, and the report of both. */
#include "report/report.h"
#include "schema/metric.h"
#include "schema/unit.h"
#include "support/test.h"

TEST(units_are_decimal)
{
    double factor, expected = 1;
    for (size_t i = 0; i < 5; i++, expected *= 1000) {
        assert_int_equal(gt_unit_memory(gt_memory_unit(i), &factor, NULL), 0);
        assert_true(factor == expected);
    }
    static const double seconds[] = {1, 60, 3600, 86400, 1e-3};
    for (size_t i = 0; gt_time_unit(i); i++) {
        assert_int_equal(gt_unit_time(gt_time_unit(i), &factor, NULL), 0);
        assert_true(factor == seconds[i]);
    }
}

TEST(wrong_units_name_the_choices)
{
    static const char *const wrong[] = {"gigabyte", "gb", "", "seconds", NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gt_error error = {0};
        double factor = 7;
        assert_int_equal(gt_unit_memory(wrong[i], &factor, &error), -EINVAL);
        assert_true(factor == 7);
        assert_non_null(strstr(error.text, "megabytes"));
    }
}

TEST(metrics_are_well_formed)
{
    for (int id = 0; id < GT_METRIC_COUNT; id++) {
        const struct gt_metric *metric = &gt_metrics[id];
        assert_int_equal(gt_metric_find(metric->name), id); /* so names are unique */
        assert_int_equal(metric->name[strspn(metric->name, "abcdefghijklmnopqrstuvwxyz_0123456789")], '\0');
        assert_true(metric->scopes && metric->scopes < 1u << GT_SCOPE_COUNT);
        assert_true(metric->help[0] >= 'A' && metric->help[0] <= 'Z');
        assert_true(metric->help[strlen(metric->help) - 1] != '.');
    }
    assert_int_equal(gt_metric_find("no_such_metric"), -ENOENT);
}
