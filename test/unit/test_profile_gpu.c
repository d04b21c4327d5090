/* Analyses of GPU traces: answers known by construction, and the sweep against counting moment by moment. */
#include "analyse/gpu/lists.h"
#include "support/folder.h"
#include "support/test.h"
#include "support/trace_file.h"
#include "support/traces.h"

enum { US = 1000 };

static void gpu(struct gt_trace *trace, const char *category, const char *name, const char *stream, int64_t start,
                int64_t duration, uint64_t id)
{
    traces_add(trace, (struct traces_event){.node = "rank 0",
                                            .process = "0",
                                            .thread = stream,
                                            .category = category,
                                            .name = name,
                                            .start = start * US,
                                            .duration = duration * US,
                                            .step = GT_TRACE_NO_STEP,
                                            .id = id,
                                            .external = id});
}

static void host(struct gt_trace *trace, const char *category, const char *name, int64_t start, int64_t duration,
                 uint64_t id)
{
    traces_add(trace, (struct traces_event){.node = "rank 0",
                                            .process = "python",
                                            .thread = "9",
                                            .category = category,
                                            .name = name,
                                            .start = start * US,
                                            .duration = duration * US,
                                            .step = GT_TRACE_NO_STEP,
                                            .id = id,
                                            .external = id});
}

#define CELL(report, table, column) traces_number(report, table, 0, column)

/* compute 0-40, communication 30-60, memory 55-70, idle 70-80, compute 80-100 */
static struct gt_trace *mixed(void)
{
    struct gt_trace *trace = traces_new();
    host(trace, "cuda_runtime", "cudaLaunchKernel", 0, 5, 1);
    gpu(trace, "kernel", "gemm", "7", 10, 40, 1);
    gpu(trace, "kernel", "ncclDevKernel_AllReduce", "8", 40, 30, 0);
    gpu(trace, "gpu_memcpy", "Memcpy HtoD", "9", 65, 15, 0);
    host(trace, "cuda_runtime", "cudaLaunchKernel", 85, 2, 2);
    gpu(trace, "kernel", "gemm", "7", 90, 20, 2);
    return trace;
}

TEST(idle_has_a_cause)
{
    struct gt_trace *trace = traces_new();
    host(trace, "cuda_runtime", "cudaLaunchKernel", 0, 1, 1);
    host(trace, "cuda_runtime", "cudaLaunchKernel", 2, 1, 2);
    host(trace, "cuda_runtime", "cudaLaunchKernel", 3, 1, 3);
    gpu(trace, "kernel", "a", "7", 10, 10, 1);
    gpu(trace, "kernel", "b", "7", 25, 10, 2); /* launched long before: 5 us other */
    trace->events.start[4] = 20 * US + 30;     /* now 30 ns after a: between kernels */
    gt_trace_set_duration(&trace->events, 4, 15 * US - 30);
    gpu(trace, "kernel", "c", "7", 40, 10, 3); /* 5 us other */
    host(trace, NULL, "enumerate(DataLoader)#_Iter.__next__", 45, 30, 0);
    host(trace, "cuda_runtime", "cudaLaunchKernel", 75, 1, 4);
    gpu(trace, "kernel", "d", "7", 80, 10, 4); /* 30 us host, 25 of them the loader */
    gpu(trace, "kernel", "e", "7", 95, 5, 0);  /* 5 us, launch unknown */
    struct gt_report *report = traces_report("idle", trace, NULL);
    assert_true(fabs(CELL(report, "devices", "between_kernels_us") - 0.03) < 1e-9);
    assert_true(CELL(report, "devices", "other_us") == 10);
    assert_true(CELL(report, "devices", "host_wait_us") == 30);
    assert_true(CELL(report, "devices", "data_loader_us") == 25);
    assert_true(fabs(CELL(report, "devices", "idle_us") - 40.03) < 1e-9);
    assert_true(CELL(report, "devices", "gaps") == 4);
    gt_report_free(report);
    report = traces_report("advice", trace, NULL);
    assert_non_null(strstr(traces_text(report, "advice", 0, "advice"),
                           "idle 44 % of the time, 62 % of it waiting for the data loader"));
    gt_report_free(report);
    gt_trace_close(trace);
}

