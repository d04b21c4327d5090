/* speedscope's JSON, in which many profilers export: frames that are shared, and profiles, each a list of stacks with
 * weights, or of frames opened and closed. The format: https://www.speedscope.app/file-format-schema.json */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "base/grow.h"
#include "trace/format.h"
#include "trace/input/walk.h"
#include "trace/profile_maker.h"

enum { MOST_BYTES = 1 << 30 };

struct frame {
    struct gt_span file, name;
    int64_t line;
};

struct file {
    struct gt_reading *reading;
    struct frame *frame; /* texts as they stand in the file */
    size_t frame_count, frame_capacity;
    bool is_memray; /* its peak, once in bytes and once in allocations */
    bool lines_ran; /* lines of frames are those that ran when a sample was taken */
};

static int probe_speedscope(const struct gt_trace_probe *probe)
{
    if (*(probe->head + strspn(probe->head, " \t\r\n")) != '{')
        return 0;
    if (strstr(probe->head, "speedscope.app/file-format-schema.json"))
        return 80;
    return gt_path_ends(probe->name, ".speedscope.json") && strstr(probe->head, "\"profiles\"") ? 75 : 0;
}

static int read_frames(struct file *file, struct gt_span list)
{
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    while (gt_walk_element(&walk, &item) > 0) {
        struct gt_span name = {0}, path = {0}, line = {0};
        GT_FIND(item, {"name", &name}, {"file", &path}, {"line", &line});
        struct frame *frame = GT_GROW(file, frame);
        if (!frame)
            return -ENOMEM;
        *frame = (struct frame){path.text && *path.text == '"' ? gt_span_unquoted(path) : (struct gt_span){0},
                                gt_span_unquoted(name), 0};
        if (line.text)
            gt_span_decimal(line, 0, &frame->line);
    }
    return 0;
}

/* The number of a function in the maker; -ERANGE: there is no such frame. */
static int64_t function_of(struct file *file, struct gt_profile_maker *maker, struct gt_span index)
{
    int64_t number;
    if (gt_span_decimal(index, 0, &number) < 0 || number < 0 || (uint64_t)number >= file->frame_count)
        return -ERANGE;
    const struct frame *frame = &file->frame[number];
    return gt_profile_function_raw(maker, frame->file, frame->line, frame->name);
}

/* ---- samples: stacks, outermost frame first, and their weights ---- */

static int take_sample(struct file *file, struct gt_profile_maker *maker, struct gt_span sample, double weight)
{
    struct gt_walk walk;
    struct gt_span index;
    maker->stack_count = 0;
    if (!gt_open_list(&walk, sample)) {
        gt_reading_bad(file->reading, 0, "a sample that is not a list of frames");
        return 0;
    }
    while (gt_walk_element(&walk, &index) > 0) {
        int64_t function = function_of(file, maker, index);
        if (function == -ERANGE) {
            gt_reading_bad(file->reading, 0, "a sample names a frame that is not there");
            return 0;
        }
        int status = gt_profile_push(maker, function);
        if (status < 0)
            return status;
    }
    gt_reading_file(file->reading)->read++;
    return gt_profile_stack(maker, false, weight);
}

static int read_sampled(struct file *file, struct gt_profile_maker *maker, struct gt_span samples,
                        struct gt_span weights, double unit)
{
    struct gt_walk walk = gt_walk_list(samples), of_weights;
    struct gt_span sample, weight;
    bool has_weights = gt_open_list(&of_weights, weights);
    int status = 0;
    while (status >= 0 && gt_walk_element(&walk, &sample) > 0) {
        double value = has_weights ? NAN : 1;
        if (has_weights && gt_walk_element(&of_weights, &weight) > 0)
            gt_span_double(weight, &value);
        if (isfinite(value))
            status = take_sample(file, maker, sample, value * (has_weights ? unit : 1));
        else
            gt_reading_bad(file->reading, 0, "a sample without a weight that is a number");
    }
    return status;
}

/* ---- events: frames opened and closed at a time ---- */

static int take_event(struct file *file, struct gt_profile_maker *maker, struct gt_span event, double unit,
                      double *latest)
{
    struct gt_span type = {0}, index = {0}, time = {0};
    double at = NAN;
    GT_FIND(event, {"type", &type}, {"frame", &index}, {"at", &time});
    if (!type.text || !index.text || !time.text || gt_span_double(time, &at) < 0 || !isfinite(at)) {
        gt_reading_bad(file->reading, 0, "an event without a type, a frame or a time");
        return 0;
    }
    int64_t function = function_of(file, maker, index);
    if (function < 0 && function != -ERANGE)
        return (int)function;
    bool closes = gt_span_is(type, "\"C\"");
    bool fits = function >= 0 &&
                (!closes || (maker->call_count && maker->call[maker->call_count - 1].function == function));
    if (!fits) {
        gt_reading_bad(file->reading, 0,
                       "an event that closes a frame that is not the innermost, or names one that is not there");
        return 0;
    }
    *latest = at * unit;
    gt_reading_file(file->reading)->read++;
    if (!closes)
        return gt_profile_enter(maker, (uint32_t)function, *latest);
    gt_profile_leave(maker, *latest);
    return 0;
}

