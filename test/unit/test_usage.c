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
    const struct gt_node *node = gt_report_root(report);
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

TEST(peak_is_the_high_water_mark_and_parts_add_up)
{
    struct run run;
    begin(&run);
    ram(&run, GT_SCOPE_MAIN, 100e6, 60e6);
    ram(&run, GT_SCOPE_COMBINED, 100e6, 90e6);
    take_sample(&run, GT_FIXED_ROWS);
    ram(&run, GT_SCOPE_MAIN, 300e6, 20e6);
    ram(&run, GT_SCOPE_COMBINED, 300e6, 10e6);
    take_sample(&run, GT_FIXED_ROWS);
    ram(&run, GT_SCOPE_MAIN, 200e6, 70e6);
    ram(&run, GT_SCOPE_COMBINED, 200e6, 80e6);
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    run.outcome.value[GT_SCOPE_MAIN][GT_RAM_PEAK] = 500e6;
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK] = 250e6; /* the largest sample was a transient */
    run.outcome.value[GT_SCOPE_COMBINED][GT_RAM_PEAK_BOUND] = 700e6;
    struct gt_report *report = usage_of(&run);
    assert_number(report, "max_ram.main.total_rss", 500);
    assert_number(report, "max_ram.main.shared_rss", 20);
    assert_number(report, "max_ram.main.private_rss", 480);
    assert_number(report, "max_ram.combined.total_rss", 250);
    assert_number(report, "max_ram.combined.shared_rss", 10);
    assert_number(report, "max_ram.combined.private_rss", 240);
    assert_number(report, "max_ram.descendants.total_rss", NAN);
    assert_number(report, "max_ram.system_capacity", 8000);
    assert_number(report, "memory_peak.combined.best", 250);
    assert_number(report, "memory_peak.combined.upper", 700);
    assert_number(report, "memory_peak.descendants.upper", NAN);
    assert_number(report, "memory_peak.largest_sample", 300);
    end(&run, report);
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

TEST(cpu_means_are_total_time_over_elapsed)
{
    struct run run;
    begin(&run);
    run.row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION] = 1.5;
    run.row[GT_SCOPE_SYSTEM].value[GT_CPU_UTILIZATION] = 4;
    run.row[GT_SCOPE_MAIN].value[GT_CPU_UTILIZATION] = 0.1;
    run.row[GT_SCOPE_COMBINED].value[GT_THREADS] = 5;
    take_sample(&run, GT_FIXED_ROWS);
    run.row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION] = 0.5;
    run.row[GT_SCOPE_SYSTEM].value[GT_CPU_UTILIZATION] = 2;
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    run.outcome.elapsed = 4;
    run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = 1.2;
    run.outcome.value[GT_SCOPE_MAIN][GT_CPU_TIME] = 1.0; /* burnt between the samples */
    run.outcome.value[GT_SCOPE_COMBINED][GT_THREADS_PEAK] = 50;
    struct gt_report *report = usage_of(&run);
    assert_number(report, "cpu_utilization.combined.max_sum_percent", 150);
    assert_number(report, "cpu_utilization.combined.max_hardware_percent", 75);
    assert_number(report, "cpu_utilization.combined.mean_sum_percent", 30);
    assert_number(report, "cpu_utilization.combined.mean_hardware_percent", 15);
    assert_number(report, "cpu_utilization.main.max_sum_percent", 25); /* never less than the mean */
    assert_number(report, "cpu_utilization.system.max_hardware_percent", 50);
    assert_number(report, "cpu_utilization.system.mean_sum_percent", 300); /* no CPU time: the samples' mean */
    assert_number(report, "cpu_utilization.combined_n_threads", 50);
    assert_number(report, "cpu_utilization.main_n_threads", NAN);
    assert_number(report, "compute_time.time", 4);
    end(&run, report);
}

