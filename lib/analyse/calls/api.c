/* The calls of the CUDA or HIP runtime and driver by name, and how fast memory was copied. */
#include "analyse/calls/api.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/number.h"

/* ---- calls ---- */

/* The first that matches counts. Nsight writes names with the version: "cudaMalloc_v3020". */
static const struct {
    const char *pattern;
    enum gt_api_kind kind;
} kinds[] = {
    {"*Async*", GT_API_OTHER},
    {"cudaMalloc*", GT_API_ALLOCATION},
    {"cudaFree*", GT_API_ALLOCATION},
    {"cudaHostAlloc*", GT_API_ALLOCATION},
    {"cuMem*Alloc*", GT_API_ALLOCATION},
    {"cuMemFree*", GT_API_ALLOCATION},
    {"hipMalloc*", GT_API_ALLOCATION},
    {"hipFree*", GT_API_ALLOCATION},
    {"hipHostMalloc*", GT_API_ALLOCATION},
    {"cuda*Synchronize*", GT_API_SYNCHRONIZATION},
    {"cu*Synchronize*", GT_API_SYNCHRONIZATION},
    {"hip*Synchronize*", GT_API_SYNCHRONIZATION},
    {"cudaMemcpy*", GT_API_COPY},
    {"cuMemcpy*", GT_API_COPY},
    {"hipMemcpy*", GT_API_COPY},
};

enum gt_api_kind gt_api_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (fnmatch(kinds[i].pattern, name, 0) == 0)
            return kinds[i].kind;
    return GT_API_OTHER;
}

struct thread {
    int64_t first, last;
    bool is_seen, calls;
};

int64_t *gt_api_host_times(const struct gt_analysis_input *input)
{
    const struct gt_trace *trace = input->trace;
    struct thread *thread = gt_query_zeros(input->query, trace->track_count, sizeof *thread);
    int64_t *sum = gt_query_zeros(input->query, trace->strings.count, sizeof *sum);
    for (size_t i = 0; sum && i < trace->events.count; i++) {
        int64_t start = trace->events.start[i], end = start + gt_trace_duration(&trace->events, i);
        if (!gt_trace_lasts(trace, i))
            continue;
        struct thread *of = &thread[trace->events.track[i]];
        of->first = !of->is_seen || start < of->first ? start : of->first;
        of->last = !of->is_seen || end > of->last ? end : of->last;
        of->is_seen = true;
        of->calls |= gt_analysis_work(input, i) == GT_WORK_RUNTIME;
    }
    for (size_t i = 0; sum && i < trace->track_count; i++) {
        uint32_t node = input->node[trace->process[trace->track[i].process].file];
        if (thread[i].calls && node != GT_TRACE_NONE)
            sum[node] += thread[i].last - thread[i].first;
    }
    return sum;
}

static bool is_call(const struct gt_analysis_input *input, size_t event)
{
    return gt_analysis_work(input, event) == GT_WORK_RUNTIME && gt_trace_is_slice(input->trace, event);
}

static struct gt_table *put_calls(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows all = gt_rows_of_events(input, is_call);
    struct gt_rows calls = gt_rows_group(
        &all, "node name", GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_STATISTICS_US("length")));
    int64_t *times = gt_api_host_times(input), *host = gt_rows_add_wholes(&calls, "host");
    const uint32_t *node = gt_rows_keys(&calls, "node");
    for (size_t i = 0; i < calls.count; i++)
        host[i] = node[i] == GT_NO_KEY ? GT_NO_WHOLE : times[node[i]];
    gt_rows_percent(&calls, "host_percent", "total", "host");
    gt_rows_sort_list(input, &calls, "node", "name");
    struct gt_table *table = gt_rows_put(
        input, root, "calls", "Calls", &calls,
        "text:node text:name integer:count number:total_us number:host_percent " GT_NUMBERS_COLUMNS_US, NULL);
    gt_top_shown(table, GT_LIST_SHOWN);
    return table;
}

/* ---- copies ---- */

static const char *const directions[] = {"other", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "fill"};

