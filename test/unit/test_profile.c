/* Analyses of steps, phases, samples and Python profiles: answers known by construction. */
#include "support/test.h"
#include "support/traces.h"

enum { US = 1000 };
static const char train[] = "Step:ModeKeys.TRAIN", eval[] = "Step:ModeKeys.EVAL";

static void slice(struct gt_trace *trace, const char *node, const char *process, const char *name, int32_t step,
                  int64_t start, int64_t duration)
{
    traces_add(trace, (struct traces_event){.node = node,
                                            .process = process,
                                            .thread = "1",
                                            .name = name,
                                            .start = start * US,
                                            .duration = duration * US,
                                            .step = step});
}

static void step(struct gt_trace *trace, const char *node, const char *mode, int32_t number, int64_t start,
                 int64_t duration)
{
    slice(trace, node, mode, "Step", number, start, duration);
    traces_step(trace, node, mode, number, start * US, (start + duration) * US);
}

TEST(percentiles_are_those_of_pandas)
{
    struct gt_trace *trace = traces_new();
    static const int64_t lengths[] = {10, 20, 30, 40};
    for (int i = 0; i < 4; i++)
        step(trace, "a", train, i, 100 * i, lengths[i]);
    struct gt_report *report = traces_report("steps", trace, NULL);
    assert_true(traces_number(report, "steps", 0, "p50_us") == 25);
    assert_true(fabs(traces_number(report, "steps", 0, "p95_us") - 38.5) < 1e-9);
    assert_true(fabs(traces_number(report, "steps", 0, "p99_us") - 39.7) < 1e-9);
    gt_report_free(report);
    gt_trace_close(trace);
}

/* Nodes are apart and times go forward: before, TRAIN (two steps), between, EVAL, after. */
TEST(phases_are_of_one_node)
{
    static const char *const titles[] = {"Before Step:ModeKeys.TRAIN", train,
                                         "Between Step:ModeKeys.EVAL and Step:ModeKeys.TRAIN", eval,
                                         "After Step:ModeKeys.EVAL"};
    static const double starts[] = {0, 10, 40, 50, 60}, ends[] = {10, 40, 50, 60, 100};
    struct gt_trace *trace = traces_new();
    struct gt_profile_options options = GT_INIT(struct gt_profile_options);
    for (int node = 1; node >= 0; node--) {
        const char *name = node ? "algo-2" : "algo-1";
        traces_sample(trace, name, "gpu", "gpu0", "GPUUtilization", 0, 1);
        step(trace, name, eval, 0, 50, 10);
        step(trace, name, train, 1, 25, 15);
        step(trace, name, train, 0, 10, 10);
        traces_sample(trace, name, "gpu", "gpu0", "GPUUtilization", 100 * US, 1);
    }
    struct gt_report *report = traces_report("phases", trace, NULL);
    assert_int_equal(traces_rows(report, "phases"), 10);
    for (size_t i = 0; i < 10; i++) {
        assert_string_equal(traces_text(report, "phases", i, "node"), i < 5 ? "algo-1" : "algo-2");
        assert_string_equal(traces_text(report, "phases", i, "phase"), titles[i % 5]);
        assert_true(traces_number(report, "phases", i, "start_us") == starts[i % 5]);
        assert_true(traces_number(report, "phases", i, "end_us") == ends[i % 5]);
    }
    gt_report_free(report);
    options.by = "step";
    options.phases = (const char *const[]){"TRAIN", NULL};
    report = traces_report("phases", trace, &options);
    assert_string_equal(traces_text(report, "phases", 2, "phase"),
                        "Between Step:ModeKeys.TRAIN and Step:ModeKeys.TRAIN");
    assert_int_equal(traces_rows(report, "phases"), 10);
    gt_report_free(report);
    options.phases = (const char *const[]){"PREDICT", NULL};
    options.by = "phase";
    report = traces_report("utilization", trace, &options);
    assert_int_equal(traces_rows(report, "utilization"), 0);
    gt_report_free(report);
    gt_trace_close(trace);
}

