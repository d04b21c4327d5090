/* Perfetto's traces in protobuf, packet by packet: events of tracks with interned names, and counters. What the kernel
 * recorded (ftrace) is passed over. The layout: Perfetto's protos/perfetto/trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/json.h"
#include "trace/format.h"
#include "trace/input/input.h"
#include "trace/pairing.h"

/* ---- messages, read field by field without a schema: https://protobuf.dev/programming-guides/encoding ---- */

struct proto {
    const unsigned char *at, *end;
};

struct proto_field {
    uint32_t number;
    uint64_t value;       /* a varint, or four or eight bytes as they stand */
    struct gt_span bytes; /* a text or a message; {NULL} for numbers */
};

static struct proto proto_of(struct gt_span bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.text;
    return (struct proto){at, at ? at + bytes.length : at};
}
enum { VARINT = 0, EIGHT = 1, LENGTH = 2, FOUR = 5, BLOCK = 256 * 1024, LONGEST = 1 << 30, LONGEST_HEAD = 20 };

static bool read_varint(struct proto *proto, uint64_t *ret)
{
    *ret = 0;
    for (int shift = 0; shift < 70 && proto->at < proto->end; shift += 7) {
        unsigned char byte = *proto->at++;
        if (shift < 64)
            *ret |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Up to the length of a text or message, which may lie beyond the end. */
static bool read_head(struct proto *proto, struct proto_field *field, int *type, uint64_t *length)
{
    uint64_t tag;
    if (!read_varint(proto, &tag) || !(tag >> 3) || tag >> 3 > UINT32_MAX)
        return false;
    *field = (struct proto_field){.number = (uint32_t)(tag >> 3)};
    *type = (int)(tag & 7);
    *length = *type == EIGHT ? 8 : *type == FOUR ? 4 : 0;
    if (*type == VARINT)
        return read_varint(proto, &field->value);
    if (*type == LENGTH)
        return read_varint(proto, length);
    return *type == EIGHT || *type == FOUR;
}

/* Returns 1 for a field, 0 at the end, -EBADMSG. */
static int proto_next(struct proto *proto, struct proto_field *field)
{
    int type;
    uint64_t length;
    if (proto->at == proto->end)
        return 0;
    if (!read_head(proto, field, &type, &length) || length > (uint64_t)(proto->end - proto->at))
        return -EBADMSG;
    if (type == LENGTH)
        field->bytes = (struct gt_span){(const char *)proto->at, (size_t)length};
    else if (type != VARINT)
        memcpy(&field->value, proto->at, (size_t)length); /* little-endian, as all machines are that this runs on */
    proto->at += length;
    return 1;
}

static double proto_double(const struct proto_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof value);
    return value;
}

/* A member of a structure that a field is kept in: a number (uint64_t) or bytes. Of several fields of one number the last counts. */
struct proto_member {
    uint32_t number; /* 0 behind the last */
    bool is_bytes;
    size_t offset;
};
#define NUMBER(number, type, member)          \
    {                                         \
        number, false, offsetof(type, member) \
    }
#define BYTES(number, type, member)          \
    {                                        \
        number, true, offsetof(type, member) \
    }

/* Returns 0, or -EBADMSG where the message is damaged. */
static int proto_read(struct gt_span message, void *to, const struct proto_member *members)
{
    struct proto proto = proto_of(message);
    struct proto_field field;
    int more;
    while ((more = proto_next(&proto, &field)) > 0)
        for (const struct proto_member *member = members; member->number; member++)
            if (member->number == field.number && member->is_bytes == (field.bytes.text != NULL))
                memcpy((char *)to + member->offset,
                       member->is_bytes ? (const void *)&field.bytes : (const void *)&field.value,
                       member->is_bytes ? sizeof field.bytes : sizeof field.value);
    return more;
}

/* A file is a message whose fields are read one at a time, in memory for the longest. */
struct proto_file {
    struct gt_input *input;
    struct gt_buffer bytes;
    size_t at;
    uint64_t offset;
    bool at_end;
};

/* Makes `wanted` bytes be there, or as many as the file has. */
static int fill(struct proto_file *file, size_t wanted, struct gt_error *error)
{
    struct gt_buffer *bytes = &file->bytes;
    if (bytes->length - file->at >= wanted || file->at_end)
        return 0;
    if (file->at) {
        memmove(bytes->data, bytes->data + file->at, bytes->length - file->at);
        bytes->length -= file->at;
        file->offset += file->at;
        file->at = 0;
    }
    size_t more = wanted - bytes->length > BLOCK ? wanted - bytes->length : BLOCK;
    if (gt_buffer_reserve(bytes, more) < 0)
        return gt_error_system(error, ENOMEM, "reading a message");
    ssize_t got = gt_input_read(file->input, bytes->data + bytes->length, more, error);
    if (got < 0)
        return (int)got;
    bytes->length += (size_t)got;
    file->at_end = (size_t)got < more;
    return 0;
}

/* Takes `head` bytes and the `length` that follow them; -EBADMSG where the file ends before. */
static int take(struct proto_file *file, size_t head, uint64_t length, struct gt_span *ret, struct gt_error *error)
{
    if (length > LONGEST)
        return -EBADMSG;
    int status = fill(file, head + (size_t)length, error);
    if (status < 0)
        return status;
    if (file->bytes.length - file->at < head + length)
        return -EBADMSG;
    *ret = (struct gt_span){file->bytes.data + file->at, head + (size_t)length};
    file->at += head + (size_t)length;
    return 1;
}

/* What is there of the next head. */
static struct proto head_of(const struct proto_file *file)
{
    return proto_of((struct gt_span){file->bytes.data + file->at, file->bytes.length - file->at});
}

/* Returns 1 for a field, 0 at the end, -EBADMSG where it is cut off or damaged, or the negative errors of the input. */
static int proto_file_next(struct proto_file *file, struct proto_field *field, struct gt_error *error)
{
    int type, status = fill(file, LONGEST_HEAD, error);
    uint64_t length;
    struct gt_span whole;
    if (status < 0)
        return status;
    struct proto proto = head_of(file);
    const unsigned char *begin = proto.at;
    if (proto.at == proto.end)
        return 0;
    if (!read_head(&proto, field, &type, &length))
        return -EBADMSG;
    status = take(file, (size_t)(proto.at - begin), length, &whole, error);
    if (status <= 0)
        return status;
    proto = proto_of(whole);
    return proto_next(&proto, field);
}

/* ---- the format ---- */

enum { TRACE_PACKET = 1 };                                                              /* a field */
enum { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };                                  /* types of events */
enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6, OWN_CLOCKS = 64, MOST_CLOCKS = 128 }; /* clocks */
enum { INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_ANNOTATIONS = 3, INTERNED = 4 };

