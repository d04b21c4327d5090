/* Calls of the CUDA runtime and copies: figures known by arithmetic, and the advice that follows from them. */
#include "analyse/calls/api.h"
#include "support/test.h"
#include "support/traces.h"

enum { US = 1000 };

static size_t add(struct gt_trace *trace, const char *thread, const char *category, const char *name, int64_t start,
                  int64_t duration, uint64_t id)
{
    bool is_host = strncmp(category, "cuda_", 5) == 0 || strcmp(category, "cpu_op") == 0;
    return traces_add(trace, (struct traces_event){.node = "rank 0",
                                                   .process = is_host ? "python" : "0",
                                                   .thread = thread,
                                                   .category = category,
                                                   .name = name,
                                                   .start = start * US,
                                                   .duration = duration * US,
                                                   .step = GT_TRACE_NO_STEP,
                                                   .id = id});
}

static void copy(struct gt_trace *trace, const char *thread, const char *category, const char *name, int64_t start,
                 int64_t duration, int64_t bytes)
{
    size_t event = add(trace, thread, category, name, start, duration, 0);
    gt_trace_set_bytes(&trace->events, event, bytes);
}

TEST(calls_are_named_by_kind)
{
    assert_int_equal(gt_api_kind("cudaMalloc"), GT_API_ALLOCATION);
    assert_int_equal(gt_api_kind("cudaFree_v3020"), GT_API_ALLOCATION);
    assert_int_equal(gt_api_kind("cudaMallocAsync"), GT_API_OTHER);
    assert_int_equal(gt_api_kind("cudaStreamSynchronize"), GT_API_SYNCHRONIZATION);
    assert_int_equal(gt_api_kind("cuCtxSynchronize"), GT_API_SYNCHRONIZATION);
    assert_int_equal(gt_api_kind("cudaMemcpy"), GT_API_COPY);
    assert_int_equal(gt_api_kind("cudaMemcpyAsync"), GT_API_OTHER);
    assert_int_equal(gt_api_kind("cudaLaunchKernel"), GT_API_OTHER);
}

/* Thread 1 lasts from 0 to 100 us, thread 2 from 50 to 150; a third makes no calls. */
TEST(calls_have_their_share_of_the_host)
{
    struct gt_trace *trace = traces_new();
    add(trace, "1", "cpu_op", "aten::mm", 0, 100, 0);
    add(trace, "1", "cuda_runtime", "cudaLaunchKernel", 10, 4, 0);
    add(trace, "1", "cuda_runtime", "cudaLaunchKernel", 20, 6, 0);
    add(trace, "2", "cuda_runtime", "cudaStreamSynchronize", 50, 80, 0);
    add(trace, "2", "cuda_runtime", "cudaLaunchKernel", 140, 10, 0);
    add(trace, "3", "cpu_op", "aten::add", 0, 1000, 0);
    struct gt_report *report = traces_report("api", trace, NULL);
    assert_int_equal(traces_rows(report, "calls"), 2);
    assert_string_equal(traces_text(report, "calls", 0, "name"), "cudaStreamSynchronize");
    assert_true(traces_number(report, "calls", 0, "host_percent") == 40);
    assert_string_equal(traces_text(report, "calls", 1, "name"), "cudaLaunchKernel");
    assert_true(traces_number(report, "calls", 1, "count") == 3);
    assert_true(traces_number(report, "calls", 1, "total_us") == 20);
    assert_true(traces_number(report, "calls", 1, "host_percent") == 10);
    assert_true(fabs(traces_number(report, "calls", 1, "mean_us") - 20.0 / 3) < 1e-9);
    assert_true(traces_number(report, "calls", 1, "max_us") == 10);
    gt_report_free(report);
    gt_trace_close(trace);
}

