#include "trace/format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/number.h"
#include "trace/input/input.h"
#include "trace/input/walk.h"
#include "trace/step_names.h"

/* ---- filters ---- */

bool gt_filter_needs_survey(const struct gt_trace_options *options)
{
    return options->by_step || options->from_first;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* Bounds that count from the first moment of all files. */
static void count_from_first(struct gt_filter *filter, const struct gt_trace *survey)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < survey->file_count; i++)
        first = survey->file[i].first < first ? survey->file[i].first : first;
    if (first == INT64_MAX)
        return;
    if (filter->start > -GT_TRACE_EVER)
        filter->start = add(filter->start, first);
    if (filter->end < GT_TRACE_EVER)
        filter->end = add(filter->end, first);
}

static int by_node(const void *a, const void *b)
{
    const struct gt_window *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->node, y->node), GT_ORDER(x->start, y->start));
}

/* Sorted and without overlaps, so that ends are sorted as well. */
static void unite(struct gt_filter *filter)
{
    size_t count = 0;
    qsort(filter->window, filter->windows, sizeof *filter->window, by_node);
    for (size_t i = 0; i < filter->windows; i++) {
        const struct gt_window *window = &filter->window[i];
        struct gt_window *last = count ? &filter->window[count - 1] : NULL;
        if (!last || last->node != window->node || last->end < window->start)
            filter->window[count++] = *window;
        else if (window->end > last->end)
            last->end = window->end;
    }
    filter->windows = count;
}

/* Each window twice: for its node, and for nodes without steps of their own, to which those of all apply. */
static int keep_windows(struct gt_filter *filter, const struct gt_trace *survey)
{
    filter->window = calloc(survey->step_count * 2 + 1, sizeof *filter->window);
    if (!filter->window)
        return -ENOMEM;
    filter->start = INT64_MAX;
    filter->end = INT64_MIN;
    for (size_t i = 0; i < survey->step_count; i++) {
        const struct gt_trace_step *step = &survey->step[i];
        if (step->step < filter->options->start_step || step->step > filter->options->end_step)
            continue;
        filter->window[filter->windows++] = (struct gt_window){step->node, step->start, step->end};
        filter->window[filter->windows++] = (struct gt_window){GT_TRACE_NONE, step->start, step->end};
        filter->start = step->start < filter->start ? step->start : filter->start;
        filter->end = step->end > filter->end ? step->end : filter->end;
    }
    unite(filter);
    return 0;
}

int gt_filter_open(struct gt_filter *ret, const struct gt_trace_options *options, const struct gt_trace *survey,
                   struct gt_error *error)
{
    *ret = (struct gt_filter){.options = options, .start = options->start, .end = options->end};
    if (options->from_first && survey)
        count_from_first(ret, survey);
    if (options->by_step && survey && keep_windows(ret, survey) < 0)
        return gt_error_system(error, ENOMEM, "reading traces");
    if (!options->select)
        return 0;
    char why[160];
    int status = regcomp(&ret->select, options->select, REG_EXTENDED | REG_NOSUB);
    if (status) {
        regerror(status, &ret->select, why, sizeof why);
        return gt_error_set(error, EINVAL, "select: \"%s\" is not a regular expression: %s", options->select, why);
    }
    ret->has_select = true;
    ret->verdict = calloc(GT_FILTER_VERDICTS, sizeof *ret->verdict);
    return ret->verdict ? 0 : gt_error_system(error, ENOMEM, "reading traces");
}

/* The first window of the node that ends at `start` or later; NULL when the node has none at all, or none so late. */
static const struct gt_window *find_window(const struct gt_filter *filter, uint32_t node, int64_t start, bool *has_any)
{
    const struct gt_window *window = filter->window;
    size_t low = GT_SEARCH(0, filter->windows, middle,
                           window[middle].node != node ? window[middle].node < node : window[middle].end < start);
    *has_any = (low < filter->windows && filter->window[low].node == node) ||
               (low && filter->window[low - 1].node == node);
    return low < filter->windows && filter->window[low].node == node ? &filter->window[low] : NULL;
}

