/* Rules over calls of the CUDA or HIP runtime: those that make the host or the GPU wait. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/advice/advice.h"
#include "analyse/calls/api.h"
#include "analyse/calls/call_tree.h"
#include "analyse/trace/dataloader.h"
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

static void judge_calls(struct gt_adviser *adviser, uint32_t node, const struct calls calls[GT_API_KINDS])
{
    double host = (double)gt_api_host_time(adviser->input, node);
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

/* ---- synchronization ---- */

/* Idle time of a GPU that followed upon waiting of the host: the queue had run dry. */
struct drained {
    int64_t idle, most;
    uint32_t operator; /* within which most of it was, as a place */
    size_t count;
};

static int by_operator(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start));
}

/* Sums gaps by the operator that waited, key 0. */
static struct drained sum_gaps(struct gt_spans *gaps)
{
    struct drained ret = {.operator= GT_TRACE_NONE, .count = gaps->count};
    gt_spans_sort_by(gaps, by_operator);
    for (size_t from = 0, to = 0; gt_spans_next(gaps, 1, &from, &to);) {
        int64_t sum = gt_spans_total(gaps, from, to);
        ret.idle += sum;
        if (gaps->span[from].key[0] != GT_TRACE_NONE && sum > ret.most) {
            ret.most = sum;
            ret.operator= gaps->span[from].key[0];
        }
    }
    return ret;
}

static uint32_t operator_of(const struct gt_adviser *adviser, const struct gt_call_tree *tree, size_t event)
{
    const struct gt_trace_events *events = &adviser->input->trace->events;
    uint32_t span = gt_call_tree_at(tree, events->track[event], events->start[event]);
    span = gt_call_tree_operator(tree, adviser->input, span);
    return span == GT_TRACE_NONE ? GT_TRACE_NONE
                                 : gt_analysis_place(adviser->input, events->name[tree->spans.span[span].event]);
}

struct waiting {
    struct gt_spans work;  /* of GPUs, united; keys: node, device */
    size_t *call;          /* that launched the first of each */
    struct gt_spans waits; /* calls in which hosts wait for GPUs, united; key: node */
    struct gt_spans loads; /* of data; key: node */
    struct gt_call_tree tree;
};

/* Gaps of one device that began while the host waited, and that it ended by a call after them. What the data loader took
 * belongs to another rule. */
static int find_gaps(const struct gt_adviser *adviser, const struct waiting *waiting, size_t from, size_t to,
                     struct gt_spans *gaps)
{
    const struct gt_spans *work = &waiting->work, *waits = &waiting->waits, *loads = &waiting->loads;
    uint32_t node = work->span[from].key[0];
    size_t at = 0, first = 0, last = 0;
    int status = 0;
    while (first < loads->count && loads->span[first].key[0] != node)
        first++;
    last = first < loads->count ? gt_spans_run(loads, first, 1) : first;
    for (size_t i = from + 1; i < to && status >= 0; i++) {
        int64_t start = work->span[i - 1].end, end = work->span[i].start;
        if (gt_analysis_recording(adviser->input, work->span[i - 1].event) !=
            gt_analysis_recording(adviser->input, work->span[i].event))
            continue;
        while (at < waits->count &&
               (waits->span[at].key[0] < node || (waits->span[at].key[0] == node && waits->span[at].end < start)))
            at++;
        if (at == waits->count || waits->span[at].key[0] != node || waits->span[at].start > start ||
            waiting->call[i] == SIZE_MAX || adviser->input->trace->events.start[waiting->call[i]] < start)
            continue;
        end -= gt_spans_overlap(loads, first, last, start, end);
        status = gt_spans_add(
            gaps, (struct gt_keyed_span){.key = {operator_of(adviser, &waiting->tree, waits->span[at].event)},
                                         .start = start,
                                         .end = end});
    }
    return status;
}