struct clock {
    bool is_known, is_incremental;
    int64_t multiplier, value, offset; /* ns; offset to the trace's clock */
};

struct sequence {
    uint32_t id, clock; /* clock: of packets that do not name one */
    uint32_t scope;     /* of what is interned; another when that is forgotten, and its numbers are given anew */
    uint64_t track;     /* of events that do not name one */
    struct clock own[MOST_CLOCKS - OWN_CLOCKS];
};

struct track {
    uint64_t uuid, parent;
    int64_t pid, tid;     /* -1: not told */
    uint32_t name, index; /* string; index: of the reading, GT_TRACE_NONE as long as it has no event */
    bool is_gpu;          /* a stream, as rocprofv3 names it */
};

struct perfetto {
    struct gt_reading *reading;
    struct gt_keys interned; /* strings by scope, kind and id */
    uint32_t scopes;         /* how many there are */
    struct sequence *sequence;
    size_t sequence_count, sequence_capacity;
    struct track *track;
    size_t track_count, track_capacity, latest; /* latest: the track of the last event */
    struct gt_pairing pairing;                  /* a lane for each track */
    struct gt_buffer args, name, category;
};

#define NONE UINT64_MAX /* it does not tell */

struct packet {
    struct gt_span event, interned, track, clocks, defaults;
    uint64_t time, clock, flags, sequence, is_cleared;
};
static const struct proto_member packet_members[] = {
    BYTES(6, struct packet, clocks),
    NUMBER(8, struct packet, time),
    NUMBER(10, struct packet, sequence),
    BYTES(11, struct packet, event),
    BYTES(12, struct packet, interned),
    NUMBER(13, struct packet, flags),
    NUMBER(41, struct packet, is_cleared),
    NUMBER(58, struct packet, clock),
    BYTES(59, struct packet, defaults),
    BYTES(60, struct packet, track),
    {0, false, 0},
};