static bool overlaps_window(const struct gt_filter *filter, uint32_t node, int64_t start, int64_t end)
{
    bool has_any;
    const struct gt_window *window = find_window(filter, node, start, &has_any);
    if (!has_any)
        window = find_window(filter, GT_TRACE_NONE, start, &has_any);
    return window && window->start <= end;
}

static bool filter_event(const struct gt_filter *filter, uint32_t node, int32_t step, int64_t start, int64_t end)
{
    const struct gt_trace_options *options = filter->options;
    if (options->by_step && step != GT_TRACE_NO_STEP)
        return step >= options->start_step && step <= options->end_step;
    if (start > filter->end || end < filter->start)
        return false;
    return !options->by_step || overlaps_window(filter, node, start, end);
}

static bool filter_sample(const struct gt_filter *filter, int64_t time)
{
    return time >= filter->start && time <= filter->end;
}

/* A name need not end with a zero, which not every library's regexec can do without. */
static bool matches(const regex_t *pattern, struct gt_span name)
{
#ifdef REG_STARTEND
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)name.length};
    return regexec(pattern, name.text ? name.text : "", 1, &range, REG_STARTEND) == 0;
#else
    char *text = strndup(name.text ? name.text : "", name.length);
    bool does = text && regexec(pattern, text, 0, NULL, 0) == 0;
    free(text);
    return does;
#endif
}

static bool filter_name(struct gt_filter *filter, struct gt_span name)
{
    if (!filter->has_select)
        return true;
    uint64_t hash = gt_hash(name.text, name.length);
    struct gt_verdict *verdict = &filter->verdict[hash % GT_FILTER_VERDICTS];
    if (!verdict->known || verdict->hash != hash || verdict->length != (uint32_t)name.length)
        *verdict = (struct gt_verdict){hash, (uint32_t)name.length, true, matches(&filter->select, name)};
    return verdict->passes;
}

void gt_filter_release(struct gt_filter *filter)
{
    if (filter->has_select)
        regfree(&filter->select);
    free(filter->verdict);
    free(filter->window);
    *filter = (struct gt_filter){0};
}

/* ---- the functions that readers call: spans of text become numbers, and filters apply ---- */

struct gt_trace_file *gt_reading_file(struct gt_reading *reading)
{
    return &reading->trace->file[reading->file];
}

/* `trouble`: why it was not read to its end, or NULL. */
static void note_end(struct gt_reading *reading, uint64_t bytes, const char *trouble)
{
    struct gt_trace_file *file = gt_reading_file(reading);
    file->bytes = bytes;
    if (trouble) {
        file->damage.cut_off = true;
        gt_damage_note(&file->damage, bytes, "%s", trouble);
    }
}

int gt_reading_whole(struct gt_reading *reading, const char *path, size_t most, char **ret, size_t *length,
                     struct gt_error *error)
{
    struct gt_input *input = NULL;
    int status = gt_input_open(&input, path, reading->options->ceiling, error);
    if (status >= 0)
        status = gt_input_whole(input, most, ret, length, error);
    if (status >= 0)
        note_end(reading, *length, gt_input_trouble(input));
    gt_input_close(input);
    return status;
}

int gt_reading_base(struct gt_reading *reading, int64_t base, enum gt_trace_clock clock)
{
    struct gt_trace_file *file = gt_reading_file(reading);
    if (file->clock != GT_CLOCK_UNKNOWN)
        return 0; /* the first word counts */
    file->clock = clock;
    file->base = base;
    return reading->has_begun && base ? -EAGAIN : 0;
}

static bool is_other_node(const struct gt_reading *reading, const struct gt_trace_file *file)
{
    return reading->options->node && !gt_is_node(reading->trace, file, reading->options->node);
}

void gt_reading_judge_node(struct gt_reading *reading)
{
    reading->is_other_node = is_other_node(reading, gt_reading_file(reading));
}

static int set_node(struct gt_reading *reading, uint32_t node)
{
    struct gt_trace_file *file = gt_reading_file(reading);
    if (file->node != GT_TRACE_NONE)
        return 0;
    file->node = node;
    gt_reading_judge_node(reading);
    bool matters = reading->options->node || reading->options->by_step;
    return reading->has_begun && matters ? -EAGAIN : 0;
}

