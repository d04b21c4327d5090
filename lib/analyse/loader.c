#include "analyse/loader.h"

#include <fnmatch.h>

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
    return GT_LOADER_PARTS;
}

enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    if (!gt_analysis_is_slice(input, event) || (work != GT_WORK_OTHER && work != GT_WORK_ANNOTATION))
        return GT_LOADER_PARTS;
    enum gt_loader_part part = part_of(gt_trace_text(input->trace, input->trace->events.name[event]));
    if (part != GT_LOADER_PARTS)
        return part;
    return part_of(gt_trace_text(input->trace, gt_trace_process_of(input->trace, event)->name));
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
