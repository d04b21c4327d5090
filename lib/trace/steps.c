#include "trace/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* By node, mode and number first, to find the parts of one step. */
static int by_identity(const void *a, const void *b)
{
    const struct gt_trace_step *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    return GT_ORDER(x->step, y->step);
}

static int by_start(const void *a, const void *b)
{
    const struct gt_trace_step *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return by_identity(a, b);
}

int gt_steps_combine(struct gt_trace *trace)
{
    size_t count = 0;
    struct gt_trace_step *step = trace->step;
    for (size_t i = 0; i < trace->step_count; i++)
        step[i].node = gt_trace_node_of(trace, step[i].node);
    if (trace->step_count)
        qsort(step, trace->step_count, sizeof *step, by_identity);
    for (size_t i = 0; i < trace->step_count; i++) {
        if (step[i].start > step[i].end) /* of a reading that was begun again */
            continue;
        if (count && by_identity(&step[count - 1], &step[i]) == 0) {
            struct gt_trace_step *known = &step[count - 1];
            known->start = step[i].start < known->start ? step[i].start : known->start;
            known->end = step[i].end > known->end ? step[i].end : known->end;
        } else {
            step[count++] = step[i];
        }
    }
    trace->step_count = count;
    if (count)
        qsort(step, count, sizeof *step, by_start);
    return 0;
}

bool gt_steps_is_whole(const struct gt_trace *trace, const struct gt_trace_step *step)
{
    const char *mode = gt_trace_text(trace, step->mode);
    return strncmp(mode, "Step:", 5) == 0 || strcmp(mode, "ProfilerStep") == 0;
}

/* The windows of a node that say which step a moment belongs to, by start. */
struct windows {
    const struct gt_trace_step **step;
    int64_t *latest; /* the latest end up to each */
    size_t count;
};

/* Steps stand node by node. Those of one node are appended; returns past its last one. */
static size_t add_node(const struct gt_trace *trace, size_t from, struct windows *windows)
{
    uint32_t node = trace->step[from].node;
    size_t to = from;
    bool has_whole = false;
    for (; to < trace->step_count && trace->step[to].node == node; to++)
        has_whole |= gt_steps_is_whole(trace, &trace->step[to]);
    int64_t latest = INT64_MIN;
    for (size_t i = from; i < to; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        if (has_whole && !gt_steps_is_whole(trace, step))
            continue;
        latest = step->end > latest ? step->end : latest;
        windows->latest[windows->count] = latest;
        windows->step[windows->count++] = step;
    }
    return to;
}

/* The latest window of the node that began and holds the moment. */
static int32_t find(const struct windows *windows, uint32_t node, int64_t time)
{
    size_t low = 0, high = windows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gt_trace_step *step = windows->step[middle];
        if (step->node != node ? step->node < node : step->start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && windows->step[low - 1]->node == node && windows->latest[low - 1] >= time)
        if (windows->step[--low]->end >= time)
            return windows->step[low]->step;
    return GT_TRACE_NO_STEP;
}

static void assign(struct gt_trace *trace, const struct windows *windows)
{
    struct gt_trace_events *events = &trace->events;
    uint32_t known = GT_TRACE_NONE, node = GT_TRACE_NONE;
    for (size_t i = 0; i < events->count; i++) {
        if (events->step[i] != GT_TRACE_NO_STEP || events->flag[i] & GT_TRACE_NO_TIME)
            continue;
        uint32_t file = trace->process[trace->track[events->track[i]].process].file;
        node = file == known ? node : gt_trace_node_of(trace, file);
        known = file;
        events->step[i] = find(windows, node, events->start[i]);
        events->flag[i] |= GT_TRACE_IN_STEP;
    }
}

int gt_steps_assign(struct gt_trace *trace)
{
    if (!trace->step_count || !trace->events.count)
        return 0;
    struct windows windows = {calloc(trace->step_count, sizeof *windows.step),
                              calloc(trace->step_count, sizeof *windows.latest), 0};
    int status = windows.step && windows.latest ? 0 : -ENOMEM;
    for (size_t from = 0; from < trace->step_count && status >= 0;)
        from = add_node(trace, from, &windows);
    if (status >= 0)
        assign(trace, &windows);
    free(windows.step);
    free(windows.latest);
    return status;
}
