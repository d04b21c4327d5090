/* What memray exports: stacks with what they had allocated at the peak (`memray transform csv` and `gprof2dot`), and the largest
 * allocations by place (`memray stats --json`). Stacks begin with the innermost function. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/csv.h"
#include "base/grow.h"
#include "trace/format.h"
#include "trace/input/input.h"
#include "trace/input/walk.h"
#include "trace/profile_maker.h"

enum { MOST_BYTES = 1 << 30, COLUMNS = 6, SIZE = 2, STACK = 5 };
static const char header[] = "allocator,num_allocations,size,tid,thread_name,stack_trace";

static int probe_memray(const struct gt_trace_probe *probe)
{
    if (strncmp(probe->head, header, sizeof header - 1) == 0)
        return 90;
    if (*(probe->head + strspn(probe->head, " \t\r\n")) != '{')
        return 0;
    if (strstr(probe->head, "\"total_bytes_allocated\"") && strstr(probe->head, "\"allocation_size_histogram\""))
        return 85;
    return strstr(probe->head, "\"costs\"") && strstr(probe->head, "\"callchain\"") ? 80 : 0;
}

struct memray {
    struct gt_reading *reading;
    struct gt_profile_maker maker;
    uint32_t *function; /* of the file's numbers */
    size_t function_count, function_capacity;
    bool has_totals; /* of `stats`: of all allocations, not of those at the peak */
};

static int add_stack(struct memray *memray, double bytes)
{
    gt_reading_file(memray->reading)->read++;
    return gt_profile_stack(&memray->maker, true, bytes);
}

/* ---- CSV: frames are "name;file;line", with a bar between them ---- */

static int64_t function_of_frame(struct memray *memray, char *frame)
{
    char *line = strrchr(frame, ';'), *file = NULL;
    int64_t number = 0;
    if (line) {
        *line++ = '\0';
        file = strrchr(frame, ';');
    }
    if (!file || gt_span_decimal(gt_span_of(line), 0, &number) < 0)
        return gt_profile_function_of(&memray->maker, gt_span_of(frame));
    *file++ = '\0';
    return gt_profile_function(&memray->maker, gt_span_of(file), number, gt_span_of(frame));
}

static int take_row(struct memray *memray, char *line)
{
    char *field[COLUMNS];
    int64_t bytes;
    int status = 0;
    if (gt_csv_split(line, ',', field, COLUMNS) != COLUMNS || gt_span_decimal(gt_span_of(field[SIZE]), 0, &bytes) < 0 ||
        bytes < 0) {
        gt_reading_bad(memray->reading, 0, "a line that is not an allocation");
        return 0;
    }
    memray->maker.stack_count = 0;
    for (char *at = field[STACK], *next; at && *at && status >= 0; at = next) {
        next = strchr(at, '|');
        if (next)
            *next++ = '\0';
        status = gt_profile_push(&memray->maker, function_of_frame(memray, at));
    }
    return status < 0 ? status : add_stack(memray, (double)bytes);
}

static int read_csv(struct memray *memray, const char *path, struct gt_error *error)
{
    struct gt_lines lines = {0};
    struct gt_buffer copy = {0};
    struct gt_span line;
    bool is_first = true;
    int status = gt_input_open(&lines.input, path, memray->reading->options->ceiling, error);
    while (status >= 0 && (status = gt_lines_next(&lines, &line, error)) > 0) {
        line.length -= line.length && line.text[line.length - 1] == '\r';
        gt_buffer_clear(&copy);
        gt_buffer_append(&copy, line.text, line.length);
        if (copy.failed)
            status = -ENOMEM;
        else if (!is_first && line.length)
            status = take_row(memray, copy.data);
        is_first = false;
    }
    gt_buffer_release(&copy);
    gt_reading_end_lines(memray->reading, &lines);
    return status;
}

/* ---- JSON ---- */

static int take_functions(struct memray *memray, struct gt_span list, bool *is_cut)
{
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    while (gt_next_element(&walk, &item, is_cut)) {
        struct gt_span name = {0}, module = {0};
        GT_FIND(item, {"name", &name}, {"module", &module});
        int64_t function = gt_profile_function_raw(&memray->maker, gt_span_unquoted(module), 0, gt_span_unquoted(name));
        uint32_t *place = function < 0 ? NULL : GT_GROW(memray, function);
        if (!place)
            return function < 0 ? (int)function : -ENOMEM;
        *place = (uint32_t)function;
    }
    return 0;
}

static int take_chain(struct memray *memray, struct gt_span item)
{
    struct gt_span chain = {0}, costs = {0}, value;
    struct gt_walk walk, cost;
    double bytes;
    int64_t number;
    int status = 0;
    GT_FIND(item, {"callchain", &chain}, {"cost", &costs});
    bool is_good = gt_open_list(&cost, costs) && gt_walk_element(&cost, &value) > 0 &&
                   gt_span_double(value, &bytes) >= 0 && isfinite(bytes) && gt_open_list(&walk, chain);
    memray->maker.stack_count = 0;
    while (is_good && status >= 0 && gt_walk_element(&walk, &value) > 0) {
        is_good = gt_span_decimal(value, 0, &number) >= 0 && number >= 0 && (uint64_t)number < memray->function_count;
        status = is_good ? gt_profile_push(&memray->maker, memray->function[number]) : 0;
    }
    if (is_good)
        return status < 0 ? status : add_stack(memray, bytes);
    gt_reading_bad(memray->reading, 0, "a stack without bytes, or with a function that is not there");
    return 0;
}

