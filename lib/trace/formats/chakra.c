/* Chakra's execution traces (.et): a graph of nodes, in messages of protobuf with their lengths before them. Nodes with start times are
 * events. PyTorch's converter writes durations alone, of operators without what they called: these make a profile, for
 * nothing tells when they were. The layout: MLCommons Chakra, schema/protobuf/et_def.proto. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/json.h"
#include "trace/format.h"
#include "trace/formats/smdebug.h"
#include "trace/profile_maker.h"
#include "trace/input/protobuf.h"

/* Numbers of fields. */
enum {
    ABOUT_VERSION = 1,
    ABOUT_ATTRIBUTE = 2,
    NODE_ID = 1,
    NODE_NAME = 2,
    NODE_TYPE = 3,
    NODE_CONTROL = 4,
    NODE_START = 6,
    NODE_DURATION = 7,
    NODE_INPUTS = 8,
    NODE_ATTRIBUTE = 10,
    NODE_LAST = 11,
    INPUTS_SHAPES = 2,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_ABOUT = 2
};

enum { METADATA = 1, LOAD, STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE, TYPES = 11 };
enum { ALL_GATHER = 2, GATHER = 3, COMMUNICATIONS = 10 };
#define UNTRIED GT_TRACE_NONE /* of frames: not sought yet, and being sought */
#define BUSY (GT_TRACE_NONE - 1)
#define OUR_AGE INT64_C(946684800000000) /* us; times before count from the begin of the trace */

static const char *const type_names[TYPES] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                              "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
                                              "STORAGE_NODE", "BATCH_NODE",     "CHECKPOINT_NODE"};

struct node {
    uint64_t id, parent, start, duration, type; /* times in us; 0: not told */
    struct gt_span name, shapes, group;
    int64_t is_cpu, stream, tid, communication, bytes; /* -1: not told */
    bool has_parent, is_nested; /* is_nested: PyTorch's, whose parent is the operator that called it */
};

/* What becomes of a node in a profile. */
struct part {
    uint64_t id, parent; /* parent: its own id where there is none */
    double seconds;
    uint32_t function, lane, frame, depth; /* lane: the function it stands below where it has no parent */
};

struct chakra {
    struct gt_reading *reading;
    uint64_t timed, lasting; /* nodes with a start; with a start or a duration */
    uint64_t first;          /* the least start, us */
    struct gt_buffer name, args, tid;
    struct gt_profile_maker maker;
    struct part *part;
    size_t part_count, part_capacity;
    struct gt_keys ids;
    uint32_t *way; /* from a part to the frames above it that are known */
};

/* ---- messages ---- */

static int64_t signed_of(uint64_t value)
{
    return value <= INT64_MAX ? (int64_t)value : -1;
}

/* The value is in the field of its type; all whole ones but the zigzag ones are the number itself. One that is not written is 0. */
static int read_attribute(struct gt_span bytes, struct node *node)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    struct gt_span name = {"", 0}, text = {0};
    int64_t number = 0;
    int more;
    while ((more = gt_proto_next(&proto, &field)) > 0) {
        if (field.number == ATTRIBUTE_NAME && field.bytes.text)
            name = field.bytes;
        else if (field.number > ATTRIBUTE_ABOUT && field.bytes.text)
            text = field.bytes;
        else if (field.number > ATTRIBUTE_ABOUT)
            number = signed_of(field.value);
    }
    const struct {
        const char *name;
        int64_t *to;
    } numbers[] = {{"is_cpu_op", &node->is_cpu},        {"stream", &node->stream},   {"tid", &node->tid},
                   {"comm_type", &node->communication}, {"comm_size", &node->bytes}, {"tensor_size", &node->bytes}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (gt_span_is(name, numbers[i].name))
            *numbers[i].to = number;
    if (gt_span_is(name, "pg_name") && text.text)
        node->group = text;
    node->is_nested |= gt_span_is(name, "op_schema");
    return more;
}

/* A list of numbers is one field for all, or one for each. */
static void read_parent(const struct gt_proto_field *field, struct node *node)
{
    struct gt_proto packed = gt_proto_of(field->bytes);
    uint64_t id = field->value;
    if (!node->has_parent && (!field->bytes.text || gt_proto_varint(&packed, &id))) {
        node->parent = id;
        node->has_parent = true;
    }
}

static struct gt_span shapes_of(struct gt_span inputs)
{
    struct gt_proto proto = gt_proto_of(inputs);
    struct gt_proto_field field;
    struct gt_span shapes = {0};
    while (gt_proto_next(&proto, &field) > 0)
        shapes = field.number == INPUTS_SHAPES ? field.bytes : shapes;
    return shapes;
}

