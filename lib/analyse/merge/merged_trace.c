/* Events, counters and marks, as they go into a merged file. */
#include "analyse/merge/merged_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "base/utf8.h"
#include "query/rows.h"

/* ---- numbers of processes and threads: by class of phase in SMDebug's order, and their own where they can ---- */

enum { CLASSES = 11 };
enum { FIRST_NEW_THREAD = 1000000 }; /* for threads whose own number cannot be kept */

/* SMDebug's order of phases: the first that is part of the name counts. */
static const struct {
    const char *part;
    int64_t first;
} classes[CLASSES] = {
    {"Step:", 1},       {"Forward", 10000}, {"Backward", 20000},      {"DataIterator", 30000},  {"Dataset", 40000},
    {"/device", 50000}, {"/host", 60000},   {"gpu_functions", 70000}, {"cpu_functions", 80000}, {"Horovod", 90000},
    {"", 1000000},
};

/* A class that is full goes on behind all others. */
static int64_t pid_of(int64_t next[], const char *phase)
{
    size_t class = 0;
    while (!strstr(phase, classes[class].part))
        class ++;
    if (class + 1 < CLASSES && next[class] >= 10000 - (class == 0))
        class = CLASSES - 1;
    return classes[class].first + next[class]++;
}

/* In SMDebug's and Horovod's files a process is a phase or a tensor, which goes on from file to file. */
static bool has_phases(const struct gt_trace_file *file)
{
    return strcmp(file->format, "smdebug") == 0 || strcmp(file->format, "horovod") == 0;
}

static const char *process_name(const struct gt_trace *trace, const struct gt_trace_process *process)
{
    const char *name = gt_trace_text(trace, process->name);
    return *name ? name : gt_trace_text(trace, process->pid);
}

static int number_processes(struct gt_merged_trace *merged, struct gt_keys *keys)
{
    const struct gt_trace *trace = merged->trace;
    int64_t next[CLASSES] = {0};
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct gt_trace_process *process = &trace->process[i];
        const struct gt_trace_file *file = &trace->file[process->file];
        bool by_name = has_phases(file) && process->name != GT_TRACE_NONE;
        struct gt_key key = {{gt_trace_node_of(trace, process->file), process->name,
                              by_name ? GT_TRACE_NONE : process->pid, by_name ? GT_TRACE_NONE : process->file}};
        int64_t first = gt_keys_add(keys, key, (uint32_t)i);
        if (first < 0)
            return (int)first;
        int64_t pid = first < (int64_t)i ? merged->process[first].pid : pid_of(next, process_name(trace, process));
        merged->process[i] = (struct gt_merged_process){.pid = pid, .first = (uint32_t)first};
    }
    return 0;
}

/* The thread's own number, if it is one that a double holds; else -1. */
static int64_t own_number(const char *text)
{
    int64_t number;
    return gt_number_i64(text, &number) == 0 && number >= 0 && number < INT64_C(1) << 53 ? number : -1;
}

/* 1 when nobody has this pid and tid yet, and the track has them now. */
static int take_place(struct gt_keys *taken, const struct gt_merged_lane *lane, size_t track)
{
    struct gt_key place = {{(uint32_t)lane->pid, (uint32_t)lane->tid, (uint32_t)((uint64_t)lane->tid >> 32), 0}};
    int64_t owner = gt_keys_add(taken, place, (uint32_t)track);
    return owner < 0 ? (int)owner : owner == (int64_t)track;
}