/* 90 counts as high, 10 as middle; idle lasts until the next sample that is not. */
TEST(ranges_of_use_are_counted)
{
    static const double values[] = {95, 90, 50, 10, 5, 0, 80};
    struct gt_trace *trace = traces_new();
    struct gt_profile_options options = GT_INIT(struct gt_profile_options);
    for (int i = 0; i < 7; i++) {
        traces_sample(trace, "a", "gpu", "gpu0", "GPUUtilization", 10 * i * US, values[i]);
        traces_sample(trace, "a", "gpu", "gpu0", "GPUMemoryUtilization", 10 * i * US, 1);
    }
    struct gt_report *report = traces_report("devices", trace, NULL);
    size_t row = traces_find(report, "devices", 0, "dimension", "GPUUtilization");
    assert_true(traces_number(report, "devices", row, "samples") == 2);
    assert_true(traces_number(report, "devices", row + 1, "samples") == 3);
    assert_true(traces_number(report, "devices", row + 2, "samples") == 2);
    assert_int_equal(traces_rows(report, "idle"), 1);
    assert_true(traces_number(report, "idle", 0, "start_us") == 40);
    assert_true(traces_number(report, "idle", 0, "end_us") == 60);
    gt_report_free(report);
    options.ranges = "50-100,0-x";
    assert_true(gt_analysis_run(gt_analysis_find("devices", NULL), trace, NULL, &options, &report, NULL) < 0);
    gt_trace_close(trace);
}

static size_t loader_event(struct gt_trace *trace, const char *category, const char *name, int64_t start,
                           int64_t duration)
{
    return traces_add(trace, (struct traces_event){.node = "n",
                                                   .process = "python",
                                                   .thread = "1",
                                                   .category = category,
                                                   .name = name,
                                                   .start = start * US,
                                                   .duration = duration * US,
                                                   .step = GT_TRACE_NO_STEP});
}

/* Fetches of 20 to 260 us vary by themselves; one of 2000 us stands out, those of twice the median (105) do not. */
TEST(what_varies_by_itself_is_no_outlier)
{
    static const int lengths[] = {20,  20,  30,  40,  50,  60,  70,  80,  90,  100,
                                  110, 120, 150, 180, 210, 230, 240, 250, 260, 2000};
    struct gt_trace *trace = traces_new();
    for (int i = 0; i < 20; i++)
        loader_event(trace, NULL, "IteratorGetNext::DoCompute", 3000 * i, lengths[i]);
    struct gt_report *report = traces_report("dataloader", trace, NULL);
    assert_true(traces_find(report, "outliers", 0, "part", "get_next") == 0);
    assert_true(traces_number(report, "outliers", 0, "duration_us") == 2000);
    assert_int_equal(traces_rows(report, "outliers"), 1);
    gt_report_free(report);
    gt_trace_close(trace);
}

/* An initialization of at least twice the median is an outlier; the pause between epochs is no batch. */
TEST(the_data_loader_is_analysed)
{
    static const int64_t init[] = {90000, 95500, 400000};
    struct gt_trace *trace = traces_new();
    int64_t time = 0;
    for (int epoch = 0; epoch < 3; epoch++) {
        slice(trace, "a", "DataLoaderIterInitialize", "_MultiProcessingDataLoaderIter.__init__", -1, time, init[epoch]);
        time += init[epoch];
        for (int i = 0; i < 3; i++, time += 100)
            slice(trace, "a", "DataLoaderIterInitialize", "_MultiProcessingDataLoaderIter::GetNext", -1, time, 10);
    }
    struct gt_report *report = traces_report("dataloader", trace, NULL);
    size_t row = traces_find(report, "dataloader", 0, "part", "batch");
    assert_true(traces_number(report, "dataloader", row, "count") == 6);
    assert_true(traces_number(report, "dataloader", row, "max_us") == 100);
    row = traces_find(report, "dataloader", 0, "part", "initialization");
    assert_true(traces_number(report, "dataloader", row, "p50_us") == 95500);
    assert_int_equal(traces_rows(report, "outliers"), 1);
    assert_true(traces_number(report, "outliers", 0, "duration_us") == 400000);
    assert_int_equal(traces_rows(report, "iterators"), 3);
    gt_report_free(report);
    gt_trace_close(trace);
}

