/* PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot): a pickle of the allocator's segments and of what it did
 * lately. Nothing in it is run. Each allocation is an event, allocated and reserved memory are samples, and what was
 * allocated at the peak is a profile by stack. The layout: torch/cuda/_memory_viz.py and torch/csrc/cuda/memory_snapshot.cpp. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/input/pickle.h"
#include "trace/format.h"
#include "trace/profile_maker.h"

#define MOST_BYTES ((size_t)2 << 30)
enum { MOST_DEVICES = 64, MOST_ITEMS = 16 << 20 };

static int probe_snapshot(const struct gt_trace_probe *probe)
{
    bool is_pickle = probe->length > 4 && (unsigned char)probe->head[0] == 0x80 && probe->head[1] >= 2 &&
                     probe->head[1] <= 5;
    return is_pickle && memmem(probe->head, probe->length, "segments", 8) &&
                   (memmem(probe->head, probe->length, "total_size", 10) ||
                    memmem(probe->head, probe->length, "device_traces", 13))
               ? 90
               : 0;
}

/* What is allocated. */
struct block {
    uint64_t address;
    int64_t size, since;                  /* since: ns; INT64_MIN: before the recording */
    const struct gt_pickle_value *frames; /* NULL: not known */
    int64_t stream;
    bool is_free;
};

struct blocks {
    struct block *block;
    size_t count, capacity;
    struct gt_keys places; /* by address */
};

/* What was found out about a stack, which many entries share. */
struct stack {
    const struct gt_pickle_value *frames;
    uint32_t shown; /* the frame that names it */
    uint32_t leaf;  /* its frame in the profile; GT_TRACE_NONE: not there yet */
};

struct stacks {
    struct stack *stack;
    size_t count, capacity;
    struct gt_keys places; /* by `frames` */
};

struct device {
    struct gt_reading *reading;
    struct stacks stacks;
    int number;
    const struct gt_pickle_value *trace; /* what the allocator did; NULL: not recorded */
    struct blocks blocks;
    int64_t allocated, reserved, peak;
    size_t peak_entry; /* the first at which it was that high; SIZE_MAX: before the first */
    int64_t time;      /* of the entry, ns */
};

/* ---- values ---- */

static int64_t integer_of(const struct gt_pickle_value *dict, const char *key, int64_t otherwise)
{
    const struct gt_pickle_value *value = gt_pickle_get(dict, key);
    return value && value->kind == GT_PICKLE_INTEGER ? value->integer : otherwise;
}

static struct gt_span text_of(const struct gt_pickle_value *dict, const char *key)
{
    const struct gt_pickle_value *value = gt_pickle_get(dict, key);
    return value && value->kind == GT_PICKLE_TEXT ? (struct gt_span){value->text, value->length} : (struct gt_span){0};
}

static size_t count_of(const struct gt_pickle_value *list)
{
    return list && (list->kind == GT_PICKLE_LIST || list->kind == GT_PICKLE_TUPLE) ? list->count : 0;
}

/* ---- what is allocated ---- */

/* Of an address, or of where the frames of a stack lie. */
static struct gt_key key_of(uint64_t number)
{
    return (struct gt_key){{(uint32_t)number, (uint32_t)(number >> 32), 0, 0}};
}

/* The last block at that address, though it may be free again. */
static struct block *last_block(struct blocks *blocks, uint64_t address)
{
    uint32_t at = gt_keys_find(&blocks->places, key_of(address));
    return at == GT_TRACE_NONE ? NULL : &blocks->block[at];
}

static struct block *find_block(struct blocks *blocks, uint64_t address)
{
    struct block *block = last_block(blocks, address);
    return block && !block->is_free ? block : NULL;
}

