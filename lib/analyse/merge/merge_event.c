/* Events as they go into a merged file: the members they had, with new times, processes, threads and ids. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/merge/merge_parts.h"
#include "base/json_write.h"

/* Millions of numbers: printf would take most of the time of a merge. */
static void write_whole(struct gt_buffer *out, uint64_t number, int least)
{
    char digits[20], *at = digits + sizeof digits;
    for (; number || least > 0; number /= 10, least--)
        *--at = (char)('0' + number % 10);
    gt_buffer_append(out, at, (size_t)(digits + sizeof digits - at));
}

static void write_integer(struct gt_buffer *out, int64_t number)
{
    if (number < 0)
        gt_buffer_char(out, '-');
    write_whole(out, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

void gt_merge_time(struct gt_buffer *out, int64_t ns)
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

void gt_merge_begin_event(struct gt_merge *merge)
{
    gt_buffer_text(gt_merged_file_text(merge->file), ",\n");
}

void gt_merge_touch(struct gt_merge *merge, int64_t start, int64_t end)
{
    merge->first = start < merge->first ? start : merge->first;
    merge->last = end > merge->last ? end : merge->last;
}

static void write_metadata(struct gt_merge *merge, const char *what, int64_t pid, int64_t tid)
{
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    gt_merge_begin_event(merge);
    gt_buffer_printf(out, "{\"name\": \"%s\", \"ph\": \"M\", \"pid\": %" PRId64, what, pid);
    if (tid >= 0)
        gt_buffer_printf(out, ", \"tid\": %" PRId64, tid);
    gt_buffer_text(out, ", \"args\": {");
}

void gt_merge_process(struct gt_merge *merge, int64_t pid, const char *name, const char *label)
{
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    write_metadata(merge, "process_name", pid, -1);
    gt_buffer_text(out, "\"name\": ");
    gt_json_quote(out, name);
    gt_buffer_text(out, "}}");
    write_metadata(merge, "process_sort_index", pid, -1);
    gt_buffer_printf(out, "\"sort_index\": %" PRId64 "}}", pid);
    if (!*label)
        return;
    write_metadata(merge, "process_labels", pid, -1);
    gt_buffer_text(out, "\"labels\": ");
    gt_json_quote(out, label);
    gt_buffer_text(out, "}}");
}

/* A process is named when its first event comes: one that is filtered away leaves no empty row in the viewer. */
static void tell_process(struct gt_merge *merge, uint32_t number)
{
    const struct gt_trace *trace = merge->trace;
    const struct gt_trace_process *process = &trace->process[number];
    char label[600];
    const char *own = gt_trace_text(trace, process->label),
               *node = gt_trace_text(trace, trace->file[process->file].node);
    struct gt_merge_process *first = &merge->process[merge->process[number].first];
    if (first->is_told)
        return;
    first->is_told = true;
    snprintf(label, sizeof label, "%s%s%s", own, *own && *node ? ", " : "", node);
    const char *name = process->name == GT_TRACE_NONE ? "" : gt_trace_text(trace, process->name);
    char by_pid[200];
    snprintf(by_pid, sizeof by_pid, "process %s", gt_trace_text(trace, process->pid));
    gt_merge_process(merge, first->pid, *name ? name : by_pid, label);
}

static void tell_thread(struct gt_merge *merge, uint32_t number)
{
    struct gt_merge_lane *lane = &merge->lane[merge->lane[number].first];
    const struct gt_trace_track *track = &merge->trace->track[number];
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    const char *name = gt_trace_text(merge->trace, track->name), *tid = gt_trace_text(merge->trace, track->tid);
    char number_text[24];
    snprintf(number_text, sizeof number_text, "%" PRId64, lane->tid);
    if (lane->is_told)
        return;
    lane->is_told = true;
    if (track->sort != INT64_MAX) {
        write_metadata(merge, "thread_sort_index", lane->pid, lane->tid);
        gt_buffer_printf(out, "\"sort_index\": %" PRId64 "}}", track->sort);
    }
    if (!*name && strcmp(tid, number_text) != 0)
        name = tid; /* its number was changed: the old one is its name */
    if (!*name)
        return;
    write_metadata(merge, "thread_name", lane->pid, lane->tid);
    gt_buffer_text(out, "\"name\": ");
    gt_json_quote(out, name);
    gt_buffer_text(out, "}}");
}

static bool is_rewritten(struct gt_span key)
{
    static const char *const keys[] = {"name", "ph", "ts", "dur", "pid", "tid", "id", "args"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (gt_span_is(key, keys[i]))
            return true;
    return false;
}

static void write_apart(struct gt_merge *merge, const struct gt_trace_event *event, struct gt_span id)
{
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    uint32_t file = merge->trace->process[merge->trace->track[event->track].process].file;
    id = gt_span_unquoted(id);
    gt_buffer_printf(out, "\"%u:", gt_trace_node_of(merge->trace, file));
    gt_buffer_append(out, id.text, id.length);
    gt_buffer_char(out, '"');
}

/* {"local": 7} counts within a process, and stays; {"global": 7} counts everywhere. */
static void write_scoped_id(struct gt_merge *merge, const struct gt_trace_event *event)
{
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    struct gt_walk walk;
    struct gt_span key, value;
    const char *comma = "";
    if (gt_walk_open(&walk, event->item->id) < 0)
        return;
    gt_buffer_text(out, ", \"id2\": {");
    while (gt_walk_member(&walk, &key, &value) > 0) {
        gt_buffer_printf(out, "%s\"%.*s\": ", comma, (int)key.length, key.text);
        if (gt_span_is(key, "global"))
            write_apart(merge, event, value);
        else
            gt_buffer_append(out, value.text, value.length);
        comma = ", ";
    }
    gt_buffer_char(out, '}');
}

/* Flows and asynchronous events of two nodes may bear the same id. */
static void write_id(struct gt_merge *merge, const struct gt_trace_event *event)
{
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    struct gt_span id = event->item->id;
    bool as_is = merge->nodes < 2 || event->phase == 'C' || event->phase == 'X';
    if (!id.text || (*id.text == '{' && as_is))
        return; /* an id2 as it is comes with the other members */
    if (*id.text == '{') {
        write_scoped_id(merge, event);
        return;
    }
    gt_buffer_text(out, ", \"id\": ");
    if (as_is)
        gt_buffer_append(out, id.text, id.length);
    else
        write_apart(merge, event, id);
}

static void write_others(struct gt_buffer *out, struct gt_span text, bool has_scoped_id)
{
    struct gt_walk walk;
    struct gt_span key, value;
    if (!text.text || gt_walk_open(&walk, text) < 0)
        return;
    while (gt_walk_member(&walk, &key, &value) > 0) {
        if (is_rewritten(key) || (has_scoped_id && gt_span_is(key, "id2")))
            continue;
        gt_buffer_text(out, ", \"");
        gt_buffer_append(out, key.text, key.length);
        gt_buffer_text(out, "\": ");
        gt_buffer_append(out, value.text, value.length);
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

int gt_merge_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct gt_merge *merge = context;
    const struct gt_merge_lane *lane = &merge->lane[event->track];
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    tell_process(merge, merge->trace->track[event->track].process);
    tell_thread(merge, event->track);
    gt_merge_begin_event(merge);
    size_t from = out->length;
    gt_buffer_text(out, "{\"name\": ");
    gt_json_quote(out, gt_trace_text(merge->trace, event->name));
    gt_buffer_text(out, ", \"ph\": \"");
    gt_buffer_char(out, event->phase);
    gt_buffer_text(out, "\", \"pid\": ");
    write_integer(out, lane->pid);
    if (*gt_trace_text(merge->trace, merge->trace->track[event->track].tid)) {
        gt_buffer_text(out, ", \"tid\": ");
        write_integer(out, lane->tid);
    }
    if (!(event->flag & GT_TRACE_NO_TIME)) {
        gt_buffer_text(out, ", \"ts\": ");
        gt_merge_time(out, event->start - merge->base);
        gt_merge_touch(merge, event->start, event->start + event->duration);
    }
    if (event->phase == 'X') {
        gt_buffer_text(out, ", \"dur\": ");
        gt_merge_time(out, event->duration);
    }
    size_t before = out->length;
    write_id(merge, event);
    bool has_scoped_id = out->length > before && *event->item->id.text == '{';
    if (!event->item->text.text && event->item->category.text)
        gt_buffer_printf(out, ", \"cat\": \"%.*s\"", (int)event->item->category.length, event->item->category.text);
    write_others(out, event->item->text, has_scoped_id);
    if (event->item->args.text) {
        gt_buffer_text(out, ", \"args\": ");
        gt_buffer_append(out, event->item->args.text, event->item->args.length);
    }
    gt_buffer_char(out, '}');
    if (event->item->has & GT_RAW_EVENT_MENDED)
        mend(out, from);
    merge->events++;
    return gt_merged_file_flush(merge->file, error);
}
