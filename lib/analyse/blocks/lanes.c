#include "analyse/blocks/lanes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LANES = 32, DEPTHS = 8, CALLS = 20000 };

/* The calls that are open at a depth of a thread; each depth of each thread is a lane. */
struct thread {
    int lane[DEPTHS]; /* -1: not begun */
    double stop[DEPTHS];
    int depth; /* of the call at hand */
};

struct lanes {
    const struct gt_block_analysis *analysis;
    struct gt_node *series;
    int lanes;
    bool has_several; /* threads */
    double shortest;  /* shorter calls are left out where there are too many */
};

static double begin_of(const struct gt_block_analysis *analysis, const struct gt_interval *call)
{
    return (analysis->use_monotonic ? call->clock_start : call->start) - analysis->first;
}

static double end_of(const struct gt_block_analysis *analysis, const struct gt_interval *call)
{
    return (analysis->use_monotonic ? call->clock_stop : call->stop) - analysis->first;
}

static int by_thread(const void *a, const void *b)
{
    const struct gt_interval *x = *(const struct gt_interval *const *)a, *y = *(const struct gt_interval *const *)b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->stop < y->stop) - (x->stop > y->stop);
}

static bool is_same_thread(const struct gt_interval *x, const struct gt_interval *y)
{
    return x->source == y->source && x->process == y->process && x->thread == y->thread;
}

static int lane_of(struct lanes *lanes, struct thread *thread, const struct gt_interval *call)
{
    char key[24], title[64] = "";
    if (thread->lane[thread->depth] >= 0 || lanes->lanes == LANES)
        return thread->lane[thread->depth];
    snprintf(key, sizeof key, "lane_%d", lanes->lanes);
    if (thread->depth == 0 && lanes->has_several && call->thread >= 0 && call->thread != call->process)
        snprintf(title, sizeof title, "%lld/%lld", (long long)call->process, (long long)call->thread);
    else if (thread->depth == 0 && lanes->has_several)
        snprintf(title, sizeof title, "pid %lld", (long long)call->process);
    else if (lanes->lanes == 0)
        snprintf(title, sizeof title, "blocks");
    thread->lane[thread->depth] = gt_series_line(lanes->series, key, title);
    lanes->lanes++;
    return thread->lane[thread->depth];
}

static void add_call(struct lanes *lanes, struct thread *thread, const struct gt_interval *call)
{
    double from = begin_of(lanes->analysis, call), to = end_of(lanes->analysis, call);
    if (!(to >= from))
        return;
    while (thread->depth > 0 && thread->stop[thread->depth - 1] <= from)
        thread->depth--;
    int lane = thread->depth < DEPTHS && to - from >= lanes->shortest ? lane_of(lanes, thread, call) : -1;
    if (lane >= 0)
        gt_series_lane_band(lanes->series, lane, gt_strings_text(&lanes->analysis->events.names, call->name), from, to);
    if (thread->depth < DEPTHS)
        thread->stop[thread->depth++] = to;
}

static int by_length(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x == y ? 0 : x < y ? 1 : -1;
}

/* Returns how long a call has to be to be among the longest CALLS. */
static double shortest_shown(const struct gt_block_analysis *analysis)
{
    size_t count = analysis->intervals.count;
    double *length = count > CALLS ? malloc(count * sizeof *length) : NULL;
    if (!length)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const struct gt_interval *call = &analysis->intervals.interval[i];
        length[i] = end_of(analysis, call) - begin_of(analysis, call);
        length[i] = isnan(length[i]) ? -INFINITY : length[i];
    }
    qsort(length, count, sizeof *length, by_length);
    double shortest = length[CALLS];
    free(length);
    return fmax(shortest, 0);
}

void gt_lanes_add(struct gt_node *page, const struct gt_block_analysis *analysis)
{
    size_t count = analysis->intervals.count;
    const struct gt_interval **call = count ? malloc(count * sizeof *call) : NULL;
    if (!call)
        return;
    for (size_t i = 0; i < count; i++)
        call[i] = &analysis->intervals.interval[i];
    qsort(call, count, sizeof *call, by_thread);
    struct lanes lanes = {.analysis = analysis, .shortest = shortest_shown(analysis)};
    lanes.series = gt_report_series(page, "blocks_over_time", "Code blocks", "seconds", "");
    lanes.has_several = !is_same_thread(call[0], call[count - 1]);
    gt_node_flags(lanes.series, GT_ONLY_PEOPLE | GT_LANES | GT_PAGE_FIRST);
    struct thread thread;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !is_same_thread(call[i - 1], call[i])) {
            thread.depth = 0;
            for (int k = 0; k < DEPTHS; k++)
                thread.lane[k] = -1;
        }
        add_call(&lanes, &thread, call[i]);
    }
    free(call);
}
