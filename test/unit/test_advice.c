/* Every rule of advice speaks where something is wrong, with the right numbers, and is silent where it is not. */
#include "gpu_tracker.h"
#include "support/folder.h"
#include "support/test.h"
#include "support/trace_file.h"
#include "support/traces.h"

enum { US = 1000, SECOND = 1000000000 };

static void add(struct gt_trace *trace, const char *node, const char *category, const char *name, int64_t start,
                int64_t duration, uint64_t id)
{
    traces_add(
        trace,
        (struct traces_event){
            .node = node,
            .process = category && (!strcmp(category, "kernel") || !strcmp(category, "gpu_memcpy")) ? "0" : "python",
            .thread = "7",
            .category = category,
            .name = name,
            .start = start * US,
            .duration = duration * US,
            .step = GT_TRACE_NO_STEP,
            .id = id});
}

/* The row whose sentence holds `words`, or SIZE_MAX. */
static size_t row_of(const struct gt_report *report, const char *words)
{
    for (size_t i = 0; i < traces_rows(report, "advice"); i++)
        if (strstr(traces_text(report, "advice", i, "advice"), words))
            return i;
    return SIZE_MAX;
}

static void assert_says(const struct gt_report *report, const char *words, double us, const char *see)
{
    size_t row = row_of(report, words);
    if (row == SIZE_MAX) {
        char *all = traces_json(report);
        print_message("%s\n", all);
        free(all);
        fail_msg("no advice says \"%s\"", words);
    }
    double won = traces_number(report, "advice", row, "could_win_us");
    assert_true(isnan(us) ? isnan(won) : fabs(won - us) < 1e-6);
    assert_string_equal(traces_text(report, "advice", row, "see"), see);
}

/* Closes the trace. */
static struct gt_report *advise(struct gt_trace *trace)
{
    struct gt_report *report = traces_report("advice", trace, NULL);
    gt_trace_close(trace);
    return report;
}

static void assert_silent(struct gt_trace *trace)
{
    struct gt_report *report = advise(trace);
    if (traces_rows(report, "advice")) {
        char *all = traces_json(report);
        print_message("%s\n", all);
        free(all);
    }
    assert_int_equal(traces_rows(report, "advice"), 0);
    assert_non_null(gt_node_find(&report->root, "reason"));
    gt_report_free(report);
}

/* Kernels of 10 us, one straight after the other, launched long before by calls of 2 us. */
static struct gt_trace *busy(const char *node, struct gt_trace *trace)
{
    for (int i = 0; i < 20; i++) {
        add(trace, node, "cuda_runtime", "cudaLaunchKernel", 3 * i, 2, (uint64_t)i + 1);
        add(trace, node, "kernel", "gemm", 10 + 10 * i, 10, (uint64_t)i + 1);
    }
    return trace;
}

TEST(a_busy_gpu_needs_no_advice)
{
    assert_silent(busy("rank 0", traces_new()));
    assert_silent(busy("rank 1", busy("rank 0", traces_new())));
}

/* Graphs of 20 short kernels whose calls take longer: one call each, never more than all of the time, and no graphs are
 * recommended where they are. */
TEST(graphs_are_not_recommended_twice)
{
    struct gt_trace *trace = traces_new();
    for (int i = 0; i < 5; i++) {
        add(trace, "rank 0", "cuda_runtime", "cudaGraphLaunch", 100 * i, 90, (uint64_t)i + 1);
        for (int j = 0; j < 20; j++)
            add(trace, "rank 0", "kernel", "triton_add", 100 * i + 50 + 2 * j, 1, (uint64_t)i + 1);
    }
    struct gt_report *report = advise(trace);
    assert_says(
        report,
        "5 of 5 launches of kernels take longer on the CPU than the kernels on the GPU (on average 90.0 us and 20.0 us)",
        339, "launches"); /* the calls take 350 more, and the GPU is idle for 339 */
    for (size_t i = 0; i < traces_rows(report, "advice"); i++) {
        assert_true(traces_number(report, "advice", i, "cost_percent") <= 100);
        assert_null(strstr(traces_text(report, "advice", i, "advice"), "CUDA graphs"));
        assert_null(strstr(traces_text(report, "advice", i, "advice"), "torch.compile"));
    }
    gt_report_free(report);
}