int gt_reading_node(struct gt_reading *reading, const char *node, size_t length)
{
    int64_t number = gt_strings_add(&reading->trace->strings, node, length);
    return number < 0 ? (int)number : set_node(reading, (uint32_t)number);
}

int gt_reading_rank(struct gt_reading *reading, int64_t rank)
{
    struct gt_trace_file *file = gt_reading_file(reading);
    if (rank < 0 || rank > INT32_MAX || file->rank >= 0)
        return 0;
    file->rank = (int32_t)rank;
    char name[24];
    int length = snprintf(name, sizeof name, "rank %d", (int)rank);
    return gt_reading_node(reading, name, (size_t)length);
}

static inline uint64_t eight_bytes(const char *text)
{
    uint64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
    return bytes;
}

/* Where a text is kept that came lately. Names are long, and few: begin, middle and end tell most of them apart. */
static uint32_t *string_cache(struct gt_reading *reading, struct gt_span text)
{
    uint64_t mixed = text.length;
    if (text.length >= 8)
        mixed += eight_bytes(text.text) * 3 + eight_bytes(text.text + text.length / 2 - 4) * 5 +
                 eight_bytes(text.text + text.length - 8) * 7;
    else
        for (size_t i = 0; i < text.length; i++)
            mixed = mixed * 31 + (unsigned char)text.text[i];
    return &reading->string[(mixed * UINT64_C(0x9E3779B97F4A7C15)) >> 32 & (GT_STRING_CACHES - 1)];
}

static bool is_string(const struct gt_strings *strings, uint32_t number, struct gt_span text)
{
    return number < strings->count && strings->size[number] == text.length &&
           memcmp(strings->arena + strings->place[number], text.text, text.length) == 0;
}

/* A text without escapes. */
static int64_t plain_string(struct gt_reading *reading, struct gt_span text, uint32_t *cache)
{
    int64_t number = gt_strings_add(&reading->trace->strings, text.text, text.length);
    if (number >= 0)
        *cache = (uint32_t)number + 1;
    return number;
}

int64_t gt_reading_string(struct gt_reading *reading, struct gt_span text)
{
    if (!text.text)
        return gt_strings_add(&reading->trace->strings, "", 0);
    uint32_t *cache = string_cache(reading, text);
    if (*cache && is_string(&reading->trace->strings, *cache - 1, text))
        return *cache - 1;
    if (!gt_span_has_escape(text))
        return plain_string(reading, text, cache);
    gt_buffer_clear(&reading->scratch);
    int status = gt_span_unescape(text, &reading->scratch);
    return status < 0 ? status
                      : gt_strings_add(&reading->trace->strings, reading->scratch.data, reading->scratch.length);
}

int64_t gt_reading_process(struct gt_reading *reading, struct gt_span pid)
{
    struct gt_trace *trace = reading->trace;
    int64_t text = gt_reading_string(reading, pid);
    if (text < 0)
        return text;
    struct gt_key key = {{reading->file, (uint32_t)text, 0, 0}};
    int64_t number = gt_keys_add(&reading->processes, key, (uint32_t)trace->process_count);
    if (number != (int64_t)trace->process_count)
        return number;
    struct gt_trace_process *process = GT_GROW(trace, process);
    if (!process)
        return -ENOMEM;
    *process = (struct gt_trace_process){reading->file, (uint32_t)text, (uint32_t)text,
                                         GT_TRACE_NONE, GT_TRACE_NONE,  INT64_MAX};
    return number;
}

/* The part of the file that is a node's, and was one file before the merge. */
static int64_t part_of(struct gt_reading *reading, uint32_t node, int32_t rank, int32_t recording)
{
    struct gt_trace *trace = reading->trace;
    for (uint32_t i = reading->file; i < trace->file_count; i++)
        if (trace->file[i].part_of == reading->file && trace->file[i].node == node &&
            trace->file[i].recording == recording)
            return i;
    const struct gt_trace_file *whole = gt_reading_file(reading);
    struct gt_trace_file *file = gt_trace_add_file(trace, whole->path, whole->format);
    if (!file)
        return -ENOMEM;
    file->node = node;
    file->rank = rank;
    file->recording = recording;
    file->part_of = reading->file;
    return (int64_t)trace->file_count - 1;
}