/* The parts of breakdown and idle for random work, against a count of every nanosecond. */
TEST(sweeps_agree_with_counting)
{
    enum { LENGTH = 400, EVENTS = 25 };
    static const char *const names[] = {"gemm", "ncclDevKernel_X", "Memset (Device)"};
    for (unsigned seed = 1; seed <= 60; seed++) {
        unsigned random = seed, count[4] = {0};
        unsigned char running[LENGTH] = {0};
        int first = LENGTH, last = 0;
        struct gt_trace *trace = traces_new();
        for (int i = 0; i < EVENTS; i++) {
            int usage = rand_r(&random) % 3, start = rand_r(&random) % 350, duration = rand_r(&random) % 12;
            traces_add(trace, (struct traces_event){.node = "n",
                                                    .process = "0",
                                                    .thread = i % 2 ? "7" : "8",
                                                    .category = usage == 2 ? "gpu_memset" : "kernel",
                                                    .name = names[usage],
                                                    .start = start,
                                                    .duration = duration,
                                                    .step = GT_TRACE_NO_STEP});
            first = start < first ? start : first;
            last = start + duration > last ? start + duration : last;
            for (int at = start; at < start + duration; at++)
                running[at] |= (unsigned char)(1 << usage);
        }
        for (int at = first; at < last; at++)
            count[running[at] & 1 ? 1 : running[at] & 2 ? 2 : running[at] & 4 ? 3 : 0]++;
        struct gt_report *report = traces_report("breakdown", trace, NULL);
        static const char *const columns[] = {"idle_us", "compute_us", "communication_us", "memory_us"};
        for (size_t i = 0; i < 4; i++)
            assert_true(fabs(CELL(report, "breakdown", columns[i]) - count[i] / 1e3) < 1e-9);
        gt_report_free(report);
        report = traces_report("idle", trace, NULL);
        assert_true(fabs(CELL(report, "devices", "idle_us") - count[0] / 1e3) < 1e-9);
        assert_true(CELL(report, "devices", "other_us") == CELL(report, "devices", "idle_us"));
        gt_report_free(report);
        gt_trace_close(trace);
    }
}

TEST(kernels_and_operators_are_counted)
{
    struct gt_trace *trace = mixed();
    host(trace, "cpu_op", "aten::linear", 100, 50, 11);
    host(trace, "cpu_op", "aten::mm", 110, 20, 12);
    host(trace, "cpu_op", "aten::mm", 135, 10, 13);
    gpu(trace, "kernel", "tail", "7", 200, 6, 12);
    struct gt_report *report = traces_report("kernels", trace, NULL);
    size_t gemm = traces_find(report, "kernels", 0, "name", "gemm");
    assert_int_equal(gemm, 0); /* the most time */
    assert_true(traces_number(report, "kernels", gemm, "count") == 2);
    assert_true(traces_number(report, "kernels", gemm, "total_us") == 60);
    assert_true(traces_number(report, "kernels", gemm, "p95_us") == 39); /* as numpy: 20 + 0.95 * 20 */
    assert_string_equal(traces_text(report, "kernels", 1, "type"), "communication");
    gt_report_free(report);
    report = traces_report("operators", trace, NULL);
    size_t linear = traces_find(report, "operators", 0, "name", "aten::linear");
    size_t mm = traces_find(report, "operators", 0, "name", "aten::mm");
    assert_true(traces_number(report, "operators", linear, "self_us") == 20);
    assert_true(traces_number(report, "operators", mm, "self_us") == 30);
    assert_true(traces_number(report, "operators", mm, "gpu_us") == 6);
    assert_true(traces_number(report, "operators", linear, "gpu_us") == 0);
    gt_report_free(report);
    gt_trace_close(trace);
}

TEST(top_and_order_are_kept)
{
    struct gt_trace *trace = mixed();
    struct gt_profile_options options = GT_INIT(struct gt_profile_options);
    options.top = 1;
    options.key = "name";
    struct gt_report *report = traces_report("kernels", trace, &options);
    assert_int_equal(traces_rows(report, "kernels"), 1);
    assert_string_equal(traces_text(report, "kernels", 0, "name"), "Memcpy HtoD");
    gt_report_free(report);
    struct gt_error error = {0};
    options.key = "weight";
    assert_true(gt_analysis_run(gt_analysis_find("kernels", NULL), trace, NULL, &options, &report, &error) < 0);
    assert_non_null(strstr(error.text, "weight"));
    gt_trace_close(trace);
}