static uint32_t direction_of(const struct gt_analysis_input *input, size_t event)
{
    static const char *const ways[][2] = {{"HtoD", "HostToDevice"},
                                          {"DtoH", "DeviceToHost"},
                                          {"DtoD", "DeviceToDevice"},
                                          {"PtoP", "PeerToPeer"},
                                          {"HtoH", "HostToHost"}};
    const char *name = gt_trace_text(input->trace, input->trace->events.name[event]);
    if (gt_analysis_work(input, event) == GT_WORK_SET)
        return sizeof directions / sizeof *directions - 1;
    for (uint32_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strstr(name, ways[i][0]) || strstr(name, ways[i][1]))
            return i + 1;
    return 0;
}

bool gt_api_is_pageable(const struct gt_analysis_input *input, size_t event)
{
    return gt_analysis_work(input, event) == GT_WORK_COPY &&
           strstr(gt_trace_text(input->trace, input->trace->events.name[event]), "Pageable");
}

static const char *const memories[] = {NULL, "pageable", "pinned"}; /* NULL: the trace does not have it */

static uint32_t memory_of(const struct gt_analysis_input *input, size_t event)
{
    const char *name = gt_trace_text(input->trace, input->trace->events.name[event]);
    return gt_api_is_pageable(input, event)                                           ? 1
           : gt_analysis_work(input, event) == GT_WORK_COPY && strstr(name, "Pinned") ? 2
                                                                                      : 0;
}

/* Copies whose bytes the trace does not have count, and have no part in the rate. */
static void put_copies(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows copies = gt_view_work(input);
    const uint32_t *event = gt_rows_keys(&copies, "event");
    const int64_t *length = gt_rows_wholes(&copies, "length");
    uint32_t *kind = gt_rows_add_keys(&copies, "kind", directions),
             *memory = gt_rows_add_keys(&copies, "memory", memories);
    double *bytes = gt_rows_add_reals(&copies, "bytes"), *timed = gt_rows_add_reals(&copies, "timed");
    double *rate = gt_rows_add_reals(&copies, "rate");
    bool *is_copy = gt_query_memory(copies.query, copies.count, sizeof *is_copy);
    for (size_t i = 0; i < copies.count && is_copy; i++) {
        int64_t some = gt_trace_bytes(&input->trace->events, event[i]);
        is_copy[i] = gt_analysis_work(input, event[i]) != GT_WORK_KERNEL;
        kind[i] = direction_of(input, event[i]);
        memory[i] = memory_of(input, event[i]);
        bytes[i] = some < 0 ? NAN : (double)some;
        timed[i] = some < 0 ? NAN : (double)length[i];
        rate[i] = length[i] > 0 ? bytes[i] / timed[i] : NAN;
    }
    copies = gt_rows_filter(&copies, is_copy);
    struct gt_rows ways = gt_rows_group(
        &copies, "node device kind memory",
        GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_SUM("total_bytes", "bytes"),
                      GT_SUM("timed", "timed"), GT_MIN("min_gb_per_second", "rate"),
                      GT_QUANTILE("p50_gb_per_second", "rate", 0.5), GT_MAX("max_gb_per_second", "rate")));
    const double *time = gt_rows_reals(&ways, "timed"), *sum = gt_rows_reals(&ways, "total_bytes");
    double *mean = gt_rows_add_reals(&ways, "gb_per_second");
    for (size_t i = 0; i < ways.count; i++)
        mean[i] = time[i] > 0 ? sum[i] / time[i] : NAN;
    gt_rows_rename(&ways, "memory", "host_memory");
    gt_rows_put(input, root, "copies", "Copies", &ways,
                "text:node text:device text:kind text:host_memory integer:count number:total_us number:total_bytes "
                "number:gb_per_second number:min_gb_per_second number:p50_gb_per_second number:max_gb_per_second",
                NULL);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_table *calls = put_calls(input, root);
    gt_analysis_empty(root, calls, "no calls of a GPU's runtime or driver (cuda_runtime, cuda_driver, hip_runtime)");
    put_copies(input, root);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_api = {
    .name = "api",
    .group = "gpu",
    .help = "calls of the CUDA or HIP runtime by name, and the bandwidth of copies; --top, --key " GT_LIST_KEYS,
    .takes = GT_TAKES_KEY | GT_TAKES_TOP,
    .joins = true,
    .build = build,
};