/* Tracks that are one thread, though in several files, and the numbers that threads have of their own. */
static int keep_numbers(struct gt_merged_trace *merged, struct gt_keys *keys, struct gt_keys *taken)
{
    const struct gt_trace *trace = merged->trace;
    for (size_t i = 0; i < trace->track_count; i++) {
        const struct gt_trace_track *track = &trace->track[i];
        struct gt_merged_lane *lane = &merged->lane[i];
        lane->pid = merged->process[track->process].pid;
        struct gt_key key = {{(uint32_t)lane->pid, track->tid, track->real_process, 0}};
        int64_t first = gt_keys_add(keys, key, (uint32_t)i);
        if (first < 0)
            return (int)first;
        lane->first = (uint32_t)first;
        const char *text = gt_trace_text(trace, track->tid);
        lane->tid = *text ? own_number(text) : 0;
        int status = lane->tid >= 0 && first == (int64_t)i ? take_place(taken, lane, i) : 1;
        if (status < 0)
            return status;
        if (!status)
            lane->tid = -1;
    }
    return 0;
}

static int number_threads(struct gt_merged_trace *merged, struct gt_keys *keys, struct gt_keys *taken)
{
    int64_t next = FIRST_NEW_THREAD;
    int status = keep_numbers(merged, keys, taken);
    for (size_t i = 0; i < merged->trace->track_count && status >= 0; i++) {
        struct gt_merged_lane *lane = &merged->lane[i];
        if (lane->first != i) {
            lane->tid = merged->lane[lane->first].tid;
            continue;
        }
        for (status = lane->tid >= 0; !status;) {
            lane->tid = next++;
            status = take_place(taken, lane, i);
        }
    }
    return status;
}

int gt_merged_number(struct gt_merged_trace *merged)
{
    struct gt_keys processes = {0}, threads = {0}, taken = {0};
    merged->process = calloc(merged->trace->process_count + 1, sizeof *merged->process);
    merged->lane = calloc(merged->trace->track_count + 1, sizeof *merged->lane);
    int status = merged->process && merged->lane ? 0 : -ENOMEM;
    if (status >= 0)
        status = number_processes(merged, &processes);
    if (status >= 0)
        status = number_threads(merged, &threads, &taken);
    gt_keys_release(&processes);
    gt_keys_release(&threads);
    gt_keys_release(&taken);
    return status;
}

/* ---- events: the members they had, with new times, processes, threads and ids ---- */

/* The same as gt_buffer_append, without a call: there are a dozen for each event. */
static inline void add(struct gt_buffer *out, const char *text, size_t length)
{
    if (out->failed || out->capacity - out->length <= length) {
        gt_buffer_append(out, text, length);
        return;
    }
    if (length) /* text may be NULL then */
        memcpy(out->data + out->length, text, length);
    out->length += length;
    out->data[out->length] = '\0';
}
#define ADD(out, literal) add(out, literal, sizeof literal - 1)

/* Millions of numbers: printf would take most of the time of a merge. */
static void write_whole(struct gt_buffer *out, uint64_t number, int least)
{
    char digits[20], *at = digits + sizeof digits;
    for (; number || least > 0; number /= 10, least--)
        *--at = (char)('0' + number % 10);
    add(out, at, (size_t)(digits + sizeof digits - at));
}