/* Returns 0, or -EBADMSG where it is no node. */
static int read_node(struct gt_span bytes, struct node *node)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    int more;
    *node = (struct node){.is_cpu = -1, .stream = -1, .tid = -1, .communication = -1, .bytes = -1};
    while ((more = gt_proto_next(&proto, &field)) > 0) { /* a plain switch */
        if (field.number > NODE_LAST || (field.number == NODE_NAME && !field.bytes.text))
            return -EBADMSG;
        switch (field.number) {
        case NODE_ID: node->id = field.value; break;
        case NODE_NAME: node->name = field.bytes; break;
        case NODE_TYPE: node->type = field.value; break;
        case NODE_CONTROL: read_parent(&field, node); break;
        case NODE_START: node->start = field.value; break;
        case NODE_DURATION: node->duration = field.value; break;
        case NODE_INPUTS: node->shapes = shapes_of(field.bytes); break;
        case NODE_ATTRIBUTE: more = read_attribute(field.bytes, node); break;
        default: break;
        }
        if (more < 0)
            return more;
    }
    bool fits = node->type < TYPES && node->start <= INT64_MAX / 2000 && node->duration <= INT64_MAX / 2000;
    return more < 0 || !fits ? -EBADMSG : 0;
}

/* The version, and attributes with names. */
static bool is_about(struct gt_span bytes)
{
    struct gt_proto proto = gt_proto_of(bytes);
    struct gt_proto_field field;
    int more;
    while ((more = gt_proto_next(&proto, &field)) > 0)
        if ((field.number != ABOUT_VERSION && field.number != ABOUT_ATTRIBUTE) || !field.bytes.text)
            return false;
    return more == 0;
}

/* A graph without times is not read: what it is others say. */
static int probe_chakra(const struct gt_trace_probe *probe)
{
    struct gt_proto proto = gt_proto_of((struct gt_span){probe->head, probe->length});
    uint64_t length;
    int nodes = 0;
    bool has_time = false, is_first = true, is_bad = false;
    while (!is_bad && proto.at < proto.end && gt_proto_varint(&proto, &length) &&
           length <= (uint64_t)(proto.end - proto.at)) {
        struct gt_span message = {(const char *)proto.at, (size_t)length};
        struct node node;
        proto.at += length;
        is_bad = is_first ? !is_about(message) : read_node(message, &node) < 0;
        has_time |= !is_first && !is_bad && (node.start || node.duration);
        nodes += !is_first && !is_bad;
        is_first = false;
    }
    if (!nodes || (probe->is_whole && !has_time))
        return 0;
    bool is_named = gt_path_ends(probe->name, ".et") || strstr(probe->name, ".et.");
    return is_named ? 75 : nodes >= 2 && has_time && !is_bad ? 50 : 0;
}

/* Hands over all nodes; damage is counted where `counts`. */
static int each_node(struct chakra *chakra, const char *path, int (*take)(struct chakra *, const struct node *),
                     bool counts, struct gt_error *error)
{
    struct gt_proto_file input = {0};
    struct gt_trace_file *file = gt_reading_file(chakra->reading);
    struct gt_trace_damage unused = {0}, *damage = counts ? &file->damage : &unused;
    struct gt_span message;
    struct node node;
    bool is_first = true;
    int status = gt_input_open(&input.input, path, chakra->reading->options->ceiling, error);
    while (status >= 0 && (status = gt_proto_file_message(&input, &message, error)) > 0) {
        if (!is_first && read_node(message, &node) < 0) {
            damage->bad_events++;
            damage->lost_bytes += message.length;
            gt_damage_note(damage, input.offset + input.at - message.length, "a node that is damaged");
        } else if (!is_first) {
            status = take(chakra, &node);
        }
        is_first = false;
    }
    const char *trouble = input.input ? gt_input_trouble(input.input) : NULL;
    if (status == -EBADMSG || trouble) {
        damage->cut_off = true;
        damage->lost_bytes += input.bytes.length - input.at;
        gt_damage_note(damage, input.offset + input.at, "%s", trouble ? trouble : "the trace ends or is damaged here");
        status = status == -EBADMSG ? 0 : status;
    }
    file->bytes = input.offset + input.bytes.length;
    gt_proto_file_release(&input);
    gt_input_close(input.input);
    return status;
}

static int survey(struct chakra *chakra, const struct node *node)
{
    chakra->timed += node->start > 0;
    chakra->lasting += node->start || node->duration;
    if (node->start && (!chakra->first || node->start < chakra->first))
        chakra->first = node->start;
    return 0;
}

/* ---- what a node is ---- */

