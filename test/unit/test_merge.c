/* Merged timelines: nothing is lost, and the same files give the same bytes. */
#include "analyse/merge/merge.h"
#include "base/json.h"
#include "support/folder.h"
#include "support/test.h"
#include "support/trace_file.h"

#define RECORD(base) \
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{\"start_time_since_epoch_in_micros\":" base "}},\n"
#define PHASE(pid, name) "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":" pid ",\"args\":{\"name\":\"" name "\"}},\n"
#define STEP(pid, number, ts, dur)                                                                                   \
    "{\"name\":\"step\",\"ph\":\"X\",\"pid\":" pid ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{\"step_num\":\"" number \
    "\"}},\n"
#define SAMPLE(name, dimension, value, time)                                                   \
    "{\"Type\":\"gpu\",\"Name\":\"" name "\",\"Dimension\":\"" dimension "\",\"Value\":" value \
    ",\"NodeId\":\"algo-1\",\"Timestamp\":" time "}\n"

struct merged {
    struct gt_report *report;
    json_t *events;
    char path[600];
};

static struct merged merge(const char *folder, const char *path, struct gt_merge_options options)
{
    struct merged merged = {0};
    struct gt_error error = {0};
    json_error_t problem;
    snprintf(merged.path, sizeof merged.path, "%s.merged.json", folder);
    options.request.output = merged.path;
    options.request.overwrite = true;
    if (gt_merge(&merged.report, &path, 1, &options, &error) < 0)
        fail_msg("%s", error.text);
    FILE *file = fopen(merged.path, "r");
    assert_non_null(file);
    merged.events = gt_json_read(file, SIZE_MAX, JSON_REJECT_DUPLICATES, &problem);
    fclose(file);
    if (!merged.events)
        fail_msg("%s:%d: %s", merged.path, problem.line, problem.text);
    return merged;
}

static void release(struct merged *merged)
{
    json_decref(merged->events);
    gt_report_free(merged->report);
    unlink(merged->path);
}

static size_t members(const json_t *object)
{
    json_t *value;
    const char *name;
    size_t found = 0;
    gt_json_foreach_member (object, name, value) {
        found++;
    }
    return found;
}

static size_t count(const struct merged *merged, const char *key, const char *value)
{
    size_t found = 0, i;
    json_t *event;
    json_array_foreach (merged->events, i, event) {
        const char *text = json_string_value(json_object_get(event, key));
        found += text && strcmp(text, value) == 0;
    }
    return found;
}

static json_t *first(const struct merged *merged, const char *name, const char *phase)
{
    size_t i;
    json_t *event;
    json_array_foreach (merged->events, i, event) {
        if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0 &&
            strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0)
            return event;
    }
    fail_msg("no %s of phase %s", name, phase);
    return NULL;
}

#define EVERYTHING ((struct gt_merge_options){.trace = GT_TRACE_OPTIONS, .request.low_gpu = 85})

static void write_smdebug(const char *folder)
{
    trace_write_text(
        folder, "framework/pevents/2020081805/1597730465000000_0-algo-1_model_timeline.json",
        "[\n" RECORD("1597730460000000") PHASE("0", "Step:ModeKeys.TRAIN") STEP("0", "1", "1000", "500")
            STEP("0", "2", "2000", "500") STEP("0", "3", "3000", "500") PHASE(
                "1",
                "DataIterator") "{\"name\":\"next\",\"ph\":\"X\",\"pid\":1,\"ts\":2600.25,\"dur\":5,\"tid\":139898234123456},\n"
                                "{\"name\":\"flow\",\"ph\":\"s\",\"id\":7,\"pid\":1,\"ts\":2601,\"tid\":1}]");
    trace_write_text(folder, "framework/pevents/2020081805/1597730466000000_0-algo-1_model_timeline.json",
                     "[\n" RECORD("1597730460000000") PHASE("4", "Step:ModeKeys.TRAIN")
                         STEP("4", "4", "4000", "500") "]");
    trace_write_text(folder, "system/incremental/2020081805/1597730460.algo-1.json",
                     SAMPLE("gpu0", "GPUUtilization", "50", "1597730460.001")
                         SAMPLE("gpu0", "GPUMemoryUtilization", "10", "1597730460.001")
                             SAMPLE("gpu0", "GPUUtilization", "95", "1597730460.003")
                                 SAMPLE("gpu0", "GPUMemoryUtilization", "20", "1597730460.101"));
}

TEST_WITH(all_samples_are_counters_and_low_gpus_are_marked, folder_make, folder_remove)
{
    write_smdebug(*state);
    struct merged merged = merge(*state, *state, EVERYTHING);
    assert_int_equal(count(&merged, "ph", "C"), 4);
    assert_int_equal(count(&merged, "name", "sys_metrics_bottlenecks"), 1);
    json_t *args = json_object_get(first(&merged, "sys_metrics_bottlenecks", "i"), "args");
    assert_int_equal(members(args), 2); /* memory that is little used is no mark, the same series is told once */
    assert_int_equal(json_number_value(json_object_get(args, "gpu0_GPUUtilization_algo-1")), 50);
    assert_int_equal(json_number_value(json_object_get(args, "gpu0_GPUMemoryUtilization_algo-1")), 10);
    release(&merged);
    struct gt_merge_options options = EVERYTHING;
    options.request.low_gpu = 0;
    options.request.metrics = "Memory";
    merged = merge(*state, *state, options);
    assert_int_equal(count(&merged, "ph", "C"), 2);
    assert_int_equal(count(&merged, "ph", "i"), 0);
    release(&merged);
}

/* From the begin of step 2 to 1 us before that of step 4. */
TEST_WITH(steps_are_half_open, folder_make, folder_remove)
{
    write_smdebug(*state);
    struct gt_merge_options options = EVERYTHING;
    options.trace.by_step = true;
    options.trace.start_step = 2;
    options.trace.end_step = 4;
    struct merged merged = merge(*state, *state, options);
    assert_int_equal(count(&merged, "name", "step"), 2);
    assert_int_equal(count(&merged, "name", "next"), 1);
    assert_int_equal(count(&merged, "ph", "C"), 1);
    release(&merged);
}

TEST_WITH(nothing_merged_is_an_empty_list, folder_make, folder_remove)
{
    write_smdebug(*state);
    struct gt_merge_options options = EVERYTHING;
    options.trace.start = INT64_C(1900000000000000000);
    struct merged merged = merge(*state, *state, options);
    assert_int_equal(json_array_size(merged.events), 0);
    assert_int_equal(gt_node_find(&merged.report->root, "events")->integer, 0);
    release(&merged);
}

TEST_WITH(times_without_a_clock_are_placed_or_aligned, folder_make, folder_remove)
{
    trace_write_text(
        *state, "a_rank0.json",
        "{\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":["
        "{\"ph\":\"X\",\"name\":\"begin\",\"pid\":1,\"ts\":5,\"dur\":1},{\"ph\":\"X\",\"name\":\"meet\",\"pid\":1,\"ts\":100,\"dur\":1}]}");
    trace_write_text(
        *state, "b_rank1.json",
        "[{\"ph\":\"X\",\"name\":\"first\",\"pid\":1,\"ts\":7000,\"dur\":1},{\"ph\":\"X\",\"name\":\"meet\",\"pid\":1,\"ts\":7010,\"dur\":1}]");
    struct merged merged = merge(*state, *state, EVERYTHING);
    assert_int_equal(json_integer_value(json_object_get(first(&merged, "first", "X"), "ts")), 0); /* that of "begin" */
    release(&merged);
    struct gt_merge_options options = EVERYTHING;
    options.request.align = "meet";
    merged = merge(*state, *state, options);
    assert_int_equal(json_integer_value(json_object_get(first(&merged, "first", "X"), "ts")), 85);
    const json_t *base = json_object_get(json_array_get(merged.events, 0), "args");
    const json_t *source = json_array_get(json_object_get(base, "sources"), 1);
    assert_string_equal(json_string_value(json_object_get(source, "clock")), "aligned by the event");
    release(&merged);
    options.trace.select = "first"; /* the landmark itself need not be kept */
    merged = merge(*state, *state, options);
    assert_int_equal(json_integer_value(json_object_get(first(&merged, "first", "X"), "ts")), 85);
    assert_int_equal(count(&merged, "name", "meet"), 0);
    release(&merged);
    options.request.align = "never";
    struct gt_report *report = NULL;
    struct gt_error error = {0};
    const char *path = *state;
    options.request.output = "/tmp/gt-never.json";
    assert_int_equal(gt_merge(&report, &path, 1, &options, &error), -ENOENT);
    assert_non_null(strstr(error.text, "never"));
}

/* Two files use pid 1 and tid 5 for different phases: each thread keeps the name it has in its own. */
/* Files are read once, unless that turns out to have been too early. */
TEST_WITH(what_is_told_late_counts, folder_make, folder_remove)
{
    static const char
        event[] = "{\"ph\":\"X\",\"name\":\"a\\\"b\",\"pid\":1,\"tid\":2,\"ts\":5.5,\"dur\":1},"
                  "{\"ph\":\"s\",\"name\":\"f\",\"id\":7,\"pid\":%d,\"tid\":2,\"ts\":6}",
        node[] = "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"p\",\"node\":\"n%d\"}},";
    char text[1200] = "{\"traceEvents\":[";
    for (int i = 1; i <= 2; i++)
        sprintf(text + strlen(text), event, i), strcat(text, i == 1 ? "," : "");
    size_t length = strlen(text);
    strcpy(text + length, "],\"baseTimeNanoseconds\":1700000000000000000}");
    trace_write_text(*state, "t.json", text);
    struct merged merged = merge(*state, *state, EVERYTHING);
    assert_int_equal(count(&merged, "name", "a\"b"), 2);
    assert_int_equal(count(&merged, "name", "f"), 2);
    assert_true(json_number_value(json_object_get(first(&merged, "a\"b", "X"), "ts")) == .5);
    assert_true(json_number_value(json_object_get(first(&merged, "f", "s"), "id")) == 7);
    release(&merged);
    strcpy(text, "[");
    for (int i = 1; i <= 2; i++)
        sprintf(text + strlen(text), node, i, i);
    for (int i = 1; i <= 2; i++)
        sprintf(text + strlen(text), event, i), strcat(text, i == 1 ? "," : "]");
    trace_write_text(*state, "t.json", text);
    merged = merge(*state, *state, EVERYTHING);
    assert_int_equal(count(&merged, "name", "f"), 2);
    assert_non_null(
        json_string_value(json_object_get(first(&merged, "f", "s"), "id"))); /* those of two nodes, in one file */
    release(&merged);
}

/* Local ids belong to a process, which merging keeps apart by its pid; global ones would run into each other. */
TEST_WITH(scoped_ids_are_kept_apart, folder_make, folder_remove)
{
    static const char text[] =
        "[{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"l\",\"id2\":{\"local\":\"0x1\"},\"pid\":1,\"ts\":5},"
        "{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"g\",\"id2\":{\"global\":\"0x2\"},\"pid\":1,\"ts\":6}]";
    trace_write_text(*state, "rank0.json", text);
    struct merged merged = merge(*state, *state, EVERYTHING);
    json_t *scopes = json_object_get(first(&merged, "g", "b"), "id2");
    assert_string_equal(json_string_value(json_object_get(scopes, "global")), "0x2");
    release(&merged);
    trace_write_text(*state, "rank1.json", text);
    merged = merge(*state, *state, EVERYTHING);
    const char *global[2];
    size_t found = 0, locals = 0, i;
    int64_t pid[2] = {0};
    json_t *event;
    json_array_foreach (merged.events, i, event) {
        scopes = json_object_get(event, "id2");
        if (json_object_get(scopes, "local")) {
            assert_string_equal(json_string_value(json_object_get(scopes, "local")), "0x1");
            assert_true(locals < 2);
            pid[locals++] = json_integer_value(json_object_get(event, "pid"));
        } else if (scopes) {
            assert_true(found < 2);
            global[found++] = json_string_value(json_object_get(scopes, "global"));
        }
    }
    assert_int_equal(found, 2);
    assert_int_equal(locals, 2);
    assert_string_not_equal(global[0], global[1]);
    assert_true(pid[0] != pid[1]);
    release(&merged);
}

static char *text_of(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(1 << 20);
    *length = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

/* The event of that name, phase and start in another trace. */
static size_t same_event(const struct gt_trace *trace, size_t event, const struct gt_trace *other)
{
    for (size_t i = 0; i < other->events.count; i++)
        if (other->events.start[i] == trace->events.start[event] &&
            other->events.phase[i] == trace->events.phase[event] &&
            strcmp(gt_trace_text(other, other->events.name[i]), gt_trace_text(trace, trace->events.name[event])) == 0)
            return i;
    fail_msg("no %s", gt_trace_text(trace, trace->events.name[event]));
    return 0;
}

/* Reading the merged file gives the events again, and merging that gives them once more. */
TEST_WITH(reading_again_gives_the_same, folder_make, folder_remove)
{
    static const char *const arguments[] = {"step_num", "x", NULL};
    write_smdebug(*state);
    trace_write_text(
        *state, "more.json",
        "[{\"ph\":\"B\",\"name\":\"q\\\"\\u00e9\\ud83d\\ude00\",\"cat\":\"c\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":1597730460000001.5,\"args\":{\"x\":1}},"
        "{\"ph\":\"i\",\"name\":\"con\ttrol\",\"pid\":1,\"ts\":1597730460000001.501,\"s\":\"p\",\"args\":{\"x\":-Infinity}},"
        "{\"ph\":\"E\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":1597730460000009},{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1597730460000002,\"args\":{\"x\":2.50}}]");
    struct merged merged = merge(*state, *state, EVERYTHING);
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    options.arguments = arguments;
    struct gt_trace *before = trace_load(*state, &options), *after = trace_load(merged.path, &options);
    const struct gt_trace_events *a = &before->events, *b = &after->events;
    assert_int_equal(b->count, a->count + before->samples.count + 1);
    for (size_t i = 0; i < a->count; i++) {
        size_t j = same_event(before, i, after);
        assert_int_equal(gt_trace_duration(a, i), gt_trace_duration(b, j));
        assert_int_equal(a->step[i], b->step[j]);
        assert_string_equal(gt_trace_text(before, a->category[i]), gt_trace_text(after, b->category[j]));
        assert_string_equal(gt_trace_text(before, gt_trace_process_of(before, i)->name),
                            strncmp(gt_trace_text(after, gt_trace_process_of(after, j)->name), "process ", 8)
                                ? gt_trace_text(after, gt_trace_process_of(after, j)->name)
                                : "");
        for (uint32_t key = 0; key < 2; key++) {
            const struct gt_trace_argument *x = gt_trace_argument(before, i, key),
                                           *y = gt_trace_argument(after, j, key);
            assert_int_equal(!x, !y);
            if (x && x->text != GT_TRACE_NONE)
                assert_string_equal(gt_trace_text(before, x->text), gt_trace_text(after, y->text));
            else if (x && x->number - x->number == 0)
                assert_true(x->number == y->number);
        }
    }
    assert_int_equal(after->file[0].damage.bad_events + after->file[0].damage.mended, 0);
    gt_trace_close(before);
    gt_trace_close(after);
    size_t length[2];
    char *text[2] = {text_of(merged.path, &length[0]), NULL};
    release(&merged);
    struct gt_merge_options other = EVERYTHING;
    other.trace.threads = 3;
    other.trace.block = 100;
    merged = merge(*state, *state, other);
    text[1] = text_of(merged.path, &length[1]);
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(text[0], text[1], length[0]);
    free(text[0]);
    free(text[1]);
    release(&merged);
}

TEST_WITH(what_was_not_ended_is_flagged, folder_make, folder_remove)
{
    trace_write_text(*state, "in/open.json",
                     "[{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":1,\"ts\":10,\"args\":{\"x\":7}},"
                     "{\"ph\":\"B\",\"name\":\"bare\",\"pid\":1,\"tid\":2,\"ts\":10},"
                     "{\"ph\":\"X\",\"name\":\"last\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":10}]");
    struct merged merged = merge(*state, *state, EVERYTHING);
    const json_t *open = first(&merged, "open", "X"), *args = json_object_get(open, "args");
    assert_int_equal(json_integer_value(json_object_get(open, "dur")), 20);
    assert_int_equal(json_integer_value(json_object_get(args, "x")), 7);
    assert_non_null(json_object_get(args, "unclosed"));
    assert_non_null(json_object_get(json_object_get(first(&merged, "bare", "X"), "args"), "unclosed"));
    assert_null(json_object_get(first(&merged, "last", "X"), "args"));
    release(&merged);
}

/* Events of files that are in any order, with samples and marks: all are written, those of a file as they are in it. */
TEST_WITH(events_are_written_in_the_order_of_files, folder_make, folder_remove)
{
    write_smdebug(*state);
    trace_write_text(*state, "more.json",
                     "[{\"ph\":\"X\",\"name\":\"late\",\"pid\":1,\"ts\":1597730460900000,\"dur\":1},"
                     "{\"ph\":\"X\",\"name\":\"early\",\"pid\":1,\"ts\":1597730460000100,\"dur\":1},"
                     "{\"ph\":\"i\",\"name\":\"one\",\"pid\":1,\"ts\":1597730460002000},"
                     "{\"ph\":\"i\",\"name\":\"two\",\"pid\":1,\"ts\":1597730460002000}]");
    struct merged merged = merge(*state, *state, EVERYTHING);
    json_t *event;
    size_t i, timed = 0, one = 0, two = 0;
    json_array_foreach (merged.events, i, event) {
        const json_t *time = json_object_get(event, "ts");
        assert_true(!time == (strcmp(json_string_value(json_object_get(event, "ph")), "M") == 0));
        one = strcmp(json_string_value(json_object_get(event, "name")), "one") == 0 ? i : one;
        two = strcmp(json_string_value(json_object_get(event, "name")), "two") == 0 ? i : two;
        timed += time != NULL;
    }
    assert_int_equal(timed, 6 + 4 + 4 + 1);
    assert_true(one < two);
    release(&merged);
}
