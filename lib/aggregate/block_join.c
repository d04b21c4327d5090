#include "aggregate/block_join.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Where the time that a block covers begins or ends. */
struct edge {
    double time;
    uint32_t block;
};

struct block {
    uint64_t timepoints, counter_samples, last_counted;
    double covered;
    double *counter;
    struct gt_distribution *gauge;
    size_t open_at; /* 1 + place in the list of open blocks; 0: not open */
    size_t first_stretch, stretches;
};

struct gt_block_join {
    struct gt_block_join_shape shape;
    struct gt_intervals *intervals;
    bool use_monotonic;
    struct block
        *block; /* one for each name, then one for its calls that never ended, if there are any; then one for all */
    size_t blocks;
    struct edge *stretch_start, *stretch_stop; /* by block and time */
    struct edge *start, *stop;                 /* the same, by time */
    size_t stretches;
    size_t started, stopped;            /* how many of them lie at or before, and before, the current time */
    size_t counted_start, counted_stop; /* the same for the counters */
    size_t *open, open_count;
    double *call_start, *call_stop; /* of all intervals, sorted */
    size_t starts_passed, stops_passed;
    uint64_t *samples_at_start, *samples_at_stop; /* [how many were passed]: samples that saw so many */
    uint64_t samples;
    bool has_previous, has_ended;
    double time, latest;
    double *previous; /* counters of the sample before */
    double *point;    /* counters between two samples */
};

static double start_of(const struct gt_block_join *sweep, const struct gt_interval *interval)
{
    return sweep->use_monotonic ? interval->clock_start : interval->start;
}

/* Never before the start, so that a clock that was set back leaves a moment and not a negative stretch. */
static double stop_of(const struct gt_block_join *sweep, const struct gt_interval *interval)
{
    return fmax(sweep->use_monotonic ? interval->clock_stop : interval->stop, start_of(sweep, interval));
}

static uint32_t block_of(const struct gt_block_join *sweep, const struct gt_interval *interval)
{
    return interval->name + (interval->unfinished ? (uint32_t)sweep->shape.blocks : 0);
}

static struct block *everything(const struct gt_block_join *sweep)
{
    return &sweep->block[sweep->blocks - 1];
}

/* ---- preparation ---- */

static int compare_doubles(const void *a, const void *b)
{
    return ORDER(*(const double *)a, *(const double *)b);
}

static int compare_times(const void *a, const void *b)
{
    return ORDER(((const struct edge *)a)->time, ((const struct edge *)b)->time);
}

struct stretch {
    uint32_t block;
    double start, stop;
};

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    int order = ORDER(x->block, y->block);
    order = order ? order : ORDER(x->start, y->start);
    return order ? order : ORDER(x->stop, y->stop);
}

/* Calls of one block that touch become one stretch; returns how many are left. */
static size_t merge_stretches(struct stretch *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct stretch *last = kept ? &list[kept - 1] : NULL;
        if (last && last->block == list[i].block && list[i].start <= last->stop)
            last->stop = fmax(last->stop, list[i].stop);
        else
            list[kept++] = list[i];
    }
    return kept;
}

static void place_stretches(struct gt_block_join *sweep, const struct stretch *list)
{
    size_t count = sweep->stretches;
    for (size_t i = 0; i < count; i++) {
        struct block *block = &sweep->block[list[i].block];
        if (!block->stretches++)
            block->first_stretch = i;
        sweep->stretch_start[i] = (struct edge){list[i].start, list[i].block};
        sweep->stretch_stop[i] = (struct edge){list[i].stop, list[i].block};
    }
    memcpy(sweep->start, sweep->stretch_start, count * sizeof *sweep->start);
    memcpy(sweep->stop, sweep->stretch_stop, count * sizeof *sweep->stop);
    qsort(sweep->start, count, sizeof *sweep->start, compare_times);
    qsort(sweep->stop, count, sizeof *sweep->stop, compare_times);
}

static int make_stretches(struct gt_block_join *sweep)
{
    size_t count = sweep->intervals->count;
    struct stretch *list = calloc(count + 1, sizeof *list);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct gt_interval *interval = &sweep->intervals->interval[i];
        list[i] = (struct stretch){block_of(sweep, interval), start_of(sweep, interval), stop_of(sweep, interval)};
        sweep->call_start[i] = list[i].start;
        sweep->call_stop[i] = list[i].stop;
    }
    qsort(sweep->call_start, count, sizeof *sweep->call_start, compare_doubles);
    qsort(sweep->call_stop, count, sizeof *sweep->call_stop, compare_doubles);
    qsort(list, count, sizeof *list, compare_stretches);
    sweep->stretches = merge_stretches(list, count);
    place_stretches(sweep, list);
    free(list);
    return 0;
}

