/* Timelines of the Trace Event Format: what is read, paired, filtered, and what damage leaves. */
#include <time.h>
#include <time.h>

#include "support/folder.h"
#include "support/test.h"
#include "support/trace_file.h"
#include "trace/input/scan.h"

#define BASE INT64_C(1700000000000000000)

/* Laid out as PyTorch's profiler does. */
static const char kineto[] =
    "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"A {GPU}\"}],\n"
    "  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8},\n"
    "  \"baseTimeNanoseconds\": 1700000000000000000,\n  \"traceEvents\": [\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#4\", \"pid\": 9, \"tid\": 9, \"ts\": 1000, \"dur\": 500},\n"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 9, \"tid\": 9, \"ts\": 1100.123, \"dur\": 7.5,"
    " \"args\": {\"External id\": 41, \"Input Dims\": [[2, 3], [\"}\"]]}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm<4>\", \"pid\": 0, \"tid\": 7, \"ts\": 1200, \"dur\": 0.001,"
    " \"args\": {\"External id\": 41, \"correlation\": 77, \"stream\": 7}},\n"
    "{\"ph\": \"s\", \"id\": 77, \"pid\": 9, \"tid\": 9, \"ts\": 1101, \"cat\": \"ac2g\", \"name\": \"ac2g\"},\n"
    "{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 9, \"tid\": 9, \"ts\": 1700, \"args\": {\"Bytes\": 4096, \"Total Allocated\": 8192}},\n"
    "{\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 9, \"tid\": 0, \"args\": {\"name\": \"python\"}},\n"
    "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": 7, \"args\": {\"name\": \"stream 7\"}}\n"
    "],\n \"traceName\": \"x.json\"\n}\n";

TEST_WITH(a_base_behind_the_events_counts, folder_make, folder_remove)
{
    const char *text = "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"ts\": 5, \"dur\": 1}],"
                       " \"baseTimeNanoseconds\": 1700000000000000000}";
    struct gt_trace *trace = trace_load(trace_write_text(*state, "t.json", text), NULL);
    assert_int_equal(trace->events.count, 1);
    assert_int_equal(trace->events.start[0], BASE + 5000);
    assert_int_equal(trace->file[0].read, 1);
    assert_int_equal(trace->file[0].clock, GT_CLOCK_RECORD);
    gt_trace_close(trace);
}

TEST_WITH(times_are_exact, folder_make, folder_remove)
{
    const char *text = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1700000000000001.234,\"dur\":7007199254740993},"
                       "{\"ph\":\"X\",\"name\":\"b\",\"ts\":\"1.7e15\",\"dur\":0.0015},"
                       "{\"ph\":\"X\",\"name\":\"c\",\"ts\":-3.0004,\"dur\":0},"
                       "{\"ph\":\"X\",\"name\":\"ends before it begins\",\"ts\":5,\"dur\":-1},"
                       "{\"ph\":\"X\",\"name\":\"d\",\"ts\":1e300},"
                       "{\"ph\":\"X\",\"name\":\"e\",\"ts\":9223372036854775}]";
    struct gt_trace *trace = trace_load(trace_write_text(*state, "t.json", text), NULL);
    assert_int_equal(trace->events.count, 4);
    assert_int_equal(trace->events.start[0], INT64_C(1700000000000001234));
    assert_int_equal(gt_trace_duration(&trace->events, 0), INT64_C(7007199254740993000));
    assert_int_equal(gt_trace_duration(&trace->events, 1), 2);
    assert_int_equal(trace->events.start[1], INT64_C(1700000000000000000));
    assert_int_equal(trace->events.start[2], -3000);
    assert_int_equal(gt_trace_duration(&trace->events, 2), 0);
    assert_int_equal(trace->events.start[3], INT64_C(9223372036854775000));
    assert_int_equal(trace->file[0].damage.bad_events, 2);
    gt_trace_close(trace);
}

