/* PyTorch's memory snapshots: how much was allocated and reserved, by whom at the peak, and how much lies idle in segments. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/lists.h"
#include "base/grow.h"
#include "base/number.h"

/* ---- devices ---- */

enum { ALLOCATED, RESERVED, FREE, LARGEST, DIMENSIONS };
static const char *const dimensions[DIMENSIONS] = {"allocated_bytes", "reserved_bytes", "free_in_segments_bytes",
                                                   "largest_free_block_bytes"};

struct device {
    uint32_t name, file; /* strings */
    double most[DIMENSIONS], last[DIMENSIONS];
    int64_t peak; /* when most was allocated */
};

struct devices {
    struct device *device;
    size_t count, capacity;
};

static bool is_snapshot(const struct gt_trace *trace, const struct gt_trace_series *series)
{
    return strcmp(trace->file[series->file].format, "memory-snapshot") == 0;
}

static int dimension_of(const struct gt_trace *trace, const struct gt_trace_series *series)
{
    int dimension = 0;
    while (dimension < DIMENSIONS && strcmp(gt_trace_text(trace, series->dimension), dimensions[dimension]) != 0)
        dimension++;
    return dimension;
}

static struct device *device_of(struct devices *devices, uint32_t name, uint32_t file)
{
    for (size_t i = 0; i < devices->count; i++)
        if (devices->device[i].name == name && devices->device[i].file == file)
            return &devices->device[i];
    struct device *device = GT_GROW_LIST(devices, device);
    if (device) {
        *device = (struct device){.name = name, .file = file, .peak = INT64_MIN};
        for (int i = 0; i < DIMENSIONS; i++)
            device->most[i] = device->last[i] = NAN;
    }
    return device;
}

static int find_devices(const struct gt_trace *trace, struct devices *devices)
{
    for (size_t i = 0; i < trace->samples.count; i++) {
        const struct gt_trace_series *series = &trace->series[trace->samples.series[i]];
        int dimension = is_snapshot(trace, series) ? dimension_of(trace, series) : DIMENSIONS;
        double value = trace->samples.value[i];
        if (dimension == DIMENSIONS)
            continue;
        struct device *device = device_of(devices, series->name, series->node);
        if (!device)
            return -ENOMEM;
        device->last[dimension] = value;
        if (value <= device->most[dimension])
            continue;
        device->most[dimension] = value;
        device->peak = dimension == ALLOCATED ? trace->samples.time[i] : device->peak;
    }
    return 0;
}

static void add_devices(const struct gt_analysis_input *input, struct gt_node *root, const struct devices *devices,
                        const char *reason)
{
    struct gt_table *table = gt_analysis_table(
        root, "devices", "Devices",
        "text:file text:device number:peak_allocated_bytes number:peak_at_us number:peak_reserved_bytes "
        "number:allocated_bytes number:reserved_bytes number:free_in_segments_bytes number:fragmented_percent "
        "number:largest_free_block_bytes");
    for (size_t i = 0; i < devices->count; i++) {
        const struct device *device = &devices->device[i];
        GT_CELLS(table, gt_trace_text(input->trace, device->file), gt_trace_text(input->trace, device->name),
                 device->most[ALLOCATED], device->peak == INT64_MIN ? NAN : gt_analysis_us(input, device->peak),
                 device->most[RESERVED], device->last[ALLOCATED], device->last[RESERVED], device->last[FREE],
                 gt_percent(device->last[FREE], device->last[RESERVED]), device->last[LARGEST]);
    }
    gt_analysis_empty(root, table, reason);
}

/* ---- what was allocated at the peak ---- */

struct holder {
    const struct gt_trace_profile *profile;
    size_t frame;
    double bytes;
};

struct holders {
    struct holder *holder;
    size_t count, capacity;
};

static int more_bytes(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->bytes, x->bytes), GT_ORDER(x->profile, y->profile), GT_ORDER(x->frame, y->frame));
}

/* What a frame has that its children do not. */
static int add_holders(const struct gt_trace_profile *profile, struct holders *holders)
{
    double *own = calloc(profile->frame_count + 1, sizeof *own);
    int status = own ? 0 : -ENOMEM;
    for (size_t i = 0; own && i < profile->frame_count; i++) {
        own[i] += profile->frame[i].time;
        if (profile->frame[i].parent != GT_TRACE_NONE)
            own[profile->frame[i].parent] -= profile->frame[i].time;
    }
    for (size_t i = 0; status >= 0 && i < profile->frame_count; i++) {
        if (own[i] >= 1)
            status = GT_APPEND(holders, holder, (struct holder){profile, i, own[i]});
    }
    free(own);
    return status;
}

