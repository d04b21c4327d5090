/* What changed from one trace to another, in a sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyse/trace/diff_words.h"
#include "support/traces.h"

static void largest_changes_are_told(void **state)
{
    (void)state;
    struct gt_diff_change change[] = {
        {"void a::gemm<b::F<int> >(int)", {4, 4}, {1000, 1500}},
        {"slight", {1, 1}, {100, 95}},
        {"old", {2, 0}, {200, 0}},
        {"fresh", {0, 3}, {0, 40}},
        {"less", {1, 1}, {300, 265}},
    };
    struct gt_buffer out = {0};
    size_t count = sizeof change / sizeof *change;
    struct gt_diff_whole sum = gt_diff_sum(change, count, "GPUs work", " a step");
    gt_diff_words(change, count, &sum, " a step", &out);
    assert_string_equal(
        out.data, "GPUs work 1.9 ms a step in B, 1.6 ms in A (+19 %): gemm<F<…>> takes 500 us more a step (+50 %); "
                  "old is gone (200 us a step); fresh is new (40 us a step)");
    gt_buffer_release(&out);
}

static void equal_traces_say_so(void **state)
{
    (void)state;
    struct gt_diff_change change[] = {{"a", {1, 1}, {1000, 1005}}};
    struct gt_buffer out = {0};
    gt_diff_words(change, 1, &(struct gt_diff_whole){"GPUs work", "", {1000, 1005}}, "", &out);
    assert_string_equal(out.data, "GPUs work 1.005 ms in B, 1 ms in A (+0 %); nothing changed by 1 % of it");
    gt_buffer_release(&out);
}

static void add(struct gt_trace *trace, const char *category, const char *name, int32_t step, int64_t start,
                int64_t duration)
{
    traces_add(trace, (struct traces_event){.node = "rank 0",
                                            .process = "0",
                                            .thread = "7",
                                            .category = category,
                                            .name = name,
                                            .start = start,
                                            .duration = duration,
                                            .step = step});
}

/* A has one step with 40 us of k, B two with 50 us each; operators are left out where there is work of GPUs. */
static void figures_are_those_of_a_step(void **state)
{
    (void)state;
    struct gt_trace *a = traces_new(), *b = traces_new();
    struct gt_report *report = NULL;
    add(a, "kernel", "k", 1, 0, 40000);
    add(a, "cpu_op", "aten::mm", 1, 0, 9000000);
    add(b, "kernel", "k", 1, 0, 50000);
    add(b, "kernel", "k", 2, 100000, 50000);
    assert_true(gt_analysis_run(gt_analysis_find("diff", NULL), a, b, NULL, &report, NULL) >= 0);
    const struct gt_node *first = gt_node_child(gt_report_top(report));
    assert_string_equal(gt_node_text(first),
                        "GPUs work 50 us a step in B, 40 us in A (+25 %): k takes 10 us more a step (+25 %)");
    gt_report_free(report);
    gt_trace_close(a);
    gt_trace_close(b);
}

/* A waits for its data 200 us of a step of 1 ms, B 400 us of 1.2 ms; the GPU does the same. */
static void a_longer_step_comes_first(void **state)
{
    (void)state;
    struct gt_trace *traces[] = {traces_new(), traces_new()};
    struct gt_report *report = NULL;
    for (int64_t i = 0; i < 2; i++) {
        int64_t loading = 200000 * (i + 1);
        add(traces[i], "user_annotation", "ProfilerStep#0", 0, 0, 800000 + loading);
        add(traces[i], "user_annotation", "next", 0, 0, loading);
        add(traces[i], "cpu_op", "aten::mm", 0, loading, 10000);
        add(traces[i], "cuda_runtime", "cudaStreamSynchronize", 0, loading + 10000, 700000 - 300000 * i);
        add(traces[i], "kernel", "k", 0, loading, 600000);
        traces_step(traces[i], "rank 0", "ProfilerStep", 0, 0, 800000 + loading);
    }
    assert_true(gt_analysis_run(gt_analysis_find("diff", NULL), traces[0], traces[1], NULL, &report, NULL) >= 0);
    assert_string_equal(
        gt_node_text(gt_node_child(gt_report_top(report))),
        "A step takes 1.2 ms in B, 1 ms in A (+20 %): the host outside of operators and calls takes 300 us more a "
        "step (+333 %); next takes 200 us more a step (+100 %). GPUs work 600 us a step in B, 600 us in A "
        "(+0 %); nothing changed by 1 % of it");
    gt_report_free(report);
    gt_trace_close(traces[0]);
    gt_trace_close(traces[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_changes_are_told),
        cmocka_unit_test(equal_traces_say_so),
        cmocka_unit_test(figures_are_those_of_a_step),
        cmocka_unit_test(a_longer_step_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