static void judge_device(struct gt_adviser *adviser, const struct waiting *waiting, size_t from, size_t to)
{
    const struct gt_keyed_span *first = &waiting->work.span[from], *last = &waiting->work.span[to - 1];
    struct gt_spans gaps = {0};
    adviser->status = find_gaps(adviser, waiting, from, to, &gaps);
    struct drained drained = sum_gaps(&gaps);
    double whole = (double)gt_analysis_recorded(adviser->input, first->key[0], first->start, last->end);
    double late = fmin(gt_advice_blamed(adviser, first->key[0], GT_LOSS_HOST), (double)drained.idle);
    double idle = (double)drained.idle - late;
    const char *operator= gt_analysis_text(adviser->input, drained.operator);
    const char *device = gt_gpu_device(adviser->input, first);
    struct gt_buffer most = {0};
    if (operator)
        gt_buffer_printf(&most, ", %.0f %% of it after %s",
                         gt_percent((double)drained.most, (double)drained.idle), operator);
    if (late > 0)
        gt_buffer_printf(&most, ", apart from %s", gt_advice_apart(adviser));
    bool is_told = gt_advise(
        adviser, gt_gain_of_gpu(adviser, idle, first), "api, idle",
        "%s: %s%s: the host waited for it to finish %s (synchronization), and it then stood still %.0f %% of the time until the next launch%s: %s",
        gt_analysis_text(adviser->input, first->key[0]), gt_advice_gpu(device), device, GT_TIMES(drained.count),
        gt_percent(idle, whole), most.data ? most.data : "",
        adviser->is_pipeline ? "more and smaller micro-batches, if it is the pipeline that fills and drains"
                             : "fewer of them (.item(), .cpu(), print of a tensor), or later");
    gt_advice_is(adviser, is_told, (struct gt_loss){GT_LOSS_HOST, GT_LOSS_OF_DEVICE, first->key[0]});
    if (is_told)
        adviser->status = gt_spans_add(
            &adviser->drained, (struct gt_keyed_span){.key = {first->key[0], first->key[1]}, .end = drained.idle});
    gt_buffer_release(&most);
    gt_spans_release(&gaps);
}

/* Node, device, start. */
static int by_device(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, 2), GT_ORDER(x->start, y->start), GT_ORDER(x->event, y->event));
}

static int keep_waits(const struct gt_analysis_input *input, const struct gt_spans *calls, struct gt_spans *waits)
{
    int status = 0;
    for (size_t i = 0; i < calls->count && status >= 0; i++) {
        struct gt_keyed_span span = calls->span[i];
        enum gt_api_kind kind = gt_api_kind(gt_analysis_text(input, span.key[1]));
        span.key[1] = 0;
        if (kind == GT_API_SYNCHRONIZATION || kind == GT_API_COPY)
            status = gt_spans_add(waits, span);
    }
    gt_spans_sort(waits);
    gt_spans_unite(waits, 1);
    return status;
}

static void judge_waits(struct gt_adviser *adviser, const struct gt_spans *calls)
{
    struct waiting waiting = {0};
    int status = keep_waits(adviser->input, calls, &waiting.waits);
    if (status >= 0)
        status = gt_gpu_spans(adviser->input, &waiting.work);
    gt_spans_sort_by(&waiting.work, by_device);
    gt_spans_unite(&waiting.work, 2);
    if (status >= 0)
        status = gt_gpu_launches(adviser->input, &waiting.work, &waiting.call);
    if (status >= 0)
        status = gt_loader_waits(adviser->input, &waiting.loads);
    if (status >= 0)
        status = gt_call_tree_open(&waiting.tree, adviser->input);
    adviser->status = status;
    for (size_t from = 0, to = 0; adviser->status >= 0 && gt_spans_next(&waiting.work, 2, &from, &to);) {
        judge_device(adviser, &waiting, from, to);
    }
    if (status >= 0)
        gt_call_tree_close(&waiting.tree);
    gt_spans_release(&waiting.work);
    gt_spans_release(&waiting.waits);
    gt_spans_release(&waiting.loads);
    free(waiting.call);
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
        char text[60] = "their bytes are not told", some[GT_HUMAN_SIZE];
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
    adviser->status = gt_api_spans(adviser->input, &spans);
    for (size_t from = 0, to = 0; adviser->status >= 0 && gt_spans_next(&spans, 1, &from, &to);) {
        struct calls calls[GT_API_KINDS] = {0};
        for (size_t i = from, next; i < to; i = next) {
            const char *name = gt_analysis_text(adviser->input, spans.span[i].key[1]);
            next = gt_spans_run(&spans, i, 2);
            take(&calls[gt_api_kind(name)], name, &spans, i, next);
        }
        judge_calls(adviser, spans.span[from].key[0], calls);
    }
    if (adviser->status >= 0)
        judge_waits(adviser, &spans);
    if (adviser->status >= 0)
        judge_pageable(adviser);
    gt_spans_release(&spans);
}