int gt_reading_process_node(struct gt_reading *reading, uint32_t process, struct gt_span node, int32_t rank,
                            int32_t recording)
{
    int64_t string = gt_reading_string(reading, gt_span_unquoted(node));
    int64_t part = string < 0 ? string : part_of(reading, (uint32_t)string, rank, recording);
    if (part < 0)
        return (int)part;
    reading->trace->process[process].file = (uint32_t)part;
    return 0;
}

static int64_t new_track(struct gt_reading *reading, uint32_t process, uint32_t tid, uint32_t real)
{
    struct gt_trace *trace = reading->trace;
    struct gt_trace_file *file = gt_reading_file(reading);
    if (trace->track_count >= GT_TRACE_NONE)
        return -EOVERFLOW;
    struct gt_trace_track *track = GT_GROW(trace, track);
    if (!track)
        return -ENOMEM;
    *track = (struct gt_trace_track){process, tid, GT_TRACE_NONE, real, INT64_MAX, 0};
    if (!file->tracks)
        file->track = (uint32_t)trace->track_count - 1;
    file->tracks++;
    return (int64_t)trace->track_count - 1;
}

static bool is_cached(const struct gt_track_cache *cache, struct gt_span pid, struct gt_span tid, struct gt_span real)
{
    return cache->pid.text && gt_span_same(cache->pid, pid) && gt_span_same(cache->tid, tid) &&
           gt_span_same(cache->real, real) && !cache->real.text == !real.text;
}

static void keep(struct gt_track_cache *cache, struct gt_span pid, struct gt_span tid, struct gt_span real,
                 uint32_t track)
{
    struct gt_span *to[] = {&cache->pid, &cache->tid, &cache->real}, from[] = {pid, tid, real};
    size_t at = 0;
    cache->pid.text = NULL;
    if (pid.length + tid.length + real.length > sizeof cache->text)
        return;
    for (int i = 0; i < 3; i++) {
        if (from[i].length)
            memcpy(cache->text + at, from[i].text, from[i].length);
        *to[i] = (struct gt_span){i == 2 && !real.text ? NULL : cache->text + at, from[i].length};
        at += from[i].length;
    }
    cache->track = track;
}

int64_t gt_reading_track(struct gt_reading *reading, struct gt_span pid, struct gt_span tid, struct gt_span real_pid)
{
    struct gt_trace *trace = reading->trace;
    size_t slot = (tid.length ? (unsigned char)tid.text[tid.length - 1] : 0U) * 7 + pid.length +
                  (pid.length ? (unsigned char)pid.text[pid.length - 1] : 0U);
    struct gt_track_cache *cache = &reading->cache[slot % GT_TRACK_CACHES];
    if (is_cached(cache, pid, tid, real_pid))
        return cache->track;
    int64_t process = gt_reading_process(reading, pid);
    int64_t text = process < 0 ? process : gt_reading_string(reading, tid);
    int64_t real = text < 0 ? text : real_pid.text ? gt_reading_string(reading, real_pid) : (int64_t)GT_TRACE_NONE;
    if (real < 0)
        return real;
    struct gt_key key = {{(uint32_t)process, (uint32_t)text, (uint32_t)real, 0}};
    int64_t track = gt_keys_add(&reading->tracks, key, (uint32_t)trace->track_count);
    if (track == (int64_t)trace->track_count)
        track = new_track(reading, (uint32_t)process, (uint32_t)text, (uint32_t)real);
    if (track >= 0)
        keep(cache, pid, tid, real_pid, (uint32_t)track);
    return track;
}

/* The step that the program or PyTorch's profiler ("ProfilerStep#12") names a range by; its copy on the GPU lags behind and
 * is left out. */
static int32_t named_step(const struct gt_raw_event *item, struct gt_span label, struct gt_span *before)
{
    static const char profiler[] = "ProfilerStep#";
    const size_t length = sizeof profiler - 1;
    bool is_profiler = label.length > length && memcmp(label.text, profiler, length) == 0;
    if (!label.length || (unsigned char)(label.text[label.length - 1] - '0') > 9 ||
        gt_span_is(item->category, "gpu_user_annotation") ||
        (!is_profiler && !gt_span_is(item->category, "user_annotation")))
        return GT_TRACE_NO_STEP;
    return gt_step_number(label, before);
}