/* Two threads interleaved: pairs are per thread, and both arguments count. */
TEST_WITH(pairs_are_by_process_and_thread, folder_make, folder_remove)
{
    const char *text = "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0,\"args\":{\"x\":1,\"y\":2}},"
                       "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":5},"
                       "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":10,\"args\":{\"y\":3}},"
                       "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":20,\"args\":{\"bytes\":8}},"
                       "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":21},"
                       "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":2,\"ts\":22},"
                       "{\"ph\":\"X\",\"name\":\"last\",\"pid\":1,\"tid\":2,\"ts\":23,\"dur\":7}]";
    static const char *const wanted[] = {"x", "y", NULL};
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    options.arguments = wanted;
    struct gt_trace *trace = trace_load(trace_write_text(*state, "t.json", text), &options);
    const struct gt_trace_events *events = &trace->events;
    size_t a = trace_event(trace, "a"), b = trace_event(trace, "b"), open = trace_event(trace, "open");
    assert_int_equal(events->count, 4);
    assert_int_equal(events->start[a], 0);
    assert_int_equal(gt_trace_duration(events, a), 10000);
    assert_int_equal(events->start[b], 5000);
    assert_int_equal(gt_trace_duration(events, b), 15000);
    assert_int_equal(gt_trace_bytes(events, b), 8);
    assert_int_equal(events->phase[a], 'X');
    assert_true(gt_trace_argument(trace, a, 0)->number == 1);
    assert_true(gt_trace_argument(trace, a, 1)->number == 3);
    assert_int_equal(events->flag[open], GT_TRACE_PAIRED | GT_TRACE_UNCLOSED);
    assert_int_equal(gt_trace_duration(events, open), 8000);
    assert_int_equal(trace->file[0].damage.unopened, 1);
    assert_int_equal(trace->file[0].damage.unclosed, 1);
    gt_trace_close(trace);
}

TEST_WITH(an_end_without_thread_closes_the_latest, folder_make, folder_remove)
{
    const char *text = "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":4,\"ts\":0},{\"ph\":\"E\",\"pid\":1,\"ts\":9}]";
    struct gt_trace *trace = trace_load(trace_write_text(*state, "t.json", text), NULL);
    assert_int_equal(trace->events.count, 1);
    assert_int_equal(gt_trace_duration(&trace->events, 0), 9000);
    gt_trace_close(trace);
}

TEST_WITH(every_phase_is_kept, folder_make, folder_remove)
{
    const char *text =
        "[{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1,\"id\":\"0x1f\",\"args\":{\"v\":1}},{\"ph\":\"b\",\"name\":\"n\",\"cat\":\"k\","
        "\"id\":\"txt\",\"pid\":1,\"ts\":1},{\"ph\":\"f\",\"bp\":\"e\",\"id\":3,\"name\":\"f\",\"pid\":\"Spans\",\"tid\":\"x\",\"ts\":2},"
        "{\"ph\":\"i\",\"name\":\"i\",\"ts\":2,\"s\":\"g\"},{\"ph\":\"X\",\"name\":\"no time\"},{\"ph\":\"P\",\"name\":\"p\",\"ts\":1},{},]";
    struct gt_trace *trace = trace_load(trace_write_text(*state, "t.json", text), NULL);
    char phases[16] = {0};
    assert_int_equal(trace->events.count, 6);
    memcpy(phases, trace->events.phase, 6);
    assert_string_equal(phases, "CbfiXP");
    assert_int_equal(gt_trace_id(&trace->events, 0), 0x1f);
    assert_int_equal(trace->events.flag[1], GT_TRACE_TEXT_ID);
    assert_string_equal(gt_trace_text(trace, (uint32_t)gt_trace_id(&trace->events, 1)), "txt");
    assert_int_equal(gt_trace_id(&trace->events, 2), 3);
    assert_int_equal(trace->events.flag[4], GT_TRACE_NO_TIME);
    assert_string_equal(gt_trace_text(trace, gt_trace_process_of(trace, 2)->pid), "Spans");
    assert_int_equal(trace->file[0].damage.bad_events, 0);
    gt_trace_close(trace);
}

/* What is cut off at any byte gives the events that are whole, for every size of block, on one thread and on several.
 */
