/* Operators and the work of GPUs that belongs to them, in traces as PyTorch's profiler wrote them over the years. */
#include "support/folder.h"
#include "support/test.h"
#include "support/trace_file.h"
#include "support/traces.h"

#define X(category, name, pid, tid, time, length, args)                                                            \
    "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #time \
    ",\"dur\":" #length ",\"args\":{" args "}}"
#define OPERATOR(name, time, length, args) X("cpu_op", name, 9, 9, time, length, args)
#define CALL(time, length, id) X("cuda_runtime", "cudaLaunchKernel", 9, 9, time, length, "\"correlation\":" #id)
#define KERNEL(name, time, length, args) X("kernel", name, 0, 7, time, length, args)

static struct gt_report *report_of(const char *folder, const char *analysis, const char *text,
                                   const struct gt_profile_options *options, const struct gt_trace_options *reading)
{
    const char *path = trace_write_text(folder, "trace.json", text);
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    struct gt_profile_options own = options ? *options : GT_INIT(struct gt_profile_options);
    struct gt_trace_options all = reading ? *reading : GT_TRACE_OPTIONS;
    if (gt_analysis_of_files(analysis, &path, 1, &all, &own, &report, &error) < 0)
        fail_msg("%s", error.text);
    return report;
}

static struct gt_report *operators_of(const char *folder, const char *text)
{
    return report_of(folder, "operators", text, NULL, NULL);
}

static double figure(const struct gt_report *report, const char *name, const char *column)
{
    return traces_number(report, "operators", traces_find(report, "operators", 0, "name", name), column);
}

/* Kineto of 2021: other categories, whole microseconds, "external id" in lower case, threads as texts. */
TEST_WITH(traces_of_2021_are_read, folder_make, folder_remove)
{
    struct gt_report *report = operators_of(
        *state,
        "[" X("Kernel", "gemm", 0, "stream 7", 100, 40, "\"correlation\":8,\"external id\":2") "," X(
            "Kernel", "tail", 0, "stream 7", 150, 6,
            "\"correlation\":9,\"external id\":2") "," X("Operator", "aten::mm", 9, "9", 15, 30,
                                                         "\"External id\":2") "," X("Runtime", "cudaLaunchKernel", 9,
                                                                                    "9", 20, 5,
                                                                                    "\"correlation\":8") "]");
    assert_true(figure(report, "aten::mm", "gpu_us") == 46); /* one by its call, one by its id */
    assert_true(figure(report, "aten::mm", "self_us") == 25);
    gt_report_free(report);
}

/* Ids that are seen to be correlations are no operators', also for work whose call is not in the trace. */
TEST_WITH(misleading_ids_are_not_followed, folder_make, folder_remove)
{
    struct gt_report *report = operators_of(
        *state,
        "[" OPERATOR("aten::a", 10, 9, "\"External id\":1") "," CALL(12, 2, 7) "," OPERATOR(
            "aten::b", 30, 9,
            "\"External id\":5") "," KERNEL("k", 100, 40,
                                            "\"correlation\":7,\"External id\":7") "," KERNEL("lost", 150, 3,
                                                                                              "\"correlation\":5,\"External id\":5") "]");
    assert_true(figure(report, "aten::a", "gpu_us") == 40);
    assert_true(figure(report, "aten::b", "gpu_us") == 0);
    gt_report_free(report);
}

TEST_WITH(equal_intervals_do_not_depend_on_order, folder_make, folder_remove)
{
    static const char *const texts[] = {"[" OPERATOR("aten::zero_", 10, 5, "\"External id\":1") "," OPERATOR(
                                            "aten::fill_", 10, 5, "\"External id\":2") "]",
                                        "[" OPERATOR("aten::fill_", 10, 5, "\"External id\":2") "," OPERATOR(
                                            "aten::zero_", 10, 5, "\"External id\":1") "]"};
    for (size_t i = 0; i < 2; i++) {
        struct gt_report *report = operators_of(*state, texts[i]);
        assert_true(figure(report, "aten::zero_", "self_us") == 0);
        assert_true(figure(report, "aten::fill_", "self_us") == 5);
        gt_report_free(report);
    }
}

