/* Units, the table of metrics, and the report of both. */
#include "report/report.h"
#include "schema/metric.h"
#include "schema/unit.h"
#include "support/reports.h"
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

TEST(symbols_are_units)
{
    static const struct {
        const char *symbol, *name;
        double factor;
    } memory[] = {{"B", "bytes", 1},        {"kB", "kilobytes", 1e3},      {"KB", "kilobytes", 1e3},
                  {"GB", "gigabytes", 1e9}, {"MiB", "mebibytes", 1 << 20}, {"GiB", "gibibytes", 1 << 30}},
      time[] = {{"ms", "milliseconds", 1e-3}, {"s", "seconds", 1}, {"min", "minutes", 60}, {"h", "hours", 3600}};
    double factor;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        assert_int_equal(gt_unit_memory(memory[i].symbol, &factor, NULL), 0);
        assert_true(factor == memory[i].factor);
        assert_string_equal(gt_unit_full_name(memory[i].symbol), memory[i].name);
    }
    for (size_t i = 0; i < sizeof time / sizeof *time; i++) {
        assert_int_equal(gt_unit_time(time[i].symbol, &factor, NULL), 0);
        assert_true(factor == time[i].factor);
        assert_string_equal(gt_unit_full_name(time[i].symbol), time[i].name);
    }
    assert_string_equal(gt_unit_full_name("furlongs"), "furlongs");
    assert_true(gt_unit_time("GB", &factor, NULL) < 0);
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

TEST(schema_tells_units_and_meanings)
{
    struct gt_report *report;
    assert_int_equal(gt_schema_report(&report, NULL), 0);
    const struct gt_table *metrics = gt_node_table(gt_node_find(&report->root, "metrics"));
    const struct gt_table *columns = gt_node_table(gt_node_find(&report->root, "columns"));
    assert_int_equal(gt_table_rows(metrics), GT_METRIC_COUNT);
    assert_string_equal(text_of(metrics, "cpu_time", "unit"), "seconds");
    assert_string_equal(text_of(metrics, "cpu_time", "kind"), "counter");
    assert_string_equal(text_of(metrics, "processes", "scopes"), "combined");
    static const struct {
        const char *column, *unit;
    } units[] = {
        {"main_ram", "ram_unit"},
        {"combined_gpu_ram", "gpu_ram_unit"},
        {"cpu_main_hardware_utilization_percent", "percent"},
        {"main_n_threads", "count"},
        {"timestamp", "seconds"},
        {"combined_swap", "bytes"},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        assert_string_equal(text_of(columns, units[i].column, "unit"), units[i].unit);
    for (size_t i = 0; i < gt_table_rows(columns); i++)
        assert_true(strlen(text_at(columns, i, 4)) > 5);
    gt_report_free(report);
}
