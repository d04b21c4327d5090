#include "blocks/block_join.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

/* Where the time that a block covers begins or ends. */
struct edge {
    double time;
    uint32_t block;
};

struct block {
    uint64_t timepoints, counter_samples, last_counted;
    double covered;    /* by calls that ended */
    double open_since; /* a call never ended; NaN: all did */
    double *counter;
    struct gt_distribution *gauge;
    size_t open_at; /* 1 + place in the list of open blocks; 0: not open */
};

struct gt_block_join {
    struct gt_block_join_shape shape;
    struct gt_intervals *intervals;
    bool use_monotonic;
    /* One for each name, then one for its calls that never ended, if there are any; then one for all. */
    struct block *block;
    size_t blocks;
    struct edge *start, *stop; /* of stretches, by time */
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
};

static double start_of(const struct gt_block_join *join, const struct gt_interval *interval)
{
    return join->use_monotonic ? interval->clock_start : interval->start;
}

/* Never before the start, so that a clock that was set back leaves a moment and not a negative stretch. */
static double stop_of(const struct gt_block_join *join, const struct gt_interval *interval)
{
    return fmax(join->use_monotonic ? interval->clock_stop : interval->stop, start_of(join, interval));
}

static struct block *everything(const struct gt_block_join *join)
{
    return &join->block[join->blocks - 1];
}

/* ---- preparation ---- */

static int compare_times(const void *a, const void *b)
{
    return GT_ORDER(((const struct edge *)a)->time, ((const struct edge *)b)->time);
}

struct stretch {
    uint32_t block;
    double start, stop;
};

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->block, y->block), GT_ORDER(x->start, y->start), GT_ORDER(x->stop, y->stop));
}

/* Calls of one block that touch become one stretch. */
static int make_stretches(struct gt_block_join *join)
{
    size_t count = join->intervals->count, kept = 0;
    struct stretch *list = calloc(count + 1, sizeof *list);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct gt_interval *interval = &join->intervals->interval[i];
        uint32_t block = interval->name + (interval->unfinished ? (uint32_t)join->shape.blocks : 0);
        list[i] = (struct stretch){block, start_of(join, interval), stop_of(join, interval)};
        join->call_start[i] = list[i].start;
        join->call_stop[i] = list[i].stop;
    }
    qsort(join->call_start, count, sizeof *join->call_start, gt_order_doubles);
    qsort(join->call_stop, count, sizeof *join->call_stop, gt_order_doubles);
    qsort(list, count, sizeof *list, compare_stretches);
    for (size_t i = 0; i < count; i++) {
        struct stretch *last = kept ? &list[kept - 1] : NULL;
        if (last && last->block == list[i].block && list[i].start <= last->stop)
            last->stop = fmax(last->stop, list[i].stop);
        else
            list[kept++] = list[i];
    }
    for (size_t i = 0; i < kept; i++) {
        struct block *block = &join->block[list[i].block];
        if (isinf(list[i].stop))
            block->open_since = list[i].start;
        else
            block->covered += list[i].stop - list[i].start;
        join->start[i] = (struct edge){list[i].start, list[i].block};
        join->stop[i] = (struct edge){list[i].stop, list[i].block};
    }
    join->stretches = kept;
    qsort(join->start, kept, sizeof *join->start, compare_times);
    qsort(join->stop, kept, sizeof *join->stop, compare_times);
    free(list);
    return 0;
}

static bool allocate(struct gt_block_join *join)
{
    size_t calls = join->intervals->count + 1, blocks = join->blocks, counters = join->shape.counters + 1;
    join->block = calloc(blocks, sizeof *join->block);
    join->open = calloc(blocks, sizeof *join->open);
    join->start = calloc(calls, sizeof *join->start);
    join->stop = calloc(calls, sizeof *join->stop);
    join->call_start = calloc(calls, sizeof *join->call_start);
    join->call_stop = calloc(calls, sizeof *join->call_stop);
    join->samples_at_start = calloc(calls, sizeof *join->samples_at_start);
    join->samples_at_stop = calloc(calls, sizeof *join->samples_at_stop);
    join->previous = calloc(counters, sizeof *join->previous);
    bool complete = join->block && join->open && join->start && join->stop && join->call_start && join->call_stop &&
                    join->samples_at_start && join->samples_at_stop && join->previous;
    for (size_t i = 0; complete && i < blocks; i++) {
        join->block[i].open_since = NAN;
        join->block[i].counter = calloc(counters, sizeof *join->block[i].counter);
        complete = join->block[i].counter;
    }
    return complete;
}

