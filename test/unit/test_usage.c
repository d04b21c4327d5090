/* The tracking report: what it says about samples and an outcome of known values. */
#include "analyse/usage/usage.h"
#include "report/brief.h"
#include "support/reports.h"
#include "support/test.h"

struct run {
    struct gt_machine machine;
    struct gt_summary summary;
    struct gt_outcome outcome;
    struct gt_row row[GT_FIXED_ROWS + 1];
    int64_t now;
};

static void begin(struct run *run)
{
    memset(run, 0, sizeof *run);
    run->machine = (struct gt_machine){
        .ram_unit = "megabytes",
        .gpu_ram_unit = "megabytes",
        .time_unit = "seconds",
        .ram_capacity = 8e9,
        .core_count = 8,
        .expected_cores = 2,
        .command = "job",
        .ram_method = "control group of the job",
    };
    gt_summary_init(&run->summary);
    for (int i = 0; i <= GT_FIXED_ROWS; i++) {
        run->row[i].scope = i < GT_FIXED_ROWS ? (enum gt_scope)i : GT_SCOPE_GPU;
        gt_values_clear(run->row[i].value);
    }
}

static void take_sample(struct run *run, size_t rows)
{
    run->now += 1000000000;
    struct gt_sample sample = {.real_ns = run->now, .monotonic_ns = run->now, .row_count = rows, .row = run->row};
    assert_int_equal(gt_summary_add(&run->summary, &sample), 0);
}

static void ram(struct run *run, enum gt_scope scope, double total, double shared)
{
    run->row[scope].value[GT_RAM] = total;
    run->row[scope].value[GT_RAM_SHARED] = shared;
}

static struct gt_report *usage_of(struct run *run)
{
    struct gt_report *report;
    struct gt_error error = {0};
    if (gt_usage_report(
            &report, &(struct gt_usage){.machine = &run->machine, .summary = &run->summary, .outcome = &run->outcome},
            &error) < 0)
        fail_msg("%s", error.text);
    return report;
}

static void end(struct run *run, struct gt_report *report)
{
    gt_report_free(report);
    gt_summary_release(&run->summary);
}

static const struct gt_node *node_at(struct gt_report *report, const char *path)
{
    char copy[128], *rest = copy;
    strcpy(copy, path);
    const struct gt_node *node = &report->root;
    for (char *key; (key = strsep(&rest, "."));)
        node = gt_node_find(node, key);
    if (!node)
        fail_msg("the report has no %s", path);
    return node;
}

static const struct gt_table *table_at(struct gt_report *report, const char *path)
{
    return gt_node_table(node_at(report, path));
}

static void assert_number(struct gt_report *report, const char *path, double expected)
{
    double value = gt_node_number(node_at(report, path));
    if (!(fabs(value - expected) < 1e-9) && !(isnan(value) && isnan(expected)))
        fail_msg("%s is %.17g, not %.17g", path, value, expected);
}

TEST(samples_that_missed_the_peak_do_not_contradict_it)
{
    for (double peak = 250e6; peak <= 500e6; peak += 250e6) {
        struct run run;
        begin(&run);
        ram(&run, GT_SCOPE_COMBINED, 100e6, 60e6);
        run.row[GT_SCOPE_COMBINED].value[GT_RSS] = 300e6;
        take_sample(&run, GT_FIXED_ROWS);
        gt_summary_outcome(&run.summary, &run.outcome);
        run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = peak;
        struct gt_report *report = usage_of(&run);
        assert_number(report, "memory_peak.largest_sample", peak > 300e6 ? NAN : 100);
        assert_number(report, "memory_peak.rss_sum", peak > 300e6 ? NAN : 300);
        end(&run, report);
    }
}

/* Charged a moment late, or more than was expected to be used. */
TEST(nothing_is_used_more_than_wholly)
{
    struct run run;
    begin(&run);
    run.machine.gpu_count = 4;
    run.machine.expected_gpus = 1;
    run.row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION] = 3;
    run.row[GT_SCOPE_SYSTEM].value[GT_GPU_UTILIZATION] = 1.5;
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    run.outcome.elapsed = 1;
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 9;
    run.outcome.value[GT_SCOPE_SYSTEM][GT_CPU_TIME] = 9.5;
    struct gt_report *report = usage_of(&run);
    for (int scope = 0; scope < 2; scope++) {
        char path[64];
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "cpu_utilization.%s.%s_sum_percent", scope ? "combined" : "system",
                     i ? "max" : "mean");
            assert_number(report, path, 800);
            snprintf(path, sizeof path, "cpu_utilization.%s.%s_hardware_percent", scope ? "combined" : "system",
                     i ? "max" : "mean");
            assert_number(report, path, 100);
        }
    }
    assert_number(report, "gpu_utilization.gpu_percentages.max_sum_percent", 150);
    assert_number(report, "gpu_utilization.gpu_percentages.max_hardware_percent", 100);
    end(&run, report);
}