static bool is_communication(const struct node *node)
{
    return node->type == SEND || node->type == RECEIVE || node->type == COLLECTIVE;
}

static bool is_memory(const struct node *node)
{
    return node->type == LOAD || node->type == STORE;
}

static bool begins(struct gt_span text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= length && memcmp(text.text, with, length) == 0;
}

/* Simulators take what does not say so for the CPU's; communication and copies between memories are never operators. */
static bool is_of_gpu(const struct node *node)
{
    bool may_be = node->type == COMPUTE || is_communication(node) || is_memory(node);
    return may_be && (node->is_cpu < 0 ? node->type != COMPUTE : !node->is_cpu);
}

static const char *category_of(const struct node *node)
{
    static const char *const others[TYPES] = {
        [METADATA] = "metadata", [8] = "storage", [9] = "batch", [10] = "checkpoint"};
    if (!is_of_gpu(node))
        return others[node->type] ? others[node->type] : "cpu_op";
    return begins(node->name, "Memset")                      ? "gpu_memset"
           : is_memory(node) || begins(node->name, "Memcpy") ? "gpu_memcpy"
                                                             : "kernel";
}

/* Of the GPU: the stream, else what sort of work it is. */
static struct gt_span lane_of(struct chakra *chakra, const struct node *node)
{
    gt_buffer_clear(&chakra->tid);
    if (is_of_gpu(node) && node->stream < 0)
        gt_buffer_text(&chakra->tid, is_communication(node) ? "communication" : is_memory(node) ? "memory" : "compute");
    else if (is_of_gpu(node) || node->tid >= 0)
        gt_buffer_printf(&chakra->tid, "%" PRId64, is_of_gpu(node) ? node->stream : node->tid);
    else
        gt_buffer_text(&chakra->tid, "");
    return (struct gt_span){chakra->tid.data ? chakra->tid.data : "", chakra->tid.length};
}

/* ---- nodes with start times: events ---- */

/* A kernel of a communication bears a name by which it is known: NCCL's own, or that of its type. */
static void write_name(struct chakra *chakra, const struct node *node)
{
    bool is_known = begins(node->name, "nccl") || begins(node->name, "rccl") || begins(node->name, "COMM_");
    gt_buffer_clear(&chakra->args);
    if (is_communication(node) && is_of_gpu(node) && !is_known)
        gt_buffer_printf(&chakra->args, "%s%s", type_names[node->type], node->name.length ? " " : "");
    gt_buffer_append(&chakra->args, node->name.text ? node->name.text : "", node->name.length);
    gt_buffer_clear(&chakra->name);
    gt_json_quote(&chakra->name, chakra->args.data ? chakra->args.data : "");
}

/* Shapes are JSON where they are lists of numbers. */
static bool is_shapes(struct gt_span text)
{
    int depth = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.text[i];
        depth += (c == '[') - (c == ']');
        if (!c || !strchr("[]0123456789, ", c) || depth < 0 || depth > 8)
            return false;
    }
    return text.length > 1 && *text.text == '[' && depth == 0;
}

