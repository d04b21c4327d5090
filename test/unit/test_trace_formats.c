/* SMDebug's folders, Horovod's and TensorFlow's timelines, Python profiles and our own files, as small files that
 * imitate what the tools write. */
#include <sqlite3.h>

#include "support/folder.h"
#include "support/test.h"
#include "support/trace_file.h"
#include "support/traces.h"

#define RECORD(base) \
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{\"start_time_since_epoch_in_micros\":" base "}},\n"
#define PHASE(pid, name) "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" pid ",\"args\":{\"name\":\"" name "\"}},\n"

/* A pid's meaning and the base are a file's own: the second file has no base and other phases. */
TEST_WITH(each_smdebug_file_stands_for_itself, folder_make, folder_remove)
{
    trace_write_text(
        *state, "framework/pevents/2020081805/1597730465000000_0-algo-1_model_timeline.json",
        "[\n" RECORD("1597730460000000")
            PHASE("0", "Step:ModeKeys.TRAIN") "{\"name\":\"TRAIN\",\"ph\":\"X\",\"pid\":0,\"ts\":10,\"dur\":100,\"args\":{\"step_num\":\"3\",\"pid\":77,\"thread_id\":5}},\n" PHASE(
                "1",
                "DataIterator") "{\"name\":\"it\",\"ph\":\"X\",\"pid\":1,\"ts\":20,\"dur\":5,\"args\":{\"layer_name\":\"GetNext\",\"bytes_fetched\":64}},\n");
    trace_write_text(
        *state, "framework/pevents/2020081805/1597730466000000_1-algo-1_pythontimeline.json",
        "[\n" PHASE(
            "1",
            "Step:ModeKeys.EVAL") "{\"name\":\"EVAL\",\"ph\":\"X\",\"pid\":1,\"ts\":7,\"dur\":1,\"args\":{\"step_num\":3}}]");
    trace_write_text(*state, "framework/0-algo-1_model_timeline.json.tmp", "[");
    struct gt_trace *trace = trace_load(*state, NULL);
    const struct gt_trace_events *events = &trace->events;
    assert_int_equal(trace->file_count, 2);
    assert_string_equal(gt_trace_text(trace, trace->file[0].node), "algo-1-0");
    assert_int_equal(trace->file[0].clock, GT_CLOCK_RECORD);
    assert_int_equal(trace->file[1].clock, GT_CLOCK_UNKNOWN);
    size_t train = trace_event(trace, "TRAIN"), get = trace_event(trace, "GetNext"), eval = trace_event(trace, "EVAL");
    assert_int_equal(events->start[train], INT64_C(1597730460000010000));
    assert_int_equal(events->start[eval], 7000);
    assert_int_equal(events->step[get], 3); /* it lies in step 3 of its node */
    assert_int_equal(gt_trace_bytes(events, get), 64);
    assert_string_equal(gt_trace_text(trace, gt_trace_process_of(trace, eval)->name), "Step:ModeKeys.EVAL");
    assert_string_equal(gt_trace_text(trace, trace->track[events->track[train]].tid), "5");
    assert_string_equal(gt_trace_text(trace, trace->track[events->track[train]].real_process), "77");
    assert_int_equal(trace->step_count, 2); /* TRAIN 3 and EVAL 3 on two nodes are two steps */
    assert_false(trace->file[0].damage.cut_off);
    gt_trace_close(trace);
}

TEST_WITH(tensorflow_takes_its_base_from_a_name, folder_make, folder_remove)
{
    trace_write_text(
        *state,
        "framework/tensorflow/detailed_profiling/2020081805/000000010/0-algo-1_1597730460000000_1597730461000000.metadata",
        "");
    trace_write_gzip(
        *state,
        "framework/tensorflow/detailed_profiling/2020081805/000000010/plugins/profile/2020_08_18/ip-10-0.trace.json.gz",
        "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\"traceEvents\":[{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":2,\"ts\":1.5,\"dur\":2},{}]}",
        1);
    struct gt_trace *trace = trace_load(*state, NULL);
    assert_int_equal(trace->file_count, 1);
    assert_string_equal(trace->file[0].format, "tensorflow");
    assert_string_equal(gt_trace_text(trace, trace->file[0].node), "ip-10-0");
    assert_int_equal(trace->file[0].clock, GT_CLOCK_NAME);
    assert_int_equal(trace->events.start[0], INT64_C(1597730460000001500));
    assert_int_equal(trace->file[0].damage.bad_events, 0);
    gt_trace_close(trace);
}

/* marshal.dumps({("a.py", 3, "f"): (1, 2, 0.5, 1.5, {("~", 0, "<built-in x>"): (1, 1, 0.25, 0.5)})}) */
static const unsigned char dump[] =
    "\xfb\xa9\x03\xfa\x04"
    "a.py\xe9\x03\x00\x00\x00\xda\x01"
    "f\xa9\x05\xe9\x01\x00\x00\x00\xe9\x02\x00\x00\x00"
    "\xe7\x00\x00\x00\x00\x00\x00\xe0?\xe7\x00\x00\x00\x00\x00\x00\xf8?\xfb\xa9\x03\xda\x01~\xe9\x00\x00\x00\x00"
    "\xfa\x0c<built-in x>\xa9\x04"
    "r\x06\x00\x00\x00r\x06\x00\x00\x00\xe7\x00\x00\x00\x00\x00\x00\xd0?\xe7\x00\x00\x00\x00\x00\x00\xe0?"
    "00";

TEST_WITH(profiles_are_read, folder_make, folder_remove)
{
    trace_write(*state,
                "framework/pytorch/cprofile/0-algo-1/train-2-stepstart-1000000.5_train-*-end-2000000/python_stats",
                dump, sizeof dump - 1);
    struct gt_trace *trace = trace_load(*state, NULL);
    assert_int_equal(trace->profile_count, 1);
    const struct gt_trace_profile *profile = &trace->profile[0];
    assert_string_equal(gt_trace_text(trace, profile->framework), "pytorch");
    assert_string_equal(gt_trace_text(trace, profile->node), "0-algo-1");
    assert_string_equal(gt_trace_text(trace, profile->start_mode), "train");
    assert_string_equal(gt_trace_text(trace, profile->start_phase), "stepstart");
    assert_true(profile->start_step == 2 && isinf(profile->end_step));
    assert_int_equal(profile->start, 1000000500);
    assert_int_equal(profile->end, 2000000000);
    assert_int_equal(profile->function_count, 2);
    const struct gt_trace_function *f = &profile->function[0];
    assert_string_equal(gt_trace_text(trace, f->file), "a.py");
    assert_int_equal(f->line, 3);
    assert_int_equal(f->primitive_calls, 1);
    assert_int_equal(f->total_calls, 2);
    assert_true(f->total_time == 0.5 && f->cumulative_time == 1.5);
    assert_int_equal(f->callers, 1);
    assert_int_equal(profile->caller[f->caller].function, 1);
    assert_true(profile->caller[f->caller].cumulative_time == 0.5);
    assert_string_equal(gt_trace_text(trace, profile->function[1].function), "<built-in x>");
    gt_trace_close(trace);
}

TEST_WITH(hostile_profiles_are_bounded, folder_make, folder_remove)
{
    static const char *const bytes[] = {"{)\xff", "{(\xff\xff\xff\x7f", "{\xa9\x03r\x09\x00\x00\x00",
                                        "{){{{{{{{{{{{{{{{{{{{{{{{{{{{"};
    static const size_t lengths[] = {3, 6, 8, 29};
    for (size_t i = 0; i < 4; i++) {
        struct gt_trace *trace = trace_load(trace_write(*state, "x.prof", bytes[i], lengths[i]), NULL);
        assert_true(trace->file[0].damage.cut_off);
        assert_int_equal(trace->profile[0].function_count, 0);
        gt_trace_close(trace);
    }
    for (size_t length = 2; length < sizeof dump - 1; length++)
        gt_trace_close(trace_load(trace_write(*state, "x.prof", dump, length), NULL));
}

/* A profile that contains what is asked for is wanted, too. */
TEST_WITH(profiles_are_chosen_by_time, folder_make, folder_remove)
{
    trace_write(*state, "cprofile/0-algo-1/train-1-start-1000000_train-1-end-2000000/python_stats", dump,
                sizeof dump - 1);
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    options.start = 1200000000;
    options.end = 1400000000;
    struct gt_trace *trace = trace_load(*state, &options);
    assert_int_equal(trace->profile_count, 1);
    gt_trace_close(trace);
    options.start = 2100000000;
    options.end = 2400000000;
    trace = trace_load(*state, &options);
    assert_int_equal(trace->profile_count, 0);
    gt_trace_close(trace);
}

/* A function that calls itself counts once; its callers are those of the tree. */
TEST_WITH(pyinstruments_tree_is_summed_up, folder_make, folder_remove)
{
    trace_write_text(*state, "pyinstrument/0-algo-1/train-1-start-1000000_train-1-end-2000000/python_stats.html",
                     "<html>");
    trace_write_text(
        *state, "pyinstrument/0-algo-1/train-1-start-1000000_train-1-end-2000000/python_stats.json",
        "{\"start_time\": 1700000000.5, \"duration\": 1.0, \"sample_count\": 10, \"root_frame\": {\"function\": \"main\", "
        "\"file_path\": \"a.py\", \"line_no\": 1, \"time\": 1.0, \"children\": [{\"function\": \"f\", \"file_path\": \"a.py\", "
        "\"line_no\": 5, \"time\": 0.75, \"children\": [{\"function\": \"f\", \"file_path\": \"a.py\", \"line_no\": 5, "
        "\"time\": 0.5, \"children\": [{\"function\": \"[self]\", \"file_path\": \"\", \"line_no\": 0, \"time\": 0.25, "
        "\"children\": []}]}]}]}}");
    struct gt_trace *trace = trace_load(*state, NULL);
    assert_int_equal(trace->profile_count, 1);
    const struct gt_trace_profile *profile = &trace->profile[0];
    assert_int_equal(profile->profiler, GT_PROFILER_PYINSTRUMENT);
    assert_int_equal(profile->function_count, 2);
    assert_int_equal(profile->frame_count, 3);
    assert_int_equal(profile->start, 1000000000);
    assert_non_null(strstr(gt_trace_text(trace, profile->report), "python_stats.html"));
    const struct gt_trace_function *f = &profile->function[1];
    assert_true(f->cumulative_time == 0.75 && f->total_time == 0.75);
    assert_int_equal(f->total_calls, -1);
    assert_int_equal(f->callers, 2); /* main, and itself */
    assert_true(profile->function[0].total_time == 0.25 && profile->function[0].callers == 0);
    assert_int_equal(profile->frame[2].parent, 1);
    gt_trace_close(trace);
    trace = trace_load(trace_write_text(*state, "cut.json", "{\"sample_count\": 1, \"root_frame\": {\"function\""),
                       NULL);
    assert_true(trace->file[0].damage.cut_off);
    assert_int_equal(trace->profile_count, 0);
    gt_trace_close(trace);
}

/* The tables that Nsight Systems exports, with the columns that are read. */
TEST_WITH(nsight_exports_are_read, folder_make, folder_remove)
{
    const char *path = trace_write(*state, "report.sqlite", "", 0);
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            database,
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
            "INSERT INTO StringIds VALUES (1, 'gemm<\"\\>'), (2, 'cudaLaunchKernel_v7000');"
            "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT);"
            "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000001, '');"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, demangledName INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 7, 33, 1), (NULL, 1, 0, 7, 0, 1);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, deviceId INT, streamId INT, bytes INT, copyKind INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 0, 7, 4096, 1);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (50, 60, 83886085, 33, 2);"
            "CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT, textId INT, globalTid INT);"
            "INSERT INTO NVTX_EVENTS VALUES (1, NULL, 'mark', NULL, 83886085), (2, 90, NULL, 1, 83886085);",
            NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(database);
    struct gt_trace *trace = trace_load(path, NULL);
    const struct gt_trace_events *events = &trace->events;
    assert_string_equal(trace->file[0].format, "nsys");
    assert_int_equal(events->count, 5);
    assert_int_equal(trace->file[0].damage.bad_events, 1);
    size_t kernel = trace_event(trace, "gemm<\"\\>"), launch = trace_event(trace, "cudaLaunchKernel"),
           copy = trace_event(trace, "Memcpy HtoD");
    assert_int_equal(events->start[kernel], INT64_C(1700000000000000101));
    assert_int_equal(gt_trace_duration(events, kernel), 50);
    assert_int_equal(gt_trace_id(events, kernel), gt_trace_id(events, launch));
    assert_string_equal(gt_trace_text(trace, events->category[kernel]), "kernel");
    assert_string_equal(gt_trace_text(trace, gt_trace_process_of(trace, launch)->pid), "5");
    assert_int_equal(gt_trace_bytes(events, copy), 4096);
    assert_int_equal(gt_trace_id(events, copy), GT_TRACE_NO_ID);
    assert_int_equal(events->phase[trace_event(trace, "mark")], 'i');
    gt_trace_close(trace);
}