TEST(each_gpu_has_its_row)
{
    struct run run;
    begin(&run);
    struct gt_gpu gpus[2] = {{.uuid = "GPU-a", .name = "A", .brand = "nvidia", .memory = 16e9, .selected = true},
                             {.uuid = "GPU-b", .name = "B", .brand = "amd", .memory = NAN}};
    run.machine.gpu = gpus;
    run.machine.gpu_length = run.machine.gpu_count = 2;
    run.machine.expected_gpus = 1;
    run.row[GT_FIXED_ROWS].device = 1;
    for (int i = 1; i <= 3; i++) {
        run.row[GT_SCOPE_SYSTEM].value[GT_GPU_UTILIZATION] = 0.25 * i;
        run.row[GT_FIXED_ROWS].value[GT_GPU_UTILIZATION] = 0.2 * i;
        run.row[GT_FIXED_ROWS].value[GT_GPU_RAM] = 1e9 * i;
        run.row[GT_FIXED_ROWS].value[GT_GPU_ENERGY] = 10 * i;
        take_sample(&run, GT_FIXED_ROWS + 1);
    }
    gt_summary_outcome(&run.summary, &run.outcome);
    struct gt_report *report = usage_of(&run);
    assert_number(report, "gpu_utilization.gpu_percentages.max_sum_percent", 75);
    assert_number(report, "gpu_utilization.gpu_percentages.mean_sum_percent", 50);
    const struct gt_table *table = table_at(report, "gpus");
    assert_int_equal(gt_table_rows(table), 2);
    assert_string_equal(text_at(table, 1, 0), "GPU-b");
    const struct {
        const char *key;
        double of_a, of_b;
    } expected[] = {
        {"ram_capacity", 16000, NAN},          {"max_ram", NAN, 3000}, {"max_utilization_percent", NAN, 60},
        {"mean_utilization_percent", NAN, 40}, {"energy", NAN, 30},    {"max_power", NAN, NAN},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t column = 0;
        while (strcmp(table->column[column].key, expected[i].key))
            column++;
        double a = gt_table_cell_number(table, 0, column), b = gt_table_cell_number(table, 1, column);
        assert_true(isnan(expected[i].of_a) ? isnan(a) : fabs(a - expected[i].of_a) < 1e-9);
        assert_true(isnan(expected[i].of_b) ? isnan(b) : fabs(b - expected[i].of_b) < 1e-9);
    }
    end(&run, report);
}

TEST(counters_are_those_of_the_whole_run)
{
    struct run run;
    begin(&run);
    run.row[GT_SCOPE_COMBINED].value[GT_READ_BYTES] = 4096;
    run.row[GT_SCOPE_COMBINED].value[GT_SWAP] = 1e6;
    take_sample(&run, GT_FIXED_ROWS);
    run.row[GT_SCOPE_COMBINED].value[GT_SWAP] = 0;
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    run.outcome.value[GT_SCOPE_COMBINED][GT_READ_BYTES] = 8192;
    run.outcome.value[GT_SCOPE_COMBINED][GT_PROCESSES_STARTED] = 3;
    run.outcome.exit_status = 137;
    run.outcome.elapsed = 10;
    run.outcome.own_cpu_time = 0.02;
    struct gt_report *report = usage_of(&run);
    assert_number(report, "input_output.read", 8192);
    assert_number(report, "swap.combined", 1e6);
    assert_number(report, "processes.started", 3);
    assert_number(report, "page_faults.minor", NAN);
    assert_number(report, "run.exit_status", 137);
    assert_null(gt_node_text(node_at(report, "run.ended_by_signal"))); /* recordings of before have no word of it */
    assert_number(report, "tracker.core_percent", 0.2);
    assert_number(report, "tracker.samples", 2);
    assert_true(gt_node_flag_bits(node_at(report, "page_faults")) & GT_ONLY_DATA);
    assert_false(gt_node_flag_bits(node_at(report, "swap")) & GT_ONLY_DATA);
    end(&run, report);
}

/* Every figure of provenance and missing is a figure of the report. */
TEST(provenance_names_figures_that_exist)
{
    struct run run;
    begin(&run);
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    struct gt_report *report = usage_of(&run);
    static const char *const tables[] = {"provenance", "missing"};
    for (int t = 0; t < 2; t++) {
        const struct gt_table *table = table_at(report, tables[t]);
        assert_true(gt_table_rows(table) > 0);
        for (size_t row = 0; row < gt_table_rows(table); row++)
            assert_true(gt_node_is_field(node_at(report, text_at(table, row, 0))));
    }
    end(&run, report);
}

TEST(wrong_units_are_named)
{
    struct run run;
    begin(&run);
    strcpy(run.machine.time_unit, "weeks");
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    assert_int_equal(
        gt_usage_report(&report,
                        &(struct gt_usage){.machine = &run.machine, .summary = &run.summary, .outcome = &run.outcome},
                        &error),
        -EINVAL);
    assert_non_null(strstr(error.text, "weeks"));
    assert_null(report);
}

static const char *words_of_memory(struct gt_report *report)
{
    const struct gt_brief_item *line = report->root.brief->lines.first;
    while (line && strcmp(line->title, "memory") != 0)
        line = line->next;
    assert_non_null(line);
    return line->words;
}

TEST(a_peak_above_the_limit_that_it_met_is_explained)
{
    struct run run;
    begin(&run);
    ram(&run, GT_SCOPE_COMBINED, 215e6, 5e6);
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 215e6;
    run.outcome.elapsed = 10;
    run.outcome.events.oom_kills = 1;
    run.machine.limit[GT_LIMIT_GROUP_MEMORY].value = 216e6;
    struct gt_report *report = usage_of(&run);
    assert_string_equal(words_of_memory(report), "peak, at the limit of 216 MB");
    gt_report_free(report);
    run.machine.limit[GT_LIMIT_GROUP_MEMORY].value = 210e6;
    report = usage_of(&run);
    assert_string_equal(words_of_memory(report), "peak, at the limit of 210 MB (pages of shared files do not count)");
    end(&run, report);
}