static void write_integer(struct gt_buffer *out, int64_t number)
{
    if (number < 0)
        gt_buffer_char(out, '-');
    write_whole(out, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

void gt_merged_time(struct gt_buffer *out, int64_t ns)
{
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    unsigned rest = (unsigned)(size % 1000);
    int digits = 3;
    if (ns < 0)
        gt_buffer_char(out, '-');
    write_whole(out, size / 1000, 1);
    if (!rest)
        return;
    for (; rest % 10 == 0; rest /= 10)
        digits--;
    gt_buffer_char(out, '.');
    write_whole(out, rest, digits);
}

/* ---- the file ---- */

enum { BLOCK = 1 << 20 };

int gt_merged_write(struct gt_merged_trace *merged, struct gt_error *error)
{
    struct gt_buffer *out = &merged->out, valid = {0};
    if (!out->failed && out->length && !gt_utf8_are_valid(out->data, out->length)) {
        /* Arguments of events are copied as they are in the traces. */
        int status = gt_utf8_valid_bytes(&valid, out->data, out->length);
        gt_buffer_release(out);
        *out = valid;
        out->failed = status;
    }
    if (out->failed)
        return gt_error_system(error, -out->failed, "%s", merged->path);
    errno = 0;
    if (out->length && !gzwrite(merged->file, out->data, (unsigned)out->length))
        return gt_error_system(error, errno ? errno : EIO, "%s", merged->path);
    gt_buffer_clear(out);
    return 0;
}

int gt_merged_end(struct gt_merged_trace *merged, struct gt_error *error)
{
    return merged->out.length < BLOCK && !merged->out.failed ? 0 : gt_merged_write(merged, error);
}

/* ---- names ---- */

static void touch(struct gt_merged_trace *merged, int64_t start, int64_t end)
{
    merged->first = start < merged->first ? start : merged->first;
    merged->last = end > merged->last ? end : merged->last;
}

/* Begins an event about a process, or about a thread where `tid` is not -1, up to its arguments. */
static void begin_metadata(struct gt_merged_trace *merged, const char *what, int64_t pid, int64_t tid)
{
    struct gt_buffer *out = &merged->out;
    gt_buffer_printf(out, ",\n{\"name\": \"%s\", \"ph\": \"M\", \"pid\": %" PRId64, what, pid);
    if (tid >= 0)
        gt_buffer_printf(out, ", \"tid\": %" PRId64, tid);
    gt_buffer_text(out, ", \"args\": {");
}

void gt_merged_name(struct gt_merged_trace *merged, const char *what, const char *key, const char *text, int64_t pid,
                    int64_t tid)
{
    begin_metadata(merged, what, pid, tid);
    gt_buffer_printf(&merged->out, "\"%s\": ", key);
    gt_json_quote(&merged->out, text);
    gt_buffer_text(&merged->out, "}}");
}

void gt_merged_sort_index(struct gt_merged_trace *merged, const char *what, int64_t index, int64_t pid, int64_t tid)
{
    begin_metadata(merged, what, pid, tid);
    gt_buffer_printf(&merged->out, "\"sort_index\": %" PRId64 "}}", index);
}

/* What readers tell GPUs and cycles of a profiler by: these write a file each, other tools go on in the next. */
static void write_origin(struct gt_merged_trace *merged, const struct gt_trace_process *of)
{
    struct gt_buffer *out = &merged->out;
    if (strcmp(merged->trace->file[of->file].format, "chrome") == 0)
        gt_buffer_printf(out, ", \"source\": %" PRIu32, of->file);
    gt_buffer_text(out, ", \"source_pid\": ");
    gt_json_quote(out, gt_trace_text(merged->trace, of->own));
}

/* `node` may be empty; `rank` is -1 where it is not known. */
static void write_process(struct gt_merged_trace *merged, int64_t pid, const char *name, const char *label,
                          const char *node, int32_t rank, const struct gt_trace_process *of)
{
    struct gt_buffer *out = &merged->out;
    begin_metadata(merged, "process_name", pid, -1);
    gt_buffer_text(out, "\"name\": ");
    gt_json_quote(out, name);
    if (*node) {
        gt_buffer_text(out, ", \"node\": ");
        gt_json_quote(out, node);
    }
    if (rank >= 0)
        gt_buffer_printf(out, ", \"rank\": %d", (int)rank);
    if (of)
        write_origin(merged, of);
    gt_buffer_text(out, "}}");
    gt_merged_sort_index(merged, "process_sort_index", pid, pid, -1);
    if (*label)
        gt_merged_name(merged, "process_labels", "labels", label, pid, -1);
}

/* A process is named when its first event comes: one that is filtered away leaves no empty row in the viewer. */
static void tell_process(struct gt_merged_trace *merged, uint32_t number)
{
    const struct gt_trace *trace = merged->trace;
    const struct gt_trace_process *process = &trace->process[number];
    char label[600];
    const char *own = gt_trace_text(trace, process->label),
               *node = gt_trace_text(trace, trace->file[process->file].node);
    struct gt_merged_process *first = &merged->process[merged->process[number].first];
    if (first->is_told)
        return;
    first->is_told = true;
    size_t length = strlen(own), node_length = strlen(node);
    bool is_told = length >= node_length && strcmp(own + length - node_length, node) == 0; /* in a file merged before */
    snprintf(label, sizeof label, "%s%s%s", own, *own && !is_told ? ", " : "", is_told ? "" : node);
    const char *name = process->name == GT_TRACE_NONE ? "" : gt_trace_text(trace, process->name);
    char by_pid[200];
    snprintf(by_pid, sizeof by_pid, "process %s", gt_trace_text(trace, process->pid));
    const struct gt_trace_file *file = &trace->file[process->file];
    uint32_t of = merged->nodes > 1 ? gt_trace_node_of(trace, process->file) : file->node;
    write_process(merged, first->pid, *name ? name : by_pid, label, gt_trace_text(trace, of), file->rank, process);
}

static void tell_thread(struct gt_merged_trace *merged, uint32_t number)
{
    struct gt_merged_lane *lane = &merged->lane[merged->lane[number].first];
    const struct gt_trace_track *track = &merged->trace->track[number];
    const char *name = gt_trace_text(merged->trace, track->name), *tid = gt_trace_text(merged->trace, track->tid);
    char number_text[24];
    snprintf(number_text, sizeof number_text, "%" PRId64, lane->tid);
    if (lane->is_told)
        return;
    lane->is_told = true;
    if (track->sort != INT64_MAX)
        gt_merged_sort_index(merged, "thread_sort_index", track->sort, lane->pid, lane->tid);
    if (!*name && strcmp(tid, number_text) != 0)
        name = tid; /* its number was changed: the old one is its name */
    if (*name)
        gt_merged_name(merged, "thread_name", "name", name, lane->pid, lane->tid);
}

static bool is_rewritten(struct gt_span key)
{
    static const char *const keys[] = {"name", "ph", "ts", "dur", "pid", "tid", "id", "args"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && key.length <= 4; i++)
        if (gt_span_is(key, keys[i]))
            return true;
    return false;
}

static void write_apart(struct gt_merged_trace *merged, const struct gt_trace_event *event, struct gt_span id)
{
    struct gt_buffer *out = &merged->out;
    uint32_t file = merged->trace->process[merged->trace->track[event->track].process].file;
    id = gt_span_unquoted(id);
    gt_buffer_printf(out, "\"%u:", gt_trace_node_of(merged->trace, file));
    gt_buffer_append(out, id.text, id.length);
    gt_buffer_char(out, '"');
}

/* {"local": 7} counts within a process, and stays; {"global": 7} counts everywhere. */
static void write_scoped_id(struct gt_merged_trace *merged, const struct gt_trace_event *event)
{
    struct gt_buffer *out = &merged->out;
    struct gt_walk walk;
    struct gt_span key, value;
    const char *comma = "";
    if (gt_walk_open(&walk, event->item->id) < 0)
        return;
    gt_buffer_text(out, ", \"id2\": {");
    while (gt_walk_member(&walk, &key, &value) > 0) {
        gt_buffer_printf(out, "%s\"%.*s\": ", comma, (int)key.length, key.text);
        if (gt_span_is(key, "global"))
            write_apart(merged, event, value);
        else
            gt_buffer_append(out, value.text, value.length);
        comma = ", ";
    }
    gt_buffer_char(out, '}');
}

/* Flows and asynchronous events of two nodes may bear the same id. */
static void write_id(struct gt_merged_trace *merged, const struct gt_trace_event *event)
{
    struct gt_buffer *out = &merged->out;
    struct gt_span id = event->item->id;
    bool as_is = merged->nodes < 2 || event->phase == 'C' || event->phase == 'X';
    if (!id.text || (*id.text == '{' && as_is))
        return; /* an id2 as it is comes with the other members */
    if (*id.text == '{') {
        write_scoped_id(merged, event);
        return;
    }
    gt_buffer_text(out, ", \"id\": ");
    if (as_is)
        gt_buffer_append(out, id.text, id.length);
    else
        write_apart(merged, event, id);
}

/* As it stands in the text, with its quotes where it has some. */
static void write_category(struct gt_buffer *out, struct gt_span category)
{
    bool is_text = category.text[-1] == '"';
    ADD(out, ", \"cat\": ");
    add(out, category.text - is_text, category.length + 2 * (size_t)is_text);
}

/* The arguments, the longest member by far, were walked when the event was read. */
static void write_others(struct gt_buffer *out, const struct gt_raw_event *item, bool has_scoped_id)
{
    struct gt_walk walk;
    struct gt_span key, value;
    if (item->text.text && !item->has_others) {
        if (item->category.text)
            write_category(out, item->category);
        return;
    }
    if (!item->text.text || gt_walk_open(&walk, item->text) < 0)
        return;
    while (gt_walk_key(&walk, &key) > 0) {
        if (walk.at == item->args.text) {
            walk.at += item->args.length;
            continue;
        }
        if (gt_walk_value(&walk, &value) < 0)
            return;
        if (is_rewritten(key) || (has_scoped_id && gt_span_is(key, "id2")))
            continue;
        gt_buffer_text(out, ", \"");
        gt_buffer_append(out, key.text, key.length);
        gt_buffer_text(out, "\": ");
        gt_buffer_append(out, value.text, value.length);
    }
}

/* What was never closed lasts to the last time of its track, and says so. */
static void write_arguments(struct gt_buffer *out, const struct gt_trace_event *event)
{
    struct gt_span args = event->item->args;
    bool is_unclosed = event->flag & GT_TRACE_UNCLOSED, is_object = args.text && *args.text == '{';
    if (!args.text && !is_unclosed)
        return;
    ADD(out, ", \"args\": ");
    if (!is_unclosed) {
        add(out, args.text, args.length);
        return;
    }
    gt_buffer_text(out, "{\"unclosed\": true");
    if (is_object && args.text[1 + strspn(args.text + 1, " \t\r\n")] != '}') {
        gt_buffer_text(out, ", ");
        gt_buffer_append(out, args.text + 1, args.length - 1);
    } else {
        gt_buffer_char(out, '}');
    }
}

/* Escape raw control characters, and write null for the numbers that JSON does not have. */
static void mend(struct gt_buffer *out, size_t from)
{
    struct gt_buffer old = {0};
    gt_buffer_append(&old, out->data + from, out->length - from);
    out->length = from;
    bool in_string = false, escaped = false;
    for (size_t i = 0; i < old.length; i++) {
        char c = old.data[i];
        if (in_string && (unsigned char)c < 0x20) {
            gt_buffer_printf(out, "\\u%04x", (unsigned)c);
        } else if (!in_string && strchr("NIni-", c) && c) {
            size_t length = strspn(old.data + i, "-NaInfityan");
            bool is_word = length > 2 && strncmp(old.data + i, "null", 4) != 0;
            gt_buffer_append(out, is_word ? "null" : old.data + i, is_word ? 4 : 1);
            i += is_word ? length - 1 : 0;
        } else {
            gt_buffer_char(out, c);
        }
        in_string ^= c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
    }
    if (old.failed)
        out->failed = old.failed;
    gt_buffer_release(&old);
}

static bool is_plain(struct gt_span text)
{
    unsigned char odd = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.text[i];
        odd |= (c < 0x20) | (c >= 0x7f) | (c == '\\') | (c == '"');
    }
    return !odd;
}

static void write_label(struct gt_merged_trace *merged, struct gt_buffer *out, struct gt_span label)
{
    if (is_plain(label)) {
        ADD(out, "\"");
        add(out, label.text, label.length);
        ADD(out, "\"");
        return;
    }
    gt_buffer_clear(&merged->scratch);
    if (gt_span_unescape(label, &merged->scratch) < 0)
        out->failed = merged->scratch.failed;
    else
        gt_json_quote(out, merged->scratch.data);
}

/* What stands behind the time. */
static void write_rest(struct gt_merged_trace *merged, struct gt_buffer *out, const struct gt_trace_event *event)
{
    if (event->phase == 'X') {
        ADD(out, ", \"dur\": ");
        gt_merged_time(out, event->duration);
    }
    size_t before = out->length;
    write_id(merged, event);
    bool has_scoped_id = out->length > before && *event->item->id.text == '{';
    if (!event->item->text.text && event->item->category.text)
        gt_buffer_printf(out, ", \"cat\": \"%.*s\"", (int)event->item->category.length, event->item->category.text);
    write_others(out, event->item, has_scoped_id);
    write_arguments(out, event);
    ADD(out, "}");
}

/* An event of a pair is read when it ends: one around others of the same time comes behind these. Writes it before
 * them, as readers take the first of equal intervals for the outer one. */
static void put_before(struct gt_buffer *out, size_t at, size_t begin)
{
    struct gt_buffer inner = {0};
    gt_buffer_append(&inner, out->data + at, begin - at);
    if (!inner.failed) {
        memmove(out->data + at, out->data + begin, out->length - begin);
        memcpy(out->data + at + out->length - begin, inner.data, begin - at);
    }
    out->failed = inner.failed;
    gt_buffer_release(&inner);
}

int gt_merged_event(struct gt_merged_trace *merged, const struct gt_trace_event *event, struct gt_error *error)
{
    struct gt_buffer *out = &merged->out;
    const struct gt_merged_lane *lane = &merged->lane[event->track];
    struct gt_merged_equal *equal = &merged->equal;
    bool is_equal = event->flag & GT_TRACE_PAIRED && equal->track == event->track && equal->start == event->start &&
                    equal->duration == event->duration && equal->events == merged->events;
    int status = is_equal ? 0 : gt_merged_end(merged, error);
    if (status < 0)
        return status;
    tell_process(merged, merged->trace->track[event->track].process);
    tell_thread(merged, event->track);
    size_t begin = out->length;
    ADD(out, ",\n{\"name\": ");
    write_label(merged, out, event->written);
    ADD(out, ", \"ph\": \"");
    add(out, &event->phase, 1);
    ADD(out, "\", \"pid\": ");
    write_integer(out, lane->pid);
    if (*gt_trace_text(merged->trace, merged->trace->track[event->track].tid)) {
        ADD(out, ", \"tid\": ");
        write_integer(out, lane->tid);
    }
    if (!(event->flag & GT_TRACE_NO_TIME)) {
        ADD(out, ", \"ts\": ");
        gt_merged_time(out, event->start - merged->base);
        touch(merged, event->start, event->start + event->duration);
    }
    write_rest(merged, out, event);
    if (event->item->has & GT_RAW_EVENT_MENDED && !out->failed)
        mend(out, begin + strlen(",\n"));
    if (is_equal && !out->failed)
        put_before(out, equal->at, begin);
    merged->events++;
    *equal = (struct gt_merged_equal){event->track, event->start, event->duration, is_equal ? equal->at : begin,
                                      merged->events};
    return 0;
}

/* ---- samples: a counter for each, and marks where GPUs had little to do ---- */

#define NEAR INT64_C(20000000) /* a mark tells the samples within 20 ms */
static const char mark_name[] = "sys_metrics_bottlenecks";

struct counters {
    struct gt_merged_trace *merged;
    char **key;   /* of each series; NULL: not wanted */
    int64_t *pid; /* of each series */
    int64_t mark_pid;
    size_t count; /* wanted samples, by time and series */
    const int64_t *time;
    const double *value;
    const uint32_t *series;
};

/* "gpu0_GPUUtilization_algo-1" */
static char *key_of(const struct gt_trace *trace, const struct gt_trace_series *series)
{
    const char *parts[] = {gt_trace_text(trace, series->name), gt_trace_text(trace, series->dimension),
                           gt_trace_text(trace, series->node)};
    char *key;
    if (asprintf(&key, "%s%s%s%s%s", parts[0], *parts[0] ? "_" : "", parts[1], *parts[2] ? "_" : "", parts[2]) < 0)
        return NULL;
    return key;
}

/* One process for the counters of each node, behind all others. */
static int name_series(struct counters *counters, const regex_t *wanted, struct gt_keys *nodes)
{
    const struct gt_trace *trace = counters->merged->trace;
    counters->key = calloc(trace->series_count + 1, sizeof *counters->key);
    counters->pid = calloc(trace->series_count + 1, sizeof *counters->pid);
    if (!counters->key || !counters->pid)
        return -ENOMEM;
    counters->mark_pid = 2000000;
    for (size_t i = 0; i < trace->series_count; i++) {
        counters->key[i] = key_of(trace, &trace->series[i]);
        if (!counters->key[i])
            return -ENOMEM;
        struct gt_key node = {{trace->series[i].node, 0, 0, 0}};
        int64_t number = gt_keys_add(nodes, node, (uint32_t)nodes->count);
        if (number < 0)
            return (int)number;
        counters->pid[i] = counters->mark_pid + 1 + number;
        if (wanted && regexec(wanted, counters->key[i], 0, NULL, 0) != 0) {
            free(counters->key[i]);
            counters->key[i] = NULL;
        }
    }
    return 0;
}

static void collect(struct counters *counters, struct gt_query *query)
{
    const struct gt_trace_samples *samples = &counters->merged->trace->samples;
    struct gt_rows rows = gt_rows_new(query, samples->count);
    int64_t *time = gt_rows_add_wholes(&rows, "time");
    double *value = gt_rows_add_reals(&rows, "value");
    uint32_t *series = gt_rows_add_keys(&rows, "series", NULL);
    size_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        if (!counters->key[samples->series[i]])
            continue;
        time[count] = samples->time[i];
        value[count] = samples->value[i];
        series[count++] = samples->series[i];
    }
    rows.count = count;
    gt_rows_sort(&rows, "time series");
    counters->count = rows.count;
    counters->time = gt_rows_wholes(&rows, "time");
    counters->value = gt_rows_reals(&rows, "value");
    counters->series = gt_rows_keys(&rows, "series");
}

