/* The text for Prometheus: names from the table, labels escaped, both forms, nothing for what was not measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/exposition.h"

static void names_have_scope_and_unit_once(void **state)
{
    (void)state;
    static const struct {
        enum gt_scope scope;
        enum gt_metric_id metric;
        const char *name;
    } expected[] = {
        {GT_SCOPE_SYSTEM, GT_RAM, "gpu_tracker_system_ram_bytes"},
        {GT_SCOPE_COMBINED, GT_CPU_TIME, "gpu_tracker_job_cpu_time_seconds"},
        {GT_SCOPE_COMBINED, GT_READ_BYTES, "gpu_tracker_job_read_bytes"},
        {GT_SCOPE_COMBINED, GT_THREADS, "gpu_tracker_job_threads"},
        {GT_SCOPE_SYSTEM, GT_GPU_RAM, "gpu_tracker_system_gpu_ram_bytes"},
        {GT_SCOPE_GPU, GT_GPU_RAM, "gpu_tracker_gpu_ram_bytes"},
        {GT_SCOPE_GPU, GT_GPU_THROTTLE, "gpu_tracker_gpu_throttle"},
    };
    char name[GT_EXPOSITION_NAME];
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        gt_exposition_name(name, expected[i].scope, expected[i].metric);
        assert_string_equal(name, expected[i].name);
    }
}

static void no_two_families_have_one_name(void **state)
{
    (void)state;
    static const enum gt_scope scopes[] = {GT_SCOPE_SYSTEM, GT_SCOPE_COMBINED, GT_SCOPE_GPU};
    static char name[3 * GT_METRIC_COUNT][GT_EXPOSITION_NAME];
    size_t count = 0;
    for (size_t s = 0; s < 3; s++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            gt_exposition_name(name[count], scopes[s], id);
            for (size_t i = 0; i < count && gt_metric_has(id, scopes[s]); i++)
                assert_string_not_equal(name[i], name[count]);
            count += gt_metric_has(id, scopes[s]);
        }
}

static void labels_are_escaped_and_valid(void **state)
{
    (void)state;
    struct gt_buffer labels = {0};
    gt_exposition_label(&labels, "a", "x\"y\\z\nw");
    gt_exposition_label(&labels, "empty", "");
    gt_exposition_label(&labels, "b", "k\xc3\xa4se\xff");
    assert_string_equal(labels.data, "a=\"x\\\"y\\\\z\\nw\",b=\"k\xc3\xa4se\xef\xbf\xbd\"");
    gt_buffer_release(&labels);
}

static void write_rows(struct gt_buffer *out, enum gt_exposition form)
{
    static double one[GT_METRIC_COUNT], two[GT_METRIC_COUNT];
    gt_values_clear(one);
    gt_values_clear(two);
    one[GT_CPU_TIME] = 1.5;
    one[GT_RAM] = INFINITY;
    two[GT_CPU_TIME] = 0;
    const struct gt_exposition_row rows[] = {
        {GT_SCOPE_COMBINED, "pid=\"1\"", one, {[GT_CAPACITY_CORE_LIMIT] = 1.5, [GT_CAPACITY_CORES] = 4}},
        {GT_SCOPE_COMBINED, "", two, {0}}};
    gt_exposition_metrics(out, form, rows, 2);
    gt_exposition_family(out, form, "thing", "info", NULL, "Say \"hi\"");
    gt_exposition_sample(out, "thing", "info", "v=\"2\"", 1);
    gt_exposition_end(out, form);
}

static void openmetrics(void **state)
{
    (void)state;
    struct gt_buffer out = {0};
    write_rows(&out, GT_EXPOSITION_OPENMETRICS);
    assert_string_equal(
        out.data, "# TYPE gpu_tracker_job_cpu_time_seconds counter\n"
                  "# UNIT gpu_tracker_job_cpu_time_seconds seconds\n"
                  "# HELP gpu_tracker_job_cpu_time_seconds CPU time used since tracking began, user and system\n"
                  "gpu_tracker_job_cpu_time_seconds_total{pid=\"1\"} 1.5\n"
                  "gpu_tracker_job_cpu_time_seconds_total 0.0\n"
                  "# TYPE gpu_tracker_job_core_limit gauge\n"
                  "# HELP gpu_tracker_job_core_limit Processors that the job may use: those it may run on, or the "
                  "smallest quota\n"
                  "gpu_tracker_job_core_limit{pid=\"1\"} 1.5\n"
                  "# TYPE thing info\n"
                  "# HELP thing Say \\\"hi\\\"\n"
                  "thing_info{v=\"2\"} 1.0\n"
                  "# EOF\n");
    gt_buffer_release(&out);
}

static void older_text(void **state)
{
    (void)state;
    struct gt_buffer out = {0};
    write_rows(&out, GT_EXPOSITION_TEXT);
    assert_string_equal(out.data, "# TYPE gpu_tracker_job_cpu_time_seconds_total counter\n"
                                  "# HELP gpu_tracker_job_cpu_time_seconds_total CPU time used since tracking began, "
                                  "user and system\n"
                                  "gpu_tracker_job_cpu_time_seconds_total{pid=\"1\"} 1.5\n"
                                  "gpu_tracker_job_cpu_time_seconds_total 0.0\n"
                                  "# TYPE gpu_tracker_job_core_limit gauge\n"
                                  "# HELP gpu_tracker_job_core_limit Processors that the job may use: those it may "
                                  "run on, or the smallest quota\n"
                                  "gpu_tracker_job_core_limit{pid=\"1\"} 1.5\n"
                                  "# TYPE thing_info gauge\n"
                                  "# HELP thing_info Say \"hi\"\n"
                                  "thing_info{v=\"2\"} 1.0\n");
    gt_buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_scope_and_unit_once),
        cmocka_unit_test(no_two_families_have_one_name),
        cmocka_unit_test(labels_are_escaped_and_valid),
        cmocka_unit_test(openmetrics),
        cmocka_unit_test(older_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
