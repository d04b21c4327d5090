/* JSON of rocprofv3, ROCm's profiler: kernels, copies, calls of the HIP and HSA runtimes and ranges of the program, each a list
 * of records whose names stand in tables before them. The layout: ROCprofiler-SDK, source/lib/output/generateJSON.cpp. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/formats/rocprof.h"
#include "base/grow.h"
#include "trace/format.h"
#include "trace/formats/smdebug.h"
#include "trace/input/walk.h"

#define MOST_BYTES ((size_t)4 << 30)
enum { GPU = 2 }; /* of types of agents */

static int probe_rocprof(const struct gt_trace_probe *probe)
{
    const char *text = probe->head + strspn(probe->head, " \t\r\n");
    return *text == '{' && strstr(text, "\"rocprofiler-sdk-tool\"") ? 85 : 0;
}

/* ---- tables of names ---- */

/* What there is of one sort of record, and the names of its operations. */
struct kind {
    struct gt_span name;
    size_t first, operations; /* in rocprof.operation */
};

struct agent {
    uint64_t id;
    int number; /* of the GPU; -1: it is none */
    struct gt_span name;
};

struct rocprof {
    struct gt_reading *reading;
    bool is_cut;
    struct gt_span pid;
    struct gt_texts kernels, markers; /* raw JSON, without quotes */
    struct kind *kind;
    size_t kind_count, kind_capacity;
    struct gt_span *operation;
    size_t operation_count, operation_capacity;
    struct agent *agent;
    size_t agent_count, agent_capacity;
    struct gt_buffer args;
};

/* Handles fill all 64 bits. Returns 0 where there is none. */
static uint64_t id_of(struct gt_span value)
{
    uint64_t id = 0;
    struct gt_span digits = value.text ? gt_span_unquoted(value) : value;
    for (size_t i = 0; i < digits.length && (unsigned char)(digits.text[i] - '0') <= 9; i++)
        id = id * 10 + (uint64_t)(digits.text[i] - '0');
    return id;
}

static uint64_t handle_of(struct gt_span object)
{
    struct gt_span handle = {0};
    GT_FIND(object, {"handle", &handle});
    return id_of(handle);
}

/* "formatted" is the name without ".kd" at its end, demangled unless the user wanted it otherwise. */
static int take_kernel_names(struct rocprof *rocprof, struct gt_span list)
{
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    int status = 0;
    while (status >= 0 && gt_next_element(&walk, &item, &rocprof->is_cut)) {
        struct gt_span id = {0}, formatted = {0}, demangled = {0}, name = {0};
        GT_FIND(item, {"kernel_id", &id}, {"formatted_kernel_name", &formatted}, {"demangled_kernel_name", &demangled},
                {"kernel_name", &name});
        formatted = formatted.length > 2 ? formatted : demangled.length > 2 ? demangled : name;
        if (id.text && formatted.text)
            status = gt_texts_add(&rocprof->kernels, id_of(id), gt_span_unquoted(formatted));
    }
    gt_texts_sort(&rocprof->kernels);
    return status;
}

static int take_marker_names(struct rocprof *rocprof, struct gt_span list)
{
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    int status = 0;
    while (status >= 0 && gt_next_element(&walk, &item, &rocprof->is_cut)) {
        struct gt_span key = {0}, value = {0};
        GT_FIND(item, {"key", &key}, {"value", &value});
        if (value.text)
            status = gt_texts_add(&rocprof->markers, id_of(key), gt_span_unquoted(value));
    }
    gt_texts_sort(&rocprof->markers);
    return status;
}

static int take_kind(struct rocprof *rocprof, struct gt_span item)
{
    struct gt_span name = {0}, operations = {0}, text;
    GT_FIND(item, {"kind", &name}, {"operations", &operations});
    struct gt_walk walk = gt_walk_list(operations);
    struct kind *kind = GT_GROW(rocprof, kind);
    if (!kind)
        return -ENOMEM;
    *kind = (struct kind){name.text ? gt_span_unquoted(name) : name, rocprof->operation_count, 0};
    while (gt_walk_element(&walk, &text) > 0) {
        struct gt_span *operation = GT_GROW(rocprof, operation);
        if (!operation)
            return -ENOMEM;
        *operation = gt_span_unquoted(text);
        kind->operations++;
    }
    return 0;
}

