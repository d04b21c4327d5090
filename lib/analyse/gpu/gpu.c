#include "analyse/gpu/gpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

/* ---- the work of GPUs as spans ---- */

static bool is_work(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    return work == GT_WORK_KERNEL || work == GT_WORK_COPY || work == GT_WORK_SET;
}

bool gt_gpu_is_work(const struct gt_analysis_input *input, size_t event)
{
    return is_work(input, event) && gt_trace_is_slice(input->trace, event);
}

static uint32_t index_of(const struct gt_analysis_input *input, uint32_t node)
{
    uint32_t places = input->trace->strings.count;
    return node < places ? node : places;
}

bool *gt_gpu_nodes(const struct gt_analysis_input *input)
{
    bool *nodes = calloc(input->trace->strings.count + (size_t)1, sizeof *nodes);
    for (size_t i = 0; nodes && i < input->trace->events.count; i++)
        if (is_work(input, i) && gt_trace_lasts(input->trace, i))
            nodes[index_of(input, gt_analysis_node(input, i))] = true;
    return nodes;
}

bool gt_gpu_has_node(const struct gt_analysis_input *input, const bool *nodes, uint32_t node)
{
    return nodes[index_of(input, node)];
}

enum gt_use gt_gpu_use(const struct gt_analysis_input *input, size_t event)
{
    if (gt_analysis_work(input, event) != GT_WORK_KERNEL)
        return GT_USE_MEMORY;
    return (enum gt_use)input->usage[input->trace->events.name[event]];
}

static int collect_spans(const struct gt_analysis_input *input, struct gt_spans *spans,
                         bool (*is_wanted)(const struct gt_trace *trace, size_t event))
{
    const struct gt_trace *trace = input->trace;
    int status = 0;
    for (size_t i = 0; i < trace->events.count && status >= 0; i++) {
        if (!is_work(input, i) || !is_wanted(trace, i))
            continue;
        const struct gt_trace_track *track = &trace->track[trace->events.track[i]];
        status = gt_spans_add_event(spans, trace, i,
                                    GT_SPAN_KEY(gt_analysis_node(input, i),
                                                gt_analysis_place(input, trace->process[track->process].own),
                                                gt_analysis_place(input, track->tid), gt_gpu_use(input, i)));
    }
    return status;
}

int gt_gpu_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    return collect_spans(input, spans, gt_trace_is_slice);
}

int gt_gpu_all_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    return collect_spans(input, spans, gt_trace_lasts);
}

const char *gt_gpu_device(const struct gt_analysis_input *input, const struct gt_keyed_span *span)
{
    return gt_analysis_text(input, span->key[GT_GPU_DEVICE]);
}

const char *gt_gpu_stream(const struct gt_analysis_input *input, uint32_t place)
{
    static const char word[] = "stream ";
    const char *stream = gt_analysis_text(input, place);
    return stream && strncmp(stream, word, sizeof word - 1) == 0 ? stream + sizeof word - 1 : stream;
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
    return GT_ORDER_BY(GT_ORDER(x->file, y->file), GT_ORDER(x->id, y->id), GT_ORDER(x->start, y->start),
                       GT_ORDER(x->event, y->event));
}

static struct call call_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_events *events = &input->trace->events;
    return (struct call){gt_trace_process_of(input->trace, event)->file, gt_trace_id(events, event),
                         events->start[event], event};
}

static size_t find_call(const struct call *calls, size_t count, struct call wanted)
{
    wanted.event = SIZE_MAX; /* past the last that is not behind what is wanted */
    size_t low = GT_SEARCH(0, count, middle, compare_calls(&calls[middle], &wanted) < 0);
    bool found = low && calls[low - 1].file == wanted.file && calls[low - 1].id == wanted.id;
    return found ? calls[low - 1].event : SIZE_MAX;
}

/* CUPTI counts from 1. */
static bool has_correlation(const struct gt_trace_events *events, size_t event)
{
    return gt_trace_id(events, event) != GT_TRACE_NO_ID && gt_trace_id(events, event) != 0;
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
        if (gt_analysis_work(input, i) == GT_WORK_RUNTIME && has_correlation(events, i) &&
            gt_trace_lasts(input->trace, i))
            calls[count++] = call_of(input, i);
    GT_SORT(calls, count, compare_calls);
    for (size_t i = 0; i < spans->count; i++) {
        size_t event = spans->span[i].event;
        found[i] = !has_correlation(events, event) ? SIZE_MAX : find_call(calls, count, call_of(input, event));
    }
    free(calls);
    *ret = found;
    return 0;
}
