/* XLA's profiles (xplane.pb) of JAX, TensorFlow and PyTorch/XLA: a plane for each device and host, in it lines of events,
 * whose names stand once. The layout: xprof's xplane.proto. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/json.h"
#include "trace/format.h"
#include "trace/formats/smdebug.h"
#include "trace/input/protobuf.h"

/* Numbers of fields. */
enum {
    SPACE_PLANE = 1,
    PLANE_NAME = 2,
    PLANE_LINE = 3,
    PLANE_EVENTS = 4,
    PLANE_STATS = 5,
    LINE_ID = 1,
    LINE_NAME = 2,
    LINE_TIME = 3,
    LINE_EVENT = 4,
    LINE_SHOWN = 11,
    EVENT_NAME = 1,
    EVENT_OFFSET = 2,
    EVENT_DURATION = 3,
    EVENT_STAT = 4,
    META_NAME = 2,
    META_SHOWN = 4,
    STAT_NAME = 1,
    STAT_DOUBLE = 2,
    STAT_UNSIGNED = 3,
    STAT_SIGNED = 4,
    STAT_TEXT = 5,
    STAT_REFERENCE = 7
};

struct plane {
    struct gt_reading *reading;
    struct gt_span name;
    struct gt_texts events, stats; /* their names */
    struct gt_buffer pid, tid, title, args;
};

static int probe_xplane(const struct gt_trace_probe *probe)
{
    return gt_path_ends(probe->name, ".xplane.pb") || gt_path_ends(probe->name, ".xplane.pb.gz") ? 65 : 0;
}

/* An entry of a map: the key in field 1, in field 2 a message with the name. */
static int add_name(struct gt_texts *names, struct gt_span entry)
{
    struct gt_proto proto = gt_proto_of(entry), inner;
    struct gt_proto_field field, member;
    struct gt_span name = {0}, shown = {0};
    uint64_t id = 0;
    while (gt_proto_next(&proto, &field) > 0) {
        id = field.number == 1 ? field.value : id;
        if (field.number != 2 || !field.bytes.text)
            continue;
        inner = gt_proto_of(field.bytes);
        while (gt_proto_next(&inner, &member) > 0)
            if (member.number == META_NAME && member.bytes.text)
                name = member.bytes;
            else if (member.number == META_SHOWN && member.bytes.text)
                shown = member.bytes;
    }
    return gt_texts_add(names, id, shown.length ? shown : name); /* long names are whole programs */
}

/* ---- events ---- */

static void write_stat(struct plane *plane, struct gt_span stat)
{
    struct gt_proto proto = gt_proto_of(stat);
    struct gt_proto_field field;
    struct gt_buffer value = {0};
    struct gt_span name = {0};
    while (gt_proto_next(&proto, &field) > 0) {
        if (field.number == STAT_NAME)
            name = gt_texts_find(&plane->stats, field.value);
        else if (field.number == STAT_DOUBLE)
            gt_buffer_printf(&value, "%.17g", gt_proto_double(&field));
        else if (field.number == STAT_UNSIGNED)
            gt_buffer_printf(&value, "%" PRIu64, field.value);
        else if (field.number == STAT_SIGNED)
            gt_buffer_printf(&value, "%" PRId64, (int64_t)field.value);
        else if (field.number == STAT_TEXT)
            gt_span_quote(&value, field.bytes);
        else if (field.number == STAT_REFERENCE)
            gt_span_quote(&value, gt_texts_find(&plane->stats, field.value));
    }
    if (name.length && value.length) {
        gt_buffer_text(&plane->args, plane->args.length > 1 ? "," : "");
        gt_span_quote(&plane->args, name);
        gt_buffer_printf(&plane->args, ":%s", value.data);
    }
    gt_buffer_release(&value);
}

static int take_event(struct plane *plane, struct gt_span bytes, int64_t line_start, uint32_t track)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    uint64_t name = 0;
    int64_t offset = 0, duration = 0;
    int more;
    gt_buffer_clear(&plane->title);
    gt_buffer_clear(&plane->args);
    gt_buffer_char(&plane->args, '{');
    while ((more = gt_proto_next(&proto, &field)) > 0) {
        name = field.number == EVENT_NAME ? field.value : name;
        offset = field.number == EVENT_OFFSET ? (int64_t)field.value : offset;
        duration = field.number == EVENT_DURATION ? (int64_t)field.value : duration;
        if (field.number == EVENT_STAT && field.bytes.text)
            write_stat(plane, field.bytes);
    }
    gt_buffer_char(&plane->args, '}');
    gt_span_quote(&plane->title, gt_texts_find(&plane->events, name));
    if (plane->args.failed || plane->title.failed)
        return -ENOMEM;
    int64_t start;
    if (more < 0 || duration < 0 || __builtin_add_overflow(line_start, offset / 1000, &start)) {
        gt_reading_file(plane->reading)->damage.bad_events++;
        return 0;
    }
    struct gt_raw_event item = gt_raw_event_of(gt_span_in_quotes(&plane->title), start,
                                               duration / 1000); /* picoseconds */
    item.args = (struct gt_span){plane->args.data, plane->args.length};
    gt_raw_event_arguments(&item);
    return gt_reading_event(plane->reading, &item, item.name, track, 0);
}

/* ---- lines and planes ---- */