/* /proc/stat counts in ticks of 10 ms: over a moment that is no share of anything. The job's clock is fine enough. */
TEST(a_short_run_does_not_tell_of_the_machine)
{
    static const struct {
        double elapsed, busy, percent;
    } cases[] = {{0.0014, 0.01, NAN}, {0.0014, 0, NAN}, {0.044, 0.04, NAN}, {0.05, 0.04, 80}, {0.05, 0.45, 800}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        begin(&run);
        gt_summary_outcome(&run.summary, &run.outcome);
        run.outcome.elapsed = cases[i].elapsed;
        run.outcome.value[GT_SCOPE_SYSTEM][GT_CPU_TIME] = cases[i].busy;
        run.outcome.value[GT_SCOPE_COMBINED][GT_CPU_TIME] = cases[i].elapsed / 2;
        struct gt_report *report = usage_of(&run);
        assert_number(report, "cpu_utilization.system.mean_sum_percent", cases[i].percent);
        assert_number(report, "cpu_utilization.system.max_sum_percent", cases[i].percent);
        assert_number(report, "cpu_utilization.system.mean_hardware_percent", cases[i].percent / 8);
        assert_number(report, "cpu_utilization.combined.mean_sum_percent", 50);
        const char *table = isnan(cases[i].percent) ? "missing" : "provenance";
        assert_non_null(text_of(table_at(report, table), "cpu_utilization.system.mean_sum_percent", "metric"));
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

TEST(gpu_figures_are_zero_only_without_a_gpu_and_in_the_original_formats)
{
    static const struct {
        const char *format, *has;
    } formats[] = {
        {"text", "\n   Descendants: 0.0\n"},      {"json", "\"descendants\": 0.0,"},
        {"csv", "max_gpu_ram.descendants,,\n"},   {"markdown", "| Descendants | n/a |"},
        {"html", "Max GPU RAM, GPU utilization"},
    };
    struct run run;
    begin(&run);
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    struct gt_report *report = usage_of(&run);
    assert_true(gt_node_is_absent(node_at(report, "max_gpu_ram.main")));
    assert_true(gt_node_is_absent(node_at(report, "gpu_utilization.gpu_percentages.mean_sum_percent")));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct gt_buffer out = {0};
        assert_int_equal(gt_report_write(report, formats[i].format, &out, NULL), 0);
        if (!strstr(out.data, formats[i].has))
            fail_msg("%s has no %s:\n%s", formats[i].format, formats[i].has, out.data);
        gt_buffer_release(&out);
    }
    assert_null(gt_node_find(gt_report_root(report), "gpus"));
    gt_report_free(report);
    run.machine.gpu_count = run.machine.expected_gpus = 1;
    report = usage_of(&run);
    assert_number(report, "max_gpu_ram.main", NAN);
    assert_number(report, "gpu_utilization.gpu_percentages.mean_sum_percent", NAN);
    end(&run, report);
}

TEST(only_html_has_pictures_of_the_course)
{
    static const char *const formats[] = {"text", "json", "csv", "markdown", "html"};
    struct run run;
    begin(&run);
    for (int i = 0; i < 3; i++) {
        ram(&run, GT_SCOPE_COMBINED, 1e9 * i, 0);
        take_sample(&run, GT_FIXED_ROWS);
    }
    gt_summary_outcome(&run.summary, &run.outcome);
    struct gt_report *report = usage_of(&run);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct gt_buffer out = {0};
        assert_int_equal(gt_report_write(report, formats[i], &out, NULL), 0);
        bool is_mentioned = strstr(out.data, "<svg") || strstr(out.data, "over_time") ||
                            strstr(out.data, "RAM:\n   Comb") || strstr(out.data, "# RAM\n");
        assert_int_equal(is_mentioned, !strcmp(formats[i], "html"));
        gt_buffer_release(&out);
    }
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

TEST(every_figure_says_where_it_comes_from)
{
    struct run run;
    begin(&run);
    ram(&run, GT_SCOPE_MAIN, 100e6, 60e6);
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    run.outcome.value[GT_SCOPE_MAIN][GT_RAM_PEAK] = 150e6;
    struct gt_provenance provenance[] = {
        {GT_SCOPE_MAIN, GT_RAM_PEAK, GT_EXACT, "/proc/PID/status VmHWM", ""},
        {GT_SCOPE_COMBINED, GT_READ_BYTES, GT_MISSING, "", "/proc/PID/io may not be read"},
    };
    run.outcome.provenance = provenance;
    run.outcome.provenance_count = 2;
    struct gt_report *report = usage_of(&run);
    const struct gt_table *known = table_at(report, "provenance"), *missing = table_at(report, "missing");
    assert_string_equal(text_of(known, "max_ram.main.total_rss", "source"), "/proc/PID/status VmHWM");
    assert_string_equal(text_of(known, "max_ram.main.total_rss", "exactness"), "exact");
    assert_string_equal(text_of(known, "max_ram.main.total_rss", "metric"), "main_ram_peak");
    assert_null(text_of(known, "input_output.read", "source"));
    assert_string_equal(text_of(missing, "input_output.read", "reason"), "/proc/PID/io may not be read");
    assert_string_equal(text_of(missing, "max_gpu_ram.main", "reason"), "no GPU");
    assert_string_equal(text_of(missing, "network_namespace.sent", "reason"), "no source has it here");
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

TEST(text_has_the_original_layout)
{
    struct run run;
    begin(&run);
    strcpy(run.machine.ram_unit, "gigabytes");
    strcpy(run.machine.time_unit, "hours");
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        ram(&run, (enum gt_scope)scope, 1.2345678e9, 0.2e9);
        run.row[scope].value[GT_CPU_UTILIZATION] = 0.5;
        run.row[scope].value[GT_THREADS] = scope;
    }
    take_sample(&run, GT_FIXED_ROWS);
    gt_summary_outcome(&run.summary, &run.outcome);
    run.outcome.elapsed = 3.6;
    struct gt_report *report = usage_of(&run);
    struct gt_buffer text = {0};
    assert_int_equal(gt_report_write(report, "text", &text, NULL), 0);
    static const char rss[] = "      Total RSS: 1.235\n      Private RSS: 1.035\n      Shared RSS: 0.2\n";
    static const char half[] = "      Max sum percent: 50.0\n      Max hardware percent: 25.0\n"
                               "      Mean sum percent: 50.0\n      Mean hardware percent: 25.0\n";
    static const char system_half[] = "      Max sum percent: 50.0\n      Max hardware percent: 6.25\n"
                                      "      Mean sum percent: 50.0\n      Mean hardware percent: 6.25\n";
    static const char none[] = "      Max sum percent: 0.0\n      Max hardware percent: 0.0\n"
                               "      Mean sum percent: 0.0\n      Mean hardware percent: 0.0\n";
    struct gt_buffer expected = {0};
    gt_buffer_printf(&expected,
                     "Max RAM:\n   Unit: gigabytes\n   System capacity: 8.0\n   System: 1.235\n"
                     "   Main:\n%s   Descendants:\n%s   Combined:\n%s"
                     "Max GPU RAM:\n   Unit: megabytes\n   System capacity: 0.0\n   System: 0.0\n   Main: 0.0\n"
                     "   Descendants: 0.0\n   Combined: 0.0\n"
                     "CPU utilization:\n   System core count: 8\n   Number of expected cores: 2\n"
                     "   System:\n%s   Main:\n%s   Descendants:\n%s   Combined:\n%s"
                     "   Main number of threads: 1\n   Descendants number of threads: 2\n"
                     "   Combined number of threads: 3\n"
                     "GPU utilization:\n   System GPU count: 0\n   Number of expected GPUs: 0\n   GPU percentages:\n%s"
                     "Compute time:\n   Unit: hours\n   Time: 0.001\n",
                     rss, rss, rss, system_half, half, half, half, none);
    assert_true(text.length > expected.length);
    text.data[expected.length] = '\0';
    assert_string_equal(text.data, expected.data);
    gt_buffer_release(&text);
    gt_buffer_release(&expected);
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

TEST(a_summary_alone_is_that_of_the_report)
{
    struct run run;
    struct gt_report *summary;
    char *text[2];
    size_t length[2];
    begin(&run);
    run.outcome.elapsed = 60;
    ram(&run, GT_SCOPE_COMBINED, 2e9, 1e9);
    take_sample(&run, GT_FIXED_ROWS);
    struct gt_report *report = usage_of(&run);
    assert_int_equal(
        gt_usage_summary(&summary,
                         &(struct gt_usage){.machine = &run.machine, .summary = &run.summary, .outcome = &run.outcome},
                         NULL),
        0);
    assert_int_equal(gt_report_render(report, "summary", &text[0], &length[0], NULL), 0);
    assert_int_equal(gt_report_render(summary, "summary", &text[1], &length[1], NULL), 0);
    assert_string_equal(text[0], text[1]);
    assert_non_null(strstr(text[1], "memory"));
    free(text[0]);
    free(text[1]);
    gt_report_free(summary);
    end(&run, report);
}

static const char *words_of_memory(struct gt_report *report)
{
    const struct gt_node *line = gt_brief_first_of(gt_brief_of(gt_report_root(report)), "lines");
    while (line && strcmp(line->title, "memory") != 0)
        line = line->next;
    assert_non_null(line);
    return gt_brief_text(line, "words");
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