/* One that is free again gives its place to the next at its address: allocators use few addresses, and often. */
static int add_block(struct blocks *blocks, const struct block *block)
{
    struct block *place = last_block(blocks, block->address);
    if (!place) {
        if (blocks->count >= GT_TRACE_NONE - 1 ||
            gt_keys_add(&blocks->places, key_of(block->address), (uint32_t)blocks->count) < 0)
            return -ENOMEM;
        place = GT_GROW_LIST(blocks, block);
    }
    if (!place)
        return -ENOMEM;
    *place = *block;
    return 0;
}

static void release_blocks(struct blocks *blocks)
{
    free(blocks->block);
    gt_keys_release(&blocks->places);
    *blocks = (struct blocks){0};
}

enum action { ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, OUT_OF_MEMORY, OTHER };

static enum action action_of(const struct gt_pickle_value *entry)
{
    static const struct {
        const char *name;
        enum action action;
    } actions[] = {{"alloc", ALLOC},
                   {"free_requested", FREE},
                   {"segment_alloc", SEGMENT_ALLOC},
                   {"segment_map", SEGMENT_ALLOC},
                   {"segment_free", SEGMENT_FREE},
                   {"segment_unmap", SEGMENT_FREE},
                   {"oom", OUT_OF_MEMORY}};
    struct gt_span action = text_of(entry, "action");
    for (size_t i = 0; action.text && i < sizeof actions / sizeof *actions; i++)
        if (gt_span_is(action, actions[i].name))
            return actions[i].action;
    return OTHER;
}

/* ---- what was there before the recording: what it frees without having allocated it, and what is there at its end
 * although the recording does not tell of it ---- */

static int add_before(struct device *device, uint64_t address, int64_t size, const struct gt_pickle_value *frames,
                      int64_t stream)
{
    device->allocated += size;
    return add_block(&device->blocks, &(struct block){address, size, INT64_MIN, frames, stream, false});
}

/* Addresses that the recording allocates or frees for the first time. */
static int find_freed(struct device *device, struct blocks *seen)
{
    int status = 0;
    for (size_t i = 0; i < count_of(device->trace) && status >= 0; i++) {
        const struct gt_pickle_value *entry = gt_pickle_item(device->trace, i);
        enum action action = action_of(entry);
        int64_t size = integer_of(entry, "size", -1);
        uint64_t address = (uint64_t)integer_of(entry, "addr", 0);
        if ((action != ALLOC && action != FREE) || size < 0 || find_block(seen, address))
            continue;
        status = add_block(seen, &(struct block){.address = address});
        if (status >= 0 && action == FREE)
            status = add_before(device, address, size, NULL, integer_of(entry, "stream", 0));
    }
    return status;
}

/* What the allocator holds at the end. */
struct held {
    int64_t allocated, free, largest, awaiting, reserved;
};

/* Adds up the segments of the device. With `seen`, blocks at addresses that the recording does not tell of were there before it. */
static int add_segments(struct device *device, const struct gt_pickle_value *segments, struct blocks *seen,
                        struct held *held)
{
    int status = 0;
    for (size_t i = 0; i < count_of(segments) && status >= 0; i++) {
        const struct gt_pickle_value *segment = gt_pickle_item(segments, i), *blocks = gt_pickle_get(segment, "blocks");
        uint64_t address = (uint64_t)integer_of(segment, "address", 0);
        if (integer_of(segment, "device", 0) != device->number)
            continue;
        held->reserved += integer_of(segment, "total_size", 0);
        for (size_t j = 0; j < count_of(blocks) && status >= 0; j++) {
            const struct gt_pickle_value *block = gt_pickle_item(blocks, j);
            struct gt_span state = text_of(block, "state");
            int64_t size = integer_of(block, "size", 0);
            uint64_t at = (uint64_t)integer_of(block, "address", (int64_t)address);
            bool is_active = state.text && gt_span_is(state, "active_allocated");
            if (is_active && seen && size >= 0 && !find_block(seen, at))
                status = add_before(device, at, size, gt_pickle_get(block, "frames"), integer_of(segment, "stream", 0));
            if (is_active) {
                held->allocated += size;
            } else if (state.text && gt_span_is(state, "inactive")) {
                held->free += size;
                held->largest = size > held->largest ? size : held->largest;
            } else {
                held->awaiting += size;
            }
            address = at + (uint64_t)(size > 0 ? size : 0);
        }
    }
    return status;
}