static int probe_perfetto(const struct gt_trace_probe *probe)
{
    struct proto proto = proto_of((struct gt_span){probe->head, probe->length});
    struct proto_field field;
    int packets = 0;
    if (!probe->length || probe->head[0] != 0x0a ||
        gt_path_ends(probe->name, ".xplane.pb")) /* XLA's have planes there */
        return 0;
    while (packets < 8 && proto_next(&proto, &field) > 0) {
        struct proto inner = proto_of(field.bytes);
        struct proto_field member;
        int more = field.number == TRACE_PACKET && field.bytes.text ? 1 : -1;
        while (more > 0)
            more = proto_next(&inner, &member);
        if (more < 0)
            return 0;
        packets++;
    }
    bool has_suffix = gt_path_ends(probe->name, ".pftrace") || gt_path_ends(probe->name, ".perfetto-trace");
    return packets >= 2 ? 60 : packets && has_suffix ? 55 : 0;
}

/* ---- strings ---- */

static int64_t add_string(struct perfetto *perfetto, struct gt_span text)
{
    return gt_strings_add(&perfetto->reading->trace->strings, text.text, text.length);
}

static struct gt_key key_of(uint32_t scope, uint32_t kind, uint64_t id)
{
    return (struct gt_key){{scope, kind, (uint32_t)id, (uint32_t)(id >> 32)}};
}

static int intern(struct perfetto *perfetto, uint32_t scope, uint32_t kind, struct gt_span entry)
{
    struct text {
        uint64_t id;
        struct gt_span text;
    } interned = {.text = {"", 0}};
    static const struct proto_member members[] = {
        NUMBER(1, struct text, id), BYTES(2, struct text, text), {0, false, 0}};
    proto_read(entry, &interned, members);
    int64_t string = add_string(perfetto, interned.text);
    if (string >= 0)
        string = gt_keys_add(&perfetto->interned, key_of(scope, kind, interned.id), (uint32_t)string);
    return string < 0 ? (int)string : 0;
}

static int take_interned(struct perfetto *perfetto, uint32_t scope, struct gt_span data)
{
    struct proto proto = proto_of(data);
    struct proto_field field;
    int status = 0;
    while (status >= 0 && proto_next(&proto, &field) > 0)
        if (field.number < INTERNED && field.bytes.text)
            status = intern(perfetto, scope, field.number, field.bytes);
    return status;
}

/* ---- clocks ---- */

static struct sequence *sequence_of(struct perfetto *perfetto, uint32_t id)
{
    for (size_t i = perfetto->sequence_count; i-- > 0;)
        if (perfetto->sequence[i].id == id)
            return &perfetto->sequence[i];
    struct sequence *sequence = GT_GROW(perfetto, sequence);
    if (sequence)
        *sequence = (struct sequence){.id = id, .clock = BOOTTIME, .scope = perfetto->scopes++};
    return sequence;
}

struct reading_of_clock {
    uint64_t id, time, is_incremental, multiplier;
};
static const struct proto_member clock_members[] = {
    NUMBER(1, struct reading_of_clock, id),
    NUMBER(2, struct reading_of_clock, time),
    NUMBER(3, struct reading_of_clock, is_incremental),
    NUMBER(4, struct reading_of_clock, multiplier),
    {0, false, 0},
};

/* The trace's clock is the time since boot; the time of day gives the base. */
static int take_clocks(struct perfetto *perfetto, struct sequence *sequence, struct gt_span snapshot)
{
    struct proto proto = proto_of(snapshot);
    struct proto_field field;
    struct reading_of_clock own[8];
    int64_t boot = -1, real = -1;
    size_t count = 0;
    while (proto_next(&proto, &field) > 0) {
        if (field.number != 1 || !field.bytes.text)
            continue;
        struct reading_of_clock clock = {0};
        proto_read(field.bytes, &clock, clock_members);
        clock.multiplier += !clock.multiplier;
        boot = clock.id == BOOTTIME || (clock.id == MONOTONIC && boot < 0) ? (int64_t)clock.time : boot;
        real = clock.id == REALTIME ? (int64_t)clock.time : real;
        if (clock.id >= OWN_CLOCKS && clock.id < MOST_CLOCKS && count < sizeof own / sizeof *own)
            own[count++] = clock;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value = (int64_t)(own[i].time * own[i].multiplier);
        sequence->own[own[i].id - OWN_CLOCKS] = (struct clock){true, own[i].is_incremental, (int64_t)own[i].multiplier,
                                                               value, (boot < 0 ? value : boot) - value};
    }
    return boot >= 0 && real > boot ? gt_reading_base(perfetto->reading, real - boot, GT_CLOCK_RECORD) : 0;
}

