/* What a reading costs and what it loses: memory for each event, memory under filters, files cut off at every byte. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "support/folder.h"
#include "support/test.h"
#include "support/trace_file.h"

static const char *const events[] = {
    "{\"ph\":\"X\",\"name\":\"a }{\",\"pid\":1,\"tid\":2,\"ts\":1.5,\"dur\":2}",
    "{\"ph\":\"i\",\"name\":\"b\\\"\",\"pid\":1,\"tid\":2,\"ts\":2,\"args\":{\"x\":[1,{\"y\":\"]\"}]}}",
    "{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":3,\"args\":{\"v\":1e3}}"};
enum { EVENTS = sizeof events / sizeof *events };

/* All that was read and lost, at every place a file may end. */
TEST_WITH(every_cut_of_an_array_is_told, folder_make, folder_remove)
{
    char text[600];
    size_t begin[EVENTS], end[EVENTS], length = 1;
    text[0] = '[';
    for (size_t i = 0; i < EVENTS; i++) {
        begin[i] = length;
        length += (size_t)sprintf(text + length, "%s", events[i]);
        end[i] = length;
        length += (size_t)sprintf(text + length, "%s", i + 1 < EVENTS ? ",\n " : "\n]");
    }
    for (size_t cut = strlen("[{\"ph\""); cut <= length; cut++) { /* before, nothing says what it is */
        size_t whole = 0;
        while (whole < EVENTS && end[whole] <= cut)
            whole++;
        size_t lost = whole < EVENTS && begin[whole] < cut ? cut - begin[whole] : 0;
        struct gt_trace *trace = trace_load(trace_write(*state, "t.json", text, cut), NULL);
        const struct gt_trace_damage *damage = &trace->file[0].damage;
        assert_int_equal(trace->events.count, whole);
        assert_int_equal(trace->file[0].bytes, cut);
        assert_int_equal(damage->lost_bytes, lost);
        assert_int_equal(damage->bad_events, lost > 0);
        assert_int_equal(damage->cut_off, lost > 0);
        assert_int_equal(damage->first[0] != '\0', lost > 0);
        gt_trace_close(trace);
    }
}

TEST_WITH(every_cut_of_lines_is_told, folder_make, folder_remove)
{
    static const char line[] = "{\"Type\":\"gpu\",\"Name\":\"gpu0\",\"Dimension\":\"GPUUtilization\",\"Value\":5,"
                               "\"NodeId\":\"algo-1\",\"Timestamp\":1700000000.5}\n";
    char text[3 * sizeof line];
    const size_t one = sizeof line - 1;
    snprintf(text, sizeof text, "%s%s", line, line);
    for (size_t cut = one; cut <= 2 * one; cut++) {
        struct gt_trace *trace = trace_load(trace_write(*state, "t.json", text, cut), NULL);
        const struct gt_trace_damage *damage = &trace->file[0].damage;
        bool is_whole = cut >= 2 * one - 1; /* the last newline may be missing */
        size_t lost = is_whole ? 0 : cut - one;
        assert_int_equal(trace->samples.count, 1 + is_whole);
        assert_int_equal(damage->bad_samples, lost > 0);
        assert_int_equal(damage->lost_bytes, lost);
        gt_trace_close(trace);
    }
}

static size_t read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "rbe");
    assert_non_null(file);
    size_t length = fread(text, 1, size, file);
    fclose(file);
    return length;
}

/* Compressed text and dumps of cProfile: at every byte refused, or read as far as it goes and said to be cut off. */
TEST_WITH(every_cut_of_bytes_is_told, folder_make, folder_remove)
{
    char text[600], bytes[2000];
    snprintf(text, sizeof text, "[%s,%s,%s]", events[0], events[1], events[2]);
    const char *paths[] = {trace_write_gzip(*state, "whole.json.gz", text, 2),
                           TEST_SOURCE_DIR "/fuzz/corpus/marshal/four.prof"};
    for (int kind = 0; kind < 2; kind++) {
        size_t length = read_file(paths[kind], bytes, sizeof bytes), before = 0;
        for (size_t cut = 0; cut <= length; cut++) {
            const char *path = trace_write(*state, kind ? "cut.prof" : "cut.json.gz", bytes, cut);
            struct gt_trace_options options = GT_TRACE_OPTIONS;
            struct gt_error error = {0};
            struct gt_trace *trace = NULL;
            if (gt_trace_load(&trace, &path, 1, &options, &error) < 0) {
                assert_int_equal(before, 0);
                assert_non_null(strstr(error.text, "cut."));
                continue;
            }
            assert_in_range(trace->file[0].read, before, kind ? SIZE_MAX : EVENTS);
            assert_int_equal(trace->file[0].damage.cut_off, cut < length);
            before = trace->file[0].read;
            gt_trace_close(trace);
        }
        assert_true(before > 0);
    }
}

enum { MANY = 600000, CONSTANT = 8 << 20 };

static void write_many(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputc('[', file);
    for (int i = 0; i < MANY; i++)
        fprintf(file, "{\"ph\":\"X\",\"name\":\"%s%d\",\"pid\":1,\"tid\":%d,\"ts\":%d.125,\"dur\":1},\n",
                i % 100 ? "often" : "seldom", i % 1000, i % 7, i);
    fclose(file);
}

/* Buffers and threads take up to CONSTANT and half as much again for each further thread. The largest resident set that loading adds,
 * in a process of its own. */
static size_t peak_of(const char *path, const struct gt_trace_options *options, size_t *count)
{
    int ends[2];
    size_t result[2] = {0};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct rusage before, after;
        struct gt_trace *trace = NULL;
        getrusage(RUSAGE_SELF, &before);
        if (gt_trace_load(&trace, &path, 1, options, NULL) < 0)
            _exit(1);
        getrusage(RUSAGE_SELF, &after);
        result[0] = (size_t)(after.ru_maxrss - before.ru_maxrss) * 1024;
        result[1] = trace->events.count;
        _exit(write(ends[1], result, sizeof result) != sizeof result);
    }
    assert_int_equal(read(ends[0], result, sizeof result), sizeof result);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    *count = result[1];
    return result[0];
}

TEST_WITH(memory_is_for_what_is_kept, folder_make, folder_remove)
{
#if SANITIZED
    (void)state, (void)peak_of, (void)write_many;
    skip();
#else
    char path[200];
    snprintf(path, sizeof path, "%s/many.json", (const char *)*state);
    write_many(path);
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    size_t count;
    for (options.threads = 1; options.threads <= 2; options.threads++) {
        size_t constant = (size_t)(options.threads + 1) * CONSTANT / 2;
        size_t peak = peak_of(path, &options, &count);
        print_message("%d threads: %.1f bytes for each event\n", options.threads, (double)peak / (double)count);
        assert_int_equal(count, MANY);
        assert_in_range(peak, 0, 39 * (size_t)MANY + constant);
        options.select = "^seldom";
        peak = peak_of(path, &options, &count);
        assert_int_equal(count, MANY / 100);
        assert_in_range(peak, 0, 39 * count + constant);
        options.select = NULL;
        options.start = 1000;
        options.end = 3000000;
        peak = peak_of(path, &options, &count);
        assert_in_range(count, 2990, 3010);
        assert_in_range(peak, 0, 39 * count + constant);
        options = (struct gt_trace_options){
            .threads = options.threads, .start = -GT_TRACE_EVER, .end = GT_TRACE_EVER, .no_events = true};
        peak = peak_of(path, &options, &count);
        assert_in_range(peak, 0, constant);
        options.no_events = false;
    }
#endif
}
