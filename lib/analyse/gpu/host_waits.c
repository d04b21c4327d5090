#include "analyse/gpu/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

struct search {
    const struct gt_analysis_input *input;
    struct gt_spans operators; /* outermost ones, by track and time; none overlaps another of its track */
    struct gt_spans waits;     /* synchronizing calls, likewise */
    double *time;              /* ns, by place of the owner; the last is of no operator */
    uint32_t node;
    struct gt_host_waits *ret;
    int status;
};

static bool is_synchronization(const char *name)
{
    return strstr(name, "Synchronize") || strcmp(name, "cudaMemcpy") == 0 || strcmp(name, "hipMemcpy") == 0;
}

/* Keeps what does not lie in what comes before it on the track. */
static void keep_outermost(struct gt_spans *spans)
{
    size_t kept = 0;
    gt_spans_sort_nested(spans);
    for (size_t i = 0; i < spans->count; i++) {
        const struct gt_keyed_span *last = kept ? &spans->span[kept - 1] : NULL;
        if (!last || last->key[0] != spans->span[i].key[0] || spans->span[i].start >= last->end)
            spans->span[kept++] = spans->span[i];
    }
    spans->count = kept;
}

static int collect(struct search *search)
{
    const struct gt_trace *trace = search->input->trace;
    int status = 0;
    for (size_t i = 0; i < trace->events.count && status >= 0; i++) {
        enum gt_work work = gt_analysis_work(search->input, i);
        if (!gt_trace_lasts(trace, i))
            continue;
        const uint32_t key[GT_SPAN_KEYS] = {trace->events.track[i]};
        if (work == GT_WORK_OPERATOR)
            status = gt_spans_add_event(&search->operators, trace, i, key);
        else if (work == GT_WORK_RUNTIME && is_synchronization(gt_trace_text(trace, trace->events.name[i])))
            status = gt_spans_add_event(&search->waits, trace, i, key);
    }
    keep_outermost(&search->operators);
    keep_outermost(&search->waits);
    return status;
}

/* Returns the first span of the track that ends behind `time`, or one of another track, or the count. */
static size_t find(const struct gt_spans *spans, uint32_t track, int64_t time)
{
    return GT_SEARCH(0, spans->count, middle,
                     spans->span[middle].key[0] != track ? spans->span[middle].key[0] < track
                                                         : spans->span[middle].end <= time);
}

static bool is_before(const struct gt_spans *spans, size_t at, uint32_t track, int64_t time)
{
    return at < spans->count && spans->span[at].key[0] == track && spans->span[at].start < time;
}

static double *time_of(struct search *search, const struct gt_keyed_span *owner)
{
    uint32_t place = gt_analysis_place(search->input, search->input->trace->events.name[owner->event]);
    return &search->time[place];
}

static void share_out(struct search *search, const struct gt_idle_gap *gap, uint32_t track, double part)
{
    double rest = (double)(gap->to - gap->from);
    for (size_t at = find(&search->operators, track, gap->from); is_before(&search->operators, at, track, gap->to);
         at++) {
        const struct gt_keyed_span *span = &search->operators.span[at];
        int64_t from = span->start > gap->from ? span->start : gap->from,
                to = span->end < gap->to ? span->end : gap->to;
        *time_of(search, span) += part * (double)(to - from);
        rest -= (double)(to - from);
    }
    search->time[search->input->trace->strings.count] += part * rest;
}

static void take_gap(void *context, const struct gt_idle_gap *gap)
{
    struct search *search = context;
    const struct gt_trace_events *events = &search->input->trace->events;
    if (gap->cause != GT_IDLE_HOST || gap->call == SIZE_MAX)
        return;
    uint32_t track = events->track[gap->call];
    double whole = (double)(gap->to - gap->from), part = (whole - (double)gap->loading) / whole;
    size_t wait = find(&search->waits, track, gap->from);
    if (!is_before(&search->waits, wait, track, events->start[gap->call]) ||
        search->waits.span[wait].start > gap->from) {
        share_out(search, gap, track, part);
        return;
    }
    const struct gt_keyed_span *owner = &search->waits.span[wait];
    size_t around = find(&search->operators, track, owner->start);
    if (is_before(&search->operators, around, track, owner->start + 1))
        owner = &search->operators.span[around];
    *time_of(search, owner) += part * whole;
}

/* Ends a node: its greatest owner is kept, and the times begin anew. */
static void end_node(struct search *search)
{
    uint32_t places = search->input->trace->strings.count, most = 0;
    double sum = 0;
    for (uint32_t i = 0; i <= places; i++) {
        sum += search->time[i];
        most = search->time[i] > search->time[most] ? i : most;
    }
    if (sum > 0 && GT_APPEND(search->ret, wait,
                             (struct gt_host_wait){search->node, most == places ? GT_TRACE_NONE : most,
                                                   search->time[most] / sum}) < 0)
        search->status = -ENOMEM;
    memset(search->time, 0, (places + (size_t)1) * sizeof *search->time);
}

/* Gaps come before the time that they are part of, so a node ends where one of the next begins. */
static void begin_gap(void *context, const struct gt_idle_gap *gap)
{
    struct search *search = context;
    if (gap->span->key[GT_GPU_NODE] != search->node) {
        end_node(search);
        search->node = gap->span->key[GT_GPU_NODE];
    }
    take_gap(context, gap);
}

static void pass_time(void *context, const struct gt_idle_time *time)
{
    (void)context, (void)time;
}

int gt_host_waits_find(const struct gt_analysis_input *input, struct gt_host_waits *ret)
{
    struct gt_spans work = {0};
    struct search search = {.input = input, .node = GT_TRACE_NONE, .ret = ret};
    *ret = (struct gt_host_waits){0};
    search.time = calloc(input->trace->strings.count + (size_t)1, sizeof *search.time);
    int status = search.time ? collect(&search) : -ENOMEM;
    status = status < 0 ? status : gt_gpu_spans(input, &work);
    if (status >= 0)
        status = gt_idle_visit(input, &work, 2,
                               &(struct gt_idle_visitor){.gap = begin_gap, .time = pass_time, .context = &search});
    if (status >= 0) {
        end_node(&search);
        status = search.status;
    }
    gt_spans_release(&work);
    gt_spans_release(&search.operators);
    gt_spans_release(&search.waits);
    free(search.time);
    if (status < 0)
        gt_host_waits_release(ret);
    return status;
}

static int compare_waits(const void *a, const void *b)
{
    const struct gt_host_wait *x = a, *y = b;
    return GT_ORDER(x->node, y->node);
}

const struct gt_host_wait *gt_host_wait_of(const struct gt_host_waits *waits, uint32_t node)
{
    struct gt_host_wait wanted = {.node = node};
    return waits->count ? bsearch(&wanted, waits->wait, waits->count, sizeof wanted, compare_waits) : NULL;
}

void gt_host_waits_release(struct gt_host_waits *waits)
{
    free(waits->wait);
    *waits = (struct gt_host_waits){0};
}