static void write_number(struct gt_buffer *out, double value)
{
    char text[GT_NUMBER_SIZE];
    gt_number_repr(text, value);
    gt_buffer_text(out, value - value == 0 ? text : "null");
}

static int write_counters(struct counters *counters, struct gt_error *error)
{
    struct gt_merged_trace *merged = counters->merged;
    struct gt_buffer *out = &merged->out;
    int64_t told = 0;
    for (size_t i = 0; i < merged->trace->series_count; i++)
        if (counters->key[i] && counters->pid[i] > told) {
            told = counters->pid[i];
            const char *node = gt_trace_text(merged->trace, merged->trace->series[i].node);
            write_process(merged, told, "System metrics", node, node, -1, NULL);
        }
    for (size_t i = 0; i < counters->count; i++) {
        gt_buffer_text(out, ",\n{\"name\": ");
        gt_json_quote(out, counters->key[counters->series[i]]);
        gt_buffer_printf(out, ", \"ph\": \"C\", \"pid\": %" PRId64 ", \"ts\": ", counters->pid[counters->series[i]]);
        gt_merged_time(out, counters->time[i] - merged->base);
        gt_buffer_text(out, ", \"args\": {\"value\": ");
        write_number(out, counters->value[i]);
        gt_buffer_text(out, "}}");
        touch(merged, counters->time[i], counters->time[i]);
        merged->counters++;
        int status = gt_merged_end(merged, error);
        if (status < 0)
            return status;
    }
    return 0;
}