TEST(answers_do_not_depend_on_order)
{
    static const char *const names[] = {"breakdown", "idle",   "kernels", "operators",
                                        "launches",  "advice", "steps",   "job"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gt_trace *trace = mixed();
        struct gt_report *report = traces_report(names[i], trace, NULL);
        char *before = traces_json(report);
        gt_report_free(report);
        for (unsigned seed = 1; seed < 5; seed++) {
            traces_shuffle(trace, seed);
            report = traces_report(names[i], trace, NULL);
            char *after = traces_json(report);
            assert_string_equal(before, after);
            free(after);
            gt_report_free(report);
        }
        free(before);
        gt_trace_close(trace);
    }
}

/* What scipy.stats.mannwhitneyu(method="asymptotic") says. */
TEST(the_test_of_significance_is_right)
{
    struct gt_numbers a = {0}, b = {0};
    for (int i = 1; i <= 5; i++) {
        gt_numbers_add(&a, i);
        gt_numbers_add(&b, i + 5);
    }
    assert_true(fabs(gt_significance(&a, &b) - 0.012185780355344813) < 1e-12);
    assert_true(isnan(gt_significance(&a, &(struct gt_numbers){0})));
    gt_numbers_release(&a);
    gt_numbers_release(&b);
}

/* By hand: 0.001 * 5, 0.02 * 4, 0.04 * 3, 0.3 * 2, 0.9. */
TEST(many_tests_are_corrected)
{
    double p[] = {0.04, NAN, 0.001, 0.02, 0.3, 0.9};
    const double expected[] = {0.12, NAN, 0.005, 0.08, 0.6, 0.9};
    assert_int_equal(gt_significance_correct(p, 6), 0);
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs(p[i] - expected[i]) < 1e-12 || (isnan(p[i]) && isnan(expected[i])));
    double ordered[] = {0.02, 0.021, 0.9};
    assert_int_equal(gt_significance_correct(ordered, 3), 0);
    assert_true(fabs(ordered[0] - 0.06) < 1e-12 && fabs(ordered[1] - 0.06) < 1e-12); /* never below one before */
    assert_int_equal(gt_significance_correct(NULL, 0), 0);
}

TEST(differences_are_named)
{
    struct gt_trace *a = mixed(), *b = mixed();
    struct gt_report *report = NULL;
    gpu(b, "kernel", "new", "7", 200, 50, 0);
    assert_true(gt_analysis_run(gt_analysis_find("diff", NULL), a, b, NULL, &report, NULL) >= 0);
    assert_string_equal(traces_text(report, "differences", 0, "name"), "new");
    assert_string_equal(traces_text(report, "differences", 0, "change"), "added");
    assert_string_equal(traces_text(report, "differences", 1, "change"), "same");
    gt_report_free(report);
    assert_true(gt_analysis_run(gt_analysis_find("diff", NULL), b, a, NULL, &report, NULL) >= 0);
    assert_string_equal(traces_text(report, "differences", 0, "change"), "removed");
    gt_report_free(report);
    gt_trace_close(a);
    gt_trace_close(b);
}

/* What was allocated before the trace is a holder of told totals, and no part of sums. */
TEST_WITH(holders_sum_to_the_peak, folder_make, folder_remove)
{
#define CHANGE(time, bytes, address, rest)                                                                 \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":9,\"tid\":9,\"ts\":" #time ",\"args\":{\"Bytes\":" #bytes \
    ",\"Addr\":" #address ",\"Device Type\":1,\"Device Id\":0" rest "}}"
#define TOTAL(bytes) ",\"Total Allocated\":" #bytes
    static const char *const texts[] = {
        "[" CHANGE(1, -77, 9, "") "," CHANGE(2, 100, 1, "") "," CHANGE(3, 50, 2, "") "," CHANGE(4, -100, 1, "") "]",
        "[" CHANGE(1, -77, 9, TOTAL(23)) "," CHANGE(2, 100, 1, TOTAL(123)) "," CHANGE(3, 50, 2, TOTAL(173)) "]"};
    for (size_t i = 0; i < 2; i++) {
        const char *path = trace_write_text(*state, "memory.json", texts[i]);
        struct gt_report *report = NULL;
        double held = 0;
        assert_true(gt_profile_report("memory", &path, 1, NULL, NULL, &report, NULL) >= 0);
        for (size_t row = 0; row < traces_rows(report, "holders"); row++)
            held += traces_number(report, "holders", row, "held_bytes");
        assert_true(held == (i ? 173 : 150) && CELL(report, "memory", "peak_allocated_bytes") == held);
        if (i)
            assert_string_equal(traces_text(report, "holders", 1, "operator"), "before the trace");
        gt_report_free(report);
    }
}
