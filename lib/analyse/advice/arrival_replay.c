/* Replays collectives with earlier arrivals. Computation hides a wait only for a while: the stream of communication stays behind, and
 * later collectives on it end later. */
#include "analyse/advice/arrival_replay.h"

#include <stdlib.h>

#include "analyse/gpu/gpu.h"
#include "base/number.h"

enum { BLOCKED = 10000 }; /* ns; a collective that begins this soon after the one before it was blocked by it */

/* A rank's part in a collective. */
struct gt_replay_part {
    int64_t ready;            /* its rank has computed what it needs */
    int64_t exposed;          /* ns in which it runs and the device computes nothing */
    size_t before, on_stream; /* the part before it on its device, and on its stream; SIZE_MAX: none */
    bool is_blocked;
    uint32_t rank; /* its place in gt_collectives.rank: each replay asks for it */
    int64_t begin; /* in the replay */
    int64_t ahead; /* its end in the replay is earlier by this */
    int64_t saved; /* ns that the device has saved after it */
};

/* ---- when a rank has computed what a collective needs ---- */

/* Computing kernels by node, device and call: `end` is the last end so far. */
static int list_ends(const struct gt_analysis_input *input, const struct gt_spans *work, const size_t *call,
                     struct gt_spans *ends)
{
    int status = 0;
    for (size_t i = 0; i < work->count && status >= 0; i++) {
        const struct gt_keyed_span *span = &work->span[i];
        if (span->key[GT_GPU_USE] == GT_USE_COMPUTE && call[i] != SIZE_MAX)
            status = gt_spans_add(ends, (struct gt_keyed_span){{span->key[GT_GPU_NODE], span->key[GT_GPU_DEVICE]},
                                                               input->trace->events.start[call[i]],
                                                               span->end,
                                                               span->event});
    }
    gt_spans_sort(ends);
    for (size_t i = 1; i < ends->count; i++) {
        struct gt_keyed_span *span = &ends->span[i];
        if (gt_order_lists(span[-1].key, span->key, 2) == 0 && span[-1].end > span->end)
            span->end = span[-1].end;
    }
    return status;
}

/* The time when the device has ended all computing kernels that were launched before `time`; `time` itself without any. */
static int64_t end_of_launched(const struct gt_spans *ends, const uint32_t key[2], int64_t time)
{
    size_t behind = GT_SEARCH(
        0, ends->count, middle,
        GT_ORDER_BY(gt_order_lists(ends->span[middle].key, key, 2), GT_ORDER(ends->span[middle].start, time)) < 0);
    bool is_known = behind && gt_order_lists(ends->span[behind - 1].key, key, 2) == 0;
    return is_known && ends->span[behind - 1].end > time ? ends->span[behind - 1].end : time;
}

/* Parts that another on their stream blocked were ready earlier: when their call was made, and the work before it done. */
static int find_ready(struct gt_replay *replay, const struct gt_analysis_input *input, const struct gt_spans *work,
                      const size_t *call)
{
    struct gt_spans ends = {0};
    int status = list_ends(input, work, call, &ends);
    for (size_t i = 0; i < replay->parts && status >= 0; i++) {
        struct gt_replay_part *part = &replay->part[i];
        const struct gt_arrival *arrival = &replay->all->arrival[i];
        size_t at = GT_SEARCH(0, work->count, middle, work->span[middle].event < arrival->event);
        if (!part->is_blocked || at == work->count || work->span[at].event != arrival->event || call[at] == SIZE_MAX)
            continue;
        int64_t begin = input->trace->events.start[arrival->event];
        int64_t ready = end_of_launched(&ends, work->span[at].key, input->trace->events.start[call[at]]);
        part->ready -= ready < begin ? begin - ready : 0;
    }
    gt_spans_release(&ends);
    return status;
}

/* ---- parts ---- */

uint32_t gt_arrival_device(const struct gt_analysis_input *input, const struct gt_arrival *arrival)
{
    bool is_of_gpu = arrival->event != SIZE_MAX && gt_analysis_work(input, arrival->event) == GT_WORK_KERNEL;
    return is_of_gpu ? gt_analysis_place(input, gt_trace_process_of(input->trace, arrival->event)->own) : GT_TRACE_NONE;
}