int gt_block_join_open(struct gt_block_join **ret, const struct gt_block_join_shape *shape,
                       struct gt_intervals *intervals, bool use_monotonic)
{
    struct gt_block_join *join = calloc(1, sizeof *join);
    if (!join)
        return -ENOMEM;
    bool any_unfinished = false;
    for (size_t i = 0; i < intervals->count; i++)
        any_unfinished |= intervals->interval[i].unfinished;
    join->shape = *shape;
    join->blocks = shape->blocks * (any_unfinished ? 2 : 1) + 1;
    join->intervals = intervals;
    join->use_monotonic = use_monotonic;
    join->time = join->latest = NAN;
    if (!allocate(join) || make_stretches(join) < 0) {
        gt_block_join_close(join);
        return -ENOMEM;
    }
    *ret = join;
    return 0;
}

static void forget_calls(struct gt_block_join *join)
{
    free(join->start);
    free(join->stop);
    free(join->call_start);
    free(join->call_stop);
    free(join->samples_at_start);
    free(join->samples_at_stop);
    join->start = join->stop = NULL;
    join->call_start = join->call_stop = NULL;
    join->samples_at_start = join->samples_at_stop = NULL;
}

void gt_block_join_close(struct gt_block_join *join)
{
    if (!join)
        return;
    for (size_t i = 0; join->block && i < join->blocks; i++) {
        for (size_t j = 0; join->block[i].gauge && j < join->shape.gauges; j++)
            gt_distribution_release(&join->block[i].gauge[j]);
        free(join->block[i].gauge);
        free(join->block[i].counter);
    }
    forget_calls(join);
    free(join->block);
    free(join->open);
    free(join->previous);
    free(join);
}

/* ---- which blocks are open ---- */

static void close_block(struct gt_block_join *join, size_t block)
{
    size_t at = join->block[block].open_at;
    if (!at)
        return;
    size_t last = join->open[--join->open_count];
    join->open[at - 1] = last;
    join->block[last].open_at = at;
    join->block[block].open_at = 0;
}

/* A stop may be met here before the start of the same block's next stretch, and both before this sample: the stretches of
 * one block do not touch, so taking edges in time order, stops first, keeps one state for each block. */