static void write_arguments(struct chakra *chakra, const struct node *node)
{
    static const char *const communications[COMMUNICATIONS] = {
        "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
        "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};
    struct gt_buffer *out = &chakra->args;
    const char *kind = node->type == SEND                                    ? "send"
                       : node->type == RECEIVE                               ? "recv"
                       : node->type == COLLECTIVE && node->communication < 0 ? NULL
                       : node->type == COLLECTIVE && node->communication < COMMUNICATIONS
                           ? communications[node->communication]
                           : NULL;
    gt_buffer_clear(out);
    gt_buffer_printf(out, "{\"node\":%" PRIu64 ",\"type\":\"%s\"", node->id, type_names[node->type]);
    if (is_of_gpu(node) && node->stream >= 0)
        gt_buffer_printf(out, ",\"stream\":%" PRId64, node->stream);
    if (kind)
        gt_buffer_printf(out, ",\"Collective name\":\"%s\"", kind);
    if (node->group.length) {
        gt_buffer_text(out, ",\"Process Group Name\":");
        gt_span_quote(out, node->group);
    }
    if (node->bytes >= 0)
        gt_buffer_printf(out, ",\"%s\":%" PRId64, is_communication(node) ? "comm_size" : "tensor_size", node->bytes);
    if (is_shapes(node->shapes)) {
        gt_buffer_text(out, ",\"Input Dims\":");
        gt_buffer_append(out, node->shapes.text, node->shapes.length);
    }
    gt_buffer_char(out, '}');
}

/* What was sent of a gather is but a part of what came. */
static int64_t bytes_of(const struct node *node)
{
    bool is_part = node->type == COLLECTIVE && (node->communication == ALL_GATHER || node->communication == GATHER);
    return is_of_gpu(node) && !is_part ? node->bytes : -1;
}

/* An operator has its number, by which its kernels are found. */
static uint64_t external_of(const struct node *node)
{
    return !is_of_gpu(node) ? node->id : node->has_parent ? node->parent : GT_TRACE_NO_ID;
}

static int put_event(struct chakra *chakra, const struct node *node)
{
    struct gt_span process = is_of_gpu(node) ? gt_span_of("GPU") : gt_span_of("CPU");
    const char *category = category_of(node);
    write_name(chakra, node);
    write_arguments(chakra, node);
    struct gt_span tid = lane_of(chakra, node);
    if (chakra->name.failed || chakra->args.failed || chakra->tid.failed)
        return -ENOMEM;
    int64_t track = gt_reading_track(chakra->reading, process, tid, (struct gt_span){0});
    if (track < 0)
        return (int)track;
    struct gt_raw_event item = gt_raw_event_of(gt_span_in_quotes(&chakra->name), (int64_t)node->start * 1000,
                                               (int64_t)node->duration * 1000);
    item.category = gt_span_of(category);
    item.args = (struct gt_span){chakra->args.data, chakra->args.length};
    item.bytes = bytes_of(node);
    item.external = external_of(node);
    return gt_reading_event(chakra->reading, &item, item.name, (uint32_t)track, 0);
}

/* A start of 0 is not written: where times count from the begin of the trace it is one, elsewhere there is none. */
static int take_event(struct chakra *chakra, const struct node *node)
{
    struct gt_trace_damage *damage = &gt_reading_file(chakra->reading)->damage;
    if (node->start || (node->duration && chakra->first < (uint64_t)OUR_AGE))
        return put_event(chakra, node);
    if (node->duration) {
        damage->bad_events++;
        gt_damage_note(damage, 0, "node %" PRIu64 " has a duration and no start time", node->id);
    }
    return 0;
}

/* ---- nodes with durations alone: a profile ---- */

static int64_t function_of(struct chakra *chakra, struct gt_span name)
{
    return gt_profile_function(&chakra->maker, gt_span_of("~"), 0, name);
}

/* Work of GPUs stands apart, by stream: its time is no time of the operator that launched it. */
static int64_t add_lane(struct chakra *chakra, const struct node *node)
{
    struct gt_span lane = lane_of(chakra, node);
    bool is_gpu = is_of_gpu(node);
    char name[64];
    if (!is_gpu && node->is_nested)
        return GT_TRACE_NONE;
    const char *sort = !is_gpu ? "CPU thread " : node->stream >= 0 ? "GPU stream " : "GPU ";
    snprintf(name, sizeof name, "%s%.*s", lane.length ? sort : "CPU", (int)lane.length, lane.text);
    return function_of(chakra, gt_span_of(name));
}

static int take_part(struct chakra *chakra, const struct node *node)
{
    if (node->type == METADATA && !node->duration)
        return 0;
    struct gt_span name = node->name.length ? node->name : gt_span_of(type_names[node->type]);
    int64_t function = function_of(chakra, name), lane = function < 0 ? function : add_lane(chakra, node);
    if (lane < 0)
        return (int)lane;
    uint32_t number = (uint32_t)chakra->part_count;
    struct gt_key key = {{(uint32_t)node->id, (uint32_t)(node->id >> 32), 0, 0}};
    if (chakra->part_count >= BUSY)
        return -EOVERFLOW;
    struct part *part = GT_GROW(chakra, part);
    if (!part || gt_keys_add(&chakra->ids, key, number) < 0)
        return -ENOMEM;
    bool is_child = node->is_nested && node->has_parent && !is_of_gpu(node);
    *part = (struct part){node->id,
                          is_child ? node->parent : node->id,
                          (double)node->duration / 1e6,
                          (uint32_t)function,
                          (uint32_t)lane,
                          UNTRIED,
                          0};
    gt_reading_file(chakra->reading)->read++;
    return 0;
}

/* Returns the part above, GT_TRACE_NONE: none that is in the trace. */
static uint32_t above(const struct chakra *chakra, uint32_t number)
{
    const struct part *part = &chakra->part[number];
    struct gt_key key = {{(uint32_t)part->parent, (uint32_t)(part->parent >> 32), 0, 0}};
    return part->parent == part->id ? GT_TRACE_NONE : gt_keys_find(&chakra->ids, key);
}

/* Gives a part its frame, below one of the part above, or at the root. Frames that are too deep are those above. */
static int place_below(struct chakra *chakra, struct part *part, const struct part *parent)
{
    int64_t frame = parent ? parent->frame : GT_TRACE_NONE;
    if (!parent && part->lane != GT_TRACE_NONE)
        frame = gt_profile_frame(&chakra->maker, GT_TRACE_NONE, part->lane);
    part->depth = parent ? parent->depth + 1 : 0;
    if (frame >= 0 && part->depth < GT_PROFILE_DEEPEST)
        frame = gt_profile_frame(&chakra->maker, (uint32_t)frame, part->function);
    part->frame = frame < 0 ? UNTRIED : (uint32_t)frame;
    return frame < 0 ? (int)frame : 0;
}

/* Up to what has its place, or to the root, and back. Where nodes go round in a circle one of them is the root. */
static int place(struct chakra *chakra, uint32_t number)
{
    struct part *part = chakra->part, *parent = NULL;
    size_t count = 0;
    uint32_t at = number;
    for (; at != GT_TRACE_NONE && part[at].frame == UNTRIED; at = above(chakra, at)) {
        part[at].frame = BUSY;
        chakra->way[count++] = at;
    }
    if (at != GT_TRACE_NONE && part[at].frame != BUSY)
        parent = &part[at];
    int status = 0;
    while (count && status >= 0) {
        uint32_t next = chakra->way[--count];
        status = place_below(chakra, &part[next], parent);
        parent = &part[next];
    }
    return status;
}

static int make_profile(struct chakra *chakra)
{
    int status = 0;
    chakra->way = malloc((chakra->part_count + 1) * sizeof *chakra->way);
    if (!chakra->way)
        return -ENOMEM;
    for (size_t i = 0; i < chakra->part_count && status >= 0; i++) {
        status = place(chakra, (uint32_t)i);
        if (status < 0)
            break;
        struct gt_profile_own *own = &chakra->maker.own[chakra->part[i].frame];
        own->weight += chakra->part[i].seconds;
        own->calls++;
    }
    if (status >= 0)
        status = gt_profile_sum(&chakra->maker, true);
    struct gt_trace_profile *profile = status < 0 ? NULL
                                                  : gt_reading_profile(chakra->reading, GT_PROFILER_CHAKRA,
                                                                       GT_PROFILE_SECONDS);
    if (!profile)
        return status < 0 ? status : -ENOMEM;
    return gt_profile_finish(&chakra->maker, profile);
}

/* ---- files ---- */

/* "job.3.et", "job.3.et.gz", else as in other names. */
static int64_t rank_of(const char *path)
{
    const char *name = strrchr(path, '/'), *end;
    int64_t rank = 0, unit = 1;
    name = name ? name + 1 : path;
    end = strstr(name, ".et");
    const char *digit = end;
    for (; digit && digit > name && digit[-1] >= '0' && digit[-1] <= '9' && unit <= INT32_MAX; unit *= 10)
        rank += (*--digit - '0') * unit;
    bool is_rank = digit && digit < end && digit > name && digit[-1] == '.';
    return is_rank ? rank : gt_path_rank(path);
}

static int read_nodes(struct chakra *chakra, const char *path, struct gt_error *error)
{
    struct gt_trace_file *file = gt_reading_file(chakra->reading);
    int status = each_node(chakra, path, survey, false, error);
    if (status < 0)
        return status;
    if (chakra->timed && chakra->first >= (uint64_t)OUR_AGE)
        file->clock = GT_CLOCK_RECORD;
    status = each_node(chakra, path, chakra->timed ? take_event : take_part, true, error);
    if (status >= 0 && chakra->part_count && chakra->lasting)
        status = make_profile(chakra);
    if (status >= 0 && !chakra->lasting)
        gt_reading_bad(chakra->reading, 0, "no node has a start time or a duration");
    return status;
}

static int read_chakra(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct chakra chakra = {.reading = reading, .maker = {.trace = reading->trace}};
    int status = gt_reading_rank(reading, rank_of(gt_reading_file(reading)->path));
    if (status >= 0)
        status = read_nodes(&chakra, path, error);
    gt_profile_maker_release(&chakra.maker);
    gt_keys_release(&chakra.ids);
    gt_buffer_release(&chakra.name);
    gt_buffer_release(&chakra.args);
    gt_buffer_release(&chakra.tid);
    free(chakra.part);
    free(chakra.way);
    return status;
}

const struct gt_trace_format gt_trace_chakra = {
    .name = "chakra",
    .help = "Chakra's execution traces (.et): nodes with start times as events, with durations alone as a profile",
    .probe = probe_chakra,
    .read = read_chakra,
};
