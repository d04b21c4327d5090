#include "analyse/gpu/gpu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/trace/training.h"
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
    bool *nodes = gt_query_zeros(input->query, input->trace->strings.count + (size_t)1, sizeof *nodes);
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

static struct gt_spans collect_spans(const struct gt_analysis_input *input,
                                     bool (*is_wanted)(const struct gt_trace *trace, size_t event))
{
    const struct gt_trace *trace = input->trace;
    size_t count = 0;
    for (size_t i = 0; i < trace->events.count; i++)
        count += is_work(input, i) && is_wanted(trace, i);
    struct gt_spans spans = gt_spans_room(input->query, count);
    for (size_t i = 0; i < trace->events.count && spans.span; i++) {
        const struct gt_trace_track *track = &trace->track[trace->events.track[i]];
        if (is_work(input, i) && is_wanted(trace, i))
            gt_spans_add_event(&spans, trace, i,
                               GT_SPAN_KEY(gt_analysis_node(input, i),
                                           gt_analysis_place(input, trace->process[track->process].own),
                                           gt_analysis_place(input, track->tid), gt_gpu_use(input, i)));
    }
    return spans;
}

struct gt_spans gt_gpu_spans(const struct gt_analysis_input *input)
{
    return collect_spans(input, gt_trace_is_slice);
}

struct gt_spans gt_gpu_all_spans(const struct gt_analysis_input *input)
{
    return collect_spans(input, gt_trace_lasts);
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

const size_t *gt_gpu_launches(const struct gt_analysis_input *input, const struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < events->count; i++)
        capacity += gt_analysis_work(input, i) == GT_WORK_RUNTIME;
    struct call *calls = malloc((capacity + 1) * sizeof *calls);
    size_t *found = gt_query_memory(input->query, spans->count, sizeof *found);
    if (!calls)
        gt_query_fail(input->query, -ENOMEM);
    if (!calls || !found) {
        free(calls);
        return NULL;
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
    return found;
}

/* ---- steps ---- */

static int by_start(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start), GT_ORDER(x->end, y->end),
                       GT_ORDER(x->key[1], y->key[1]), GT_ORDER(x->key[2], y->key[2]));
}

static bool has_node(const struct gt_spans *spans, uint32_t node)
{
    for (size_t i = 0; i < spans->count; i++)
        if (spans->span[i].key[0] == node)
            return true;
    return false;
}

/* A node without steps is looked at as a whole. */
static struct gt_spans add_whole_nodes(struct gt_query *query, const struct gt_spans *all, const struct gt_spans *steps)
{
    struct gt_spans spans = gt_spans_room(query, steps->count + all->count);
    for (size_t i = 0; i < steps->count && spans.span; i++)
        gt_spans_add(&spans, steps->span[i]);
    for (size_t from = 0, to = 0; spans.span && gt_spans_next(all, 1, &from, &to);) {
        struct gt_keyed_span whole = all->span[from];
        whole.end = all->span[to - 1].end;
        whole.key[1] = GT_TRACE_NONE;
        if (!has_node(&spans, whole.key[0]))
            gt_spans_add(&spans, whole);
    }
    return spans;
}

bool gt_is_read_in_part(const struct gt_trace *trace, const struct gt_keyed_span *step)
{
    return trace->is_bounded && (step->start < trace->bound_first || step->end > trace->bound_last);
}

/* They are left out where their node has others. */
static void leave_out_parts(const struct gt_trace *trace, struct gt_spans *spans)
{
    size_t kept = 0;
    for (size_t from = 0, to = 0; trace->is_bounded && gt_spans_next(spans, 1, &from, &to);) {
        size_t first = kept;
        for (size_t i = from; i < to; i++)
            if (!gt_is_read_in_part(trace, &spans->span[i]))
                spans->span[kept++] = spans->span[i];
        for (size_t i = from; i < to && kept == first; i++)
            spans->span[first + i - from] = spans->span[i];
        kept = kept == first ? first + to - from : kept;
    }
    spans->count = trace->is_bounded ? kept : spans->count;
}