static int take_strings(struct rocprof *rocprof, struct gt_span strings)
{
    struct gt_span records = {0}, markers = {0}, item;
    int status = 0;
    GT_FIND(strings, {"buffer_records", &records}, {"marker_api", &markers});
    struct gt_walk walk = gt_walk_list(records);
    while (status >= 0 && gt_next_element(&walk, &item, &rocprof->is_cut))
        status = take_kind(rocprof, item);
    return status < 0 ? status : take_marker_names(rocprof, markers);
}

/* GPUs count from 0 in the order in which they stand, unless they have numbers of their own. */
static int take_agents(struct rocprof *rocprof, struct gt_span list)
{
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    int gpus = 0;
    while (gt_next_element(&walk, &item, &rocprof->is_cut)) {
        struct gt_span id = {0}, type = {0}, name = {0}, product = {0}, number = {0};
        int64_t own = -1;
        GT_FIND(item, {"id", &id}, {"type", &type}, {"name", &name}, {"product_name", &product},
                {"logical_node_type_id", &number});
        struct agent *agent = GT_GROW(rocprof, agent);
        if (!agent)
            return -ENOMEM;
        bool is_gpu = id_of(type) == GPU;
        if (!number.text || gt_span_decimal(number, 0, &own) < 0 || own < 0 || own > INT16_MAX)
            own = gpus;
        *agent = (struct agent){handle_of(id), is_gpu ? (int)own : -1, product.length > 2 ? product : name};
        gpus += is_gpu;
    }
    return 0;
}

static const struct agent *gpu_of(const struct rocprof *rocprof, struct gt_span id)
{
    uint64_t handle = id.text ? handle_of(id) : 0;
    for (size_t i = 0; i < rocprof->agent_count && id.text; i++)
        if (rocprof->agent[i].id == handle && rocprof->agent[i].number >= 0)
            return &rocprof->agent[i];
    return NULL;
}

/* ---- records ---- */

struct record {
    struct gt_span kind, operation, thread, correlation, start, end, dispatch, stream, bytes, size, to, from, agent,
        args;
};

static void find_record(struct gt_span text, struct record *ret)
{
    *ret = (struct record){0};
    GT_FIND(text, {"kind", &ret->kind}, {"operation", &ret->operation}, {"thread_id", &ret->thread},
            {"correlation_id", &ret->correlation}, {"start_timestamp", &ret->start}, {"end_timestamp", &ret->end},
            {"dispatch_info", &ret->dispatch}, {"stream_id", &ret->stream}, {"bytes", &ret->bytes},
            {"allocation_size", &ret->size}, {"dst_agent_id", &ret->to}, {"src_agent_id", &ret->from},
            {"agent_id", &ret->agent}, {"args", &ret->args});
}

/* What the record calls itself: "hipMemcpyAsync", "MEMORY_COPY_HOST_TO_DEVICE". */
static struct gt_span operation_of(const struct rocprof *rocprof, const struct record *record)
{
    uint64_t kind = id_of(record->kind), operation = id_of(record->operation);
    if (!record->kind.text || kind >= rocprof->kind_count)
        return (struct gt_span){0};
    const struct kind *about = &rocprof->kind[kind];
    return record->operation.text && operation < about->operations ? rocprof->operation[about->first + operation]
                                                                   : about->name;
}

static uint64_t correlation_of(const struct record *record)
{
    struct gt_span internal = {0};
    GT_FIND(record->correlation, {"internal", &internal});
    return internal.text ? id_of(internal) : GT_TRACE_NO_ID;
}

/* Hands on what lasted from begin to end, on a lane of the process `pid`. */
static int put(struct rocprof *rocprof, const struct record *record, struct gt_span name, struct gt_span category,
               struct gt_span pid, struct gt_span tid, struct gt_span title)
{
    struct gt_reading *reading = rocprof->reading;
    int64_t start, end;
    if (gt_span_decimal(record->start, 0, &start) < 0 || gt_span_decimal(record->end, 0, &end) < 0 || end < start ||
        start < 0) {
        gt_reading_bad(reading, 0, "a record without a begin or an end");
        return 0;
    }
    int64_t track = gt_reading_track(reading, pid, tid, (struct gt_span){0});
    int64_t string = track < 0 || !title.text ? 0 : gt_reading_string(reading, gt_span_unquoted(title));
    if (track < 0 || string < 0 || rocprof->args.failed)
        return track < 0 ? (int)track : -ENOMEM;
    if (title.text)
        reading->trace->process[reading->trace->track[track].process].name = (uint32_t)string;
    struct gt_raw_event item = gt_raw_event_of(name, start, end - start);
    item.category = category;
    item.args = (struct gt_span){rocprof->args.data, rocprof->args.length};
    gt_raw_event_arguments(&item);
    item.correlation = correlation_of(record);
    return gt_reading_event(reading, &item, item.name, (uint32_t)track, 0);
}