/* Calls beside long kernels delay no work, and copies that wait do not count as launches. */
TEST(calls_cost_no_more_than_the_idle_time)
{
    struct gt_trace *trace = traces_new();
    for (int i = 0; i < 10; i++) {
        add(trace, "rank 0", "cuda_runtime", "cudaLaunchKernel", 100 * i, 5, 2 * (uint64_t)i + 1);
        add(trace, "rank 0", "cuda_runtime", "cudaMalloc", 100 * i + 10, 40, 0);
        add(trace, "rank 0", "cuda_runtime", "cudaMemcpyAsync", 100 * i + 50, 45, 2 * (uint64_t)i + 2);
        add(trace, "rank 0", "kernel", "matmul", 100 * i + 5, 80, 2 * (uint64_t)i + 1);
        add(trace, "rank 0", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 100 * i + 85, 3, 2 * (uint64_t)i + 2);
    }
    struct gt_report *report = advise(trace);
    assert_says(report, "10 calls that allocate or free memory take", 9 * 17, "api");
    assert_int_equal(row_of(report, "take longer on the CPU"), SIZE_MAX);
    assert_int_equal(row_of(report, "idle"), SIZE_MAX); /* the same time, reported for its calls */
    gt_report_free(report);
}

/* Four processes make iterators of 60 us in 100 us. */
TEST(nothing_costs_more_than_all_of_the_time)
{
    struct gt_trace *trace = traces_new();
    for (int i = 0; i < 4; i++)
        traces_add(trace, (struct traces_event){.node = "rank 0",
                                                .process = "python",
                                                .pid = i % 2 ? "1" : "2",
                                                .thread = i / 2 ? "1" : "2",
                                                .name = "DataLoaderIterInitialize",
                                                .start = 10 * US * i,
                                                .duration = 70 * US,
                                                .step = GT_TRACE_NO_STEP});
    struct gt_report *report = advise(trace);
    assert_says(report, "100 % of the time making iterators", 100, "dataloader");
    assert_true(traces_number(report, "advice", 0, "cost_percent") <= 100);
    gt_report_free(report);
}

/* 1100 launches in 1100 us, kernels of 100 us: full from the 1024th on until 1024 no longer wait. */
TEST(a_full_queue_is_told)
{
    enum { LAUNCHES = 1100 };
    struct gt_trace *trace = traces_new();
    for (int i = 0; i < LAUNCHES; i++) {
        add(trace, "rank 0", "cuda_runtime", "cudaLaunchKernel", i, 1, (uint64_t)i + 1);
        add(trace, "rank 0", "kernel", "k", 1100 + 10 * i, 10, (uint64_t)i + 1);
    }
    /* 1024 wait from 1023 us on; the 77th begins at 1860 us and leaves 1023: 837 us of the 12090 until the last begins */
    struct gt_report *report = advise(trace);
    assert_says(report, "stream 7: the queue of launches was full (1024) for 7 % of the time, up to 1100 long", 837,
                "launches");
    gt_report_free(report);
}

static struct gt_report *advise_file(const char *folder, const char *text)
{
    const char *path = trace_write_text(folder, "trace.json", text);
    struct gt_report *report = NULL;
    assert_true(gt_profile_report("advice", &path, 1, NULL, NULL, &report, NULL) >= 0);
    return report;
}

static void add_memory(struct gt_buffer *out, int time, double bytes, int address, double allocated, double reserved)
{
    gt_buffer_printf(out,
                     ",{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":9,\"tid\":9,\"ts\":%d,\"args\":{\"Bytes\":%.0f,"
                     "\"Addr\":%d,\"Total Allocated\":%.0f,\"Total Reserved\":%.0f,\"Device Type\":1,\"Device Id\":0}}",
                     time, bytes, address, allocated, reserved);
}

/* Steps of 10 us from 0 on, each of which allocates in aten::empty and keeps `kept` MiB. */
static struct gt_buffer training(int steps, double kept, double reserved)
{
    struct gt_buffer text = {0};
    const double MIB = 1 << 20;
    gt_buffer_text(
        &text, "{\"deviceProperties\":[{\"id\":0,\"totalGlobalMem\":1073741824}],\"traceEvents\":["
               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::empty\",\"pid\":9,\"tid\":9,\"ts\":0,\"dur\":500}");
    add_memory(&text, 0, 100 * MIB, 1, 100 * MIB, reserved * MIB);
    for (int i = 0; i < steps; i++) {
        gt_buffer_printf(&text,
                         ",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":9,\"tid\":8,"
                         "\"ts\":%d,\"dur\":9}",
                         i, 10 * i);
        double before = (100 + kept * i) * MIB;
        add_memory(&text, 10 * i + 2, 50 * MIB, 2, before + 50 * MIB, reserved * MIB);
        add_memory(&text, 10 * i + 5, -50 * MIB, 2, before, reserved * MIB);
        if (kept > 0)
            add_memory(&text, 10 * i + 6, kept * MIB, 10 + i, before + kept * MIB, reserved * MIB);
    }
    gt_buffer_text(&text, "]}");
    return text;
}