static uint32_t owner_of(const struct gt_trace *trace, uint32_t track)
{
    return trace->process[trace->track[track].process].file;
}

static int note_step(struct gt_reading *reading, uint32_t mode, int32_t number, const struct gt_trace_event *event)
{
    struct gt_trace *trace = reading->trace;
    uint32_t file = owner_of(trace, event->track);
    int64_t start = event->start, end = start + event->duration;
    struct gt_key key = {{file, mode, (uint32_t)number, 0}};
    int64_t at = gt_keys_add(&reading->steps, key, (uint32_t)trace->step_count);
    if (at < 0)
        return (int)at;
    if (at == (int64_t)trace->step_count) {
        struct gt_trace_step *added = GT_GROW(trace, step);
        if (!added)
            return -ENOMEM;
        *added = (struct gt_trace_step){file, mode, number, start, end};
    }
    struct gt_trace_step *step = &trace->step[at];
    step->start = start < step->start ? start : step->start;
    step->end = end > step->end ? end : step->end;
    return 0;
}

static bool is_profilers(struct gt_span before)
{
    return gt_span_is(before, "ProfilerStep");
}

/* Where a program counts anew without a word of epochs, they are named here. */
static int64_t mode_of_round(struct gt_reading *reading, uint32_t mode, int32_t number,
                             const struct gt_trace_event *event, bool *is_of_epoch)
{
    struct gt_step_round step = {event->track, mode, 0, number, event->start + event->duration};
    int64_t round = gt_step_round(&reading->rounds, step, event->start);
    if (round <= 0)
        return round < 0 ? round : mode;
    struct gt_buffer name = {0};
    gt_buffer_printf(&name, "epoch %" PRId64 " %s", round, gt_trace_text(reading->trace, mode));
    int64_t named = name.failed ? name.failed : gt_strings_add(&reading->trace->strings, name.data, name.length);
    gt_buffer_release(&name);
    *is_of_epoch = true;
    return named;
}

static int find_step(struct gt_reading *reading, struct gt_trace_event *event, struct gt_span label)
{
    const struct gt_trace *trace = reading->trace;
    event->step = event->item->step;
    if (event->phase != 'X')
        return 0;
    if (event->step != GT_TRACE_NO_STEP) {
        uint32_t mode = trace->process[trace->track[event->track].process].name;
        return note_step(reading, mode, event->step, event);
    }
    struct gt_span before;
    int32_t number = named_step(event->item, label, &before);
    if (number == GT_TRACE_NO_STEP)
        return 0;
    bool is_of_epoch = gt_step_is_of_epoch(before);
    int64_t mode = gt_reading_string(reading, before);
    if (mode >= 0 && !is_of_epoch && !is_profilers(before))
        mode = mode_of_round(reading, (uint32_t)mode, number, event, &is_of_epoch);
    event->step = is_of_epoch ? GT_TRACE_NO_STEP : number; /* told when all epochs are known */
    return mode < 0 ? (int)mode : note_step(reading, (uint32_t)mode, number, event);
}

/* Numbers in decimal or as "0x1a" are the id; other texts stand by their number. */
static int64_t read_id(struct gt_reading *reading, const struct gt_raw_event *item, struct gt_trace_event *event)
{
    struct gt_span text = gt_span_unquoted(item->id);
    int64_t number;
    event->id = item->correlation;
    if (item->phase == 'X' || !text.text)
        return 0;
    if (gt_span_decimal(text, 0, &number) >= 0 && number >= 0) {
        event->id = (uint64_t)number;
        return 0;
    }
    if (text.length > 2 && text.length <= 18 && text.text[0] == '0' && (text.text[1] | 0x20) == 'x') {
        char digits[20] = {0}, *end;
        memcpy(digits, text.text + 2, text.length - 2);
        event->id = strtoull(digits, &end, 16);
        if (!*end)
            return 0;
    }
    number = gt_reading_string(reading, text);
    event->id = (uint64_t)number;
    event->flag |= GT_TRACE_TEXT_ID;
    return number;
}