static void put_number(struct rocprof *rocprof, const char *name, struct gt_span value)
{
    int64_t number;
    if (value.text && gt_span_decimal(value, 0, &number) >= 0)
        gt_buffer_printf(&rocprof->args, "%s\"%s\":%" PRId64, rocprof->args.length > 1 ? "," : "", name, number);
}

static void begin_args(struct rocprof *rocprof, const struct record *record)
{
    struct gt_span internal = {0};
    GT_FIND(record->correlation, {"internal", &internal});
    gt_buffer_clear(&rocprof->args);
    gt_buffer_char(&rocprof->args, '{');
    put_number(rocprof, "correlation", internal);
}

/* On the stream of a GPU; where streams were not recorded, on the queue. */
static int put_work(struct rocprof *rocprof, const struct record *record, const struct agent *gpu, struct gt_span queue,
                    struct gt_span name, const char *category)
{
    char pid[24], tid[32];
    struct gt_span stream = {0}, number = {0};
    GT_FIND(record->stream, {"handle", &stream});
    GT_FIND(queue, {"handle", &number});
    snprintf(pid, sizeof pid, "GPU %d", gpu ? gpu->number : 0);
    snprintf(tid, sizeof tid, "%s%" PRIu64, stream.text ? "" : "queue ", id_of(stream.text ? stream : number));
    if (gpu)
        gt_buffer_printf(&rocprof->args, ",\"device\":%d", gpu->number);
    put_number(rocprof, "stream", stream);
    put_number(rocprof, "queue", number);
    gt_buffer_char(&rocprof->args, '}');
    return put(rocprof, record, name, gt_span_of(category), gt_span_of(pid), gt_span_of(tid),
               gpu ? gpu->name : (struct gt_span){0});
}

/* Grids count threads here, and groups of them elsewhere. */
static void put_sizes(struct rocprof *rocprof, struct gt_span grid, struct gt_span block)
{
    struct gt_span threads[3] = {0}, size[3] = {0};
    uint64_t groups[3], in_group[3];
    GT_FIND(grid, {"x", &threads[0]}, {"y", &threads[1]}, {"z", &threads[2]});
    GT_FIND(block, {"x", &size[0]}, {"y", &size[1]}, {"z", &size[2]});
    for (int i = 0; i < 3; i++) {
        in_group[i] = id_of(size[i]);
        if (!in_group[i])
            return;
        groups[i] = id_of(threads[i]) / in_group[i] + (id_of(threads[i]) % in_group[i] != 0);
    }
    gt_buffer_printf(&rocprof->args,
                     ",\"grid\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],\"block\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
                     groups[0], groups[1], groups[2], in_group[0], in_group[1], in_group[2]);
}

static int take_kernel(struct rocprof *rocprof, struct record *record, struct gt_span category)
{
    struct gt_span agent = {0}, queue = {0}, kernel = {0}, grid = {0}, block = {0}, shared = {0};
    char number[40];
    GT_FIND(record->dispatch, {"agent_id", &agent}, {"queue_id", &queue}, {"kernel_id", &kernel}, {"grid_size", &grid},
            {"workgroup_size", &block}, {"group_segment_size", &shared});
    struct gt_span name = gt_texts_find(&rocprof->kernels, id_of(kernel));
    snprintf(number, sizeof number, "kernel %" PRIu64, id_of(kernel));
    begin_args(rocprof, record);
    put_sizes(rocprof, grid, block);
    put_number(rocprof, "shared memory", shared);
    (void)category;
    return put_work(rocprof, record, gpu_of(rocprof, agent), queue, name.length ? name : gt_span_of(number), "kernel");
}

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