static bool allocate(struct gt_block_join *sweep)
{
    size_t calls = sweep->intervals->count + 1, blocks = sweep->blocks, counters = sweep->shape.counters + 1;
    sweep->block = calloc(blocks, sizeof *sweep->block);
    sweep->open = calloc(blocks, sizeof *sweep->open);
    sweep->stretch_start = calloc(calls, sizeof *sweep->stretch_start);
    sweep->stretch_stop = calloc(calls, sizeof *sweep->stretch_stop);
    sweep->start = calloc(calls, sizeof *sweep->start);
    sweep->stop = calloc(calls, sizeof *sweep->stop);
    sweep->call_start = calloc(calls, sizeof *sweep->call_start);
    sweep->call_stop = calloc(calls, sizeof *sweep->call_stop);
    sweep->samples_at_start = calloc(calls, sizeof *sweep->samples_at_start);
    sweep->samples_at_stop = calloc(calls, sizeof *sweep->samples_at_stop);
    sweep->previous = calloc(counters, sizeof *sweep->previous);
    sweep->point = calloc(counters, sizeof *sweep->point);
    bool complete = sweep->block && sweep->open && sweep->stretch_start && sweep->stretch_stop && sweep->start &&
                    sweep->stop && sweep->call_start && sweep->call_stop && sweep->samples_at_start &&
                    sweep->samples_at_stop && sweep->previous && sweep->point;
    for (size_t i = 0; complete && i < blocks; i++) {
        sweep->block[i].counter = calloc(counters, sizeof *sweep->block[i].counter);
        complete = sweep->block[i].counter;
    }
    return complete;
}

static bool any_unfinished(const struct gt_intervals *intervals)
{
    for (size_t i = 0; i < intervals->count; i++)
        if (intervals->interval[i].unfinished)
            return true;
    return false;
}

int gt_block_join_open(struct gt_block_join **ret, const struct gt_block_join_shape *shape,
                       struct gt_intervals *intervals, bool use_monotonic)
{
    struct gt_block_join *sweep = calloc(1, sizeof *sweep);
    if (!sweep)
        return -ENOMEM;
    sweep->shape = *shape;
    sweep->blocks = shape->blocks * (any_unfinished(intervals) ? 2 : 1) + 1;
    sweep->intervals = intervals;
    sweep->use_monotonic = use_monotonic;
    sweep->time = sweep->latest = NAN;
    if (!allocate(sweep) || make_stretches(sweep) < 0) {
        gt_block_join_close(sweep);
        return -ENOMEM;
    }
    *ret = sweep;
    return 0;
}

void gt_block_join_close(struct gt_block_join *sweep)
{
    if (!sweep)
        return;
    for (size_t i = 0; sweep->block && i < sweep->blocks; i++) {
        for (size_t j = 0; sweep->block[i].gauge && j < sweep->shape.gauges; j++)
            gt_distribution_release(&sweep->block[i].gauge[j]);
        free(sweep->block[i].gauge);
        free(sweep->block[i].counter);
    }
    free(sweep->block);
    free(sweep->open);
    free(sweep->stretch_start);
    free(sweep->stretch_stop);
    free(sweep->start);
    free(sweep->stop);
    free(sweep->call_start);
    free(sweep->call_stop);
    free(sweep->samples_at_start);
    free(sweep->samples_at_stop);
    free(sweep->previous);
    free(sweep->point);
    free(sweep);
}

/* ---- which blocks are open ---- */

static void open_block(struct gt_block_join *sweep, size_t block)
{
    sweep->open[sweep->open_count++] = block;
    sweep->block[block].open_at = sweep->open_count;
}

static void close_block(struct gt_block_join *sweep, size_t block)
{
    size_t at = sweep->block[block].open_at;
    if (!at)
        return;
    size_t last = sweep->open[--sweep->open_count];
    sweep->open[at - 1] = last;
    sweep->block[last].open_at = at;
    sweep->block[block].open_at = 0;
}

