#include "analyse/trace/loader.h"

#include <fnmatch.h>
#include <string.h>

const char *const gt_loader_part_names[GT_LOADER_PARTS + 1] = {"initialization", "worker", "get_next", "batch"};

/* By the event's name or its process's (the phase, in SMDebug's files). */
static const struct {
    const char *pattern;
    enum gt_loader_part part;
} names[] = {
    {"DataLoaderIterInitialize", GT_LOADER_INITIALIZATION},
    {"*DataLoaderIter.__init__", GT_LOADER_INITIALIZATION},
    {"DataLoaderWorker", GT_LOADER_WORKER},
    {"*DataLoaderIter::GetNext", GT_LOADER_NEXT},
    {"enumerate(DataLoader)*", GT_LOADER_NEXT},
    {"DataIterator", GT_LOADER_NEXT},
};

static enum gt_loader_part part_of(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fnmatch(names[i].pattern, name, 0) == 0)
            return names[i].part;
    return GT_LOADER_BATCH;
}

enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    if (!gt_analysis_is_slice(input, event) || (work != GT_WORK_OTHER && work != GT_WORK_ANNOTATION))
        return GT_LOADER_BATCH;
    enum gt_loader_part part = part_of(gt_trace_text(input->trace, input->trace->events.name[event]));
    if (part != GT_LOADER_BATCH)
        return part;
    return part_of(gt_trace_text(input->trace, gt_trace_process_of(input->trace, event)->name));
}

/* In SMDebug's timelines a process is a phase, and the node tells the process, unless the event tells it itself. */
static uint32_t process_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_track *track = &input->trace->track[input->trace->events.track[event]];
    if (track->real_process != GT_TRACE_NONE)
        return gt_analysis_place(input, track->real_process);
    if (strcmp(gt_trace_file_of(input->trace, event)->format, "smdebug") == 0)
        return GT_TRACE_NONE;
    return gt_analysis_place(input, input->trace->process[track->process].pid);
}

/* Keys: node, process, part. */
static int collect(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        enum gt_loader_part part = gt_loader_part(input, i);
        if (part == GT_LOADER_BATCH)
            continue;
        status = gt_spans_add(spans,
                              (struct gt_keyed_span){.key = {gt_analysis_node(input, i), process_of(input, i), part},
                                                     .start = events->start[i],
                                                     .end = events->start[i] + events->duration[i],
                                                     .event = i});
    }
    return status;
}

/* Fetches and initializations by node, process and time, so that a batch is what lies between two neighbours. */
static int add_batches(struct gt_spans *spans)
{
    struct gt_spans line = {0};
    int status = 0;
    for (size_t i = 0; i < spans->count && status >= 0; i++) {
        struct gt_keyed_span span = spans->span[i];
        uint32_t part = span.key[2];
        span.key[2] = 0;
        span.key[3] = 0;
        span.end = part;
        if (part != GT_LOADER_WORKER)
            status = gt_spans_add(&line, span);
    }
    gt_spans_sort(&line);
    for (size_t i = 1; i < line.count && status >= 0; i++) {
        const struct gt_keyed_span *last = &line.span[i - 1], *next = &line.span[i];
        bool same = last->key[0] == next->key[0] && last->key[1] == next->key[1];
        if (same && last->end == GT_LOADER_NEXT && next->end == GT_LOADER_NEXT)
            status = gt_spans_add(spans, (struct gt_keyed_span){.key = {next->key[0], next->key[1], GT_LOADER_BATCH,
                                                                        (uint32_t)next->event},
                                                                .start = last->start,
                                                                .end = next->start,
                                                                .event = last->event});
    }
    gt_spans_release(&line);
    return status;
}

int gt_loader_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    int status = collect(input, spans);
    if (status >= 0)
        status = add_batches(spans);
    for (size_t i = 0; i < spans->count; i++) {
        uint32_t process = spans->span[i].key[1];
        spans->span[i].key[1] = spans->span[i].key[2];
        spans->span[i].key[2] = process;
    }
    gt_spans_sort(spans);
    return status;
}

int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        enum gt_loader_part part = gt_loader_part(input, i);
        if (part == GT_LOADER_INITIALIZATION || part == GT_LOADER_NEXT)
            status = gt_spans_add(spans, (struct gt_keyed_span){.key = {gt_analysis_node(input, i)},
                                                                .start = events->start[i],
                                                                .end = events->start[i] + events->duration[i],
                                                                .event = i});
    }
    gt_spans_sort(spans);
    gt_spans_unite(spans, 1);
    return status;
}