int64_t gt_arrival_computed(const struct gt_spans *compute, const uint32_t *key, int64_t from, int64_t to)
{
    size_t low = GT_SEARCH(
        0, compute->count, middle,
        GT_ORDER_BY(gt_order_lists(compute->span[middle].key, key, 2), compute->span[middle].end <= from ? -1 : 1) < 0);
    int64_t sum = 0;
    for (; low < compute->count && gt_order_lists(compute->span[low].key, key, 2) == 0; low++) {
        const struct gt_keyed_span *span = &compute->span[low];
        if (span->start >= to)
            break;
        sum += (span->end < to ? span->end : to) - (span->start > from ? span->start : from);
    }
    return sum;
}

/* Tensors of Horovod do not block each other. */
static uint32_t stream_of(const struct gt_analysis_input *input, const struct gt_arrival *arrival)
{
    return arrival->event == SIZE_MAX ? GT_TRACE_NONE : input->trace->events.track[arrival->event];
}

/* Keys: node, device, stream; `event` is the arrival, start is the last arrival of its collective. */
static int list_parts(struct gt_replay *replay, const struct gt_analysis_input *input, struct gt_spans *parts)
{
    int status = 0;
    for (size_t i = 0; i < replay->all->count; i++)
        for (size_t j = replay->all->collective[i].from; j < replay->all->collective[i].to && status >= 0; j++) {
            const struct gt_arrival *arrival = &replay->all->arrival[j];
            uint32_t key[] = {arrival->node, gt_arrival_device(input, arrival), stream_of(input, arrival)};
            status = gt_spans_add(
                parts,
                (struct gt_keyed_span){{key[0], key[1], key[2]}, replay->all->collective[i].last, arrival->end, j});
        }
    return status;
}

static int by_last(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(gt_order_lists(x->key, y->key, 2), GT_ORDER(x->start, y->start), GT_ORDER(x->event, y->event));
}

static void link_parts(struct gt_replay *replay, const struct gt_spans *parts, bool is_stream)
{
    for (size_t i = 0; i < parts->count; i++) {
        const struct gt_keyed_span *span = &parts->span[i];
        struct gt_replay_part *part = &replay->part[span->event];
        bool follows = i && gt_order_lists(span[-1].key, span->key, is_stream ? 3 : 2) == 0;
        size_t before = follows ? span[-1].event : SIZE_MAX;
        if (!is_stream) {
            part->before = before;
            continue;
        }
        const struct gt_arrival *arrival = &replay->all->arrival[span->event];
        part->on_stream = arrival->event == SIZE_MAX ? SIZE_MAX : before;
        part->is_blocked = part->on_stream != SIZE_MAX && arrival->start - replay->all->arrival[before].end < BLOCKED;
    }
}

static int find_parts(struct gt_replay *replay, const struct gt_analysis_input *input, const struct gt_spans *compute)
{
    struct gt_spans parts = {0};
    int status = list_parts(replay, input, &parts);
    gt_spans_sort(&parts);
    link_parts(replay, &parts, true);
    gt_spans_sort_by(&parts, by_last);
    link_parts(replay, &parts, false);
    for (size_t i = 0; i < parts.count && status >= 0; i++) {
        const struct gt_keyed_span *span = &parts.span[i];
        const struct gt_arrival *arrival = &replay->all->arrival[span->event];
        struct gt_replay_part *part = &replay->part[span->event];
        int64_t length = arrival->end > arrival->start ? arrival->end - arrival->start : 0;
        int64_t from = arrival->event == SIZE_MAX ? 0 : input->trace->events.start[arrival->event];
        part->ready = arrival->start;
        part->rank = (uint32_t)gt_late_rank_of(replay->all, arrival);
        part->exposed = length -
                        (arrival->event == SIZE_MAX ? 0 : gt_arrival_computed(compute, span->key, from, from + length));
    }
    gt_spans_release(&parts);
    return status;
}

static int by_time(const void *a, const void *b, void *all)
{
    const struct gt_collective *x = &((const struct gt_collectives *)all)->collective[*(const size_t *)a];
    const struct gt_collective *y = &((const struct gt_collectives *)all)->collective[*(const size_t *)b];
    return GT_ORDER_BY(GT_ORDER(x->last, y->last), GT_ORDER(x->from, y->from));
}