#define HOROVOD                                                                                                             \
    "[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{\"start_time_since_epoch_in_micros\":1597730460000000}}," \
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"gradient\"}},"                                  \
    "{\"ph\":\"B\",\"name\":\"ALLREDUCE\",\"pid\":1,\"ts\":2100},{\"ph\":\"E\",\"pid\":1,\"ts\":2200}]"
#define STEPS(first)                                                                                \
    "[" RECORD("1597730460000000")                                                                  \
        PHASE("0", "Step:ModeKeys.TRAIN") "{\"name\":\"step\",\"ph\":\"X\",\"pid\":0,\"ts\":" first \
                                          ",\"dur\":500,\"args\":{\"step_num\":\"3\"}}]"

/* Horovod's timeline names the host, or another process of it: its events lie in the steps of that host. */
TEST_WITH(horovod_lies_in_the_steps_of_its_host, folder_make, folder_remove)
{
    static const struct {
        const char *horovod, *node;
    } tries[] = {{"algo-2", "algo-2-33"}, {"78-algo-2", "algo-2-78"}, {"0-algo-2", "algo-2-33"}, {"algo-5", "algo-5"}};
    trace_write_text(*state, "framework/pevents/2020081805/1597730465000000_1-algo-1_pythontimeline.json",
                     STEPS("9000"));
    trace_write_text(*state, "framework/pevents/2020081805/1597730465000000_33-algo-2_pythontimeline.json",
                     STEPS("2000"));
    trace_write_text(*state, "framework/pevents/2020081805/1597730465000000_78-algo-2_pythontimeline.json",
                     STEPS("2000"));
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        char name[120], path[600];
        snprintf(name, sizeof name, "framework/pevents/2020081805/1597730466000000_%s_horovod_timeline.json",
                 tries[i].horovod);
        snprintf(path, sizeof path, "%s", trace_write_text(*state, name, HOROVOD));
        struct gt_trace *trace = trace_load(*state, NULL);
        size_t event = trace_event(trace, "ALLREDUCE");
        assert_string_equal(gt_trace_text(trace, gt_trace_file_of(trace, event)->node), tries[i].node);
        assert_int_equal(trace->events.step[event], strcmp(tries[i].node, "algo-5") ? 3 : GT_TRACE_NO_STEP);
        gt_trace_close(trace);
        const char *folder = *state;
        struct gt_profile_options options = GT_INIT(struct gt_profile_options);
        struct gt_report *report = NULL;
        options.by = "process";
        assert_true(gt_profile_report("steps", &folder, 1, NULL, &options, &report, NULL) >= 0);
        if (i < 3)
            assert_string_equal(
                traces_text(report, "steps", traces_find(report, "steps", 0, "process", "gradient"), "node"),
                tries[i].node);
        gt_report_free(report);
        unlink(path);
    }
}