TEST_WITH(memory_is_judged, folder_make, folder_remove)
{
    struct gt_buffer text = training(8, 0, 160);
    struct gt_report *report = advise_file(*state, text.data);
    assert_int_equal(traces_rows(report, "advice"), 0);
    gt_report_free(report);
    gt_buffer_release(&text);

    text = training(8, 10, 300);
    report = advise_file(*state, text.data);
    /* after steps 2..7: 130 to 180 MiB; the first two do not count */
    assert_says(
        report,
        "cuda:0: allocated memory grows by 10.5 MB a step, from 136 MB after step 2 to 189 MB after step 7, held "
        "by aten::empty (189 MB)",
        NAN, "memory");
    assert_int_equal(traces_rows(report, "advice"), 1);
    gt_report_free(report);
    gt_buffer_release(&text);

    text = training(8, 0, 1000);
    report = advise_file(*state, text.data);
    assert_says(report,
                "cuda:0 reserves up to 1.05 GB of its 1.07 GB (98 %), held by aten::empty (157 MB): little is left",
                NAN, "memory");
    assert_says(report, "reserves up to 1.05 GB for at most 157 MB allocated (85 % for nothing)", NAN, "memory");
    assert_int_equal(traces_rows(report, "advice"), 2);
    gt_report_free(report);
    gt_buffer_release(&text);
}

/* 10 fetches in 1000 us. */
static struct gt_buffer fetching(int usual, int slow, const char *workers)
{
    struct gt_buffer text = {0};
    gt_buffer_printf(&text, "[{\"ph\":\"X\",\"name\":\"work\",\"pid\":9,\"tid\":8,\"ts\":0,\"dur\":1000}");
    for (int i = 0; i < 10; i++)
        gt_buffer_printf(&text,
                         ",{\"ph\":\"X\",\"name\":\"_MultiProcessingDataLoaderIter::GetNext\",\"pid\":9,\"tid\":9,"
                         "\"ts\":%d,\"dur\":%d%s}",
                         100 * i, i == 4 ? slow : usual, workers);
    gt_buffer_text(&text, "]");
    return text;
}

TEST_WITH(the_data_loader_is_judged, folder_make, folder_remove)
{
    struct gt_buffer text = fetching(4, 5, "");
    struct gt_report *report = advise_file(*state, text.data);
    assert_int_equal(traces_rows(report, "advice"), 0);
    gt_report_free(report);
    gt_buffer_release(&text);

    text = fetching(40, 40, ",\"args\":{\"num_workers\":2}");
    report = advise_file(*state, text.data);
    assert_says(report,
                "40 % of the time waiting for data, 40.0 us in the median of 10 fetches with 2 workers: more workers",
                400, "dataloader");
    assert_int_equal(traces_rows(report, "advice"), 1);
    gt_report_free(report);
    gt_buffer_release(&text);

    text = fetching(40, 40, ",\"args\":{\"num_workers\":\"0\"}");
    report = advise_file(*state, text.data);
    assert_says(report, "without workers, in the training process itself: load in workers (num_workers)", 400,
                "dataloader");
    gt_report_free(report);
    gt_buffer_release(&text);

    text = fetching(2, 90, "");
    report = advise_file(*state, text.data);
    assert_says(report, "1 of 10 fetches take at least twice the median of 2.00 us, and 9 % of the time more than it",
                88, "dataloader");
    gt_report_free(report);
    gt_buffer_release(&text);
}

TEST(making_iterators_is_told)
{
    struct gt_trace *trace = traces_new();
    add(trace, "a", NULL, "_MultiProcessingDataLoaderIter.__init__", 0, 100, 0);
    add(trace, "a", NULL, "_MultiProcessingDataLoaderIter.__init__", 500, 100, 0);
    add(trace, "a", NULL, "work", 100, 900, 0);
    struct gt_report *report = advise(trace);
    assert_says(report, "20 % of the time making iterators of the data loader, 2 times, 100 us in the median", 200,
                "dataloader");
    gt_report_free(report);
}