static uint32_t text(struct gt_trace *trace, const char *word)
{
    return (uint32_t)gt_strings_add(&trace->strings, word, strlen(word));
}

/* Two dumps are added up; the bare name of what is built in stands in braces. */
TEST(functions_are_added_up)
{
    struct gt_trace *trace = traces_new();
    struct gt_profile_options options = GT_INIT(struct gt_profile_options);
    uint32_t file = text(trace, "m.py"), f = text(trace, "f"), builtin = text(trace, "~"),
             len = text(trace, "<built-in method len>"), mode = text(trace, "train"),
             before = text(trace, "prestepzero");
    traces_sample(trace, "a", "cpu", "cpu0", "CPUUtilization", 0, 1); /* makes the file the dumps are of */
    trace->profile = calloc(2, sizeof *trace->profile);
    trace->profile_count = 2;
    for (int i = 0; i < 2; i++) {
        struct gt_trace_profile *profile = &trace->profile[i];
        *profile = (struct gt_trace_profile){.profiler = GT_PROFILER_CPROFILE,
                                             .start_mode = i ? mode : before,
                                             .end_mode = mode,
                                             .start_step = i ? 1 : -1,
                                             .end_step = i ? 2 : 0,
                                             .function_count = 2,
                                             .caller_count = 1};
        profile->function = calloc(2, sizeof *profile->function);
        profile->caller = calloc(1, sizeof *profile->caller);
        profile->function[0] = (struct gt_trace_function){file, f, 7, 1, 1, 1.5, 2.0, 0, 0};
        profile->function[1] = (struct gt_trace_function){builtin, len, 0, 3, 4, 0.5, 0.5, 0, 1};
        profile->caller[0] = (struct gt_trace_caller){0, 3, 4, 0.5, 0.5};
    }
    struct gt_report *report = traces_report("functions", trace, NULL);
    assert_string_equal(traces_text(report, "functions", 0, "function"), "m.py:7(f)");
    assert_true(traces_number(report, "functions", 0, "tottime_seconds") == 3);
    assert_string_equal(traces_text(report, "functions", 1, "function"), "{built-in method len}");
    assert_true(traces_number(report, "functions", 1, "ncalls") == 8);
    assert_string_equal(traces_text(report, "callers", 0, "caller"), "m.py:7(f)");
    assert_true(traces_number(report, "callers", 0, "ncalls") == 8);
    gt_report_free(report);
    options.by = "job_phase";
    report = traces_report("functions", trace, &options);
    assert_int_equal(traces_rows(report, "functions"), 4);
    assert_string_equal(traces_text(report, "functions", 0, "group"), "initialization");
    assert_string_equal(traces_text(report, "functions", 2, "group"), "training_loop");
    assert_true(traces_number(report, "functions", 2, "tottime_seconds") == 1.5);
    gt_report_free(report);
    options.by = "step";
    report = traces_report("functions", trace, &options);
    assert_string_equal(traces_text(report, "functions", 0, "group"), "before step 0");
    assert_string_equal(traces_text(report, "callers", 1, "group"), "1-2");
    gt_report_free(report);
    options.by = NULL;
    options.key = "ncalls";
    options.phases = (const char *const[]){"training_loop", NULL};
    report = traces_report("functions", trace, &options);
    assert_string_equal(traces_text(report, "functions", 0, "function"), "{built-in method len}");
    assert_true(traces_number(report, "functions", 0, "ncalls") == 4);
    gt_report_free(report);
    gt_trace_close(trace);
}