static int64_t time_of(struct sequence *sequence, const struct packet *packet)
{
    uint64_t id = packet->clock == NONE ? sequence->clock : packet->clock;
    struct clock *clock = id >= OWN_CLOCKS && id < MOST_CLOCKS ? &sequence->own[id - OWN_CLOCKS] : NULL;
    if (!clock || !clock->is_known)
        return (int64_t)packet->time;
    int64_t time = (int64_t)(packet->time * (uint64_t)clock->multiplier);
    if (!clock->is_incremental)
        return (int64_t)((uint64_t)time + (uint64_t)clock->offset);
    clock->value = (int64_t)((uint64_t)clock->value + (uint64_t)time);
    return (int64_t)((uint64_t)clock->value + (uint64_t)clock->offset);
}

/* ---- tracks ---- */

static struct track *track_of(struct perfetto *perfetto, uint64_t uuid)
{
    if (perfetto->latest < perfetto->track_count && perfetto->track[perfetto->latest].uuid == uuid)
        return &perfetto->track[perfetto->latest];
    for (size_t i = perfetto->track_count; i-- > 0;)
        if (perfetto->track[i].uuid == uuid) {
            perfetto->latest = i;
            return &perfetto->track[i];
        }
    struct track *track = GT_GROW(perfetto, track);
    if (track)
        *track = (struct track){.uuid = uuid, .pid = -1, .tid = -1, .name = GT_TRACE_NONE, .index = GT_TRACE_NONE};
    return track;
}

/* Takes a name where there is one. Returns 0 or a negative errno. */
static int take_name(struct perfetto *perfetto, struct gt_span name, uint32_t *ret)
{
    int64_t string = name.text ? add_string(perfetto, name) : 0;
    if (name.text && string >= 0)
        *ret = (uint32_t)string;
    return string < 0 ? (int)string : 0;
}

static int take_track(struct perfetto *perfetto, struct gt_span descriptor)
{
    struct about {
        uint64_t uuid, parent;
        struct gt_span name, static_name, process, thread;
    } about = {0};
    struct owner {
        uint64_t pid, tid;
        struct gt_span process_name, thread_name;
    } owner = {0};
    static const struct proto_member members[] = {NUMBER(1, struct about, uuid),
                                                  BYTES(2, struct about, name),
                                                  BYTES(3, struct about, process),
                                                  BYTES(4, struct about, thread),
                                                  NUMBER(5, struct about, parent),
                                                  BYTES(10, struct about, static_name),
                                                  {0, false, 0}};
    static const struct proto_member owner_members[] = {NUMBER(1, struct owner, pid),
                                                        NUMBER(2, struct owner, tid),
                                                        BYTES(5, struct owner, thread_name),
                                                        BYTES(6, struct owner, process_name),
                                                        {0, false, 0}};
    proto_read(descriptor, &about, members);
    struct track *track = track_of(perfetto, about.uuid);
    if (!track)
        return -ENOMEM;
    track->parent = about.parent ? about.parent : track->parent;
    int status = 0;
    if (track->name == GT_TRACE_NONE)
        status = take_name(perfetto, about.name.text ? about.name : about.static_name, &track->name);
    for (int is_thread = 0; is_thread < 2 && status >= 0; is_thread++) {
        struct gt_span of = is_thread ? about.thread : about.process;
        if (!of.text)
            continue;
        owner = (struct owner){NONE, NONE, {0}, {0}};
        proto_read(of, &owner, owner_members);
        track->pid = owner.pid == NONE ? track->pid : (int32_t)owner.pid;
        track->tid = owner.tid == NONE || !is_thread ? track->tid : (int64_t)owner.tid;
        status = take_name(perfetto, is_thread ? owner.thread_name : owner.process_name, &track->name);
    }
    return status;
}