/* One of 10 steps is long: no rank is slow for that. */
TEST(a_long_step_makes_no_straggler)
{
    struct gt_trace *trace = traces_new();
    for (int i = 0; i < 10; i++)
        for (int rank = 0; rank < 2; rank++)
            traces_step(trace, rank ? "rank 1" : "rank 0", "ProfilerStep", i, 1000 * i * US,
                        (1000 * i + (rank && i == 3 ? 900 : 100)) * US);
    struct gt_report *report = advise(trace);
    assert_true(row_of(report, "is the slowest") == SIZE_MAX);
    assert_true(row_of(report, "rank 1 has a few long steps: 1 of 10 hold 90 %") != SIZE_MAX);
    gt_report_free(report);
}

/* Rank 2 computes for 90 us and the others wait in the collective for it. */
TEST(who_comes_last_to_collectives_is_named)
{
    struct gt_trace *trace = traces_new();
    for (int rank = 0; rank < 3; rank++) {
        char node[24];
        int length = rank == 2 ? 90 : 50;
        snprintf(node, sizeof node, "rank %d", rank);
        add(trace, node, "kernel", "gemm", 0, length, 0);
        add(trace, node, "kernel", "ncclDevKernel_AllReduce", length, 100 - length, 0);
    }
    struct gt_report *report = advise(trace);
    assert_says(
        report,
        "rank 2 makes the others wait 40.0 % of the time: it comes last to 1 of 1 collectives, there on average 40.0 us "
        "behind the median of the others; its kernels are 80 % slower (on average 90.0 us, the others' 50.0 us)",
        40, "collectives, stragglers");
    gt_report_free(report);
}

TEST(a_pipeline_that_fills_and_drains_needs_no_fewer_synchronizations)
{
    struct gt_trace *trace = traces_new();
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < 4; i++) {
            const char *node = rank ? "rank 1" : "rank 0";
            uint64_t id = (uint64_t)(10 * rank + i + 1);
            add(trace, node, "cuda_runtime", "cudaLaunchKernel", 100 * i, 2, id);
            add(trace, node, "kernel", "gemm", 100 * i + 3, 40, id);
            add(trace, node, "kernel", "ncclDevKernel_SendRecv", 100 * i + 43, 7, 0);
            add(trace, node, "cuda_runtime", "cudaDeviceSynchronize", 100 * i + 3, 95, id + 100);
        }
    struct gt_report *report = advise(trace);
    assert_says(report, "in cudaDeviceSynchronize): more and smaller micro-batches, if it is the pipeline", 159,
                "idle, operators");
    assert_int_equal(row_of(report, ".item()"), SIZE_MAX);
    gt_report_free(report);
}

/* Stages of a pipeline hand their work on; the second computes 40 us of each 50, the others 20. How long each waits in sends and
 * receives tells its place. */
TEST(the_slowest_stage_of_a_pipeline_is_named)
{
    struct gt_trace *trace = traces_new();
    for (int rank = 0; rank < 4; rank++) {
        char node[24];
        int length = rank == 1 ? 40 : 20;
        snprintf(node, sizeof node, "rank %d", rank);
        for (int i = 0; i < 4; i++) {
            add(trace, node, "kernel", "ncclDevKernel_SendRecv", 50 * i, 48 - length, 0);
            add(trace, node, "kernel", "gemm", 50 * i + 50 - length, length, 0);
        }
    }
    struct gt_report *report = advise(trace);
    assert_says(report,
                "rank 1 is the slowest stage of a pipeline: its GPU computes 80 % of the time, those of the others 40 "
                "%, and they wait for it in sends and receives; its kernels are 100 % slower",
                80, "breakdown, kernels");
    assert_says(report, "in sends and receives that no computation hides, apart from waiting for the slowest stage", 32,
                "breakdown");
    assert_int_equal(row_of(report, "collectives"), SIZE_MAX);
    assert_int_equal(row_of(report, "buckets"), SIZE_MAX);
    gt_report_free(report);
}

/* 11 samples, one a second. */
static void sample(struct gt_trace *trace, const char *type, const char *name, const char *dimension, double first,
                   double step)
{
    for (int i = 0; i <= 10; i++)
        traces_sample(trace, "n", type, name, dimension, (int64_t)i * SECOND, first + step * i);
}