static int hand_on(struct gt_reading *reading, struct gt_trace_event *event, struct gt_span label)
{
    struct gt_trace_file *owner = &reading->trace->file[owner_of(reading->trace, event->track)];
    event->name = event->category = GT_TRACE_NONE;
    owner->kept++;
    if (reading->sink->is_raw)
        return reading->sink->event(reading->sink->context, event, reading->error);
    int64_t id = read_id(reading, event->item, event);
    int64_t name = id < 0 ? id : gt_reading_string(reading, label);
    int64_t category = name;
    if (name >= 0)
        category = event->item->category.text ? gt_reading_string(reading, event->item->category)
                                              : (int64_t)GT_TRACE_NONE;
    if (category < 0)
        return (int)category;
    event->name = (uint32_t)name;
    event->category = (uint32_t)category;
    return reading->sink->event(reading->sink->context, event, reading->error);
}

/* py-spy has a function's file and line among the arguments: "fib (/job/prog.py:3)", as in its other formats. */
static struct gt_span python_label(struct gt_reading *reading, const struct gt_raw_event *item, struct gt_span label)
{
    struct gt_span file = {0}, line = {0};
    struct gt_buffer *out = &reading->label;
    if (!gt_span_is(item->category, "py-spy"))
        return label;
    GT_FIND(item->args, {"filename", &file}, {"line", &line});
    if (file.length <= 2 || *file.text != '"')
        return label;
    gt_buffer_clear(out);
    gt_buffer_append(out, label.text, label.length);
    gt_buffer_printf(out, " (%.*s", (int)(file.length - 2), file.text + 1);
    if (line.length && !gt_span_is(line, "0") && !gt_span_is(line, "null"))
        gt_buffer_printf(out, ":%.*s", (int)line.length, line.text);
    gt_buffer_char(out, ')');
    return out->failed ? label : (struct gt_span){out->data, out->length};
}

int gt_reading_event(struct gt_reading *reading, const struct gt_raw_event *item, struct gt_span label, uint32_t track,
                     uint8_t flag)
{
    const struct gt_trace_file *whole = gt_reading_file(reading);
    uint32_t owner = owner_of(reading->trace, track);
    struct gt_trace_file *file = &reading->trace->file[owner];
    struct gt_trace_event event = {
        .item = item, .written = label, .track = track, .phase = item->phase, .flag = flag, .start = whole->base};
    label = python_label(reading, item, label);
    int64_t end, duration = item->phase == 'X' && item->duration > 0 ? item->duration : 0;
    event.duration = duration;
    if (__builtin_add_overflow(item->start, whole->base, &event.start) ||
        __builtin_add_overflow(event.start, reading->shift ? reading->shift[owner] : 0, &event.start) ||
        __builtin_add_overflow(event.start, duration, &end)) {
        file->damage.bad_events++;
        return 0;
    }
    if (item->phase == 'X' && item->duration < 0) {
        file->damage.bad_events++;
        gt_damage_note(&file->damage, file->read, "an event whose duration is negative: %.*s",
                       (int)(label.length < 80 ? label.length : 80), label.length ? label.text : "");
        return 0;
    }
    reading->has_begun = true;
    file->read++;
    reading->trace->track[track].read++;
    if (item->has & GT_RAW_EVENT_MENDED)
        file->damage.mended++;
    if (!(item->has & GT_RAW_EVENT_TIME))
        event.flag |= GT_TRACE_NO_TIME;
    else
        gt_trace_file_widen(file, event.start, end);
    int status = find_step(reading, &event, label);
    bool is_other = owner == reading->file ? reading->is_other_node : is_other_node(reading, file);
    if (status < 0 || !reading->sink || !reading->sink->event || is_other)
        return status;
    uint32_t node = reading->options->by_step ? gt_trace_node_of(reading->trace, owner) : 0;
    if (!filter_event(reading->filter, node, event.step, event.start, end))
        return 0;
    if (!filter_name(reading->filter, label)) {
        if (!reading->options->keep_hidden)
            return 0;
        event.flag |= GT_TRACE_HIDDEN;
    }
    return hand_on(reading, &event, label);
}