#define ENGINE "autograd::engine::evaluate_function: MmBackward0"
#define FLOW(phase, tid, time) \
    "{\"ph\":\"" phase "\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":1,\"pid\":9,\"tid\":" #tid ",\"ts\":" #time "}"
#define TRAINING                                                                                                                                                                                                  \
    OPERATOR("aten::matmul", 8, 9, "")                                                                                                                                                                            \
    "," OPERATOR("aten::mm", 10, 5, "\"Sequence number\":4") "," OPERATOR("aten::add", 20, 5, "\"Sequence number\":5") "," X("cpu_op", ENGINE, 9, 10, 40, 30, "\"Sequence number\":4,\"Fwd thread id\":1") "," X( \
        "cpu_op", "MmBackward0", 9, 10, 45, 20,                                                                                                                                                                   \
        "\"Sequence number\":4,\"Fwd thread id\":1") "," X("cuda_runtime", "cudaLaunchKernel", 9, 10, 50, 2,                                                                                                      \
                                                           "\"correlation\":6") "," X("cuda_runtime",                                                                                                             \
                                                                                      "cudaLaunchKernel", 9, 10, 67,                                                                                              \
                                                                                      1,                                                                                                                          \
                                                                                      "\"correlation\":7") "," KERNEL("gemm",                                                                                     \
                                                                                                                      100,                                                                                        \
                                                                                                                      40,                                                                                         \
                                                                                                                      "\"correlation\":6") "," KERNEL("sum",                                                      \
                                                                                                                                                      150,                                                        \
                                                                                                                                                      2,                                                          \
                                                                                                                                                      "\"correlation\":7")

/* With the flow, and with the sequence numbers alone. */
TEST_WITH(backward_work_is_told_with_the_forward_operator, folder_make, folder_remove)
{
    static const char *const texts[] = {"[" TRAINING "," FLOW("s", 9, 10) "," FLOW("f", 10, 45) "]", "[" TRAINING "]"};
    for (size_t i = 0; i < 2; i++) {
        struct gt_report *report = operators_of(*state, texts[i]);
        assert_true(figure(report, "aten::mm", "backward_gpu_us") == 42);
        assert_true(figure(report, "aten::matmul", "backward_gpu_us") == 42);
        assert_true(figure(report, "aten::mm", "gpu_total_us") == 0);
        assert_true(figure(report, "aten::add", "backward_gpu_us") == 0);
        assert_true(figure(report, ENGINE, "gpu_us") == 2);
        gt_report_free(report);
    }
}

/* The holders are shown by their names. */
TEST_WITH(selected_holders_of_memory_are_shown, folder_make, folder_remove)
{
#define MEMORY(time, bytes, address, total)                                                                \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":9,\"tid\":9,\"ts\":" #time ",\"args\":{\"Bytes\":" #bytes \
    ",\"Addr\":" #address ",\"Total Allocated\":" #total ",\"Total Reserved\":200,\"Device Type\":1,\"Device Id\":0}}"
    struct gt_trace_options reading = GT_TRACE_OPTIONS;
    reading.select = "inner";
    struct gt_report *report = report_of(*state, "memory",
                                         "[" OPERATOR("outer", 1, 30, "") "," OPERATOR("inner", 5, 10, "") "," MEMORY(
                                             7, 100, 1, 100) "," MEMORY(20, 50, 2, 150) "]",
                                         NULL, &reading);
    assert_true(traces_number(report, "memory", 0, "peak_allocated_bytes") == 150);
    assert_int_equal(traces_rows(report, "holders"), 1);
    assert_string_equal(traces_text(report, "holders", 0, "operator"), "inner");
    gt_report_free(report);
}