TEST(samples_are_judged)
{
    struct gt_trace *trace = traces_new();
    sample(trace, "gpu", "gpu0", "GPUUtilization", 95, 0);
    sample(trace, "gpu", "gpu0", "GPUMemoryUtilization", 20, 0);
    sample(trace, "cpu", "cpu0", "CPUUtilization", 99, 0);
    sample(trace, "i/o", "I/OWaitPercentage", "I/OWaitPercentage", 1, 0);
    sample(trace, "memory", "MemoryUsedPercent", "MemoryUsedPercent", 60, 0);
    sample(trace, "system", "system", "pressure_io", 5, 0.01);
    sample(trace, "system", "system", "gpu_energy", 100, 10);
    sample(trace, "system", "system", "gpu_energy_idle", 100, 0.5);
    sample(trace, "gpu", "gpu0", "gpu_throttle", 1, 0);
    assert_silent(trace);

    trace = traces_new();
    sample(trace, "gpu", "gpu0", "GPUUtilization", 40, 0);
    sample(trace, "gpu", "gpu0", "GPUMemoryUtilization", 20, 0);
    sample(trace, "cpu", "cpu0", "CPUUtilization", 99, 0);
    sample(trace, "cpu", "cpu1", "CPUUtilization", 95, 0);
    sample(trace, "i/o", "I/OWaitPercentage", "I/OWaitPercentage", 30, 0);
    sample(trace, "memory", "MemoryUsedPercent", "MemoryUsedPercent", 60, 3.8);
    sample(trace, "system", "system", "pressure_io", 5, 0.25);
    sample(trace, "system", "system", "pressure_cpu", 0, 0.5);
    sample(trace, "system", "system", "gpu_energy", 100, 10);
    sample(trace, "system", "system", "gpu_energy_idle", 100, 4);
    sample(trace, "gpu", "gpu0", "gpu_throttle", 3, 0);
    struct gt_report *report = advise(trace);
    assert_says(report, "gpu0 used 40 % on average over 11 samples, its memory 20 %: a larger batch may fit", 6e6,
                "utilization, devices");
    assert_says(report, "2 CPUs busy to 97 % while a GPU is used 40 %", 6e6, "utilization");
    assert_says(report, "CPUs waited for storage 30 % of the time on average over 11 samples", 3e6, "utilization");
    assert_says(report, "main memory up to 98 % in use", NAN, "utilization");
    assert_says(report, "25 % of the time (2.5 of 10 s) some process waited for storage", 2.5e6, "utilization");
    assert_says(report, "50 % of the time (5 of 10 s) some process waited for a CPU", 5e6, "utilization");
    assert_says(report, "the GPUs drew 40 of 100 J (40 %) while they had nothing to do", NAN, "utilization");
    assert_says(report, "gpu0 lowered its clock for heat or by hardware slowdown in 11 of 11 samples", NAN,
                "utilization");
    assert_int_equal(traces_rows(report, "advice"), 8);
    gt_report_free(report);
}

static uint32_t text(struct gt_trace *trace, const char *word)
{
    return (uint32_t)gt_strings_add(&trace->strings, word, strlen(word));
}

/* Five functions; the last takes `hot` of 10 s, for main. */
static struct gt_trace *profiled(double hot)
{
    struct gt_trace *trace = traces_new();
    static const char *const names[] = {"a", "b", "c", "main", "load"};
    sample(trace, "cpu", "cpu0", "CPUUtilization", 50, 0);
    trace->profile = calloc(1, sizeof *trace->profile);
    trace->profile_count = 1;
    *trace->profile = (struct gt_trace_profile){.profiler = GT_PROFILER_CPROFILE,
                                                .start_mode = GT_TRACE_NONE,
                                                .end_mode = GT_TRACE_NONE,
                                                .start_phase = GT_TRACE_NONE,
                                                .end_phase = GT_TRACE_NONE,
                                                .start_step = NAN,
                                                .end_step = NAN,
                                                .function_count = 5,
                                                .caller_count = 1};
    trace->profile->function = calloc(5, sizeof *trace->profile->function);
    trace->profile->caller = calloc(1, sizeof *trace->profile->caller);
    for (int i = 0; i < 5; i++)
        trace->profile->function[i] = (struct gt_trace_function){
            text(trace, "m.py"), text(trace, names[i]), 10 + i, 1, 3, i < 4 ? (10 - hot) / 4 : hot, 10, 0, i == 4};
    trace->profile->caller[0] = (struct gt_trace_caller){3, 3, 3, hot, hot};
    return trace;
}

TEST(hot_functions_are_named)
{
    assert_silent(profiled(2));
    struct gt_report *report = advise(profiled(6));
    assert_says(
        report,
        "60 % of the Python time in m.py:14(load) itself (6.00 s of 10.0 s in 3 calls, by cProfile), mostly for m.py:13(main)",
        6e6, "functions");
    assert_int_equal(traces_rows(report, "advice"), 1);
    gt_report_free(report);
}