int gt_reading_text_event(struct gt_reading *reading, struct gt_raw_event *item, const char *pid, const char *tid,
                          const char *name, uint8_t flag)
{
    struct gt_buffer quoted = {0};
    gt_json_quote(&quoted, name);
    int64_t track = quoted.failed ? quoted.failed
                                  : gt_reading_track(reading, gt_span_of(pid),
                                                     tid ? gt_span_of(tid) : (struct gt_span){0}, (struct gt_span){0});
    if (track >= 0) {
        item->name = gt_span_in_quotes(&quoted);
        track = gt_reading_event(reading, item, item->name, (uint32_t)track, flag);
    }
    gt_buffer_release(&quoted);
    return track < 0 ? (int)track : 0;
}

int64_t gt_reading_series(struct gt_reading *reading, struct gt_span type, struct gt_span name,
                          struct gt_span dimension, struct gt_span node)
{
    struct gt_trace *trace = reading->trace;
    struct gt_span spans[] = {type, name, dimension, node};
    struct gt_key key;
    for (int i = 0; i < 4; i++) {
        int64_t number = spans[i].text ? gt_reading_string(reading, spans[i]) : (int64_t)GT_TRACE_NONE;
        if (number < 0)
            return number;
        key.part[i] = (uint32_t)number;
    }
    int64_t number = gt_keys_add(&reading->series, key, (uint32_t)trace->series_count);
    if (number != (int64_t)trace->series_count)
        return number;
    struct gt_trace_series *series = GT_GROW(trace, series);
    if (!series)
        return -ENOMEM;
    *series = (struct gt_trace_series){key.part[0], key.part[1], key.part[2], key.part[3], reading->file};
    return number;
}

int gt_reading_sample(struct gt_reading *reading, uint32_t series, int64_t time, double value)
{
    struct gt_trace_file *file = gt_reading_file(reading);
    const struct gt_trace_series *about = &reading->trace->series[series];
    const char *wanted = reading->options->node;
    if (__builtin_add_overflow(time, reading->shift ? reading->shift[reading->file] : 0, &time)) {
        file->damage.bad_samples++;
        return 0;
    }
    reading->has_begun = true;
    file->samples++;
    gt_trace_file_widen(file, time, time);
    if (!reading->sink || !reading->sink->sample || value != value || !filter_sample(reading->filter, time))
        return 0;
    bool is_of_file = about->node == file->node && !reading->is_other_node; /* it may have been asked for by its rank */
    if (wanted && !is_of_file && strcmp(wanted, gt_trace_text(reading->trace, about->node)) != 0)
        return 0;
    return reading->sink->sample(reading->sink->context, series, time, value, reading->error);
}

int gt_reading_threads(const struct gt_reading *reading, uint64_t size)
{
    const uint64_t small = 8 << 20; /* starting threads costs more than it saves */
    if (reading->options->threads)
        return reading->options->threads;
    return size < small ? 1 : get_nprocs();
}

struct gt_trace_profile *gt_reading_profile(struct gt_reading *reading, enum gt_trace_profiler profiler,
                                            enum gt_profile_unit unit)
{
    struct gt_trace_profile *profile = GT_GROW(reading->trace, profile);
    if (!profile)
        return NULL;
    gt_trace_profile_init(profile, reading->file, gt_reading_file(reading)->node);
    profile->profiler = profiler;
    profile->unit = unit;
    return profile;
}

void gt_reading_bad(struct gt_reading *reading, uint64_t place, const char *what)
{
    struct gt_trace_damage *damage = &gt_reading_file(reading)->damage;
    damage->bad_events++;
    gt_damage_note(damage, place, "%s", what);
}

void gt_reading_cut_off(struct gt_reading *reading, uint64_t place, uint64_t lost, const char *what)
{
    struct gt_trace_damage *damage = &gt_reading_file(reading)->damage;
    damage->cut_off = true;
    damage->lost_bytes += lost;
    gt_damage_note(damage, place, "%s", what);
}

void gt_reading_end(struct gt_reading *reading, struct gt_input *input, uint64_t bytes)
{
    note_end(reading, bytes, input ? gt_input_trouble(input) : NULL);
    gt_input_close(input);
}

void gt_reading_end_lines(struct gt_reading *reading, struct gt_lines *lines)
{
    gt_reading_file(reading)->damage.bad_events += lines->too_long;
    gt_reading_end(reading, lines->input, lines->offset + lines->text.length);
    gt_lines_release(lines);
}

/* ---- the sink that fills the columns of a trace ---- */