static int read_evented(struct file *file, struct gt_profile_maker *maker, struct gt_span events, double unit)
{
    struct gt_walk walk = gt_walk_list(events);
    struct gt_span event;
    double latest = 0;
    int status = 0;
    while (status >= 0 && gt_walk_element(&walk, &event) > 0)
        status = take_event(file, maker, event, unit, &latest);
    gt_reading_file(file->reading)->damage.unclosed += maker->call_count;
    while (maker->call_count)
        gt_profile_leave(maker, latest);
    if (status != -E2BIG)
        return status;
    gt_reading_bad(file->reading, 0, "calls deeper than 2048");
    return 0;
}

/* ---- profiles ---- */

static int read_profile(struct file *file, struct gt_span about)
{
    struct gt_profile_maker maker = {.trace = file->reading->trace, .lines_ran = file->lines_ran};
    struct gt_span type = {0}, name = {0}, unit = {0}, samples = {0}, weights = {0}, events = {0};
    double factor;
    GT_FIND(about, {"type", &type}, {"name", &name}, {"unit", &unit}, {"samples", &samples}, {"weights", &weights},
            {"events", &events});
    enum gt_profile_unit kind = gt_profile_unit_of(unit.text ? gt_span_unquoted(unit) : unit, &factor);
    bool is_evented = type.text && gt_span_is(type, "\"evented\"");
    int status = is_evented ? read_evented(file, &maker, events, factor)
                            : read_sampled(file, &maker, samples, weights, factor);
    int64_t thread = GT_TRACE_NONE;
    if (status >= 0 && name.text && *name.text == '"')
        thread = gt_reading_string(file->reading, gt_span_unquoted(name));
    kind = !file->is_memray ? kind : kind == GT_PROFILE_BYTES ? GT_PROFILE_HELD : GT_PROFILE_ALLOCATIONS;
    return gt_profile_of_stacks(file->reading, &maker, GT_PROFILER_SPEEDSCOPE, kind, status < 0 ? status : thread,
                                is_evented);
}

/* "py-spy@0.4.3", "Austin2Speedscope Converter 0.2.0". */
static bool is_by(struct gt_span exporter, const char *tool)
{
    size_t length = strlen(tool);
    return exporter.length > length && strncasecmp(exporter.text + 1, tool, length) == 0;
}

/* A file that was cut off has its frames and profiles as far as they are whole. */
static int read_document(struct file *file, struct gt_span text)
{
    struct gt_span shared = {0}, frames = {0}, profiles = {0}, exporter = {0}, key, value, about;
    struct gt_walk walk, list;
    int more = gt_walk_open(&walk, text);
    while (more >= 0 && (more = gt_walk_member(&walk, &key, &value)) > 0) {
        shared = gt_span_is(key, "shared") ? value : shared;
        profiles = gt_span_is(key, "profiles") ? value : profiles;
        exporter = gt_span_is(key, "exporter") ? value : exporter;
    }
    file->is_memray = is_by(exporter, "memray");
    file->lines_ran = is_by(exporter, "py-spy") || is_by(exporter, "austin");
    size_t place = (size_t)(walk.at - text.text);
    if (more < 0)
        gt_reading_cut_off(file->reading, place, text.length - place, "the JSON ends or is damaged here");
    GT_FIND(shared, {"frames", &frames});
    int status = read_frames(file, frames);
    list = gt_walk_list(profiles);
    while (status >= 0 && gt_walk_element(&list, &about) > 0)
        status = read_profile(file, about);
    return status;
}

static int read_speedscope(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct file file = {.reading = reading};
    char *text = NULL;
    size_t length = 0;
    int status = gt_reading_whole(reading, path, MOST_BYTES, &text, &length, error);
    if (status < 0)
        return status;
    status = read_document(&file, (struct gt_span){text, length});
    free(file.frame);
    free(text);
    return status;
}

const struct gt_trace_format gt_trace_speedscope = {
    .name = "speedscope",
    .help = "speedscope JSON: py-spy and other profilers",
    .probe = probe_speedscope,
    .read = read_speedscope,
};
