/* The text for Prometheus: names from the table, labels escaped, both forms, nothing for what was not measured. */
#include "report/exposition.h"
#include "support/test.h"

/* Every metric in every scope that has it. */
static struct gt_buffer all_families(void)
{
    static const enum gt_scope scopes[] = {GT_SCOPE_SYSTEM, GT_SCOPE_COMBINED, GT_SCOPE_GPU};
    static double value[3][GT_METRIC_COUNT];
    struct gt_exposition_row rows[3] = {0};
    struct gt_buffer out = {0};
    for (int i = 0; i < 3; i++) {
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            value[i][id] = gt_metric_has(id, scopes[i]) ? 1 : NAN;
        rows[i] = (struct gt_exposition_row){.scope = scopes[i], .labels = "", .value = value[i]};
    }
    gt_exposition_metrics(&out, GT_EXPOSITION_OPENMETRICS, rows, 3);
    return out;
}

TEST(names_have_scope_and_unit_once)
{
    static const char *const expected[] = {"gpu_tracker_system_ram_bytes",     "gpu_tracker_job_cpu_time_seconds",
                                           "gpu_tracker_job_read_bytes",       "gpu_tracker_job_threads",
                                           "gpu_tracker_system_gpu_ram_bytes", "gpu_tracker_gpu_ram_bytes",
                                           "gpu_tracker_gpu_throttle"};
    struct gt_buffer out = all_families();
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char line[200];
        snprintf(line, sizeof line, "# TYPE %s ", expected[i]);
        assert_non_null(strstr(out.data, line));
    }
    gt_buffer_release(&out);
}

TEST(no_two_families_have_one_name)
{
    struct gt_buffer out = all_families();
    size_t count = 0;
    for (const char *at = out.data; (at = strstr(at, "# TYPE ")); at += strlen("# TYPE "), count++) {
        char line[200];
        snprintf(line, sizeof line, "%.*s ", (int)strcspn(at + strlen("# TYPE "), " ") + (int)strlen("# TYPE "), at);
        assert_null(strstr(at + 1, line));
    }
    assert_true(count > GT_METRIC_COUNT);
    gt_buffer_release(&out);
}

TEST(labels_are_escaped_and_valid)
{
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

TEST(openmetrics)
{
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

TEST(older_text)
{
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
