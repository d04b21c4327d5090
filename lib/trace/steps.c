#include "trace/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By node, mode and number first, to find the parts of one step. */
static int by_identity(const void *a, const void *b)
{
    const struct gt_trace_step *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->mode != y->mode)
        return x->mode < y->mode ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
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

struct windows {
    const struct gt_trace_step **step; /* of one node, by start */
    int64_t *latest;                   /* the latest end up to each */
    size_t count;
};

static int collect(const struct gt_trace *trace, uint32_t node, struct windows *ret)
{
    bool has_whole = false;
    for (size_t i = 0; i < trace->step_count; i++)
        has_whole |= trace->step[i].node == node && gt_steps_is_whole(trace, &trace->step[i]);
    ret->count = 0;
    for (size_t i = 0; i < trace->step_count; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        if (step->node != node || (has_whole && !gt_steps_is_whole(trace, step)))
            continue;
        int64_t before = ret->count ? ret->latest[ret->count - 1] : INT64_MIN;
        ret->latest[ret->count] = step->end > before ? step->end : before;
        ret->step[ret->count++] = step;
    }
    return 0;
}

/* The latest window that began and holds the moment. */
static int32_t find(const struct windows *windows, int64_t time)
{
    size_t low = 0, high = windows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (windows->step[middle]->start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && windows->latest[low - 1] >= time)
        if (windows->step[--low]->end >= time)
            return windows->step[low]->step;
    return GT_TRACE_NO_STEP;
}

static void assign_file(struct gt_trace *trace, uint32_t file, const struct windows *windows)
{
    struct gt_trace_events *events = &trace->events;
    const struct gt_trace_file *about = &trace->file[file];
    for (size_t i = 0; i < events->count; i++)
        if (events->step[i] == GT_TRACE_NO_STEP && events->track[i] - about->track < about->tracks &&
            !(events->flag[i] & GT_TRACE_NO_TIME))
            events->step[i] = find(windows, events->start[i]);
}

int gt_steps_assign(struct gt_trace *trace)
{
    if (!trace->step_count || !trace->events.count)
        return 0;
    struct windows windows = {calloc(trace->step_count, sizeof *windows.step),
                              calloc(trace->step_count, sizeof *windows.latest), 0};
    int status = windows.step && windows.latest ? 0 : -ENOMEM;
    for (uint32_t file = 0; file < trace->file_count && status >= 0; file++) {
        collect(trace, gt_trace_node_of(trace, file), &windows);
        if (windows.count)
            assign_file(trace, file, &windows);
    }
    free(windows.step);
    free(windows.latest);
    return status;
}