/* The process of a track is its own, or that of a track above it. */
static const struct track *process_of(struct perfetto *perfetto, const struct track *track)
{
    for (int depth = 0; track && track->pid < 0 && depth < 16; depth++) {
        uint64_t parent = track->parent;
        track = NULL;
        for (size_t i = 0; i < perfetto->track_count && parent; i++)
            if (perfetto->track[i].uuid == parent)
                track = &perfetto->track[i];
    }
    return track;
}

/* ---- rocprofv3 ---- */

/* Returns "Memcpy HtoD" for MEMORY_COPY_HOST_TO_DEVICE, and so on; NULL for others. */
static const char *copy_name(struct gt_span operation)
{
    static const char *const ways[][2] = {{"MEMORY_COPY_HOST_TO_DEVICE", "Memcpy HtoD"},
                                          {"MEMORY_COPY_DEVICE_TO_HOST", "Memcpy DtoH"},
                                          {"MEMORY_COPY_DEVICE_TO_DEVICE", "Memcpy DtoD"},
                                          {"MEMORY_COPY_HOST_TO_HOST", "Memcpy HtoH"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (gt_span_is(operation, ways[i][0]))
            return ways[i][1];
    return NULL;
}

/* Parses the name of a GPU stream of rocprofv3: "COMPUTE AGENT [1] STREAM [3] (GPU)", "COPY to AGENT [1] ...". */
static bool is_rocm_stream(const char *name, int *agent, int *stream)
{
    const char *first = strncmp(name, "COMPUTE ", 8) == 0 || strncmp(name, "COPY to ", 8) == 0 ? strchr(name, '[')
                                                                                               : NULL,
               *second = first ? strchr(first + 1, '[') : NULL;
    return second && strstr(second, "GPU") && sscanf(first, "[%d]", agent) == 1 && sscanf(second, "[%d]", stream) == 1;
}

/* Sets category, launching call, copied bytes and name of an event of rocprofv3. */
static void convert_rocm_event(struct gt_raw_event *item, bool is_of_gpu)
{
    static const struct {
        const char *category, *ours;
        bool of_gpu;
    } sorts[] = {{"hip_api", "hip_runtime", false},
                 {"marker_api", "user_annotation", false},
                 {"kernel_dispatch", "kernel", true},
                 {"memory_copy", "gpu_memcpy", true}};
    struct gt_span call = {0}, bytes = {0};
    int64_t number;
    GT_FIND(item->args, {"corr_id", &call}, {"copy_bytes", &bytes});
    if (!call.text || gt_span_decimal(call, 0, &number) < 0 || number < 0)
        return;
    item->correlation = (uint64_t)number;
    if (bytes.text && gt_span_decimal(bytes, 0, &number) >= 0)
        item->bytes = number;
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
        if (gt_span_is(item->category, sorts[i].category) && is_of_gpu == sorts[i].of_gpu)
            item->category = gt_span_of(sorts[i].ours);
    const char *way = copy_name(item->name);
    item->name = way ? gt_span_of(way) : item->name;
}

/* ---- tracks ---- */

static int name_track(struct perfetto *perfetto, struct track *track)
{
    struct gt_trace *trace = perfetto->reading->trace;
    const struct track *process = process_of(perfetto, track);
    char pid[24], tid[32];
    int agent, stream;
    track->is_gpu = track->name != GT_TRACE_NONE && is_rocm_stream(gt_trace_text(trace, track->name), &agent, &stream);
    if (track->is_gpu) {
        process = NULL;
        snprintf(pid, sizeof pid, "agent %d", agent);
        snprintf(tid, sizeof tid, "%d", stream);
    } else {
        snprintf(pid, sizeof pid, "%" PRId64, process ? process->pid : INT64_C(0));
        if (track->tid >= 0)
            snprintf(tid, sizeof tid, "%" PRId64, track->tid);
        else
            snprintf(tid, sizeof tid, "track %" PRIu64, track->uuid);
    }
    int64_t index = gt_reading_track(perfetto->reading, gt_span_of(pid), gt_span_of(tid), (struct gt_span){0});
    if (index < 0)
        return (int)index;
    track->index = (uint32_t)index;
    if (track->name != GT_TRACE_NONE)
        trace->track[index].name = track->name;
    if (process && process->tid < 0 && process != track && process->name != GT_TRACE_NONE)
        trace->process[trace->track[index].process].name = process->name;
    return 0;
}

/* ---- events ---- */

struct event {
    uint64_t type, track, name_id, category_id;
    struct gt_span name, category;
    bool has_track, has_value;
    double value;
};

static uint32_t string_of(struct perfetto *perfetto, uint32_t scope, uint32_t kind, uint64_t id, struct gt_span text)
{
    if (text.text) {
        int64_t number = add_string(perfetto, text);
        return number < 0 ? GT_TRACE_NONE : (uint32_t)number;
    }
    return id ? gt_keys_find(&perfetto->interned, key_of(scope, kind, id)) : GT_TRACE_NONE;
}

/* An annotation: its name in field 1 (interned) or 10, its value in one of 2 to 6. */
static void write_annotation(struct perfetto *perfetto, uint32_t scope, struct gt_span annotation)
{
    struct proto proto = proto_of(annotation);
    struct proto_field field;
    struct gt_buffer value = {0}, *args = &perfetto->args;
    uint32_t name = GT_TRACE_NONE;
    while (proto_next(&proto, &field) > 0) {
        if (field.number == 1 || field.number == 10)
            name = string_of(perfetto, scope, INTERNED_ANNOTATIONS, field.value, field.bytes);
        else if (field.number == 2)
            gt_buffer_text(&value, field.value ? "true" : "false");
        else if (field.number == 3)
            gt_buffer_printf(&value, "%" PRIu64, field.value);
        else if (field.number == 4)
            gt_buffer_printf(&value, "%" PRId64, (int64_t)field.value);
        else if (field.number == 5)
            gt_buffer_printf(&value, "%.17g", proto_double(&field));
        else if (field.number == 6 && field.bytes.text)
            gt_span_quote(&value, field.bytes);
    }
    if (name != GT_TRACE_NONE && value.length) {
        gt_buffer_char(args, args->length > 1 ? ',' : ' ');
        gt_json_quote(args, gt_trace_text(perfetto->reading->trace, name));
        gt_buffer_printf(args, ":%s", value.data);
    }
    gt_buffer_release(&value);
}

static struct event read_event(struct perfetto *perfetto, uint32_t scope, struct gt_span bytes)
{
    struct proto proto = proto_of(bytes);
    struct proto_field field;
    struct event event = {0};
    gt_buffer_clear(&perfetto->args);
    gt_buffer_char(&perfetto->args, '{');
    while (proto_next(&proto, &field) > 0) { /* a plain switch */
        switch (field.number) {
        case 9: event.type = field.value; break;
        case 10: event.name_id = field.value; break;
        case 23: event.name = field.bytes; break;
        case 3: event.category_id = event.category_id ? event.category_id : field.value; break;
        case 22: event.category = event.category.text ? event.category : field.bytes; break;
        case 11:
            event.track = field.value;
            event.has_track = true;
            break;
        case 30:
            event.value = (double)(int64_t)field.value;
            event.has_value = true;
            break;
        case 44:
            event.value = proto_double(&field);
            event.has_value = true;
            break;
        case 4: write_annotation(perfetto, scope, field.bytes); break;
        default: break;
        }
    }
    gt_buffer_char(&perfetto->args, '}');
    return event;
}

static int hand_on(struct perfetto *perfetto, const struct gt_open_event *open, int64_t end, char phase, uint8_t flag)
{
    const struct gt_trace *trace = perfetto->reading->trace;
    gt_buffer_clear(&perfetto->name);
    gt_buffer_clear(&perfetto->category);
    gt_json_quote(&perfetto->name, open->name == GT_TRACE_NONE ? "" : gt_trace_text(trace, open->name));
    gt_json_quote(&perfetto->category, open->category == GT_TRACE_NONE ? "" : gt_trace_text(trace, open->category));
    if (perfetto->name.failed || perfetto->category.failed)
        return -ENOMEM;
    struct gt_raw_event item = gt_raw_event_of(gt_span_in_quotes(&perfetto->name), open->start,
                                               end > open->start ? end - open->start : 0);
    item.category = (struct gt_span){open->category == GT_TRACE_NONE ? NULL : perfetto->category.data + 1,
                                     open->category == GT_TRACE_NONE ? 0 : perfetto->category.length - 2};
    item.args = (struct gt_span){open->text, open->length};
    item.phase = phase;
    if (open->text) {
        gt_raw_event_arguments(&item);
        convert_rocm_event(&item, perfetto->track[open->lane].is_gpu);
    }
    return gt_reading_event(perfetto->reading, &item, item.name, perfetto->track[open->lane].index, flag);
}

static int close_event(struct perfetto *perfetto, size_t number, int64_t end, uint8_t flag)
{
    struct gt_open_event open = gt_pairing_end(&perfetto->pairing, number);
    int status = hand_on(perfetto, &open, end, 'X', flag);
    free(open.text);
    return status;
}

static int take_counter(struct perfetto *perfetto, const struct track *track, const struct event *event, int64_t time)
{
    const struct gt_trace *trace = perfetto->reading->trace;
    const struct gt_trace_file *file = gt_reading_file(perfetto->reading);
    char name[32];
    snprintf(name, sizeof name, "track %" PRIu64, track->uuid);
    gt_buffer_clear(&perfetto->name);
    gt_json_quote(&perfetto->name, track->name == GT_TRACE_NONE ? name : gt_trace_text(trace, track->name));
    if (!event->has_value || perfetto->name.failed || __builtin_add_overflow(time, file->base, &time))
        return 0;
    struct gt_span text = gt_span_in_quotes(&perfetto->name);
    int64_t series = gt_reading_series(perfetto->reading, gt_span_of("counter"), text, gt_span_of("value"),
                                       (struct gt_span){0});
    return series < 0 ? (int)series : gt_reading_sample(perfetto->reading, (uint32_t)series, time, event->value);
}

static int take_event(struct perfetto *perfetto, struct sequence *sequence, struct gt_span bytes, int64_t time)
{
    struct event event = read_event(perfetto, sequence->scope, bytes);
    struct track *track = track_of(perfetto, event.has_track ? event.track : sequence->track);
    struct gt_trace_damage *damage = &gt_reading_file(perfetto->reading)->damage;
    if (!track || perfetto->args.failed)
        return -ENOMEM;
    int status = track->index == GT_TRACE_NONE ? name_track(perfetto, track) : 0;
    if (status < 0)
        return status;
    bool has_args = perfetto->args.length > 2;
    struct gt_open_event now = {
        .start = time,
        .lane = (uint32_t)(track - perfetto->track),
        .name = string_of(perfetto, sequence->scope, INTERNED_NAMES, event.name_id, event.name),
        .category = string_of(perfetto, sequence->scope, INTERNED_CATEGORIES, event.category_id, event.category),
        .text = has_args ? perfetto->args.data : NULL,
        .length = has_args ? perfetto->args.length : 0};
    if (gt_pairing_see(&perfetto->pairing, now.lane, time) < 0)
        return -ENOMEM;
    if (event.type == BEGIN) {
        status = gt_pairing_begin(&perfetto->pairing, &now);
        damage->unclosed += status > 0;
        return status < 0 ? status : 0;
    }
    if (event.type == INSTANT)
        return hand_on(perfetto, &now, time, 'i', 0);
    if (event.type == COUNTER)
        return take_counter(perfetto, track, &event, time);
    uint32_t top = perfetto->pairing.lane[now.lane].top;
    if (event.type == END && top != GT_TRACE_NONE)
        return close_event(perfetto, top, time, GT_TRACE_PAIRED);
    damage->unopened += event.type == END;
    damage->bad_events += event.type != END;
    return 0;
}

/* ---- packets ---- */

/* The clock of packets, and the track of those that are events. */
static void take_defaults(struct sequence *sequence, struct gt_span bytes)
{
    struct defaults {
        uint64_t clock;
        struct gt_span event;
    } defaults = {.clock = sequence->clock};
    static const struct proto_member members[] = {
        NUMBER(58, struct defaults, clock), BYTES(11, struct defaults, event), {0, false, 0}};
    static const struct proto_member event_members[] = {NUMBER(11, struct sequence, track), {0, false, 0}};
    proto_read(bytes, &defaults, members);
    proto_read(defaults.event, sequence, event_members);
    sequence->clock = (uint32_t)defaults.clock;
}

static int take_packet(struct perfetto *perfetto, struct gt_span bytes)
{
    struct packet packet = {.time = NONE, .clock = NONE};
    if (proto_read(bytes, &packet, packet_members) < 0)
        return -EBADMSG;
    struct sequence *sequence = sequence_of(perfetto, (uint32_t)packet.sequence);
    int status = sequence ? 0 : -ENOMEM;
    if (status >= 0 && (packet.flags & 1 || packet.is_cleared)) {
        sequence->scope = perfetto->scopes++;
        sequence->clock = BOOTTIME;
        sequence->track = 0;
    }
    if (status >= 0 && packet.defaults.text)
        take_defaults(sequence, packet.defaults);
    if (status >= 0 && packet.clocks.text)
        status = take_clocks(perfetto, sequence, packet.clocks);
    if (status >= 0 && packet.track.text)
        status = take_track(perfetto, packet.track);
    if (status >= 0 && packet.interned.text)
        status = take_interned(perfetto, sequence->scope, packet.interned);
    int64_t time = status >= 0 && packet.time != NONE ? time_of(sequence, &packet) : 0;
    if (status >= 0 && packet.event.text)
        status = take_event(perfetto, sequence, packet.event, time);
    return status;
}

static int read_packets(struct perfetto *perfetto, struct proto_file *input, struct gt_error *error)
{
    struct gt_trace_damage *damage = &gt_reading_file(perfetto->reading)->damage;
    struct proto_field field;
    int status;
    while ((status = proto_file_next(input, &field, error)) > 0) {
        status = field.number == TRACE_PACKET && field.bytes.text ? take_packet(perfetto, field.bytes) : 0;
        if (status == -EBADMSG) {
            damage->bad_events++;
            damage->lost_bytes += field.bytes.length;
            gt_damage_note(damage, input->offset + input->at, "a packet that is damaged");
        } else if (status < 0) {
            return status;
        }
    }
    if (status == -EBADMSG) {
        gt_reading_cut_off(perfetto->reading, input->offset + input->at, input->bytes.length - input->at,
                           "the trace ends or is damaged here");
        status = 0;
    }
    return status;
}

static int close_all(struct perfetto *perfetto)
{
    const struct gt_pairing *pairing = &perfetto->pairing;
    int status = 0;
    while (pairing->open_count && status >= 0) {
        size_t last = pairing->open_count - 1;
        gt_reading_file(perfetto->reading)->damage.unclosed++;
        status = close_event(perfetto, last, pairing->lane[pairing->open[last].lane].last,
                             GT_TRACE_PAIRED | GT_TRACE_UNCLOSED);
    }
    return status;
}

static void release(struct perfetto *perfetto)
{
    gt_pairing_release(&perfetto->pairing);
    gt_keys_release(&perfetto->interned);
    free(perfetto->sequence);
    free(perfetto->track);
    gt_buffer_release(&perfetto->args);
    gt_buffer_release(&perfetto->name);
    gt_buffer_release(&perfetto->category);
}

static int read_perfetto(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct perfetto perfetto = {.reading = reading};
    struct proto_file input = {0};
    struct gt_trace_file *file = gt_reading_file(reading);
    int status = gt_input_open(&input.input, path, reading->options->ceiling, error);
    if (status >= 0)
        status = read_packets(&perfetto, &input, error);
    if (status >= 0)
        status = close_all(&perfetto);
    if (status >= 0 && !file->read && !file->samples)
        gt_reading_bad(reading, 0, "no events of tracks: what the kernel recorded (ftrace) is not read");
    gt_reading_end(reading, input.input, input.offset + input.bytes.length);
    release(&perfetto);
    gt_buffer_release(&input.bytes);
    return status;
}

const struct gt_trace_format gt_trace_perfetto = {
    .name = "perfetto",
    .help = "Perfetto's traces in protobuf: events and counters of tracks",
    .probe = probe_perfetto,
    .read = read_perfetto,
};