static int begin(struct device *device, const struct gt_pickle_value *segments)
{
    struct blocks seen = {0};
    struct held held = {0};
    device->allocated = 0;
    int status = find_freed(device, &seen);
    if (status >= 0)
        status = add_segments(device, segments, &seen, &held);
    release_blocks(&seen);
    device->reserved = held.reserved; /* at the end, less what was reserved during the recording */
    for (size_t i = 0; i < count_of(device->trace); i++) {
        const struct gt_pickle_value *entry = gt_pickle_item(device->trace, i);
        enum action action = action_of(entry);
        int64_t size = integer_of(entry, "size", 0);
        device->reserved -= action == SEGMENT_ALLOC ? size : action == SEGMENT_FREE ? -size : 0;
    }
    return status;
}

/* ---- events and samples ---- */

static int put_sample(struct device *device, const char *dimension, int64_t time, int64_t value)
{
    char name[32];
    const char *path = gt_reading_file(device->reading)->path; /* each file has devices of its own */
    snprintf(name, sizeof name, "gpu%d", device->number);
    int64_t series = gt_reading_series(device->reading, gt_span_of("memory"), gt_span_of(name), gt_span_of(dimension),
                                       gt_span_of(path));
    return series < 0 ? (int)series : gt_reading_sample(device->reading, (uint32_t)series, time, (double)value);
}

static bool is_of_user(struct gt_span file)
{
    return file.length > 3 && memcmp(file.text + file.length - 3, ".py", 3) == 0 &&
           !memmem(file.text, file.length, "/torch/", 7);
}

/* The stack of these frames, each looked at once, however many entries have it. NULL without memory. */
static struct stack *stack_of(struct stacks *stacks, const struct gt_pickle_value *frames)
{
    int64_t at = stacks->count >= GT_TRACE_NONE - 1
                     ? -ENOMEM
                     : gt_keys_add(&stacks->places, key_of((uintptr_t)frames), (uint32_t)stacks->count);
    if (at >= 0 && at < (int64_t)stacks->count)
        return &stacks->stack[at];
    struct stack *stack = at < 0 ? NULL : GT_GROW_LIST(stacks, stack);
    if (!stack)
        return NULL;
    *stack = (struct stack){frames, 0, GT_TRACE_NONE};
    for (size_t i = 0; i < count_of(frames); i++)
        if (is_of_user(text_of(gt_pickle_item(frames, i), "filename"))) {
            stack->shown = (uint32_t)i;
            break;
        }
    return stack;
}

/* "forward (model.py:12)": the innermost function of Python's outside of PyTorch, else the innermost. */
static void write_place(struct device *device, struct gt_buffer *out, const struct gt_pickle_value *frames)
{
    const struct stack *stack = stack_of(&device->stacks, frames);
    const struct gt_pickle_value *shown = gt_pickle_item(frames, stack ? stack->shown : 0);
    struct gt_span name = text_of(shown, "name"), file = text_of(shown, "filename");
    if (!name.text)
        gt_buffer_text(out, "allocation");
    else if (file.length)
        gt_buffer_printf(out, "%.*s (%.*s:%" PRId64 ")", (int)name.length, name.text, (int)file.length, file.text,
                         integer_of(shown, "line", 0));
    else
        gt_buffer_printf(out, "%.*s", (int)name.length, name.text);
}

