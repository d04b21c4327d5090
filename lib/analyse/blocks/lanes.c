#include "analyse/blocks/block_analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

enum { LANES = 32, DEPTHS = 8, CALLS = 20000 };

/* Threads that follow each other share lanes, one for each depth: a script may begin a process for each of its blocks. */
struct track {
    int lane[DEPTHS]; /* -1: not begun */
    double stop;      /* of its last thread */
    size_t threads;
    bool has_length; /* a moment that somebody marked has none */
};

/* The calls that are open at a depth of a thread. */
struct thread {
    struct track *track;
    double stop[DEPTHS];
    int depth; /* of the call at hand */
};

struct lanes {
    const struct gt_block_analysis *analysis;
    struct gt_node *series;
    struct track *track;
    size_t tracks;
    int lanes;
    double shortest; /* shorter calls are left out where there are too many */
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
    return GT_ORDER_BY(GT_ORDER(x->source, y->source), GT_ORDER(x->process, y->process), GT_ORDER(x->thread, y->thread),
                       GT_ORDER(x->start, y->start), GT_ORDER(y->stop, x->stop));
}

static bool is_same_thread(const struct gt_interval *x, const struct gt_interval *y)
{
    return x->source == y->source && x->process == y->process && x->thread == y->thread;
}

/* How many calls, from the first on, are of its thread, and when the last of them ends. */
static size_t count_of_thread(const struct gt_block_analysis *analysis, const struct gt_interval **call, size_t calls,
                              double *ret_end, bool *ret_has_length)
{
    size_t count = 0;
    *ret_end = -INFINITY;
    *ret_has_length = false;
    for (; count < calls && is_same_thread(call[0], call[count]); count++) {
        double end = end_of(analysis, call[count]);
        *ret_end = fmax(*ret_end, end);
        *ret_has_length |= !(end <= begin_of(analysis, call[count]));
    }
    return count;
}

/* Moments that were marked have a track of their own. */
static struct track *choose_track(struct lanes *lanes, double begin, double end, bool has_length)
{
    size_t at = 0; /* beyond LANES none is drawn: threads share the last then */
    while (at < lanes->tracks && at < LANES &&
           (lanes->track[at].has_length != has_length || !(lanes->track[at].stop <= begin)))
        at++;
    struct track *track = &lanes->track[at];
    if (at == lanes->tracks) {
        lanes->tracks++;
        track->has_length = has_length;
        for (int depth = 0; depth < DEPTHS; depth++)
            track->lane[depth] = -1;
    }
    track->stop = fmax(end, begin);
    track->threads++;
    return track;
}

static void name_lane(char *ret, size_t size, const struct lanes *lanes, const struct track *track,
                      const struct gt_interval *call)
{
    if (!track->has_length)
        snprintf(ret, size, "marks");
    else if (lanes->tracks == 1)
        snprintf(ret, size, "blocks");
    else if (track->threads > 1)
        snprintf(ret, size, "%zu in turn", track->threads);
    else if (call->thread >= 0 && call->thread != call->process)
        snprintf(ret, size, "%lld/%lld", (long long)call->process, (long long)call->thread);
    else
        snprintf(ret, size, "pid %lld", (long long)call->process);
}

static int lane_of(struct lanes *lanes, struct thread *thread, const struct gt_interval *call)
{
    char key[24], title[64] = "";
    int *lane = &thread->track->lane[thread->depth];
    if (*lane >= 0 || lanes->lanes == LANES)
        return *lane;
    snprintf(key, sizeof key, "lane_%d", lanes->lanes);
    if (thread->depth == 0)
        name_lane(title, sizeof title, lanes, thread->track, call);
    *lane = gt_series_line(lanes->series, key, title);
    lanes->lanes++;
    return *lane;
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
    return GT_ORDER(y, x);
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

/* Which track each thread is on, thread by thread. */
static void choose_tracks(struct lanes *lanes, const struct gt_interval **call, size_t calls, size_t *ret_track)
{
    bool has_length;
    double end;
    for (size_t i = 0; i < calls;) {
        size_t count = count_of_thread(lanes->analysis, call + i, calls - i, &end, &has_length);
        struct track *track = choose_track(lanes, begin_of(lanes->analysis, call[i]), end, has_length);
        *ret_track++ = (size_t)(track - lanes->track);
        i += count;
    }
}

static void add_calls(struct lanes *lanes, const struct gt_interval **call, size_t calls, const size_t *track)
{
    struct thread thread = {0};
    for (size_t i = 0; i < calls; i++) {
        if (i == 0 || !is_same_thread(call[i - 1], call[i])) {
            thread = (struct thread){.track = &lanes->track[*track]};
            track++;
        }
        add_call(lanes, &thread, call[i]);
    }
}

void gt_lanes_add(struct gt_node *page, const struct gt_block_analysis *analysis)
{
    size_t count = analysis->intervals.count, *track = calloc(count + 1, sizeof *track);
    const struct gt_interval **call = calloc(count + 1, sizeof *call);
    struct lanes lanes = {.analysis = analysis, .shortest = shortest_shown(analysis)};
    lanes.track = calloc(count + 1, sizeof *lanes.track);
    if (count && track && call && lanes.track) {
        for (size_t i = 0; i < count; i++)
            call[i] = &analysis->intervals.interval[i];
        qsort(call, count, sizeof *call, by_thread);
        lanes.series = gt_report_series(page, "blocks_over_time", "Code blocks", "seconds", "");
        gt_node_flags(lanes.series, GT_ONLY_PEOPLE | GT_LANES | GT_PAGE_FIRST);
        choose_tracks(&lanes, call, count, track);
        add_calls(&lanes, call, count, track);
    }
    free(lanes.track);
    free(call);
    free(track);
}