static int take_chains(struct memray *memray, struct gt_span list, bool *is_cut)
{
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    int status = 0;
    while (status >= 0 && gt_next_element(&walk, &item, is_cut))
        status = take_chain(memray, item);
    return status;
}

/* "name:file:line" with what was allocated there in all; there are no stacks. */
static int64_t function_of_place(struct memray *memray, struct gt_span place)
{
    struct gt_buffer buffer = {0};
    struct gt_span text = gt_span_unquoted(place);
    int64_t line = 0, status = gt_span_plain(&text, &buffer);
    const char *colon = memchr(text.text, ':', text.length), *last = memrchr(text.text, ':', text.length),
               *end = text.text + text.length;
    if (status >= 0 && colon < last &&
        gt_span_decimal((struct gt_span){last + 1, (size_t)(end - last - 1)}, 0, &line) >= 0)
        status = gt_profile_function(&memray->maker, (struct gt_span){colon + 1, (size_t)(last - colon - 1)}, line,
                                     (struct gt_span){text.text, (size_t)(colon - text.text)});
    else if (status >= 0)
        status = gt_profile_function_of(&memray->maker, text);
    gt_buffer_release(&buffer);
    return status;
}

/* The list has the first few; what is left of the total is told, too. */
static int take_largest(struct memray *memray, struct gt_span list, struct gt_span total, bool *is_cut)
{
    struct gt_walk walk;
    struct gt_span item;
    double left;
    int64_t status = 0;
    if (!total.text || gt_span_double(total, &left) < 0)
        left = 0;
    if (!gt_open_list(&walk, list))
        return 0;
    while (status >= 0 && gt_next_element(&walk, &item, is_cut)) {
        struct gt_span place = {0}, size = {0};
        double bytes = NAN;
        GT_FIND(item, {"location", &place}, {"size", &size});
        if (!place.text || !size.text || gt_span_double(size, &bytes) < 0) {
            gt_reading_bad(memray->reading, 0, "an allocation without a place or a size");
            continue;
        }
        status = function_of_place(memray, place);
        if (status >= 0)
            memray->maker.function[status].total_time = bytes;
        left -= bytes;
        gt_reading_file(memray->reading)->read++;
    }
    if (status >= 0 && left > 0)
        status = gt_profile_function_of(&memray->maker, gt_span_of("other places"));
    if (status >= 0 && left > 0)
        memray->maker.function[status].total_time = left;
    return status < 0 ? (int)status : 0;
}

static int read_document(struct memray *memray, struct gt_span text)
{
    struct gt_trace_damage *damage = &gt_reading_file(memray->reading)->damage;
    struct gt_span key, value, events = {0}, functions = {0}, largest = {0}, total = {0};
    struct gt_walk walk = gt_walk_object(text);
    bool is_cut = false;
    while (gt_next_member(&walk, &key, &value, &is_cut)) {
        events = gt_span_is(key, "events") ? value : events;
        functions = gt_span_is(key, "functions") ? value : functions;
        largest = gt_span_is(key, "top_allocations_by_size") ? value : largest;
        total = gt_span_is(key, "total_bytes_allocated") ? value : total;
    }
    memray->has_totals = largest.text != NULL;
    int status = take_functions(memray, functions, &is_cut);
    if (status >= 0)
        status = take_chains(memray, events, &is_cut);
    if (status >= 0)
        status = take_largest(memray, largest, total, &is_cut);
    if (is_cut) {
        damage->cut_off = true;
        gt_damage_note(damage, text.length, "the JSON ends or is damaged here");
    }
    return status;
}

static int read_json(struct memray *memray, const char *path, struct gt_error *error)
{
    char *text = NULL;
    size_t length = 0;
    int status = gt_reading_whole(memray->reading, path, MOST_BYTES, &text, &length, error);
    if (status < 0)
        return status;
    const char *begin = text + strspn(text, " \t\r\n");
    status = read_document(memray, (struct gt_span){begin, length - (size_t)(begin - text)});
    free(text);
    return status;
}

/* ---- the file ---- */

static int finish(struct memray *memray)
{
    static const char name[] = "host memory";
    int64_t thread = gt_strings_add(&memray->reading->trace->strings, name, sizeof name - 1);
    int status = thread < 0 ? (int)thread : memray->maker.frame_count ? gt_profile_sum(&memray->maker, false) : 0;
    enum gt_profile_unit unit = memray->has_totals ? GT_PROFILE_ALLOCATED : GT_PROFILE_HELD;
    struct gt_trace_profile *profile = status < 0 ? NULL
                                                  : gt_reading_profile(memray->reading, GT_PROFILER_MEMRAY, unit);
    if (!profile)
        return status < 0 ? status : -ENOMEM;
    profile->thread = (uint32_t)thread;
    return gt_profile_finish(&memray->maker, profile);
}

static bool is_csv(const char *path)
{
    char begin[sizeof header] = "";
    struct gt_input *input = NULL;
    if (gt_input_open(&input, path, 0, NULL) < 0)
        return false;
    ssize_t got = gt_input_read(input, begin, sizeof begin - 1, NULL);
    gt_input_close(input);
    return got == sizeof begin - 1 && strcmp(begin, header) == 0;
}

static int read_memray(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct memray memray = {.reading = reading, .maker = {.trace = reading->trace}};
    int status = is_csv(path) ? read_csv(&memray, path, error) : read_json(&memray, path, error);
    if (status >= 0)
        status = finish(&memray);
    gt_profile_maker_release(&memray.maker);
    free(memray.function);
    return status;
}

const struct gt_trace_format gt_trace_memray = {
    .name = "memray",
    .help = "memray's exports: transform csv, transform gprof2dot, stats --json",
    .probe = probe_memray,
    .read = read_memray,
};
