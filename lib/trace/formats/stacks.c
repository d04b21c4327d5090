/* Samples of call stacks: collapsed lines ("main;work;fib 12") as py-spy, perf's and other tools write them, and the
 * text of `perf script`. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/format.h"
#include "trace/input/input.h"
#include "trace/profile_maker.h"

static void note_bad(struct gt_trace_file *file, uint64_t place, struct gt_span line, const char *what)
{
    file->damage.bad_events++;
    file->damage.lost_bytes += line.length;
    gt_damage_note(&file->damage, place, "%s: %.*s", what, (int)(line.length < 100 ? line.length : 100), line.text);
}

/* ---- collapsed stacks ---- */

static bool split_collapsed(struct gt_span line, struct gt_span *stack, struct gt_span *count)
{
    const char *blank = line.length ? memrchr(line.text, ' ', line.length) : NULL;
    size_t digits = blank ? (size_t)(line.text + line.length - blank - 1) : 0;
    if (!digits || digits > 18)
        return false;
    for (size_t i = 1; i <= digits; i++)
        if (!isdigit((unsigned char)blank[i]))
            return false;
    *stack = (struct gt_span){line.text, (size_t)(blank - line.text)};
    *count = (struct gt_span){blank + 1, digits};
    return true;
}

static int probe_collapsed(const struct gt_trace_probe *probe)
{
    const char *at = probe->head, *end = probe->head + probe->length;
    struct gt_span stack, count;
    bool has_depth = false;
    int lines = 0;
    for (; at < end && lines < 8; lines++) {
        const char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop && !probe->is_whole)
            break;
        at = stop ? stop + 1 : end;
        size_t length = (size_t)((stop ? stop : end) - line);
        length -= length && line[length - 1] == '\r';
        if (memchr(line, '\0', length) || !split_collapsed((struct gt_span){line, length}, &stack, &count))
            return 0;
        has_depth |= memchr(stack.text, ';', stack.length) != NULL;
    }
    bool is_other = strchr("{[", *probe->head) || strncmp(probe->head, "<!", 2) == 0 ||
                    strncmp(probe->head, "<?", 2) == 0;
    return lines && has_depth && !is_other ? 30 : 0;
}

static int take_collapsed(struct gt_profile_maker *maker, struct gt_span text, struct gt_span count)
{
    int64_t weight = 0;
    int status = gt_span_decimal(count, 0, &weight);
    const char *end = text.text + text.length;
    maker->stack_count = 0;
    for (const char *at = text.text; text.length && status >= 0 && at <= end;) { /* py-spy: nothing ran */
        const char *stop = at < end ? memchr(at, ';', (size_t)(end - at)) : NULL;
        stop = stop ? stop : end;
        status = gt_profile_push(maker, gt_profile_function_of(maker, (struct gt_span){at, (size_t)(stop - at)}));
        at = stop + 1;
    }
    return status < 0 ? status : gt_profile_stack(maker, false, (double)weight);
}

static int read_collapsed(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_trace_file *file = gt_reading_file(reading);
    struct gt_profile_maker maker = {.trace = reading->trace, .lines_ran = true};
    struct gt_lines lines = {0};
    struct gt_span line, text, count;
    int status = gt_input_open(&lines.input, path, reading->options->ceiling, error);
    while (status >= 0 && (status = gt_lines_next(&lines, &line, error)) > 0) {
        if (!line.length)
            continue;
        if (split_collapsed(line, &text, &count))
            status = take_collapsed(&maker, text, count);
        else
            note_bad(file, lines.offset + lines.at, line, "no stack with a count");
        file->read += status >= 0;
    }
    gt_reading_end_lines(reading, &lines);
    if (status >= 0)
        return gt_profile_of_stacks(reading, &maker, GT_PROFILER_STACKS, GT_PROFILE_SAMPLES, GT_TRACE_NONE, false);
    gt_profile_maker_release(&maker);
    return status;
}

const struct gt_trace_format gt_trace_collapsed = {
    .name = "collapsed",
    .help = "collapsed stacks: py-spy's raw format, and what flame graph tools read",
    .probe = probe_collapsed,
    .read = read_collapsed,
};

/* ---- perf script ----
 * A sample begins with "command pid [cpu] seconds: period event:"; its frames follow, innermost first, each with its
 * address, "symbol+offset" and the file in brackets. */