bool gt_rocm_stream(const char *name, int *agent, int *stream)
{
    const char *first = strncmp(name, "COMPUTE ", 8) == 0 || strncmp(name, "COPY to ", 8) == 0 ? strchr(name, '[')
                                                                                               : NULL,
               *second = first ? strchr(first + 1, '[') : NULL;
    return second && strstr(second, "GPU") && sscanf(first, "[%d]", agent) == 1 && sscanf(second, "[%d]", stream) == 1;
}

void gt_rocm_event(struct gt_raw_event *item, bool is_of_gpu)
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

static int take_copy(struct rocprof *rocprof, struct record *record, struct gt_span category)
{
    const char *name = copy_name(operation_of(rocprof, record));
    const struct agent *gpu = gpu_of(rocprof, record->to);
    begin_args(rocprof, record);
    put_number(rocprof, "bytes", record->bytes);
    (void)category;
    return put_work(rocprof, record, gpu ? gpu : gpu_of(rocprof, record->from), (struct gt_span){0},
                    gt_span_of(name ? name : "Memcpy"), "gpu_memcpy");
}

/* The arguments of a call, where they were recorded: a list of names and values. */
static void put_arguments(struct rocprof *rocprof, struct gt_span list)
{
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    while (gt_walk_element(&walk, &item) > 0) {
        struct gt_span name = {0}, value = {0};
        GT_FIND(item, {"name", &name}, {"value", &value});
        if (name.length < 2 || *name.text != '"' || !value.text)
            continue;
        gt_buffer_text(&rocprof->args, rocprof->args.length > 1 ? "," : "");
        gt_buffer_append(&rocprof->args, name.text, name.length);
        gt_buffer_char(&rocprof->args, ':');
        gt_buffer_append(&rocprof->args, value.text, value.length);
    }
}

static int put_call(struct rocprof *rocprof, struct record *record, struct gt_span name, struct gt_span category)
{
    put_arguments(rocprof, record->args);
    put_number(rocprof, "bytes", record->size);
    gt_buffer_char(&rocprof->args, '}');
    struct gt_span thread = record->thread.text ? record->thread : gt_span_of("");
    return put(rocprof, record, name.text ? name : category, category, rocprof->pid, thread, (struct gt_span){0});
}

static int take_call(struct rocprof *rocprof, struct record *record, struct gt_span category)
{
    begin_args(rocprof, record);
    return put_call(rocprof, record, operation_of(rocprof, record), category);
}

/* Ranges have their texts apart; what has none is a call of the library of markers. */
static int take_marker(struct rocprof *rocprof, struct record *record, struct gt_span category)
{
    struct gt_span name = gt_texts_find(&rocprof->markers, correlation_of(record));
    begin_args(rocprof, record);
    return name.text ? put_call(rocprof, record, name, gt_span_of("user_annotation"))
                     : put_call(rocprof, record, operation_of(rocprof, record), category);
}

/* ---- lists of records ---- */

static const struct list {
    const char *key, *category; /* NULL: the key is the category */
    int (*take)(struct rocprof *rocprof, struct record *record, struct gt_span category);
} lists[] = {
    {"kernel_dispatch", NULL, take_kernel},
    {"memory_copy", NULL, take_copy},
    {"hip_api", "hip_runtime", take_call},
    {"marker_api", NULL, take_marker},
};

static int take_list(struct rocprof *rocprof, struct gt_span key, struct gt_span list)
{
    static const struct list other = {NULL, NULL, take_call};
    const struct list *kind = &other;
    struct gt_walk walk = gt_walk_list(list);
    struct gt_span item;
    int status = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        kind = gt_span_is(key, lists[i].key) ? &lists[i] : kind;
    while (status >= 0 && gt_next_element(&walk, &item, &rocprof->is_cut)) {
        struct record record;
        if (rocprof->is_cut) /* a record that is not whole */
            break;
        find_record(item, &record);
        if (record.start.text || kind != &other) /* samples of counters have no length */
            status = kind->take(rocprof, &record, kind->category ? gt_span_of(kind->category) : key);
    }
    return status;
}