TEST_WITH(whole_events_of_a_cut_file_are_kept, folder_make, folder_remove)
{
    for (size_t length = strlen(kineto); length > 400; length -= 7) {
        const char *path = trace_write(*state, "t.json", kineto, length), *at = kineto;
        size_t whole = 0;
        for (const char *end; (end = strstr(at, "},\n{\"ph\"")) && (size_t)(end - kineto) < length; at = end + 1)
            whole++;
        struct gt_trace *first = NULL;
        for (int i = 0; i < 4; i++) {
            struct gt_trace_options options = GT_TRACE_OPTIONS;
            options.block = (size_t[]){0, 64, 101, 333}[i];
            options.threads = i % 2 ? 3 : 1;
            struct gt_trace *trace = trace_load(path, &options);
            assert_in_range(trace->events.count, whole, 5);
            if (first) {
                assert_int_equal(trace->events.count, first->events.count);
                assert_memory_equal(&trace->file[0].damage, &first->file[0].damage, sizeof first->file[0].damage);
                assert_memory_equal(trace->events.start, first->events.start, first->events.count * sizeof(int64_t));
                gt_trace_close(trace);
            } else {
                first = trace;
            }
        }
        gt_trace_close(first);
    }
}

TEST_WITH(damage_is_passed_over_and_counted, folder_make, folder_remove)
{
    const char *text =
        "[{\"ph\":\"X\",\"name\":\"one\",\"ts\":1},\n{\"ph\":\"X\",\"name\":\"qu\"ote\",\"ts\":2},\n"
        "{\"ph\":\"X\",\"name\":\"two\",\"ts\":3},\n{\"ph\":\"X\",\"name\":\"con\ttrol\x01\",\"ts\":4},\n"
        "garbage,{\"name\":\"no phase\"},{\"ph\":\"X\",\"name\":\"nan\",\"ts\":6,\"args\":{\"o\":NaN}},\n"
        "{\"ph\":\"X\",\"name\":\"three\",\"ts\":5}]";
    struct gt_trace *trace = trace_load(trace_write_text(*state, "t.json", text), NULL);
    const struct gt_trace_damage *damage = &trace->file[0].damage;
    trace_event(trace, "one");
    trace_event(trace, "two");
    trace_event(trace, "con\ttrol\x01");
    trace_event(trace, "nan");
    trace_event(trace, "three");
    assert_int_equal(trace->events.count, 5);
    assert_int_equal(damage->mended, 2);
    assert_int_equal(damage->bad_events, 2);
    assert_true(damage->lost_bytes > 0);
    assert_true(damage->first[0]);
    assert_false(damage->cut_off);
    gt_trace_close(trace);
}

/* Every twentieth event ends anywhere: each costs itself, whatever is read at a time. */
TEST_WITH(a_torn_event_costs_itself, folder_make, folder_remove)
{
    enum { TORN_EVENTS = 2000, TORN = 20 };
    char *text = malloc(TORN_EVENTS * 200), event[200];
    size_t length = (size_t)sprintf(text, "{\"traceEvents\":[\n");
    unsigned seed = 3;
    for (int i = 0; i < TORN_EVENTS; i++) {
        int whole = snprintf(event, sizeof event,
                             "{\"ph\":\"X\",\"name\":\"op {%d}\",\"pid\":1,\"tid\":2,\"ts\":%d.5,\"dur\":3,"
                             "\"args\":{\"dims\":[[1,2],[3]],\"k\":\"a\\\"b\",\"list\":[{\"a\":1},{\"b\":2}]}}",
                             i, i * 10);
        int kept = i % TORN == 7 ? 1 + rand_r(&seed) % (whole - 1) : whole;
        length += (size_t)sprintf(text + length, "%.*s%s", kept, event, i + 1 < TORN_EVENTS ? ",\n" : "\n]}");
    }
    const char *path = trace_write(*state, "torn.json", text, length);
    free(text);
    struct gt_trace *first = NULL;
    static const size_t blocks[] = {0, 1 << 16, 4096, 700, 61};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct gt_trace_options options = GT_TRACE_OPTIONS;
        options.block = blocks[i];
        options.threads = 1 + (int)(i % 3);
        struct gt_trace *trace = trace_load(path, &options);
        assert_int_equal(trace->events.count, TORN_EVENTS - TORN_EVENTS / TORN);
        assert_int_equal(trace->file[0].damage.bad_events, TORN_EVENTS / TORN);
        assert_false(trace->file[0].damage.cut_off);
        if (first)
            assert_int_equal(trace->file[0].damage.lost_bytes, first->file[0].damage.lost_bytes);
        else
            first = trace;
        if (trace != first)
            gt_trace_close(trace);
    }
    gt_trace_close(first);
}