void gt_replay_open(struct gt_replay *replay, const struct gt_analysis_input *input, const struct gt_collectives *all,
                    const struct gt_spans *compute, const struct gt_spans *work, const size_t *call)
{
    size_t parts = all->count ? all->collective[all->count - 1].to : 0;
    *replay = (struct gt_replay){.all = all,
                                 .parts = parts,
                                 .part = gt_query_memory(input->query, parts, sizeof *replay->part),
                                 .order = gt_query_memory(input->query, all->count, sizeof *replay->order),
                                 .saved = gt_query_memory(input->query, all->ranks, sizeof *replay->saved)};
    if (!replay->saved)
        return;
    for (size_t i = 0; i < all->count; i++)
        replay->order[i] = i;
    qsort_r(replay->order, all->count, sizeof *replay->order, by_time, (void *)(uintptr_t)all);
    int status = find_parts(replay, input, compute);
    status = status < 0 ? status : find_ready(replay, input, work, call);
    if (status < 0)
        gt_query_fail(input->query, status);
}

/* ---- the replay ---- */

/* What the device had saved by the parts that had ended at `time`. */
static int64_t saved_at(const struct gt_replay *replay, size_t part, int64_t time)
{
    while (part != SIZE_MAX && replay->all->arrival[part].end > time)
        part = replay->part[part].before;
    return part == SIZE_MAX ? 0 : replay->part[part].saved;
}

static int64_t begin_of(const struct gt_replay *replay, size_t number)
{
    const struct gt_replay_part *part = &replay->part[number];
    int64_t start = replay->all->arrival[number].start;
    int64_t begin = part->ready - saved_at(replay, part->before, part->ready);
    if (part->on_stream != SIZE_MAX) {
        int64_t free = (part->is_blocked ? start : replay->all->arrival[part->on_stream].end) -
                       replay->part[part->on_stream].ahead;
        begin = free > begin ? free : begin;
    }
    return begin < start ? begin : start;
}

static void end_part(struct gt_replay *replay, size_t number, int64_t ahead)
{
    struct gt_replay_part *part = &replay->part[number];
    int64_t saved = part->before == SIZE_MAX ? 0 : replay->part[part->before].saved;
    int64_t more = ahead > saved ? ahead - saved : 0;
    part->ahead = ahead;
    part->saved = saved + (more < part->exposed ? more : part->exposed);
}

static void replay_collective(struct gt_replay *replay, const struct gt_collective *collective,
                              enum gt_replay_kind kind, const bool *is_left_out)
{
    bool is_waited = gt_is_waited_in(collective);
    int64_t last = INT64_MIN, least = INT64_MAX;
    double sum = 0;
    size_t count = 0;
    for (size_t i = collective->from; i < collective->to; i++) {
        const struct gt_arrival *arrival = &replay->all->arrival[i];
        int64_t begin = begin_of(replay, i), ahead = arrival->start - begin;
        replay->part[i].begin = begin;
        if (is_left_out && is_left_out[replay->part[i].rank])
            continue;
        last = begin > last ? begin : last;
        least = ahead < least ? ahead : least;
        sum += (double)(begin - collective->first);
        count++;
    }
    if (kind == GT_REPLAY_EVEN && count)
        last = collective->first + (int64_t)(sum / (double)count);
    for (size_t i = collective->from; i < collective->to; i++) {
        int64_t begin = kind == GT_REPLAY_ALONE ? replay->part[i].begin : last;
        int64_t own = replay->all->arrival[i].start - replay->part[i].begin;
        int64_t ahead = !count ? 0 : is_waited ? collective->last - begin : kind == GT_REPLAY_ALONE ? own : least;
        end_part(replay, i, ahead > 0 ? ahead : 0);
    }
}

const double *gt_replay(struct gt_replay *replay, enum gt_replay_kind kind, const bool *is_left_out)
{
    for (size_t i = 0; i < replay->all->ranks; i++)
        replay->saved[i] = 0;
    for (size_t i = 0; i < replay->all->count; i++)
        replay_collective(replay, &replay->all->collective[replay->order[i]], kind, is_left_out);
    for (size_t i = 0; i < replay->parts; i++) {
        double *saved = &replay->saved[replay->part[i].rank];
        *saved = fmax(*saved, (double)replay->part[i].saved);
    }
    return replay->saved;
}