/* Use of the processors, not of the memory; percent. */
static bool is_low(const struct counters *counters, size_t sample)
{
    const struct gt_trace *trace = counters->merged->trace;
    const struct gt_trace_series *series = &trace->series[counters->series[sample]];
    const char *dimension = gt_trace_text(trace, series->dimension);
    double percent = strcmp(dimension, "GPUUtilization") == 0    ? counters->value[sample]
                     : strcmp(dimension, "gpu_utilization") == 0 ? counters->value[sample] * 100
                                                                 : 100;
    return strcmp(gt_trace_text(trace, series->type), "gpu") == 0 && percent < counters->merged->low_gpu;
}

/* Every series once, by its sample nearest to the mark. */
static void write_mark(struct counters *counters, size_t from, size_t to, int64_t time, size_t *nearest)
{
    struct gt_merged_trace *merged = counters->merged;
    struct gt_buffer *out = &merged->out;
    bool any = false;
    memset(nearest, 0, merged->trace->series_count * sizeof *nearest);
    for (size_t i = from; i < to; i++) {
        size_t *best = &nearest[counters->series[i]];
        if (!*best || llabs(counters->time[i] - time) < llabs(counters->time[*best - 1] - time))
            *best = i + 1;
    }
    ADD(out, ",\n");
    gt_buffer_printf(out, "{\"name\": \"%s\", \"ph\": \"i\", \"s\": \"g\", \"pid\": %" PRId64 ", \"ts\": ", mark_name,
                     counters->mark_pid);
    gt_merged_time(out, time - merged->base);
    gt_buffer_text(out, ", \"args\": {");
    for (size_t i = 0; i < merged->trace->series_count; i++) {
        if (!nearest[i])
            continue;
        gt_buffer_text(out, any ? ", " : "");
        gt_json_quote(out, counters->key[i]);
        gt_buffer_text(out, ": ");
        write_number(out, counters->value[nearest[i] - 1]);
        any = true;
    }
    gt_buffer_text(out, "}}");
    merged->marks++;
}

