#include "analyse/trace/epochs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/trace/step_spans.h"
#include "base/number.h"

struct fetch {
    uint32_t track;
    int64_t start, end;
    size_t number; /* in the list that was given */
    bool has_operators, by_workers;
    size_t step; /* that it begins in; SIZE_MAX: none */
};

static int by_track(const void *a, const void *b)
{
    const struct fetch *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->track, y->track), GT_ORDER(x->start, y->start));
}

/* The last fetch of the track that begins before a time. */
static struct fetch *fetch_before(struct fetch *fetch, size_t count, uint32_t track, int64_t time)
{
    struct fetch wanted = {.track = track, .start = time};
    size_t low = GT_SEARCH(0, count, middle, by_track(&fetch[middle], &wanted) <= 0);
    return low && fetch[low - 1].track == track ? &fetch[low - 1] : NULL;
}

static void find_operators(const struct gt_analysis_input *input, struct fetch *fetch, size_t count)
{
    const struct gt_trace_events *events = &input->trace->events;
    for (size_t i = 0; i < events->count; i++) {
        if (gt_analysis_work(input, i) != GT_WORK_OPERATOR || !gt_trace_lasts(input->trace, i))
            continue;
        struct fetch *before = fetch_before(fetch, count, events->track[i], events->start[i]);
        if (before && events->start[i] < before->end)
            before->has_operators = true;
    }
}

static int by_node(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start));
}

static size_t step_at(const struct gt_spans *steps, uint32_t node, int64_t time)
{
    size_t low = gt_spans_behind(steps, node, time);
    bool is_in = low && steps->span[low - 1].key[0] == node && steps->span[low - 1].end > time;
    return is_in ? low - 1 : SIZE_MAX;
}

/* Fetches from..to are of one process. Where most of them do work (that of workers is elsewhere), one that does none had nothing to
 * fetch; where most steps have one fetch, one that is followed by another in its step had none either. */
static void judge(const struct fetch *const *of, size_t from, size_t to, bool *is_end)
{
    size_t working = 0, alone = 0, followed = 0;
    for (size_t i = from; i < to; i++) {
        bool is_followed = i + 1 < to && of[i]->step == of[i + 1]->step;
        working += of[i]->has_operators && !of[i]->by_workers;
        followed += of[i]->step != SIZE_MAX && is_followed;
        alone += of[i]->step != SIZE_MAX && !is_followed;
    }
    for (size_t i = from; i < to; i++)
        is_end[i] = 2 * working > to - from ? !of[i]->has_operators
                                            : alone > 2 * followed && of[i]->step != SIZE_MAX && i + 1 < to &&
                                                  of[i]->step == of[i + 1]->step;
}

int gt_epoch_ends(const struct gt_analysis_input *input, const struct gt_spans *fetches, bool *is_end)
{
    struct fetch *fetch = calloc(fetches->count + 1, sizeof *fetch);
    const struct fetch **of = calloc(fetches->count + 1, sizeof *of);
    struct gt_spans steps = {0};
    int status = fetch && of ? gt_step_spans(input, &steps) : -ENOMEM;
    gt_spans_sort_by(&steps, by_node);
    for (size_t i = 0; i < fetches->count && status >= 0; i++) {
        const struct gt_keyed_span *span = &fetches->span[i];
        const char *name = gt_trace_text(input->trace, input->trace->events.name[span->event]);
        fetch[i] = (struct fetch){.track = input->trace->events.track[span->event],
                                  .start = span->start,
                                  .end = span->end,
                                  .number = i,
                                  .by_workers = strstr(name, "MultiProcessing") != NULL,
                                  .step = step_at(&steps, span->key[0], span->start)};
    }
    if (status >= 0) {
        GT_SORT(fetch, fetches->count, by_track);
        find_operators(input, fetch, fetches->count);
        for (size_t i = 0; i < fetches->count; i++)
            of[fetch[i].number] = &fetch[i];
        for (size_t from = 0, to = 0; gt_spans_next(fetches, 2, &from, &to);) {
            judge(of, from, to, is_end);
        }
    }
    gt_spans_release(&steps);
    free(of);
    free(fetch);
    return status;
}