static void advance(struct gt_block_join *join, double time)
{
    for (;;) {
        bool start = join->started < join->stretches && join->start[join->started].time <= time;
        bool stop = join->stopped < join->stretches && join->stop[join->stopped].time < time;
        if (!start && !stop)
            break;
        if (start && (!stop || join->start[join->started].time <= join->stop[join->stopped].time)) {
            join->open[join->open_count++] = join->start[join->started].block;
            join->block[join->start[join->started++].block].open_at = join->open_count;
        } else {
            close_block(join, join->stop[join->stopped++].block);
        }
    }
    size_t calls = join->intervals->count;
    while (join->starts_passed < calls && join->call_start[join->starts_passed] <= time)
        join->starts_passed++;
    while (join->stops_passed < calls && join->call_stop[join->stops_passed] < time)
        join->stops_passed++;
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

/* Counters at an edge lie on the line between two samples. */
static void count_edge(struct gt_block_join *join, const struct edge *edge, double sign, double time,
                       const double *counters)
{
    struct block *block = &join->block[edge->block];
    double share = time > join->time ? (edge->time - join->time) / (time - join->time) : 1;
    share = fmin(fmax(share, 0), 1);
    for (size_t i = 0; i < join->shape.counters; i++) {
        double rise = share * (counters[i] - join->previous[i]);
        block->counter[i] += sign * (share == 1   ? counters[i]
                                     : share == 0 ? join->previous[i]
                                                  : join->previous[i] + rise);
    }
    bool is_between = join->samples > 1 && edge->time < time && !join->has_ended;
    uint64_t first = is_between ? join->samples - 1 : join->samples;
    use_samples(block, first, join->samples);
}

/* The edges that lie between the sample before and this one, number join->samples. */
static void count_edges_until(struct gt_block_join *join, double limit, double time, const double *counters)
{
    while (join->counted_start < join->stretches && join->start[join->counted_start].time <= limit)
        count_edge(join, &join->start[join->counted_start++], -1, time, counters);
    while (join->counted_stop < join->stretches && join->stop[join->counted_stop].time <= limit)
        count_edge(join, &join->stop[join->counted_stop++], 1, time, counters);
}

/* ---- samples ---- */

static int add_to(struct gt_block_join *join, struct block *block, const double *gauges)
{
    if (!block->gauge)
        block->gauge = calloc(join->shape.gauges + 1, sizeof *block->gauge);
    if (!block->gauge)
        return -ENOMEM;
    block->timepoints++;
    use_samples(block, join->samples, join->samples);
    int status = 0;
    for (size_t i = 0; i < join->shape.gauges; i++)
        status |= gt_distribution_add(&block->gauge[i], gauges[i]);
    return status ? -ENOMEM : 0;
}

static void add_rises(struct gt_block_join *join, const double *counters)
{
    struct block *overall = everything(join);
    for (size_t i = 0; i < join->shape.counters; i++)
        overall->counter[i] += counters[i] - join->previous[i];
}

static void keep(struct gt_block_join *join, double time, const double *counters)
{
    join->time = time;
    join->has_previous = true;
    memcpy(join->previous, counters, join->shape.counters * sizeof *counters);
}

void gt_block_join_begin(struct gt_block_join *join, double time)
{
    join->time = time;
    join->has_previous = true;
}

int gt_block_join_add(struct gt_block_join *join, double time, const double *gauges, const double *counters)
{
    bool is_first = join->samples++ == 0;
    if (join->has_previous)
        add_rises(join, counters);
    else
        memcpy(join->previous, counters, join->shape.counters * sizeof *counters);
    if (join->time > time) { /* going back in time begins anew */
        while (join->open_count)
            close_block(join, join->open[0]);
        join->started = join->stopped = join->starts_passed = join->stops_passed = 0;
    }
    advance(join, time);
    if (is_first || time >= join->latest) {
        count_edges_until(join, time, time, counters);
        join->latest = time;
    }
    int status = add_to(join, everything(join), gauges);
    for (size_t i = 0; i < join->open_count && status == 0; i++)
        status = add_to(join, &join->block[join->open[i]], gauges);
    join->samples_at_start[join->starts_passed]++;
    join->samples_at_stop[join->stops_passed]++;
    keep(join, time, counters);
    return status;
}

void gt_block_join_end(struct gt_block_join *join, double time, double *counters)
{
    if (!join->samples) {
        add_rises(join, counters); /* they began at 0 */
        join->has_ended = true;
    }
    if (!join->samples || !(time >= join->latest))
        return;
    for (size_t i = 0; i < join->shape.counters; i++)
        if (isnan(counters[i]))
            counters[i] = join->previous[i];
    join->has_ended = true;
    add_rises(join, counters);
    count_edges_until(join, time, time, counters);
    keep(join, time, counters);
}

/* A sample lies in a call when it is neither before its start nor after its stop. */
static void count_timepoints(struct gt_block_join *join)
{
    size_t count = join->intervals->count;
    for (size_t i = 1; i <= count; i++) {
        join->samples_at_start[i] += join->samples_at_start[i - 1];
        join->samples_at_stop[i] += join->samples_at_stop[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        struct gt_interval *interval = &join->intervals->interval[i];
        double start = start_of(join, interval), stop = stop_of(join, interval);
        size_t starts = GT_SEARCH(0, count, k, join->call_start[k] < start);
        size_t stops = GT_SEARCH(0, count, k, join->call_stop[k] <= stop);
        uint64_t before = join->samples_at_start[starts];
        uint64_t until = join->samples_at_stop[stops - 1];
        interval->timepoints = until - before;
    }
}

void gt_block_join_finish(struct gt_block_join *join)
{
    if (join->samples)
        count_edges_until(join, INFINITY, join->time, join->previous);
    for (size_t i = 0; i < join->blocks && !join->samples; i++) {
        /* without samples only the end is known, which is of all blocks together */
        bool is_known = join->has_ended && &join->block[i] == everything(join);
        for (size_t j = 0; j < join->shape.counters && !is_known; j++)
            join->block[i].counter[j] = NAN;
    }
    everything(join)->counter_samples = join->samples;
    count_timepoints(join);
    for (size_t i = 0; i < join->blocks; i++)
        if (!isnan(join->block[i].open_since))
            join->block[i].covered += fmax(join->latest, join->block[i].open_since) - join->block[i].open_since;
    forget_calls(join); /* what comes next needs as much memory */
}

static struct gt_block_total total_of(const struct block *block)
{
    return (struct gt_block_total){block->timepoints, block->counter_samples, block->covered, block->counter,
                                   block->gauge};
}

struct gt_block_total gt_block_join_block(const struct gt_block_join *join, size_t block)
{
    return total_of(&join->block[block]);
}

struct gt_block_total gt_block_join_unfinished(const struct gt_block_join *join, size_t block)
{
    static const struct block none = {0};
    size_t number = join->shape.blocks + block;
    return total_of(number + 1 < join->blocks ? &join->block[number] : &none);
}

struct gt_block_total gt_block_join_overall(const struct gt_block_join *join)
{
    return total_of(everything(join));
}

double gt_block_join_last(const struct gt_block_join *join)
{
    return join->latest;
}