static int put_event(struct device *device, const struct gt_pickle_value *frames, const char *category, int64_t stream,
                     int64_t size, int64_t start, int64_t end, uint8_t flag)
{
    char pid[32], tid[32];
    struct gt_buffer place = {0};
    snprintf(pid, sizeof pid, "GPU %d memory", device->number);
    snprintf(tid, sizeof tid, "stream %" PRId64, stream);
    write_place(device, &place, frames);
    struct gt_raw_event item = gt_raw_event_of((struct gt_span){0}, start, end > start ? end - start : 0);
    item.category = gt_span_of(category);
    item.bytes = size;
    item.phase = end >= start ? 'X' : 'i';
    int status = place.failed
                     ? -ENOMEM
                     : gt_reading_text_event(device->reading, &item, pid, tid, place.data ? place.data : "", flag);
    gt_buffer_release(&place);
    return status;
}

/* Blocks from before the recording begin with it. */
static int put_block(struct device *device, const struct block *block, int64_t end, uint8_t flag)
{
    int64_t first = device->trace ? integer_of(gt_pickle_item(device->trace, 0), "time_us", 0) * 1000 : end;
    return put_event(device, block->frames, "allocation", block->stream, block->size,
                     block->since == INT64_MIN ? first : block->since, end, flag);
}

static int take_free(struct device *device, const struct gt_pickle_value *entry)
{
    struct block *block = find_block(&device->blocks, (uint64_t)integer_of(entry, "addr", 0));
    if (!block) {
        gt_reading_file(device->reading)->damage.unopened++;
        return 0;
    }
    block->is_free = true;
    device->allocated -= block->size;
    int status = put_block(device, block, device->time, 0);
    return status < 0 ? status : put_sample(device, "allocated_bytes", device->time, device->allocated);
}

static int take_alloc(struct device *device, const struct gt_pickle_value *entry, size_t number)
{
    int64_t size = integer_of(entry, "size", -1);
    uint64_t address = (uint64_t)integer_of(entry, "addr", 0);
    if (size < 0 || find_block(&device->blocks, address)) {
        gt_reading_bad(device->reading, number, "an address that is allocated twice");
        return 0;
    }
    device->allocated += size;
    if (device->allocated > device->peak) {
        device->peak = device->allocated;
        device->peak_entry = number;
    }
    struct block block = {address, size, device->time, gt_pickle_get(entry, "frames"), integer_of(entry, "stream", 0),
                          false};
    int status = add_block(&device->blocks, &block);
    return status < 0 ? status : put_sample(device, "allocated_bytes", device->time, device->allocated);
}

static int take_entry(struct device *device, size_t number)
{
    const struct gt_pickle_value *entry = gt_pickle_item(device->trace, number);
    enum action action = action_of(entry);
    device->time = integer_of(entry, "time_us", 0) * 1000;
    if (action == ALLOC)
        return take_alloc(device, entry, number);
    if (action == FREE)
        return take_free(device, entry);
    if (action == OUT_OF_MEMORY)
        return put_event(device, gt_pickle_get(entry, "frames"), "out of memory", integer_of(entry, "stream", 0),
                         integer_of(entry, "size", -1), device->time, INT64_MIN, 0);
    if (action == OTHER)
        return 0;
    device->reserved += action == SEGMENT_ALLOC ? integer_of(entry, "size", 0) : -integer_of(entry, "size", 0);
    return put_sample(device, "reserved_bytes", device->time, device->reserved);
}

static int take_all(struct device *device)
{
    device->peak = device->allocated;
    device->peak_entry = SIZE_MAX;
    int status = 0;
    for (size_t i = 0; i < count_of(device->trace) && status >= 0; i++)
        status = take_entry(device, i);
    for (size_t i = 0; i < device->blocks.count && status >= 0 && count_of(device->trace); i++)
        if (!device->blocks.block[i].is_free)
            status = put_block(device, &device->blocks.block[i], device->time, GT_TRACE_UNCLOSED);
    return status;
}

/* ---- fragmentation at the end ---- */

