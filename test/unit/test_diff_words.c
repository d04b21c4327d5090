/* What changed from one trace to another, in a sentence. */
#include "analyse/compare/diff_words.h"
#include "support/test.h"
#include "support/traces.h"

TEST(largest_changes_are_told)
{
    struct gt_diff_change change[] = {
        {"void a::gemm<b::F<int> >(int)", {4, 4}, {1000, 1500}},
        {"slight", {1, 1}, {100, 95}},
        {"old", {2, 0}, {200, 0}},
        {"fresh", {0, 3}, {0, 40}},
        {"less", {1, 1}, {300, 265}},
    };
    struct gt_buffer out = {0};
    gt_diff_words(change, sizeof change / sizeof *change, "GPUs work", " a step", " a step", NULL, &out);
    assert_string_equal(
        out.data, "GPUs work 1.9 ms a step in B, 1.6 ms in A (+19 %): gemm<F<…>> takes 500 us more a step (+50 %); "
                  "old is gone (200 us a step); fresh is new (40 us a step)");
    gt_buffer_release(&out);
}

TEST(equal_traces_say_so)
{
    struct gt_diff_change change[] = {{"a", {1, 1}, {1000, 1005}}};
    struct gt_buffer out = {0};
    gt_diff_words(change, 1, "GPUs work", "", "", NULL, &out);
    assert_string_equal(out.data, "GPUs work 1.005 ms in B, 1 ms in A (+0 %); none of it changed by 1 % of that");
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
TEST(figures_are_those_of_a_step)
{
    struct gt_trace *a = traces_new(), *b = traces_new();
    struct gt_report *report = NULL;
    add(a, "kernel", "k", 1, 0, 40000);
    add(a, "cpu_op", "aten::mm", 1, 0, 9000000);
    add(b, "kernel", "k", 1, 0, 50000);
    add(b, "kernel", "k", 2, 100000, 50000);
    assert_true(gt_analysis_run(gt_analysis_find("diff", NULL), a, b, NULL, &report, NULL) >= 0);
    const struct gt_node *first = report->root.first;
    assert_string_equal(gt_node_text(first),
                        "GPUs work 50 us a step in B, 40 us in A (+25 %): k takes 10 us more a step (+25 %)");
    gt_report_free(report);
    gt_trace_close(a);
    gt_trace_close(b);
}