/* 1 MB in 100 us is 10 GB/s. The third copy from pageable memory does not tell its bytes: it has no part in the rate. */
TEST(copies_have_a_bandwidth)
{
    struct gt_trace *trace = traces_new();
    static const char pageable[] = "Memcpy HtoD (Pageable -> Device)", pinned[] = "Memcpy DtoH (Device -> Pinned)";
    copy(trace, "7", "gpu_memcpy", pageable, 0, 100, 1000000);
    copy(trace, "7", "gpu_memcpy", pageable, 200, 300, 1000000);
    add(trace, "7", "gpu_memcpy", pageable, 600, 50, 0);
    copy(trace, "7", "gpu_memcpy", pinned, 700, 40, 1000000);
    copy(trace, "7", "gpu_memset", "Memset (Device)", 800, 10, 1000000);
    struct gt_report *report = traces_report("api", trace, NULL);
    assert_int_equal(traces_rows(report, "copies"), 3);
    size_t row = traces_find(report, "copies", 0, "kind", "HtoD");
    assert_string_equal(traces_text(report, "copies", row, "host_memory"), "pageable");
    assert_true(traces_number(report, "copies", row, "count") == 3);
    assert_true(traces_number(report, "copies", row, "total_us") == 450);
    assert_true(traces_number(report, "copies", row, "total_bytes") == 2000000);
    assert_true(traces_number(report, "copies", row, "gb_per_second") == 5);
    assert_true(fabs(traces_number(report, "copies", row, "min_gb_per_second") - 10.0 / 3) < 1e-9);
    assert_true(traces_number(report, "copies", row, "max_gb_per_second") == 10);
    row = traces_find(report, "copies", 0, "kind", "DtoH");
    assert_string_equal(traces_text(report, "copies", row, "host_memory"), "pinned");
    assert_true(traces_number(report, "copies", row, "gb_per_second") == 25);
    row = traces_find(report, "copies", 0, "kind", "fill");
    assert_null(traces_text(report, "copies", row, "host_memory"));
    assert_true(traces_number(report, "copies", row, "gb_per_second") == 100);
    gt_report_free(report);
    gt_trace_close(trace);
}

static void assert_says(const struct gt_report *report, const char *words, double us)
{
    for (size_t i = 0; i < traces_rows(report, "advice"); i++)
        if (strstr(traces_text(report, "advice", i, "advice"), words)) {
            assert_true(fabs(traces_number(report, "advice", i, "could_win_us") - us) < 1e-9);
            return;
        }
    char *all = traces_json(report);
    print_message("%s\n", all);
    free(all);
    fail_msg("no advice says \"%s\"", words);
}

TEST(calls_that_wait_are_findings)
{
    struct gt_trace *trace = traces_new();
    add(trace, "1", "cuda_runtime", "cudaMalloc", 0, 10, 0);
    add(trace, "1", "cuda_runtime", "cudaFree", 10, 5, 0);
    add(trace, "1", "cuda_runtime", "cudaFree", 20, 25, 0);
    add(trace, "1", "cuda_runtime", "cudaMemcpy", 50, 20, 0);
    add(trace, "1", "cuda_runtime", "cudaLaunchKernel", 199, 1, 0);
    struct gt_report *report = traces_report("advice", trace, NULL);
    assert_says(report,
                "3 calls that allocate or free memory take 20 % of the host's time, most of it cudaFree (2 times)", 40);
    assert_says(report, "1 copies that hold the host until they are made (cudaMemcpy) take 10 % of its time", 20);
    gt_report_free(report);
    gt_trace_close(trace);
}

/* 20 of 100 us. */
TEST(pageable_copies_are_a_finding)
{
    struct gt_trace *trace = traces_new();
    copy(trace, "7", "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 20, 1 << 20);
    add(trace, "8", "kernel", "a", 0, 100, 0);
    struct gt_report *report = traces_report("advice", trace, NULL);
    assert_says(report, "1 copies from or to pageable memory take 20 % of the time (1.05 MB, 52.4 GB/s)", 20);
    gt_report_free(report);
    gt_trace_close(trace);
}
