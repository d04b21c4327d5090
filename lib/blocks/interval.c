#include "blocks/interval.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"

struct pairing {
    struct gt_interval *interval;
    size_t count;
    uint64_t orphans;
    struct gt_block_event orphan;
};

static double time_of(const struct gt_block_event *event)
{
    return isnan(event->monotonic) ? event->timestamp : event->monotonic;
}

/* Groups of rows that may pair with each other: rows with a call number by that, the others by thread and block. */
static int compare_groups(const struct gt_block_event *a, const struct gt_block_event *b)
{
    return GT_ORDER_BY(GT_ORDER(a->source, b->source), GT_ORDER(a->process, b->process), GT_ORDER(a->thread, b->thread),
                       GT_ORDER(a->name, b->name), GT_ORDER(a->call, b->call));
}

static int compare_borders(const void *a, const void *b)
{
    const struct gt_block_event *x = a, *y = b;
    return GT_ORDER_BY(compare_groups(x, y), GT_ORDER(time_of(x), time_of(y)), GT_ORDER(x->position, y->position),
                       GT_ORDER(x->row, y->row));
}

static int compare_rows(const void *a, const void *b)
{
    const struct gt_block_event *x = a, *y = b;
    return GT_ORDER(x->row, y->row);
}

static void open_call(struct pairing *pairing, const struct gt_block_event *start, size_t *open, size_t depth)
{
    open[depth] = pairing->count;
    pairing->interval[pairing->count++] = (struct gt_interval){
        .name = start->name,
        .source = start->source,
        .unfinished = true,
        .process = start->process,
        .thread = start->thread,
        .call = start->call,
        .start = start->timestamp,
        .stop = INFINITY,
        .clock_start = start->monotonic,
        .clock_stop = isnan(start->monotonic) ? NAN : INFINITY,
        .cpu_start = start->cpu_time,
        .cpu_stop = NAN,
    };
}

static size_t close_calls(struct pairing *pairing, const struct gt_block_event *stop, size_t stops, const size_t *open,
                          size_t depth)
{
    for (size_t i = 0; i < stops; i++, stop++) {
        if (!depth) {
            if (!pairing->orphans++)
                pairing->orphan = *stop;
            continue;
        }
        struct gt_interval *interval = &pairing->interval[open[--depth]];
        interval->unfinished = false;
        interval->stop = stop->timestamp;
        interval->clock_stop = stop->monotonic;
        interval->cpu_stop = stop->cpu_time;
        interval->stepped = isnan(stop->monotonic - interval->clock_start) && stop->timestamp < interval->start;
    }
    return depth;
}

/* Rule 2 on one group in time order. */
static void pair_by_time(struct pairing *pairing, const struct gt_block_event *group, size_t count, size_t *open)
{
    size_t depth = 0;
    for (size_t i = 0; i < count;) {
        size_t first = i, starts = 0;
        for (; i < count && time_of(&group[i]) == time_of(&group[first]); i++)
            starts += group[i].position == GT_START;
        const struct gt_block_event *stop = group + first + starts;
        size_t stops = i - first - starts, earlier = stops < depth ? stops : depth;
        depth = close_calls(pairing, stop, earlier, open, depth);
        for (size_t j = 0; j < starts; j++)
            open_call(pairing, &group[first + j], open, depth++);
        depth = close_calls(pairing, stop + earlier, stops - earlier, open, depth);
    }
}

static void pair_by_row(struct pairing *pairing, const struct gt_block_event *group, size_t count, size_t *open)
{
    size_t depth = 0;
    for (size_t i = 0; i < count; i++)
        if (group[i].position == GT_START)
            open_call(pairing, &group[i], open, depth++);
        else
            depth = close_calls(pairing, &group[i], 1, open, depth);
}