static int put_end(struct device *device, const struct gt_pickle_value *segments)
{
    struct held left = {0};
    add_segments(device, segments, NULL, &left);
    const struct {
        const char *dimension;
        int64_t value;
    } figures[] = {{"allocated_bytes", left.allocated},
                   {"reserved_bytes", left.reserved},
                   {"free_in_segments_bytes", left.free},
                   {"largest_free_block_bytes", left.largest},
                   {"awaiting_free_bytes", left.awaiting}};
    int status = 0;
    for (size_t i = 0; i < sizeof figures / sizeof *figures && status >= 0; i++)
        status = put_sample(device, figures[i].dimension, device->time, figures[i].value);
    return status;
}

/* ---- the peak ---- */

static int add_nameless(struct gt_profile_maker *maker, const struct block *block)
{
    const char *name = block->since == INT64_MIN ? "[allocated before the recording]" : "[no stack recorded]";
    int64_t number = gt_profile_function(maker, gt_span_of("~"), 0, gt_span_of(name));
    maker->stack_count = 0;
    int status = gt_profile_push(maker, number);
    return status < 0 ? status : gt_profile_stack(maker, false, (double)block->size);
}

/* The frame of the innermost function in the tree. They stand innermost first. */
static int64_t find_leaf(struct gt_profile_maker *maker, const struct gt_pickle_value *frames)
{
    int64_t leaf = GT_TRACE_NONE;
    size_t depth = 0;
    for (size_t i = count_of(frames); i-- > 0 && depth < GT_PROFILE_DEEPEST && leaf >= 0; depth++) {
        const struct gt_pickle_value *frame = gt_pickle_item(frames, i);
        struct gt_span file = text_of(frame, "filename"), name = text_of(frame, "name");
        int64_t number = gt_profile_function(maker, file.length ? file : gt_span_of("~"), integer_of(frame, "line", 0),
                                             name.text ? name : gt_span_of("?"));
        leaf = number < 0 ? number : gt_profile_frame(maker, (uint32_t)leaf, (uint32_t)number);
    }
    return leaf;
}

static int add_stack(struct device *device, struct gt_profile_maker *maker, const struct block *block)
{
    if (!count_of(block->frames))
        return add_nameless(maker, block);
    struct stack *stack = stack_of(&device->stacks, block->frames);
    int64_t leaf = !stack ? -ENOMEM : stack->leaf == GT_TRACE_NONE ? find_leaf(maker, block->frames) : stack->leaf;
    if (leaf < 0)
        return (int)leaf;
    stack->leaf = (uint32_t)leaf;
    maker->own[leaf].weight += (double)block->size;
    maker->own[leaf].calls++;
    return 0;
}

/* Goes through the recording once more, up to the peak, and keeps what is there then. */
static int find_peak(struct device *device, const struct gt_pickle_value *segments, struct gt_profile_maker *maker)
{
    release_blocks(&device->blocks);
    int status = begin(device, segments);
    for (size_t i = 0; status >= 0 && device->peak_entry != SIZE_MAX && i <= device->peak_entry; i++) {
        const struct gt_pickle_value *entry = gt_pickle_item(device->trace, i);
        enum action action = action_of(entry);
        uint64_t address = (uint64_t)integer_of(entry, "addr", 0);
        struct block *known = find_block(&device->blocks, address);
        if (action == FREE && known)
            known->is_free = true;
        else if (action == ALLOC && !known && integer_of(entry, "size", -1) >= 0)
            status = add_block(&device->blocks, &(struct block){address, integer_of(entry, "size", 0), 0,
                                                                gt_pickle_get(entry, "frames"), 0, false});
    }
    for (size_t i = 0; i < device->blocks.count && status >= 0; i++)
        if (!device->blocks.block[i].is_free)
            status = add_stack(device, maker, &device->blocks.block[i]);
    return status;
}

