#include "analyse/trace/step_spans.h"

#include "base/number.h"
#include "trace/trace.h"

int gt_step_spans(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace *trace = input->trace;
    int status = 0;
    for (size_t i = 0; i < trace->step_count && status >= 0; i++) {
        const struct gt_trace_step *step = &trace->step[i];
        if ((input->has_whole_steps && !gt_steps_is_whole(trace, step)) || step->step < 0 ||
            !gt_analysis_wants_phase(input, gt_trace_text(trace, step->mode)))
            continue;
        status = gt_spans_add(
            spans, (struct gt_keyed_span){.key = {gt_analysis_place(input, step->node),
                                                  gt_analysis_place(input, step->mode), (uint32_t)step->step},
                                          .start = step->start,
                                          .end = step->end});
    }
    gt_spans_sort(spans);
    return status;
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

static bool is_comparable(const struct gt_analysis_input *input, uint32_t node)
{
    for (size_t i = 0; i < input->trace->file_count; i++)
        if (input->node[i] == node && input->counted[i])
            return true;
    return false;
}

int gt_skewed_steps(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    int status = gt_step_spans(input, spans);
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++) {
        struct gt_keyed_span span = spans->span[i];
        uint32_t node = span.key[0];
        if (!is_comparable(input, node))
            continue;
        span.key[0] = span.key[1];
        span.key[1] = span.key[2];
        span.key[2] = node;
        spans->span[count++] = span;
    }
    spans->count = count;
    gt_spans_sort(spans);
    return status;
}

struct gt_skew gt_step_skew(const struct gt_spans *spans, size_t from, size_t to)
{
    int64_t first = INT64_MAX, last = INT64_MIN, end = INT64_MIN, longest = -1;
    struct gt_skew skew = {.nodes = to - from, .shortest = INT64_MAX, .slowest = GT_TRACE_NONE};
    for (size_t i = from; i < to; i++) {
        const struct gt_keyed_span *span = &spans->span[i];
        int64_t length = span->end - span->start;
        first = span->start < first ? span->start : first;
        last = span->start > last ? span->start : last;
        end = span->end > end ? span->end : end;
        skew.shortest = length < skew.shortest ? length : skew.shortest;
        if (length > longest) {
            longest = length;
            skew.slowest = span->key[2];
        }
    }
    skew.hull = end - first;
    skew.start = last - first;
    skew.length = longest - skew.shortest;
    return skew;
}