static void pair_group(struct pairing *pairing, struct gt_block_event *group, size_t count, size_t *open)
{
    struct pairing before = *pairing;
    pair_by_time(pairing, group, count, open);
    size_t starts = pairing->count - before.count;
    bool must_have_orphans = count - starts > starts;
    uint64_t fewest = must_have_orphans ? count - 2 * starts : 0;
    if (pairing->orphans - before.orphans == fewest || !isnan(group->monotonic))
        return;
    qsort(group, count, sizeof *group, compare_rows);
    struct pairing by_row = before;
    pair_by_row(&by_row, group, count, open);
    if (by_row.orphans < pairing->orphans) {
        *pairing = by_row;
        return;
    }
    *pairing = before;
    qsort(group, count, sizeof *group, compare_borders);
    pair_by_time(pairing, group, count, open);
}

int gt_intervals_pair(struct gt_intervals *ret, struct gt_block_event *events, size_t count)
{
    struct pairing pairing = {0};
    size_t starts = 0;
    bool has_monotonic = count > 0;
    for (size_t i = 0; i < count; i++) {
        starts += events[i].position == GT_START;
        has_monotonic &= !isnan(events[i].monotonic);
    }
    pairing.interval = calloc(starts + 1, sizeof *pairing.interval);
    size_t *open = calloc(starts + 1, sizeof *open);
    if (!pairing.interval || !open) {
        free(pairing.interval);
        free(open);
        return -ENOMEM;
    }
    GT_SORT(events, count, compare_borders);
    for (size_t first = 0, i = 0; first < count; first = i) {
        for (i = first + 1; i < count && compare_groups(&events[i], &events[first]) == 0;)
            i++;
        pair_group(&pairing, events + first, i - first, open);
    }
    free(open);
    *ret = (struct gt_intervals){pairing.interval, pairing.count, pairing.orphans, pairing.orphan, has_monotonic};
    return 0;
}

void gt_intervals_release(struct gt_intervals *intervals)
{
    free(intervals->interval);
    *intervals = (struct gt_intervals){0};
}

/* ---- lengths ---- */

static int compare_nesting(const void *a, const void *b)
{
    const struct gt_interval *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->source, y->source), GT_ORDER(x->process, y->process), GT_ORDER(x->thread, y->thread),
                       GT_ORDER(gt_interval_begin(x), gt_interval_begin(y)),
                       GT_ORDER(gt_interval_end(y), gt_interval_end(x)), GT_ORDER(x->call, y->call),
                       GT_ORDER(x->name, y->name));
}

/* Take the part of each call that lies in the innermost one around it out of that one's self time: calls that ended among themselves, or
 * those that never did among all. The calls open at any moment form a chain through `outer`. */
static void nest_all(const struct gt_intervals *intervals, size_t *outer, bool unfinished)
{
    struct gt_interval *list = intervals->interval;
    size_t top = SIZE_MAX;
    for (size_t i = 0; i < intervals->count; i++) {
        const struct gt_interval *call = &list[i];
        if (i > 0 && !gt_interval_is_of_thread(call, call - 1))
            top = SIZE_MAX;
        if (call->unfinished && !unfinished)
            continue;
        while (top != SIZE_MAX && !(gt_interval_end(&list[top]) > gt_interval_begin(call)))
            top = outer[top];
        if (top != SIZE_MAX && !call->stepped && list[top].unfinished == unfinished) {
            double inside = fmin(gt_interval_end(call), gt_interval_end(&list[top])) - gt_interval_begin(call);
            list[top].self = fmax(0, list[top].self - fmax(0, inside));
        }
        outer[i] = top;
        top = i;
    }
}

int gt_intervals_close(struct gt_intervals *intervals, double end, double clock_end)
{
    struct gt_interval *list = intervals->interval;
    size_t *outer = calloc(intervals->count + 1, sizeof *outer);
    if (!outer)
        return -ENOMEM;
    for (size_t i = 0; i < intervals->count; i++) {
        struct gt_interval *call = &list[i];
        if (call->unfinished) {
            call->stop = fmax(end, call->start);
            if (!isnan(call->clock_start))
                call->clock_stop = fmax(isnan(clock_end) ? call->clock_start + call->stop - call->start : clock_end,
                                        call->clock_start);
        }
        call->elapsed = call->self = call->stepped ? NAN : gt_interval_end(call) - gt_interval_begin(call);
    }
    GT_SORT(list, intervals->count, compare_nesting);
    nest_all(intervals, outer, false);
    nest_all(intervals, outer, true);
    free(outer);
    return 0;
}