static int put_profile(struct device *device, const struct gt_pickle_value *segments)
{
    struct gt_profile_maker maker = {.trace = device->reading->trace};
    char name[32];
    snprintf(name, sizeof name, "gpu%d", device->number);
    int status = find_peak(device, segments, &maker);
    int64_t thread = status < 0 ? status : gt_strings_add(&device->reading->trace->strings, name, strlen(name));
    return gt_profile_of_stacks(device->reading, &maker, GT_PROFILER_SNAPSHOT, GT_PROFILE_HELD, thread, true);
}

/* ---- the file ---- */

static int read_device(struct gt_reading *reading, const struct gt_pickle_value *segments,
                       const struct gt_pickle_value *traces, int number)
{
    struct device device = {.reading = reading, .number = number, .trace = gt_pickle_item(traces, (size_t)number)};
    int status = begin(&device, segments);
    if (status >= 0)
        status = take_all(&device);
    if (status >= 0)
        status = put_end(&device, segments);
    if (status >= 0 && device.peak > 0)
        status = put_profile(&device, segments);
    release_blocks(&device.blocks);
    free(device.stacks.stack);
    gt_keys_release(&device.stacks.places);
    return status;
}

/* Lists may be there once and be referred to so often that nobody comes to their end. */
static bool is_endless(const struct gt_pickle_value *segments, const struct gt_pickle_value *traces)
{
    uint64_t items = 0;
    for (size_t i = 0; i < count_of(segments); i++)
        items += count_of(gt_pickle_get(gt_pickle_item(segments, i), "blocks"));
    for (size_t i = 0; i < count_of(traces); i++)
        items += count_of(gt_pickle_item(traces, i));
    return items > MOST_ITEMS;
}

static int read_root(struct gt_reading *reading, const struct gt_pickle_value *root)
{
    const struct gt_pickle_value *segments = gt_pickle_get(root, "segments"),
                                 *traces = gt_pickle_get(root, "device_traces");
    int64_t devices = (int64_t)count_of(traces);
    int status = 0;
    if (is_endless(segments, traces)) {
        gt_reading_bad(reading, 0, "more than 16777216 blocks and entries: no snapshot has these");
        return 0;
    }
    for (size_t i = 0; i < count_of(segments); i++) {
        int64_t device = integer_of(gt_pickle_item(segments, i), "device", 0);
        devices = device >= devices && device < MOST_DEVICES ? device + 1 : devices;
    }
    for (int i = 0; i < devices && i < MOST_DEVICES && status >= 0; i++) {
        bool is_used = count_of(gt_pickle_item(traces, (size_t)i)) > 0;
        for (size_t j = 0; j < count_of(segments); j++)
            is_used |= integer_of(gt_pickle_item(segments, j), "device", 0) == i;
        if (is_used)
            status = read_device(reading, segments, traces, i);
    }
    return status;
}

static int read_snapshot(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_pickle *pickle = NULL;
    struct gt_error reason = {0};
    char *bytes = NULL;
    size_t length = 0;
    int status = gt_reading_whole(reading, path, MOST_BYTES, &bytes, &length, error);
    if (status < 0)
        return status;
    status = gt_pickle_read(&pickle, bytes, length, NULL, path, &reason);
    if (status == -EBADMSG) {
        gt_reading_cut_off(reading, length, length,
                           "the pickle is cut off or damaged, or holds more than numbers, texts and lists");
        status = 0;
    } else if (status < 0) {
        gt_error_copy(error, &reason);
    } else {
        gt_reading_file(reading)->clock = GT_CLOCK_RECORD;
        status = read_root(reading, gt_pickle_root(pickle));
    }
    gt_pickle_free(pickle);
    free(bytes);
    return status;
}

const struct gt_trace_format gt_trace_memory_snapshot = {
    .name = "memory-snapshot",
    .help = "PyTorch's memory snapshots (pickle)",
    .probe = probe_snapshot,
    .read = read_snapshot,
};