static int take_line(struct plane *plane, struct gt_span bytes)
{
    struct gt_proto proto = gt_proto_of(bytes), again = proto;
    struct gt_proto_field field;
    struct gt_span name = {0}, shown = {0};
    int64_t id = 0, start = 0;
    while (gt_proto_next(&proto, &field) > 0) {
        id = field.number == LINE_ID ? (int64_t)field.value : id;
        start = field.number == LINE_TIME ? (int64_t)field.value : start;
        name = field.number == LINE_NAME ? field.bytes : name;
        shown = field.number == LINE_SHOWN ? field.bytes : shown;
    }
    gt_buffer_clear(&plane->pid);
    gt_buffer_clear(&plane->tid);
    gt_span_quote(&plane->pid, plane->name);
    gt_buffer_printf(&plane->tid, "%" PRId64, id);
    if (plane->pid.failed || plane->tid.failed)
        return -ENOMEM;
    int64_t track = gt_reading_track(plane->reading, gt_span_in_quotes(&plane->pid),
                                     (struct gt_span){plane->tid.data, plane->tid.length}, (struct gt_span){0});
    name = shown.length ? shown : name;
    int64_t title = track < 0 || !name.length ? track
                                              : gt_strings_add(&plane->reading->trace->strings, name.text, name.length);
    if (title < 0)
        return (int)title;
    if (name.length)
        plane->reading->trace->track[track].name = (uint32_t)title;
    int status = 0;
    while (status >= 0 && gt_proto_next(&again, &field) > 0)
        if (field.number == LINE_EVENT && field.bytes.text)
            status = take_event(plane, field.bytes, start, (uint32_t)track);
    return status;
}

/* Names stand behind the lines that use them: the plane is gone through twice. */
static int take_plane(struct gt_reading *reading, struct gt_span bytes)
{
    struct plane plane = {.reading = reading};
    struct gt_proto proto = gt_proto_of(bytes), again = proto;
    struct gt_proto_field field;
    int status = 0, more;
    while (status >= 0 && (more = gt_proto_next(&proto, &field)) > 0) {
        if (field.number == PLANE_NAME)
            plane.name = field.bytes;
        else if ((field.number == PLANE_EVENTS || field.number == PLANE_STATS) && field.bytes.text)
            status = add_name(field.number == PLANE_EVENTS ? &plane.events : &plane.stats, field.bytes);
    }
    gt_texts_sort(&plane.events);
    gt_texts_sort(&plane.stats);
    while (status >= 0 && (more = gt_proto_next(&again, &field)) > 0)
        if (field.number == PLANE_LINE && field.bytes.text)
            status = take_line(&plane, field.bytes);
    if (status >= 0 && more < 0)
        status = -EBADMSG;
    free(plane.events.text);
    free(plane.stats.text);
    gt_buffer_release(&plane.pid);
    gt_buffer_release(&plane.tid);
    gt_buffer_release(&plane.title);
    gt_buffer_release(&plane.args);
    return status;
}

static int read_planes(struct gt_reading *reading, struct gt_proto_file *input, struct gt_error *error)
{
    struct gt_trace_damage *damage = &gt_reading_file(reading)->damage;
    struct gt_proto_field field;
    int status;
    while ((status = gt_proto_file_next(input, &field, error)) > 0) {
        if (field.number == SPACE_PLANE && field.bytes.text)
            status = take_plane(reading, field.bytes);
        if (status == -EBADMSG) {
            gt_reading_bad(reading, input->offset + input->at, "a plane that is damaged");
        } else if (status < 0) {
            return status;
        }
    }
    if (status != -EBADMSG)
        return status;
    damage->cut_off = true;
    damage->lost_bytes += input->bytes.length - input->at;
    gt_damage_note(damage, input->offset + input->at, "the profile ends or is damaged here%s",
                   gt_trace_has_twin(gt_reading_file(reading)->path, GT_XPLANE, GT_XPLANE_JSON)
                       ? ": <host>" GT_XPLANE_JSON " beside it has the same events"
                       : "");
    return 0;
}

/* The host is in the file's name: "<host>.xplane.pb". Times count from the epoch where they are of our age. */
static int read_xplane(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_proto_file input = {0};
    struct gt_trace_file *file = gt_reading_file(reading);
    struct gt_span host = gt_path_part(file->path, 0);
    const char *end = memmem(host.text, host.length, ".xplane.pb", 10);
    host.length = end ? (size_t)(end - host.text) : 0;
    int status = gt_names_file(reading, host, 1);
    if (status >= 0)
        status = gt_input_open(&input.input, path, reading->options->ceiling, error);
    if (status >= 0)
        status = read_planes(reading, &input, error);
    if (file->first != INT64_MAX && file->first >= INT64_C(946684800) * 1000000000 && file->clock == GT_CLOCK_UNKNOWN)
        file->clock = GT_CLOCK_RECORD;
    gt_reading_end(reading, input.input, input.offset + input.bytes.length);
    gt_proto_file_release(&input);
    return status;
}

const struct gt_trace_format gt_trace_xplane = {
    .name = "xplane",
    .help = "XLA's profiles (.xplane.pb): JAX, TensorFlow, PyTorch/XLA",
    .probe = probe_xplane,
    .read = read_xplane,
};
