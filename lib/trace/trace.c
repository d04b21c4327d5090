#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "trace/steps.h"

const char *gt_trace_text(const struct gt_trace *trace, uint32_t string)
{
    return gt_strings_text(&trace->strings, string);
}

uint32_t gt_trace_find(const struct gt_trace *trace, const char *text)
{
    int64_t number = gt_strings_find(&trace->strings, text, strlen(text));
    return number < 0 ? GT_TRACE_NONE : (uint32_t)number;
}

const struct gt_trace_process *gt_trace_process_of(const struct gt_trace *trace, size_t event)
{
    return &trace->process[trace->track[trace->events.track[event]].process];
}

const struct gt_trace_file *gt_trace_file_of(const struct gt_trace *trace, size_t event)
{
    return &trace->file[gt_trace_process_of(trace, event)->file];
}

uint32_t gt_trace_node_of(const struct gt_trace *trace, uint32_t file)
{
    uint32_t node = trace->file[file].node;
    return node != GT_TRACE_NONE ? node : gt_trace_find(trace, trace->file[file].path);
}

struct place {
    int64_t start, duration;
    uint32_t event;
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    return x->event < y->event ? -1 : 1;
}

uint32_t *gt_trace_order(const struct gt_trace *trace)
{
    const struct gt_trace_events *events = &trace->events;
    struct place *place = malloc((events->count + 1) * sizeof *place);
    uint32_t *order = malloc((events->count + 1) * sizeof *order);
    if (place && order) {
        for (size_t i = 0; i < events->count; i++)
            place[i] = (struct place){events->start[i], events->duration[i], (uint32_t)i};
        qsort(place, events->count, sizeof *place, by_start);
        for (size_t i = 0; i < events->count; i++)
            order[i] = place[i].event;
    } else {
        free(order);
        order = NULL;
    }
    free(place);
    return order;
}

const struct gt_trace_argument *gt_trace_argument(const struct gt_trace *trace, size_t event, uint32_t key)
{
    const struct gt_trace_events *events = &trace->events;
    size_t end = event + 1 < events->count ? events->argument[event + 1] : trace->argument_count;
    const struct gt_trace_argument *found = NULL; /* of several with one name the last counts */
    for (size_t i = events->argument[event]; i < end; i++)
        if (trace->argument[i].key == key)
            found = &trace->argument[i];
    return found;
}

void gt_trace_profile_release(struct gt_trace_profile *profile)
{
    free(profile->function);
    free(profile->caller);
    free(profile->frame);
}

static void release_events(struct gt_trace_events *events)
{
    void *const columns[] = {events->start, events->duration, events->id,       events->external,
                             events->bytes, events->name,     events->category, events->track,
                             events->step,  events->argument, events->phase,    events->flag};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
}

void gt_trace_close(struct gt_trace *trace)
{
    if (!trace)
        return;
    release_events(&trace->events);
    free(trace->samples.time);
    free(trace->samples.value);
    free(trace->samples.series);
    for (size_t i = 0; i < trace->file_count; i++)
        free(trace->file[i].path);
    for (size_t i = 0; i < trace->profile_count; i++)
        gt_trace_profile_release(&trace->profile[i]);
    void *const arrays[] = {trace->file, trace->process, trace->track,   trace->series,
                            trace->step, trace->profile, trace->argument};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    gt_strings_release(&trace->strings);
    free(trace);
}
