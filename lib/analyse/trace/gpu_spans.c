#include "analyse/trace/gpu_spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

bool gt_gpu_is_work(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    return (work == GT_WORK_KERNEL || work == GT_WORK_COPY || work == GT_WORK_SET) &&
           gt_trace_is_slice(input->trace, event);
}

static enum gt_use use_of(const struct gt_analysis_input *input, size_t event)
{
    if (gt_analysis_work(input, event) != GT_WORK_KERNEL)
        return GT_USE_MEMORY;
    return (enum gt_use)input->usage[input->trace->events.name[event]];
}

int gt_gpu_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace *trace = input->trace;
    int status = 0;
    for (size_t i = 0; i < trace->events.count && status >= 0; i++) {
        if (!gt_gpu_is_work(input, i))
            continue;
        const struct gt_trace_track *track = &trace->track[trace->events.track[i]];
        int64_t start = trace->events.start[i];
        status = gt_spans_add(
            spans, (struct gt_keyed_span){
                       .key = {gt_analysis_node(input, i), gt_analysis_place(input, trace->process[track->process].pid),
                               gt_analysis_place(input, track->tid), use_of(input, i)},
                       .start = start,
                       .end = start + trace->events.duration[i],
                       .event = i,
                   });
    }
    return status;
}

const char *gt_gpu_device(const struct gt_analysis_input *input, const struct gt_keyed_span *span)
{
    return gt_analysis_text(input, span->key[GT_GPU_DEVICE]);
}

/* ---- what runs at once ---- */

struct edge {
    int64_t time;
    int8_t usage, change;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return GT_ORDER(x->time, y->time);
}

int gt_gpu_time(struct gt_gpu_time *ret, const struct gt_spans *spans, size_t from, size_t to)
{
    size_t count = 2 * (to - from), running[GT_USES] = {0};
    struct edge *edge = malloc((count + 1) * sizeof *edge);
    *ret = (struct gt_gpu_time){0};
    if (!edge)
        return -ENOMEM;
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        edge[2 * (i - from)] = (struct edge){span->start, (int8_t)span->key[GT_GPU_USE], 1};
        edge[2 * (i - from) + 1] = (struct edge){span->end, (int8_t)span->key[GT_GPU_USE], -1};
    }
    qsort(edge, count, sizeof *edge, compare_edges);
    for (size_t i = 0; i < count; i++) {
        unsigned set = 0;
        for (int usage = 0; usage < GT_USES; usage++)
            set |= running[usage] ? 1u << usage : 0;
        if (i)
            ret->part[set] += edge[i].time - edge[i - 1].time;
        running[edge[i].usage] +=
            (size_t)edge[i].change; /* of edges at one time an end may come first: it wraps, and back */
    }
    ret->first = count ? edge[0].time : 0;
    ret->last = count ? edge[count - 1].time : 0;
    free(edge);
    return 0;
}

int64_t gt_gpu_busy(const struct gt_gpu_time *time, enum gt_use usage)
{
    int64_t busy = 0;
    for (unsigned set = 0; set < 1u << GT_USES; set++)
        busy += set >> usage & 1 ? time->part[set] : 0;
    return busy;
}

/* ---- launches ---- */

struct call {
    uint32_t file;
    uint64_t id;
    int64_t start;
    size_t event;
};

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return GT_ORDER(x->event, y->event);
}

static struct call call_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_events *events = &input->trace->events;
    return (struct call){gt_trace_process_of(input->trace, event)->file, events->id[event], events->start[event],
                         event};
}

static size_t find_call(const struct call *calls, size_t count, struct call wanted)
{
    size_t low = 0, high = count;
    while (low < high) { /* past the last that is not behind what is wanted */
        size_t middle = low + (high - low) / 2;
        const struct call *call = &calls[middle];
        bool before = call->file != wanted.file ? call->file < wanted.file
                      : call->id != wanted.id   ? call->id < wanted.id
                                                : call->start <= wanted.start;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low && calls[low - 1].file == wanted.file && calls[low - 1].id == wanted.id;
    return found ? calls[low - 1].event : SIZE_MAX;
}

int gt_gpu_launches(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t **ret)
{
    const struct gt_trace_events *events = &input->trace->events;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < events->count; i++)
        capacity += gt_analysis_work(input, i) == GT_WORK_RUNTIME;
    struct call *calls = malloc((capacity + 1) * sizeof *calls);
    size_t *found = malloc((spans->count + 1) * sizeof *found);
    if (!calls || !found) {
        free(calls);
        free(found);
        return -ENOMEM;
    }
    for (size_t i = 0; i < events->count; i++)
        if (gt_analysis_work(input, i) == GT_WORK_RUNTIME && events->id[i] != GT_TRACE_NO_ID &&
            gt_trace_is_slice(input->trace, i))
            calls[count++] = call_of(input, i);
    qsort(calls, count, sizeof *calls, compare_calls);
    for (size_t i = 0; i < spans->count; i++) {
        size_t event = spans->span[i].event;
        found[i] = events->id[event] == GT_TRACE_NO_ID ? SIZE_MAX : find_call(calls, count, call_of(input, event));
    }
    free(calls);
    *ret = found;
    return 0;
}