/* How many edges are before `time`, or at it as well. */
static size_t count_edges(const struct edge *edges, size_t count, double time, bool or_at)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (edges[middle].time < time || (or_at && edges[middle].time == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t count_times(const double *times, size_t count, double time, bool or_at)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times[middle] < time || (or_at && times[middle] == time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Going back in time: look every block up anew. */
static void seek(struct gt_block_join *sweep, double time)
{
    while (sweep->open_count)
        close_block(sweep, sweep->open[0]);
    for (size_t i = 0; i + 1 < sweep->blocks; i++) {
        const struct block *block = &sweep->block[i];
        size_t started = count_edges(sweep->stretch_start + block->first_stretch, block->stretches, time, true);
        if (started && sweep->stretch_stop[block->first_stretch + started - 1].time >= time)
            open_block(sweep, i);
    }
    sweep->started = count_edges(sweep->start, sweep->stretches, time, true);
    sweep->stopped = count_edges(sweep->stop, sweep->stretches, time, false);
    sweep->starts_passed = count_times(sweep->call_start, sweep->intervals->count, time, true);
    sweep->stops_passed = count_times(sweep->call_stop, sweep->intervals->count, time, false);
}

/* A stop may be met here before the start of the same block's next stretch, and both before this sample: the stretches of
 * one block do not touch, so taking edges in time order, stops first, keeps one state for each block. */
static void advance(struct gt_block_join *sweep, double time)
{
    for (;;) {
        bool start = sweep->started < sweep->stretches && sweep->start[sweep->started].time <= time;
        bool stop = sweep->stopped < sweep->stretches && sweep->stop[sweep->stopped].time < time;
        if (!start && !stop)
            break;
        if (start && (!stop || sweep->start[sweep->started].time <= sweep->stop[sweep->stopped].time))
            open_block(sweep, sweep->start[sweep->started++].block);
        else
            close_block(sweep, sweep->stop[sweep->stopped++].block);
    }
    size_t calls = sweep->intervals->count;
    while (sweep->starts_passed < calls && sweep->call_start[sweep->starts_passed] <= time)
        sweep->starts_passed++;
    while (sweep->stops_passed < calls && sweep->call_stop[sweep->stops_passed] < time)
        sweep->stops_passed++;
}

/* ---- counters ---- */

static void use_samples(struct block *block, uint64_t first, uint64_t last)
{
    first = first > block->last_counted ? first : block->last_counted + 1;
    if (first > last)
        return;
    block->counter_samples += last - first + 1;
    block->last_counted = last;
}

static void interpolate(struct gt_block_join *sweep, double at, double time, const double *counters)
{
    double share = time > sweep->time ? (at - sweep->time) / (time - sweep->time) : 1;
    share = fmin(fmax(share, 0), 1);
    for (size_t i = 0; i < sweep->shape.counters; i++)
        sweep->point[i] = share == 1   ? counters[i]
                          : share == 0 ? sweep->previous[i]
                                       : sweep->previous[i] + share * (counters[i] - sweep->previous[i]);
}

static void count_edge(struct gt_block_join *sweep, const struct edge *edge, double sign, double time,
                       const double *counters)
{
    struct block *block = &sweep->block[edge->block];
    interpolate(sweep, edge->time, time, counters);
    for (size_t i = 0; i < sweep->shape.counters; i++)
        block->counter[i] += sign * sweep->point[i];
    bool is_between = sweep->samples > 1 && edge->time < time && !sweep->has_ended;
    uint64_t first = is_between ? sweep->samples - 1 : sweep->samples;
    use_samples(block, first, sweep->samples);
}

/* The borders that lie between the sample before and this one, number sweep->samples. */
static void count_edges_until(struct gt_block_join *sweep, double limit, double time, const double *counters)
{
    while (sweep->counted_start < sweep->stretches && sweep->start[sweep->counted_start].time <= limit)
        count_edge(sweep, &sweep->start[sweep->counted_start++], -1, time, counters);
    while (sweep->counted_stop < sweep->stretches && sweep->stop[sweep->counted_stop].time <= limit)
        count_edge(sweep, &sweep->stop[sweep->counted_stop++], 1, time, counters);
}

/* ---- samples ---- */

static int add_to(struct gt_block_join *sweep, struct block *block, const double *gauges)
{
    if (!block->gauge)
        block->gauge = calloc(sweep->shape.gauges + 1, sizeof *block->gauge);
    if (!block->gauge)
        return -ENOMEM;
    block->timepoints++;
    use_samples(block, sweep->samples, sweep->samples);
    int status = 0;
    for (size_t i = 0; i < sweep->shape.gauges; i++)
        status |= gt_distribution_add(&block->gauge[i], gauges[i]);
    return status ? -ENOMEM : 0;
}

static void add_rises(struct gt_block_join *sweep, const double *counters)
{
    struct block *overall = everything(sweep);
    for (size_t i = 0; i < sweep->shape.counters; i++)
        overall->counter[i] += counters[i] - sweep->previous[i];
}

static void keep(struct gt_block_join *sweep, double time, const double *counters)
{
    sweep->time = time;
    sweep->has_previous = true;
    memcpy(sweep->previous, counters, sweep->shape.counters * sizeof *counters);
}

void gt_block_join_begin(struct gt_block_join *sweep, double time)
{
    sweep->time = time;
    sweep->has_previous = true;
}

int gt_block_join_add(struct gt_block_join *sweep, double time, const double *gauges, const double *counters)
{
    bool is_first = sweep->samples++ == 0;
    if (sweep->has_previous)
        add_rises(sweep, counters);
    else
        memcpy(sweep->previous, counters, sweep->shape.counters * sizeof *counters);
    if (sweep->time > time)
        seek(sweep, time);
    else
        advance(sweep, time);
    if (is_first || time >= sweep->latest) {
        count_edges_until(sweep, time, time, counters);
        sweep->latest = time;
    }
    int status = add_to(sweep, everything(sweep), gauges);
    for (size_t i = 0; i < sweep->open_count && status == 0; i++)
        status = add_to(sweep, &sweep->block[sweep->open[i]], gauges);
    sweep->samples_at_start[sweep->starts_passed]++;
    sweep->samples_at_stop[sweep->stops_passed]++;
    keep(sweep, time, counters);
    return status;
}

void gt_block_join_end(struct gt_block_join *sweep, double time, double *counters)
{
    if (!sweep->samples || !(time >= sweep->latest))
        return;
    for (size_t i = 0; i < sweep->shape.counters; i++)
        if (isnan(counters[i]))
            counters[i] = sweep->previous[i];
    sweep->has_ended = true;
    add_rises(sweep, counters);
    count_edges_until(sweep, time, time, counters);
    keep(sweep, time, counters);
}

/* A sample lies in a call when it is neither before its start nor after its stop. */
static void count_timepoints(struct gt_block_join *sweep)
{
    size_t count = sweep->intervals->count;
    for (size_t i = 1; i <= count; i++) {
        sweep->samples_at_start[i] += sweep->samples_at_start[i - 1];
        sweep->samples_at_stop[i] += sweep->samples_at_stop[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        struct gt_interval *interval = &sweep->intervals->interval[i];
        double start = start_of(sweep, interval), stop = stop_of(sweep, interval);
        size_t starts = count_times(sweep->call_start, count, start, false);
        size_t stops = count_times(sweep->call_stop, count, stop, true);
        uint64_t before = sweep->samples_at_start[starts];
        uint64_t until = sweep->samples_at_stop[stops - 1];
        interval->timepoints = until - before;
    }
}

void gt_block_join_finish(struct gt_block_join *sweep)
{
    if (sweep->samples)
        count_edges_until(sweep, INFINITY, sweep->time, sweep->previous);
    else
        for (size_t i = 0; i < sweep->blocks; i++)
            for (size_t j = 0; j < sweep->shape.counters; j++)
                sweep->block[i].counter[j] = NAN;
    everything(sweep)->counter_samples = sweep->samples;
    count_timepoints(sweep);
    for (size_t i = 0; i < sweep->stretches; i++) {
        double stop = sweep->stretch_stop[i].time, last = fmax(sweep->latest, sweep->stretch_start[i].time);
        sweep->block[sweep->stretch_start[i].block].covered += (isinf(stop) ? last : stop) -
                                                               sweep->stretch_start[i].time;
    }
}

static struct gt_block_total total_of(const struct block *block)
{
    return (struct gt_block_total){block->timepoints, block->counter_samples, block->covered, block->counter,
                                   block->gauge};
}

struct gt_block_total gt_block_join_block(const struct gt_block_join *sweep, size_t block)
{
    return total_of(&sweep->block[block]);
}

struct gt_block_total gt_block_join_unfinished(const struct gt_block_join *sweep, size_t block)
{
    static const struct block none = {0};
    size_t number = sweep->shape.blocks + block;
    return total_of(number + 1 < sweep->blocks ? &sweep->block[number] : &none);
}

struct gt_block_total gt_block_join_overall(const struct gt_block_join *sweep)
{
    return total_of(everything(sweep));
}

double gt_block_join_last(const struct gt_block_join *sweep)
{
    return sweep->latest;
}