static int take_records(struct rocprof *rocprof, struct gt_span records)
{
    struct gt_walk walk = gt_walk_object(records);
    struct gt_span key, list;
    int status = 0;
    while (status >= 0 && gt_next_member(&walk, &key, &list, &rocprof->is_cut)) {
        bool was_cut = rocprof->is_cut;
        rocprof->is_cut = false;
        status = take_list(rocprof, key, list);
        rocprof->is_cut |= was_cut;
    }
    return status;
}

/* Where counters were collected and nothing else, the kernels stand with these. */
static int take_counted(struct rocprof *rocprof, struct gt_span callbacks)
{
    struct gt_span list = {0}, item;
    int status = 0;
    GT_FIND(callbacks, {"counter_collection", &list});
    struct gt_walk walk = gt_walk_list(gt_reading_file(rocprof->reading)->read ? (struct gt_span){0} : list);
    while (status >= 0 && gt_next_element(&walk, &item, &rocprof->is_cut)) {
        struct gt_span about = {0};
        struct record record;
        GT_FIND(item, {"dispatch_data", &about});
        find_record(about, &record);
        if (record.dispatch.text)
            status = take_kernel(rocprof, &record, (struct gt_span){0});
    }
    return status;
}

/* ---- a process, and the document ---- */

static void release(struct rocprof *rocprof)
{
    free(rocprof->kernels.text);
    free(rocprof->markers.text);
    free(rocprof->kind);
    free(rocprof->operation);
    free(rocprof->agent);
    gt_buffer_release(&rocprof->args);
}

static int take_process(struct gt_reading *reading, struct gt_span text, bool *is_cut)
{
    struct rocprof rocprof = {.reading = reading};
    struct gt_span key, value, about = {0}, agents = {0}, strings = {0}, kernels = {0}, records = {0}, callbacks = {0};
    const struct gt_wanted_member wanted[] = {{"metadata", &about},         {"agents", &agents},
                                              {"strings", &strings},        {"kernel_symbols", &kernels},
                                              {"buffer_records", &records}, {"callback_records", &callbacks}};
    struct gt_walk walk = gt_walk_object(text);
    while (gt_next_member(&walk, &key, &value, is_cut))
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (gt_span_is(key, wanted[i].key))
                *wanted[i].to = value;
    GT_FIND(about, {"pid", &rocprof.pid});
    rocprof.pid = rocprof.pid.text ? rocprof.pid : gt_span_of("0");
    int status = take_agents(&rocprof, agents);
    if (status >= 0)
        status = take_strings(&rocprof, strings);
    if (status >= 0)
        status = take_kernel_names(&rocprof, kernels);
    if (status >= 0)
        status = take_records(&rocprof, records);
    if (status >= 0)
        status = take_counted(&rocprof, callbacks);
    *is_cut |= rocprof.is_cut;
    release(&rocprof);
    return status;
}

static int read_document(struct gt_reading *reading, struct gt_span text)
{
    struct gt_trace_damage *damage = &gt_reading_file(reading)->damage;
    struct gt_span key, value, item;
    struct gt_walk walk = gt_walk_object(text), list;
    bool is_cut = false;
    int status = 0;
    while (status >= 0 && gt_next_member(&walk, &key, &value, &is_cut)) {
        if (!gt_span_is(key, "rocprofiler-sdk-tool"))
            continue;
        if (!gt_open_list(&list, value)) {
            status = take_process(reading, value, &is_cut);
            continue;
        }
        while (status >= 0 && gt_next_element(&list, &item, &is_cut))
            status = take_process(reading, item, &is_cut);
    }
    if (is_cut) {
        damage->cut_off = true;
        gt_damage_note(damage, text.length, "the JSON ends or is damaged within a record");
    }
    return status;
}

static int read_rocprof(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_trace_file *about = gt_reading_file(reading);
    char *text = NULL;
    size_t length = 0;
    int status = gt_reading_whole(reading, path, MOST_BYTES, &text, &length, error);
    if (status < 0)
        return status;
    const char *begin = text + strspn(text, " \t\r\n");
    status = read_document(reading, (struct gt_span){begin, length - (size_t)(begin - text)});
    free(text);
    return status < 0 || about->rank >= 0 ? status : gt_reading_rank(reading, gt_path_rank(path));
}

const struct gt_trace_format gt_trace_rocprof = {
    .name = "rocprof",
    .help = "JSON of rocprofv3, ROCm's profiler",
    .probe = probe_rocprof,
    .read = read_rocprof,
};
