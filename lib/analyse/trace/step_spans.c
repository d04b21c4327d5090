#include "analyse/trace/step_spans.h"

#include "base/number.h"
#include "trace/trace.h"

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