static void write_function(const struct gt_trace *trace, const struct gt_trace_function *function,
                           struct gt_buffer *out)
{
    const char *file = gt_trace_text(trace, function->file), *slash = strrchr(file, '/');
    gt_buffer_text(out, gt_trace_text(trace, function->function));
    if (strcmp(file, "~") != 0)
        gt_buffer_printf(out, " (%s:%lld)", slash ? slash + 1 : file, (long long)function->line);
}

static bool is_python(const char *file)
{
    size_t length = strlen(file);
    return (length > 3 && strcmp(file + length - 3, ".py") == 0) || strcmp(file, "<stdin>") == 0;
}

/* The function that people know: the innermost of a Python file outside of installed packages, else outside of PyTorch, else
 * the innermost. */
static const struct gt_trace_function *shown(const struct gt_trace *trace, const struct holder *holder)
{
    static const char *const others[] = {"/site-packages/", "/torch/"};
    const struct gt_trace_profile *profile = holder->profile;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (uint32_t at = (uint32_t)holder->frame; at != GT_TRACE_NONE; at = profile->frame[at].parent) {
            const struct gt_trace_function *function = &profile->function[profile->frame[at].function];
            const char *file = gt_trace_text(trace, function->file);
            if (is_python(file) && !strstr(file, others[i]) && !strstr(file, "/torch/"))
                return function;
        }
    return &profile->function[profile->frame[holder->frame].function];
}

static void write_stack(const struct gt_trace *trace, const struct holder *holder, struct gt_buffer *out)
{
    const struct gt_trace_profile *profile = holder->profile;
    gt_buffer_clear(out);
    for (uint32_t at = (uint32_t)holder->frame; at != GT_TRACE_NONE; at = profile->frame[at].parent) {
        gt_buffer_text(out, out->length ? " < " : "");
        write_function(trace, &profile->function[profile->frame[at].function], out);
    }
}

static void add_peak(const struct gt_analysis_input *input, struct gt_node *root, struct holders *holders)
{
    const struct gt_trace *trace = input->trace;
    struct gt_buffer text = {0};
    double total = 0;
    struct gt_table *table = gt_analysis_table(root, "peak", "Allocated at the peak",
                                               "text:device number:allocated_bytes number:share_percent text:function");
    struct gt_table *stacks = gt_analysis_table(root, "stacks", "Stacks",
                                                "text:file text:device number:allocated_bytes text:stack");
    for (size_t i = 0; i < holders->count; i++)
        total += holders->holder[i].bytes;
    GT_SORT(holders->holder, holders->count, more_bytes);
    size_t most = gt_list_top(input, GT_LIST_SHOWN);
    gt_top_left_out(table, holders->count > most ? holders->count - most : 0);
    gt_top_left_out(stacks, holders->count > most ? holders->count - most : 0);
    for (size_t i = 0; i < holders->count && i < most; i++) {
        const struct holder *holder = &holders->holder[i];
        gt_buffer_clear(&text);
        write_function(trace, shown(trace, holder), &text);
        GT_CELLS(table, gt_trace_text(trace, holder->profile->thread), holder->bytes, gt_percent(holder->bytes, total),
                 text.data);
        write_stack(trace, holder, &text);
        GT_CELLS(stacks, trace->file[holder->profile->file].path, gt_trace_text(trace, holder->profile->thread),
                 holder->bytes, text.data);
    }
    gt_buffer_release(&text);
    gt_analysis_empty(root, table, NULL);
    gt_table_flags(stacks, GT_ONLY_DATA);
}

static bool is_of_memory(const struct gt_trace_profile *profile)
{
    return profile->unit == GT_PROFILE_BYTES || profile->unit == GT_PROFILE_HELD;
}

/* Why there is nothing to tell. */
static const char *reason_of(const struct gt_trace *trace)
{
    for (size_t i = 0; i < trace->profile_count; i++)
        if (is_of_memory(&trace->profile[i]))
            return "a profile of memory without stacks: profile functions tells who allocated it";
    return "no memory snapshot of PyTorch, and no profile of memory, in these files";
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct devices devices = {0};
    struct holders holders = {0};
    int status = find_devices(input->trace, &devices);
    for (size_t i = 0; i < input->trace->profile_count && status >= 0; i++)
        if (is_of_memory(&input->trace->profile[i]))
            status = add_holders(&input->trace->profile[i], &holders);
    if (status >= 0) {
        add_devices(input, root, &devices, holders.count ? NULL : reason_of(input->trace));
        add_peak(input, root, &holders);
    }
    free(devices.device);
    free(holders.holder);
    return status;
}

const struct gt_analysis gt_analysis_allocations = {
    .name = "allocations",
    .group = "memory",
    .help = "memory snapshots of PyTorch, memory profiles (speedscope): peak, who holds it, what lies idle; --top",
    .takes = GT_TAKES_TOP,
    .build = build,
};