static int64_t intern(struct gt_trace *trace, struct gt_span value)
{
    struct gt_span text = gt_span_unquoted(value);
    if (*value.text != '"' || !gt_span_has_escape(text))
        return gt_strings_add(&trace->strings, text.text, text.length);
    struct gt_buffer plain = {0};
    int64_t number = gt_span_unescape(text, &plain);
    if (number >= 0)
        number = gt_strings_add(&trace->strings, plain.data, plain.length);
    gt_buffer_release(&plain);
    return number;
}

static int keep_argument(struct gt_trace *trace, uint32_t key, struct gt_span value)
{
    double number = NAN;
    int64_t text = GT_TRACE_NONE;
    if (*value.text == 't' || *value.text == 'f')
        number = *value.text == 't';
    else if (*value.text == '"' || *value.text == '{' || *value.text == '[')
        text = intern(trace, value);
    else
        gt_span_double(value, &number);
    if (text < 0)
        return (int)text;
    struct gt_trace_argument *argument = NULL;
    if (gt_trace_argument_room(&trace->events) == 0)
        argument = GT_GROW(trace, argument);
    if (!argument)
        return -ENOMEM;
    *argument = (struct gt_trace_argument){key, (uint32_t)text, number};
    return 0;
}

static int keep_arguments(struct gt_columns_sink *columns, struct gt_span args)
{
    const char *const *wanted = columns->options->arguments;
    struct gt_walk walk;
    struct gt_span key, value;
    if (!wanted || !args.text || *args.text != '{')
        return 0;
    gt_walk_open(&walk, args);
    while (gt_walk_member(&walk, &key, &value) > 0)
        for (uint32_t i = 0; wanted[i]; i++)
            if (gt_span_is(key, wanted[i])) {
                int status = keep_argument(columns->trace, i, value);
                if (status < 0)
                    return status;
            }
    return 0;
}

static int take_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct gt_columns_sink *columns = context;
    struct gt_trace_events *events = &columns->trace->events;
    if (event->phase == 'M' || columns->options->no_events)
        return 0;
    int status = gt_trace_event_room(events);
    if (status >= 0 && columns->trace->argument_count >= GT_TRACE_NONE)
        status = -EOVERFLOW;
    size_t at = events->count;
    if (status >= 0 && events->argument)
        events->argument[at] = (uint32_t)columns->trace->argument_count;
    if (status >= 0)
        status = keep_arguments(columns, event->item->args);
    if (status >= 0)
        status = gt_trace_set_duration(events, at, event->duration);
    if (status >= 0)
        status = gt_trace_set_ids(events, at, event->id, event->item->external);
    if (status >= 0 && event->item->bytes != -1)
        status = gt_trace_set_bytes(events, at, event->item->bytes);
    if (status < 0)
        return gt_error_system(error, -status, "keeping events");
    events->start[at] = event->start;
    events->name[at] = event->name;
    events->category[at] = event->category;
    events->track[at] = event->track;
    events->step[at] = event->step;
    events->phase[at] = event->phase;
    events->flag[at] = event->flag;
    events->count++;
    return 0;
}

static int take_sample(void *context, uint32_t series, int64_t time, double value, struct gt_error *error)
{
    struct gt_columns_sink *columns = context;
    if (columns->options->no_samples)
        return 0;
    int status = gt_trace_add_sample(&columns->trace->samples, series, time, value);
    return status < 0 ? gt_error_system(error, -status, "keeping samples") : 0;
}

static int begin_columns(void *context, uint32_t file, struct gt_error *error)
{
    (void)error;
    struct gt_columns_sink *columns = context;
    struct gt_trace *trace = columns->trace;
    if (columns->has_begun && columns->file == file) {
        gt_trace_events_cut(&trace->events, columns->events);
        trace->samples.count = columns->samples;
        trace->argument_count = columns->arguments;
    }
    columns->has_begun = true;
    columns->file = file;
    columns->events = trace->events.count;
    columns->samples = trace->samples.count;
    columns->arguments = trace->argument_count;
    return 0;
}

struct gt_trace_sink gt_columns_sink(struct gt_columns_sink *columns)
{
    return (struct gt_trace_sink){columns, begin_columns, take_event, take_sample, false};
}