/* One event of five ends at each of its bytes. */
TEST_WITH(an_event_may_be_torn_anywhere, folder_make, folder_remove)
{
    static const char whole[] = "{\"ph\":\"X\",\"name\":\"op {1}\",\"pid\":1,\"tid\":2,\"ts\":1.5,\"dur\":3,"
                                "\"args\":{\"dims\":[[1,2],[3]],\"k\":\"a\\\"b\",\"list\":[{\"a\":1},{\"b\":2}]}}";
    static const size_t blocks[] = {0, 16, 61, 300};
    char text[6 * sizeof whole];
    for (int cut = 1; cut < (int)sizeof whole - 1; cut++) {
        snprintf(text, sizeof text, "{\"traceEvents\":[\n%s,\n%s,\n%.*s,\n%s,\n%s\n]}", whole, whole, cut, whole, whole,
                 whole);
        const char *path = trace_write_text(*state, "torn.json", text);
        uint64_t lost = 0;
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
            struct gt_trace_options options = GT_TRACE_OPTIONS;
            options.block = blocks[i];
            struct gt_trace *trace = trace_load(path, &options);
            assert_int_equal(trace->events.count, 4);
            assert_int_equal(trace->file[0].damage.bad_events, 1);
            lost = i ? lost : trace->file[0].damage.lost_bytes;
            assert_int_equal(trace->file[0].damage.lost_bytes, lost);
            gt_trace_close(trace);
        }
    }
}

/* The brace that opens an event may become any byte: the event is lost and counted, and no other. */
TEST_WITH(an_event_without_its_opening_brace_is_counted, folder_make, folder_remove)
{
    enum { EVENTS = 4, BLOCKS = 4, FORMS = 2, SHAPES = 2 };
    static const size_t blocks[BLOCKS] = {0, 16, 61, 300};
    static const char *const around[FORMS][2] = {{"{\"traceEvents\":[\n", "\n],\"name\":\"job\"}"}, {"[\n", "\n]"}};
    static const char *const events[SHAPES] = {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1}",
                                               "{\"name\":\"a\",\"args\":{\"a\":{},\"b\":1},\"ts\":1,\"ph\":\"X\"}"};
    for (int i = 1; i < 256 * BLOCKS * FORMS * SHAPES; i++) {
        char text[500];
        size_t length = 0, place[EVENTS];
        const char *event = events[i / BLOCKS / FORMS % SHAPES], *const *list = around[i / BLOCKS % FORMS];
        char byte = (char)(i / BLOCKS / FORMS / SHAPES);
        for (int j = 0; j < EVENTS; j++) {
            length += (size_t)sprintf(text + length, "%s", j ? ",\n" : list[0]);
            place[j] = length;
            length += (size_t)sprintf(text + length, "%s", event);
        }
        length += (size_t)sprintf(text + length, "%s", list[1]);
        text[place[i % 2 ? 1 : EVENTS - 1]] = byte;
        struct gt_trace_options options = GT_TRACE_OPTIONS;
        options.block = blocks[i % BLOCKS];
        struct gt_trace *trace = trace_load(trace_write(*state, "opening.json", text, length), &options);
        assert_int_equal(trace->events.count, byte == '{' ? EVENTS : EVENTS - 1);
        assert_int_equal(trace->file[0].damage.bad_events, byte != '{');
        gt_trace_close(trace);
    }
}

