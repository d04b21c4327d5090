/* Rules over calls of the CUDA or HIP runtime: those that make the host or the GPU wait. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/advice/advice.h"
#include "analyse/calls/api.h"
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/number.h"
#include "schema/human.h"

/* ---- allocations, and copies that return when they are made ---- */

struct calls {
    const char *longest; /* name */
    size_t count, of_longest;
    double total, most;
};

/* Takes the calls of one name. */
static void take(struct calls *calls, const char *name, const struct gt_spans *spans, size_t from, size_t to)
{
    double total = (double)gt_spans_total(spans, from, to);
    calls->count += to - from;
    calls->total += total;
    if (calls->longest && total <= calls->most)
        return;
    calls->longest = name;
    calls->of_longest = to - from;
    calls->most = total;
}

static void judge_calls(struct gt_adviser *adviser, uint32_t node, double host, const struct calls calls[GT_API_KINDS])
{
    const char *name = gt_analysis_text(adviser->input, node);
    const struct calls *kind = &calls[GT_API_ALLOCATION];
    if (kind->count)
        gt_advise(
            adviser, gt_gain_of_rank(adviser, node, kind->total), "api",
            "%s: %zu calls that allocate or free memory take %.0f %% of the host's time, most of it %s (%s): each may wait for the GPU; allocate once, let the allocator keep what it has (no empty_cache() in the loop), sizes that repeat",
            name, kind->count, gt_percent(kind->total, host), kind->longest, GT_TIMES(kind->of_longest));
    kind = &calls[GT_API_COPY];
    if (kind->count)
        gt_advise(
            adviser, gt_gain_of_rank(adviser, node, kind->total), "api",
            "%s: %zu copies that hold the host until they are made (%s) take %.0f %% of its time: pinned memory and asynchronous copies (non_blocking=True)",
            name, kind->count, kind->longest, gt_percent(kind->total, host));
}

/* ---- copies from memory that is not pinned ---- */

static bool is_pageable(const struct gt_analysis_input *input, size_t event)
{
    return gt_gpu_is_work(input, event) && gt_api_is_pageable(input, event);
}

static void judge_pageable(struct gt_adviser *adviser)
{
    struct gt_rows work = gt_view_work(adviser->input), times = gt_view_device_times(adviser->input);
    const uint32_t *event = gt_rows_keys(&work, "event");
    int64_t *bytes = gt_rows_add_wholes(&work, "bytes");
    bool *is_wanted = gt_query_memory(work.query, work.count, sizeof *is_wanted);
    for (size_t i = 0; i < work.count && is_wanted; i++) {
        int64_t some = gt_trace_bytes(&adviser->input->trace->events, event[i]);
        is_wanted[i] = is_pageable(adviser->input, event[i]);
        bytes[i] = some > 0 ? some : 0;
    }
    struct gt_rows copies = gt_rows_filter(&work, is_wanted);
    copies = gt_rows_group(&copies, "node device",
                           GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_SUM("bytes", "bytes")));
    gt_rows_join(&copies, &times, "node device", "span");
    const uint32_t *node = gt_rows_keys(&copies, "node"), *device = gt_rows_keys(&copies, "device");
    const int64_t *count = gt_rows_wholes(&copies, "count"), *total = gt_rows_wholes(&copies, "total");
    const int64_t *sum = gt_rows_wholes(&copies, "bytes"), *span = gt_rows_wholes(&copies, "span");
    for (size_t i = 0; i < copies.count; i++) {
        const char *name = gt_analysis_text(adviser->input, device[i]);
        char text[60] = "their sizes are unknown", some[GT_HUMAN_SIZE];
        if (sum[i] > 0)
            snprintf(text, sizeof text, "%s, %.1f GB/s", gt_human_bytes(some, (double)sum[i]),
                     (double)sum[i] / (double)total[i]);
        gt_advise(
            adviser, gt_gain_of_gpu(adviser, (double)total[i], node[i], device[i]), "api",
            "%s: %s%s: %zu copies from or to pageable memory take %.0f %% of the time (%s): pinned memory (pin_memory=True) is faster, and only then do they run beside computation",
            gt_analysis_text(adviser->input, node[i]), gt_advice_gpu(name), name, (size_t)count[i],
            gt_percent((double)total[i], (double)span[i]), text);
    }
}

void gt_advise_api(struct gt_adviser *adviser)
{
    struct gt_spans spans = {0};
    int64_t *host = gt_api_host_times(adviser->input);
    adviser->status = host ? gt_api_spans(adviser->input, &spans) : -ENOMEM;
    for (size_t from = 0, to = 0; adviser->status >= 0 && gt_spans_next(&spans, 1, &from, &to);) {
        struct calls calls[GT_API_KINDS] = {0};
        for (size_t i = from, next; i < to; i = next) {
            const char *name = gt_analysis_text(adviser->input, spans.span[i].key[1]);
            next = gt_spans_run(&spans, i, 2);
            take(&calls[gt_api_kind(name)], name, &spans, i, next);
        }
        uint32_t node = spans.span[from].key[0];
        if (node != GT_TRACE_NONE)
            judge_calls(adviser, node, (double)host[node], calls);
    }
    if (adviser->status >= 0)
        judge_pageable(adviser);
    free(host);
    gt_spans_release(&spans);
}
