#include "analyse/trace/training.h"

#include <fnmatch.h>

#include "base/number.h"
#include "trace/trace.h"

/* ---- steps ---- */

struct gt_spans gt_step_spans(const struct gt_analysis_input *input)
{
    const struct gt_trace *trace = input->trace;
    struct gt_spans spans = gt_spans_room(input->query, trace->step_count);
    for (size_t i = 0; i < trace->step_count && spans.span; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        if ((input->has_whole_steps && !gt_steps_is_whole(trace, step)) || step->step < 0 ||
            !gt_analysis_wants_phase(input, gt_trace_text(trace, step->mode)))
            continue;
        gt_spans_add(&spans, (struct gt_keyed_span){.key = {gt_analysis_place(input, step->node),
                                                            gt_analysis_place(input, step->mode), (uint32_t)step->step},
                                                    .start = step->start,
                                                    .end = step->end});
    }
    gt_spans_sort(&spans);
    return spans;
}

struct gt_step_hull gt_step_hull(const struct gt_analysis_input *input, uint32_t node)
{
    const struct gt_trace *trace = input->trace;
    struct gt_step_hull hull = {INT64_MAX, INT64_MIN, 0};
    if (node == GT_TRACE_NONE)
        return hull;
    /* Steps are sorted by the string of their node. */
    uint32_t wanted = input->text[node];
    size_t first = GT_SEARCH(0, trace->step_count, middle, trace->step[middle].node < wanted);
    for (size_t i = first; i < trace->step_count && trace->step[i].node == wanted; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        if (step->step < 0 || (input->has_whole_steps && !gt_steps_is_whole(trace, step)))
            continue;
        hull.first = step->start < hull.first ? step->start : hull.first;
        hull.last = step->end > hull.last ? step->end : hull.last;
        hull.longest = step->end - step->start > hull.longest ? step->end - step->start : hull.longest;
    }
    return hull;
}

int64_t gt_step_hull_cut(const struct gt_step_hull *hull, int64_t *from, int64_t *to)
{
    int64_t length = *to - *from;
    if (hull->longest <= 0)
        return 0;
    if (*from < hull->first) {
        int64_t end = *to < hull->first ? *to : hull->first;
        *from = end - *from > hull->longest ? end : *from;
    } else if (*to > hull->last) {
        int64_t start = *from > hull->last ? *from : hull->last;
        *to = *to - start > hull->longest ? start : *to;
    }
    return length - (*to - *from);
}

/* ---- data loaders ---- */

/* By the event's name or its process's (the phase, in SMDebug's files). The last are TensorFlow's. */
static const struct {
    const char *pattern;
    enum gt_loader_part part;
} names[] = {
    {"DataLoaderIterInitialize", GT_LOADER_INITIALIZATION},
    {"*DataLoaderIter.__init__", GT_LOADER_INITIALIZATION},
    {"DataLoaderWorker", GT_LOADER_WORKER},
    {"*DataLoaderIter::GetNext", GT_LOADER_NEXT},
    {"enumerate(DataLoader)*", GT_LOADER_NEXT},
    {"enumerate(DataPipe)*", GT_LOADER_NEXT},
    {"DataIterator", GT_LOADER_NEXT},
    {"IteratorGetNext*", GT_LOADER_NEXT},
};

/* A trace has few names and many events: what was found is kept. */
static enum gt_loader_part part_of(const struct gt_analysis_input *input, uint32_t string)
{
    if (string >= input->trace->strings.count)
        return GT_LOADER_BATCH;
    const char *name = gt_trace_text(input->trace, string);
    if (input->loader[string])
        return (enum gt_loader_part)(input->loader[string] - 1);
    input->loader[string] = 1 + GT_LOADER_BATCH;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fnmatch(names[i].pattern, name, 0) == 0) {
            input->loader[string] = (unsigned char)(1 + names[i].part);
            break;
        }
    return (enum gt_loader_part)(input->loader[string] - 1);
}

enum gt_loader_part gt_loader_part(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    bool is_other = work == GT_WORK_OTHER || work == GT_WORK_ANNOTATION;
    if (!gt_trace_lasts(input->trace, event) || (!is_other && work != GT_WORK_OPERATOR))
        return GT_LOADER_BATCH;
    enum gt_loader_part part = part_of(input, input->trace->events.name[event]);
    if (part != GT_LOADER_BATCH || !is_other) /* ranges of programs were operators until PyTorch 1.12 */
        return part;
    return part_of(input, gt_trace_process_of(input->trace, event)->name);
}

int gt_loader_waits(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        enum gt_loader_part part = gt_loader_part(input, i);
        if (part == GT_LOADER_INITIALIZATION || part == GT_LOADER_NEXT)
            status = gt_spans_add_event(spans, input->trace, i, GT_SPAN_KEY(gt_analysis_node(input, i)));
    }
    gt_spans_sort(spans);
    gt_spans_unite(spans, 1);
    return status;
}