/* Nothing but torn events costs no more time than as much text that is whole. */
TEST_WITH(salvage_is_linear, folder_make, folder_remove)
{
    enum { ALL = FEWER(400000, 40000) };
    char *text = malloc(ALL * 40);
    size_t length = 1;
    *text = '[';
    for (int i = 0; i < ALL; i++)
        length += (size_t)sprintf(text + length, "{\"ph\":\"X\",\"name\":\"a%d%s,\n", i,
                                  i % 100 == 0 ? "\"}"
                                  : i % 3      ? ""
                                               : "\",\"args\":{\"x\":[1");
    const char *path = trace_write(*state, "torn.json", text, length);
    free(text);
    clock_t begin = clock();
    struct gt_trace *trace = trace_load(path, NULL);
    assert_int_equal(trace->events.count, ALL / 100);
    assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
    gt_trace_close(trace);
}

/* One event a line, without a list around them; and what has no events at all. */
TEST_WITH(lines_of_events_are_read_and_no_lists_refused, folder_make, folder_remove)
{
    struct gt_trace *trace = trace_load(
        trace_write_text(*state, "lines.json",
                         "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1}\n{\"name\":\"b\",\"ts\":2,\"ph\":\"X\"}\n"),
        NULL);
    assert_int_equal(trace->events.count, 2);
    gt_trace_close(trace);
    trace = trace_load(trace_write_text(*state, "empty.json", "{\"traceEvents\":[]}"), NULL);
    assert_int_equal(trace->events.count, 0);
    gt_trace_close(trace);
    static const char *const refused[][2] = {
        {"{\"traceEvents\":{}}", "no list of events"},
        {"{\"schemaVersion\":1,\"deviceProperties\":[]}", "no list of events"},
        {"{\"traceEvents\":null,\"ph\":0}", "no list of events"},
        {"{\"traceEvents\":[{\"name\":\"no phase\"}]}", "none of its events can be read: no event: {\"name\""},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *path = trace_write_text(*state, "refused.json", refused[i][0]);
        struct gt_error error = {0};
        struct gt_trace_options options = GT_TRACE_OPTIONS;
        assert_int_equal(gt_trace_load(&trace, &path, 1, &options, &error), -EINVAL);
        assert_non_null(strstr(error.text, refused[i][1]));
    }
}

TEST_WITH(cut_gzip_says_so, folder_make, folder_remove)
{
    char bytes[4096];
    FILE *file = fopen(trace_write_gzip(*state, "whole.json.gz", kineto, 1), "rb");
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    struct gt_trace *trace = trace_load(trace_write(*state, "cut.json.gz", bytes, length - 60), NULL);
    assert_true(trace->file[0].damage.cut_off);
    assert_in_range(trace->events.count, 1, 5);
    gt_trace_close(trace);
}

/* Each node's own windows, in two pieces; a node without steps follows those of the others. */
TEST_WITH(steps_are_chosen_node_by_node, folder_make, folder_remove)
{
#define NODE_STEP(number, ts) "{\"ph\":\"X\",\"name\":\"ProfilerStep#" number "\",\"ts\":" ts ",\"dur\":10},"
#define AT(name, ts) "{\"ph\":\"i\",\"name\":\"" name "\",\"ts\":" ts "},"
    trace_write_text(*state, "rank0.json",
                     "[" NODE_STEP("1", "100") NODE_STEP("2", "120") NODE_STEP("3", "140") AT("a", "125") AT("b", "135")
                         AT("c", "150") AT("d", "151") "]");
    trace_write_text(*state, "rank1.json", "[" NODE_STEP("2", "1100") AT("e", "125") AT("f", "1110") "]");
    trace_write_text(*state, "other.json", "[" AT("g", "125") AT("h", "1105") AT("i", "99") "]");
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    options.by_step = true;
    options.start_step = 2;
    options.end_step = 3;
    options.select = "^.$";
    struct gt_trace *trace = trace_load(*state, &options);
    char names[16] = {0};
    for (size_t i = 0; i < trace->events.count; i++)
        names[i] = *gt_trace_text(trace, trace->events.name[i]);
    assert_string_equal(names, "ghacf");
    gt_trace_close(trace);
}