struct header {
    struct gt_span command, event, rest;
    int64_t time, period; /* ns; -1: not told */
};

static struct gt_span next_word(const char **at, const char *end)
{
    while (*at < end && isblank((unsigned char)**at))
        ++*at;
    const char *from = *at;
    while (*at < end && !isblank((unsigned char)**at))
        ++*at;
    return (struct gt_span){from, (size_t)(*at - from)};
}

static bool is_number(struct gt_span text, const char *others)
{
    for (size_t i = 0; i < text.length; i++)
        if (!isdigit((unsigned char)text.text[i]) && !strchr(others, text.text[i]))
            return false;
    return text.length && isdigit((unsigned char)*text.text);
}

static bool read_header(struct gt_span line, struct header *ret)
{
    const char *at = line.text, *end = line.text + line.length;
    struct gt_span before = {0}, word = {0};
    *ret = (struct header){.period = -1};
    if (!line.length || isblank((unsigned char)*line.text))
        return false;
    for (;;) {
        before = word.length && *word.text == '[' ? before : word;
        word = next_word(&at, end);
        if (!word.length)
            return false;
        struct gt_span time = {word.text, word.length - 1};
        if (word.text[word.length - 1] == ':' && memchr(word.text, '.', word.length) && is_number(time, ".") &&
            before.length && is_number(before, "/") && gt_span_decimal(time, 9, &ret->time) >= 0)
            break;
    }
    ret->command = (struct gt_span){line.text, (size_t)(before.text - line.text)};
    while (ret->command.length && isblank((unsigned char)ret->command.text[ret->command.length - 1]))
        ret->command.length--;
    word = next_word(&at, end);
    if (is_number(word, "") && gt_span_decimal(word, 0, &ret->period) >= 0)
        word = next_word(&at, end);
    ret->event = word;
    while (at < end && isblank((unsigned char)*at))
        at++;
    ret->rest = (struct gt_span){at, (size_t)(end - at)};
    return word.length > 1 && word.text[word.length - 1] == ':' && ret->command.length;
}

static int probe_perf(const struct gt_trace_probe *probe)
{
    const char *at = probe->head;
    struct header header;
    while (*at == '#' || *at == '\n') {
        at = strchr(at, '\n');
        if (!at)
            return 0;
        at++;
    }
    size_t length = strcspn(at, "\n");
    return length && read_header((struct gt_span){at, length}, &header) ? 45 : 0;
}

struct perf {
    struct gt_reading *reading;
    struct gt_profile_maker maker;
    double weight;
    uint32_t command;          /* the outermost function of the open sample */
    bool has_sample, has_time; /* a sample is open; all so far count nanoseconds */
};

/* "fib+0x12 (/usr/bin/python3)"; of Python's own map "py::fib:/tmp/short.py". */
static int64_t function_of(struct gt_profile_maker *maker, struct gt_span text)
{
    const char *open = text.length ? memrchr(text.text, '(', text.length) : NULL;
    struct gt_span name = text, library = {0};
    if (open && open > text.text && text.text[text.length - 1] == ')') {
        name.length = (size_t)(open - text.text);
        library = (struct gt_span){open + 1, (size_t)(text.text + text.length - open - 2)};
        const char *slash = library.length ? memrchr(library.text, '/', library.length) : NULL;
        if (slash)
            library = (struct gt_span){slash + 1, (size_t)(library.text + library.length - slash - 1)};
    }
    while (name.length && isblank((unsigned char)name.text[name.length - 1]))
        name.length--;
    const char *plus = name.length ? memrchr(name.text, '+', name.length) : NULL;
    if (plus && plus > name.text && plus + 2 < name.text + name.length && plus[1] == '0' && plus[2] == 'x')
        name.length = (size_t)(plus - name.text);
    const char *colon = name.length ? memrchr(name.text, ':', name.length) : NULL;
    if (name.length > 4 && memcmp(name.text, "py::", 4) == 0 && colon > name.text + 4)
        return gt_profile_function(maker, (struct gt_span){colon + 1, (size_t)(name.text + name.length - colon - 1)}, 0,
                                   (struct gt_span){name.text + 4, (size_t)(colon - name.text - 4)});
    if (!library.length || gt_span_is(name, "[unknown]"))
        return gt_profile_function(maker, gt_span_of("~"), 0, name);
    struct gt_buffer title = {0};
    gt_buffer_printf(&title, "%.*s (%.*s)", (int)name.length, name.text, (int)library.length, library.text);
    int64_t number = title.failed
                         ? title.failed
                         : gt_profile_function(maker, gt_span_of("~"), 0, (struct gt_span){title.data, title.length});
    gt_buffer_release(&title);
    return number;
}

