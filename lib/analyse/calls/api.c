/* The calls of the CUDA or HIP runtime and driver by name, and how fast memory was copied. */
#include "analyse/calls/api.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
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

int gt_api_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace *trace = input->trace;
    int status = 0;
    for (size_t i = 0; i < trace->events.count && status >= 0; i++)
        if (gt_analysis_work(input, i) == GT_WORK_RUNTIME && gt_trace_is_slice(trace, i))
            status = gt_spans_add_event(
                spans, trace, i,
                GT_SPAN_KEY(gt_analysis_node(input, i), gt_analysis_place(input, trace->events.name[i])));
    gt_spans_sort(spans);
    return status;
}

struct thread {
    int64_t first, last;
    bool is_seen, calls;
};

int64_t *gt_api_host_times(const struct gt_analysis_input *input)
{
    const struct gt_trace *trace = input->trace;
    struct thread *thread = calloc(trace->track_count + 1, sizeof *thread);
    int64_t *sum = calloc(trace->strings.count + (size_t)1, sizeof *sum);
    for (size_t i = 0; thread && i < trace->events.count; i++) {
        int64_t start = trace->events.start[i], end = start + gt_trace_duration(&trace->events, i);
        if (!gt_trace_lasts(trace, i))
            continue;
        struct thread *of = &thread[trace->events.track[i]];
        of->first = !of->is_seen || start < of->first ? start : of->first;
        of->last = !of->is_seen || end > of->last ? end : of->last;
        of->is_seen = true;
        of->calls |= gt_analysis_work(input, i) == GT_WORK_RUNTIME;
    }
    for (size_t i = 0; thread && sum && i < trace->track_count; i++) {
        uint32_t node = input->node[trace->process[trace->track[i].process].file];
        if (thread[i].calls && node != GT_TRACE_NONE)
            sum[node] += thread[i].last - thread[i].first;
    }
    if (!thread) {
        free(sum);
        sum = NULL;
    }
    free(thread);
    return sum;
}

static int add_calls(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_spans *spans)
{
    size_t count;
    int status;
    int64_t *host = gt_api_host_times(input);
    struct gt_numbers lengths = {0};
    struct gt_list_row *row = gt_list_rows(input, spans, 2, &count, &status);
    status = status < 0 || host ? status : -ENOMEM;
    for (size_t i = 0; row && i < count && status >= 0; i++) {
        const struct gt_keyed_span *span = &spans->span[row[i].from];
        status = gt_list_lengths(&lengths, spans, row[i].from, row[i].to, 1e3);
        GT_CELLS(table, gt_analysis_text(input, span->key[0]), gt_analysis_text(input, span->key[1]), lengths.count,
                 row[i].total / 1e3,
                 gt_percent(row[i].total, span->key[0] == GT_TRACE_NONE ? NAN : (double)host[span->key[0]]));
        gt_numbers_cells(table, &lengths);
    }
    gt_top_shown(table, GT_LIST_SHOWN);
    gt_numbers_release(&lengths);
    free(row);
    free(host);
    return status;
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

static const char *const memories[] = {NULL, "pageable", "pinned"};

static uint32_t memory_of(const struct gt_analysis_input *input, size_t event)
{
    const char *name = gt_trace_text(input->trace, input->trace->events.name[event]);
    return gt_api_is_pageable(input, event)                                           ? 1
           : gt_analysis_work(input, event) == GT_WORK_COPY && strstr(name, "Pinned") ? 2
                                                                                      : 0;
}

/* Keys: node, device, direction, memory. */
static int find_copies(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    int status = gt_gpu_spans(input, spans);
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++) {
        struct gt_keyed_span span = spans->span[i];
        if (gt_analysis_work(input, span.event) == GT_WORK_KERNEL)
            continue;
        span.key[2] = direction_of(input, span.event);
        span.key[3] = memory_of(input, span.event);
        spans->span[count++] = span;
    }
    spans->count = count;
    gt_spans_sort(spans);
    return status;
}

/* Copies whose bytes the trace does not tell count, and have no part in the rate. */
static int add_copy(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_spans *spans,
                    size_t from, size_t to)
{
    const struct gt_keyed_span *first = &spans->span[from];
    struct gt_numbers rates = {0};
    double bytes = 0, told = 0, total = 0;
    int status = 0;
    for (size_t i = from; i < to && status >= 0; i++) {
        int64_t length = spans->span[i].end - spans->span[i].start,
                some = gt_trace_bytes(&input->trace->events, spans->span[i].event);
        total += (double)length;
        if (some < 0)
            continue;
        bytes += (double)some;
        told += (double)length;
        status = length > 0 ? gt_numbers_add(&rates, (double)some / (double)length) : 0;
    }
    GT_CELLS(table, gt_analysis_text(input, first->key[0]), gt_analysis_text(input, first->key[1]),
             directions[first->key[2]], memories[first->key[3]], to - from, total / 1e3);
    GT_CELLS(table, rates.count ? bytes : NAN, told > 0 ? bytes / told : NAN, gt_numbers_percentile(&rates, 0),
             gt_numbers_percentile(&rates, 50), gt_numbers_percentile(&rates, 100));
    gt_numbers_release(&rates);
    return status;
}

static int add_copies(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    struct gt_table *table = gt_analysis_table(
        root, "copies", "Copies",
        "text:node text:device text:kind text:host_memory integer:count number:total_us number:total_bytes "
        "number:gb_per_second number:min_gb_per_second number:p50_gb_per_second number:max_gb_per_second");
    int status = find_copies(input, &spans);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&spans, 4, &from, &to);) {
        status = add_copy(input, table, &spans, from, to);
    }
    gt_analysis_empty(root, table, NULL);
    gt_spans_release(&spans);
    return status;
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_spans spans = {0};
    struct gt_table *table = gt_analysis_table(
        root, "calls", "Calls",
        "text:node text:name integer:count number:total_us number:host_percent " GT_NUMBERS_COLUMNS_US);
    int status = gt_api_spans(input, &spans);
    if (status >= 0)
        status = add_calls(input, table, &spans);
    gt_analysis_empty(root, table, "no calls of a GPU's runtime or driver (cuda_runtime, cuda_driver, hip_runtime)");
    gt_spans_release(&spans);
    if (status >= 0)
        status = add_copies(input, root);
    return status;
}

const struct gt_analysis gt_analysis_api = {
    .name = "api",
    .help = "calls of the CUDA or HIP runtime by name, and the bandwidth of copies; --top, --key " GT_LIST_KEYS,
    .takes = GT_TAKES_KEY | GT_TAKES_TOP,
    .joins = true,
    .build = build,
};