TEST_WITH(what_is_no_trace_is_refused, folder_make, folder_remove)
{
    struct gt_trace *trace = NULL;
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    struct gt_error error = {0};
    const char *path = trace_write_text(*state, "t.txt", "hello");
    assert_int_equal(gt_trace_load(&trace, &path, 1, &options, &error), -EINVAL);
    assert_non_null(strstr(error.text, "t.txt"));
    path = trace_write_text(*state, "list.json", "[{\"key\": \"forward\", \"count\": 4}]");
    assert_int_equal(gt_trace_load(&trace, &path, 1, &options, NULL), -EINVAL);
    path = "/nowhere/at/all.json";
    error = (struct gt_error){0};
    assert_int_equal(gt_trace_load(&trace, &path, 1, &options, &error), -ENOENT);
    path = trace_write_text(*state, "t.json", kineto);
    options.select = "(";
    error = (struct gt_error){0};
    assert_int_equal(gt_trace_load(&trace, &path, 1, &options, &error), -EINVAL);
    assert_non_null(strstr(error.text, "regular expression"));
}

TEST_WITH(braces_end_where_a_plain_reading_says, folder_make, folder_remove)
{
    static const char letters[] = "{}\"\\ab{}\"[],: \n";
    char text[400 + GT_SCAN_PAD];
    unsigned seed = 7;
    for (int round = 0; round < 20000; round++) {
        size_t length = 1 + (size_t)(rand_r(&seed) % 399);
        text[0] = '{';
        for (size_t i = 1; i < length; i++)
            text[i] = round % 3 ? (rand_r(&seed) % 9 ? 'x' : letters[rand_r(&seed) % 15]) : letters[rand_r(&seed) % 15];
        memset(text + length, 0, GT_SCAN_PAD);
        size_t end = gt_scan_object_end_plain(text, 0, length);
        assert_int_equal(gt_scan_object_end(text, 0, length), end);
        assert_int_equal(gt_scan_object_end_narrow(text, 0, length), end);
    }
}

/* Ids beyond 32 bits, durations beyond 4 s and numbers of bytes lie beside the columns. */
TEST_WITH(long_values_are_exact, folder_make, folder_remove)
{
    static const uint64_t ids[] = {7, 4294967293, 4294967294, 4294967295, 4294967296, 4611686018427387904, 8};
    enum { IDS = sizeof ids / sizeof *ids };
    char text[3000] = "[";
    for (size_t i = 0; i < IDS; i++)
        sprintf(
            text + strlen(text),
            "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":%llu.%03llu,\"args\":{\"correlation\":%llu,\"External id\":%llu"
            ",\"%s\":%zu}},",
            (unsigned long long)ids[i] / 1000, (unsigned long long)ids[i] % 1000, (unsigned long long)ids[i],
            (unsigned long long)ids[IDS - 1 - i], i % 2 ? "bytes" : "sizes", i);
    struct gt_trace *trace = trace_load(trace_write_text(*state, "t.json", text), NULL);
    struct gt_trace_events *events = &trace->events;
    assert_int_equal(events->count, IDS);
    for (size_t i = 0; i < IDS; i++) {
        assert_int_equal(gt_trace_duration(events, i), ids[i]);
        assert_true(gt_trace_id(events, i) == ids[i] && gt_trace_external(events, i) == ids[IDS - 1 - i]);
        assert_int_equal(gt_trace_bytes(events, i), i % 2 ? (int64_t)i : -1);
    }
    assert_int_equal(gt_trace_set_ids(events, 1, GT_TRACE_NO_ID, 5), 0);
    assert_int_equal(gt_trace_set_duration(events, 0, INT64_C(5000000000)), 0);
    assert_int_equal(gt_trace_set_bytes(events, 2, 4), 0);
    assert_true(gt_trace_id(events, 1) == GT_TRACE_NO_ID && gt_trace_external(events, 1) == 5);
    assert_true(gt_trace_duration(events, 0) == 5000000000 && gt_trace_duration(events, 4) == 4294967296);
    assert_true(gt_trace_bytes(events, 1) == 1 && gt_trace_bytes(events, 2) == 4 && gt_trace_bytes(events, 3) == 3);
    gt_trace_events_cut(events, 3);
    assert_true(events->count == 3 && events->bytes.count == 2 && gt_trace_bytes(events, 3) == -1);
    gt_trace_close(trace);
}