/* Up to the last time of its thread, which the arguments of its events name. */
TEST_WITH(what_never_ends_lasts_as_long_as_its_thread, folder_make, folder_remove)
{
    const char *path = trace_write_text(
        *state, "framework/pevents/2020081805/1597730465000000_0-algo-1_model_timeline.json",
        "[\n" RECORD("1597730460000000") PHASE(
            "1",
            "Forward") "{\"name\":\"open\",\"ph\":\"B\",\"pid\":1,\"ts\":10,\"args\":{\"pid\":77,\"thread_id\":5}},\n"
                       "{\"name\":\"whole\",\"ph\":\"X\",\"pid\":1,\"ts\":20,\"dur\":30,\"args\":{\"pid\":77,\"thread_id\":5}},\n"
                       "{\"name\":\"other\",\"ph\":\"X\",\"pid\":1,\"ts\":20,\"dur\":90,\"args\":{\"pid\":77,\"thread_id\":6}}]");
    struct gt_trace *trace = trace_load(path, NULL);
    size_t open = trace_event(trace, "open");
    assert_int_equal(trace->events.flag[open] & GT_TRACE_UNCLOSED, GT_TRACE_UNCLOSED);
    assert_int_equal(gt_trace_duration(&trace->events, open), 40000);
    assert_int_equal(trace->events.track[open], trace->events.track[trace_event(trace, "whole")]);
    gt_trace_close(trace);
}

/* The node stands before the first "_"; what stands between it and the suffix is no part of it. */
TEST_WITH(names_with_more_parts_are_read, folder_make, folder_remove)
{
    const char *path = trace_write_text(
        *state, "framework/pevents/2020081805/1597730465000000_4487_0000_pythontimeline.json", STEPS("1"));
    struct gt_trace *trace = trace_load(path, NULL);
    assert_string_equal(trace->file[0].format, "smdebug");
    assert_string_equal(gt_trace_text(trace, trace->file[0].node), "4487");
    gt_trace_close(trace);
}