/* Low samples that an earlier mark tells are not marked again. */
static int write_marks(struct counters *counters, struct gt_error *error)
{
    struct gt_merged_trace *merged = counters->merged;
    size_t *nearest = calloc(merged->trace->series_count + 1, sizeof *nearest), from = 0, to = 0;
    int64_t last = INT64_MIN;
    int status = nearest ? 0 : gt_error_system(error, ENOMEM, "merging");
    for (size_t i = 0; i < counters->count && status >= 0; i++) {
        int64_t time = counters->time[i];
        if (!is_low(counters, i) || (last != INT64_MIN && time - last <= NEAR))
            continue;
        if (last == INT64_MIN)
            write_process(merged, counters->mark_pid, mark_name, "", "", -1, NULL);
        for (; from < counters->count && counters->time[from] < time - NEAR; from++)
            ;
        for (; to < counters->count && counters->time[to] <= time + NEAR; to++)
            ;
        write_mark(counters, from, to, time, nearest);
        last = time;
        status = gt_merged_end(merged, error);
    }
    free(nearest);
    return status;
}

int gt_merged_samples(struct gt_merged_trace *merged, struct gt_error *error)
{
    struct counters counters = {.merged = merged};
    struct gt_keys nodes = {0};
    struct gt_query *query = gt_query_new();
    int status = query ? name_series(&counters, merged->metrics, &nodes) : -ENOMEM;
    gt_keys_release(&nodes);
    if (status >= 0) {
        collect(&counters, query);
        status = gt_query_status(query);
    }
    if (status < 0)
        gt_error_system(error, -status, "merging");
    if (status >= 0)
        status = write_counters(&counters, error);
    if (status >= 0 && merged->low_gpu > 0)
        status = write_marks(&counters, error);
    for (size_t i = 0; counters.key && i < merged->trace->series_count; i++)
        free(counters.key[i]);
    free(counters.key);
    free(counters.pid);
    gt_query_free(query);
    return status;
}

void gt_merged_release(struct gt_merged_trace *merged)
{
    gt_buffer_release(&merged->out);
    gt_buffer_release(&merged->scratch);
    free(merged->lane);
    free(merged->process);
}