size_t gt_gpu_step_at(const struct gt_gpu_steps *steps, uint32_t node, int64_t time)
{
    size_t low = GT_SEARCH(0, steps->count, middle,
                           steps->step[middle].span.key[0] != node ? steps->step[middle].span.key[0] < node
                                                                   : steps->step[middle].host_start <= time);
    return low && steps->step[low - 1].span.key[0] == node ? low - 1 : SIZE_MAX;
}

/* Each piece of work belongs to the step that its call lies in: owner[i], or SIZE_MAX. */
static void join_work(const struct gt_analysis_input *input, struct gt_gpu_steps *steps, const struct gt_spans *work,
                      const size_t *call)
{
    const struct gt_trace_events *events = &input->trace->events;
    for (size_t i = 0; i < work->count; i++) {
        const struct gt_keyed_span *span = &work->span[i];
        steps->owner[i] = SIZE_MAX;
        if (call[i] == SIZE_MAX)
            continue;
        int64_t start = events->start[call[i]], end = start + gt_trace_duration(events, call[i]);
        size_t at = gt_gpu_step_at(steps, span->key[GT_GPU_NODE], start);
        struct gt_gpu_step *step = at == SIZE_MAX ? NULL : &steps->step[at];
        if (!step || end > step->host_end)
            continue;
        steps->owner[i] = at;
        step->first = !step->work || span->start < step->first ? span->start : step->first;
        step->last = !step->work || span->end > step->last ? span->end : step->last;
        step->work++;
    }
}

/* The latest end of work that no step launched, before the work of the node's first step. */
static int64_t end_before(const struct gt_spans *work, const size_t *owner, const struct gt_gpu_step *first)
{
    int64_t end = first->span.start;
    for (size_t i = 0; i < work->count && first->work; i++)
        if (owner[i] == SIZE_MAX && work->span[i].key[GT_GPU_NODE] == first->span.key[0] &&
            work->span[i].end < first->first && work->span[i].end > end)
            end = work->span[i].end;
    return end;
}

static void move_steps(struct gt_gpu_steps *steps, const struct gt_spans *work)
{
    int64_t previous = 0;
    for (size_t i = 0; i < steps->count; i++) {
        struct gt_gpu_step *step = &steps->step[i];
        if (!i || step->span.key[0] != step[-1].span.key[0])
            previous = end_before(work, steps->owner, step);
        step->span.start = step->span.start > previous ? step->span.start : previous;
        step->span.end = step->work && step->last > step->span.end ? step->last : step->span.end;
        step->span.end = step->span.end > step->span.start ? step->span.end : step->span.start;
        previous = step->span.end;
    }
}

struct gt_gpu_steps gt_gpu_steps_find(const struct gt_analysis_input *input, const struct gt_spans *all,
                                      const struct gt_spans *work, const size_t *call)
{
    struct gt_spans spans = gt_step_spans(input);
    call = call ? call : gt_gpu_launches(input, work);
    leave_out_parts(input->trace, &spans);
    spans = add_whole_nodes(input->query, all, &spans);
    gt_spans_sort_by(&spans, by_start);
    struct gt_gpu_steps steps = {gt_query_zeros(input->query, spans.count, sizeof *steps.step), 0,
                                 gt_query_memory(input->query, work->count, sizeof *steps.owner)};
    if (!steps.owner)
        return steps;
    for (; steps.count < spans.count; steps.count++) {
        struct gt_keyed_span span = spans.span[steps.count];
        steps.step[steps.count] = (struct gt_gpu_step){.span = span,
                                                       .host_start = span.start,
                                                       .host_end = span.end,
                                                       .is_whole_node = span.key[1] == GT_TRACE_NONE};
    }
    join_work(input, &steps, work, call);
    move_steps(&steps, work);
    return steps;
}