static int take_frame(struct perf *perf, struct gt_span line)
{
    const char *at = line.text, *end = line.text + line.length;
    struct gt_span address = next_word(&at, end);
    for (size_t i = 0; i < address.length; i++)
        if (!isxdigit((unsigned char)address.text[i]))
            return 0; /* a line of source beneath the frame */
    while (at < end && isblank((unsigned char)*at))
        at++;
    return address.length
               ? gt_profile_push(&perf->maker, function_of(&perf->maker, (struct gt_span){at, (size_t)(end - at)}))
               : 0;
}

static int end_sample(struct perf *perf, double weight)
{
    if (!perf->has_sample)
        return 0;
    perf->has_sample = false;
    int status = gt_profile_push(&perf->maker, perf->command);
    return status < 0 ? status : gt_profile_stack(&perf->maker, true, weight);
}

static int begin_sample(struct perf *perf, const struct header *header)
{
    struct gt_trace_file *file = gt_reading_file(perf->reading);
    bool is_clock = memmem(header->event.text, header->event.length, "cpu-clock", 9) ||
                    memmem(header->event.text, header->event.length, "task-clock", 10);
    perf->has_time &= is_clock && header->period >= 0;
    perf->weight = is_clock && header->period >= 0 ? (double)header->period / 1e9 : 0;
    int64_t command = gt_profile_function(&perf->maker, gt_span_of("~"), 0, header->command);
    if (command < 0)
        return (int)command;
    perf->command = (uint32_t)command;
    perf->has_sample = true;
    perf->maker.stack_count = 0;
    file->read++;
    gt_trace_file_widen(file, header->time, header->time);
    return header->rest.length ? take_frame(perf, header->rest) : 0;
}

static int take_line(struct perf *perf, struct gt_span line, uint64_t place, bool in_seconds)
{
    struct header header;
    if (!line.length || *line.text == '#')
        return 0;
    if (isblank((unsigned char)*line.text))
        return perf->has_sample ? take_frame(perf, line) : 0;
    int status = end_sample(perf, in_seconds ? perf->weight : 1);
    if (status < 0)
        return status;
    if (read_header(line, &header))
        return begin_sample(perf, &header);
    note_bad(gt_reading_file(perf->reading), place, line, "no sample");
    return 0;
}

/* Samples count one each, unless all of them are of a clock: the second time they are counted by its nanoseconds. */
static int read_samples(struct perf *perf, const char *path, bool in_seconds, struct gt_error *error)
{
    struct gt_trace_file *file = gt_reading_file(perf->reading);
    struct gt_lines lines = {0};
    struct gt_span line;
    int status = gt_input_open(&lines.input, path, perf->reading->options->ceiling, error);
    perf->has_time = true;
    file->read = 0;
    file->damage = (struct gt_trace_damage){0};
    while (status >= 0 && (status = gt_lines_next(&lines, &line, error)) > 0)
        status = take_line(perf, line, lines.offset + lines.at, in_seconds);
    if (status >= 0)
        status = end_sample(perf, in_seconds ? perf->weight : 1);
    gt_reading_end_lines(perf->reading, &lines);
    return status;
}

static int read_perf(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct perf perf = {.reading = reading, .maker = {.trace = reading->trace}};
    int status = read_samples(&perf, path, true, error);
    bool in_seconds = perf.has_time;
    if (status >= 0 && !in_seconds) {
        gt_profile_maker_release(&perf.maker);
        perf.maker.trace = reading->trace;
        status = read_samples(&perf, path, false, error);
    }
    if (status >= 0)
        return gt_profile_of_stacks(reading, &perf.maker, GT_PROFILER_PERF,
                                    in_seconds ? GT_PROFILE_SECONDS : GT_PROFILE_SAMPLES, GT_TRACE_NONE, false);
    gt_profile_maker_release(&perf.maker);
    return status;
}

const struct gt_trace_format gt_trace_perf = {
    .name = "perf",
    .help = "text of perf script",
    .probe = probe_perf,
    .read = read_perf,
};
