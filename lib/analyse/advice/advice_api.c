/* Rules over calls of the CUDA or HIP runtime: those that make the host or the GPU wait. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/advice/advice.h"
#include "analyse/calls/api.h"
#include "analyse/gpu/gpu.h"
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

static void judge_pageable(struct gt_adviser *adviser)
{
    const struct gt_trace_events *events = &adviser->input->trace->events;
    struct gt_spans spans = {0};
    adviser->status = gt_gpu_spans(adviser->input, &spans);
    gt_spans_sort(&spans);
    for (size_t from = 0, to = 0; adviser->status >= 0 && gt_spans_next(&spans, 2, &from, &to);) {
        struct gt_gpu_time time;
        double total = 0, bytes = 0;
        size_t count = 0;
        char text[60] = "their sizes are unknown", some[GT_HUMAN_SIZE];
        for (size_t i = from; i < to; i++) {
            const struct gt_keyed_span *span = &spans.span[i];
            if (!gt_api_is_pageable(adviser->input, span->event))
                continue;
            count++;
            total += (double)(span->end - span->start);
            bytes += gt_trace_bytes(events, span->event) > 0 ? (double)gt_trace_bytes(events, span->event) : 0;
        }
        adviser->status = count ? gt_gpu_time(adviser->input, &time, &spans, from, to) : 0;
        if (bytes > 0)
            snprintf(text, sizeof text, "%s, %.1f GB/s", gt_human_bytes(some, bytes), bytes / total);
        if (count && adviser->status >= 0)
            gt_advise(
                adviser, gt_gain_of_gpu(adviser, total, &spans.span[from]), "api",
                "%s: %s%s: %zu copies from or to pageable memory take %.0f %% of the time (%s): pinned memory (pin_memory=True) is faster, and only then do they run beside computation",
                gt_analysis_text(adviser->input, spans.span[from].key[0]),
                gt_advice_gpu(gt_gpu_device(adviser->input, &spans.span[from])),
                gt_gpu_device(adviser->input, &spans.span[from]), count, gt_percent(total, (double)time.whole), text);
    }
    gt_spans_release(&spans);
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
