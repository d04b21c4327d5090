#include "analyse/blocks/cpu_split.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"

static const double MOMENT = 1e-6; /* seconds: what is shorter has no slope */

/* From one sample to the next. */
struct gap {
    double start, stop;
    double left;   /* CPU seconds that no piece tells */
    double evenly; /* those, and what pieces that cover the gap tell */
};

/* CPU seconds a second begin (or end, negative) at a moment, or some are used in it. */
struct bend {
    double time, slope, jump;
};

struct bends {
    struct bend *bend;
    size_t count, capacity;
    bool is_short_of_memory;
};

void gt_cpu_split_init(struct gt_cpu_split *split, const struct gt_curve_moments *moments)
{
    *split = (struct gt_cpu_split){0};
    gt_curve_init(&split->counted, 1);
    gt_curve_bound(&split->counted, moments, 0);
    gt_curve_init(&split->all, 1);
    gt_curve_init(&split->rest, 1);
}

void gt_cpu_split_release(struct gt_cpu_split *split)
{
    gt_curve_release(&split->counted);
    gt_curve_release(&split->all);
    gt_curve_release(&split->rest);
    free(split->piece);
    split->piece = NULL;
    split->pieces = split->capacity = 0;
}

int gt_cpu_split_count(struct gt_cpu_split *split, double time, double seconds)
{
    return gt_curve_add(&split->counted, time, &seconds);
}

int gt_cpu_split_know(struct gt_cpu_split *split, double start, double stop, double seconds)
{
    if (!(seconds > 0) || !(stop >= start))
        return 0;
    if (GT_GROW_TO(split->piece, split->capacity, split->pieces + 1) < 0)
        return -ENOMEM;
    split->piece[split->pieces++] = (struct gt_cpu_piece){start, stop, seconds, 0, 0};
    return 0;
}

/* ---- pieces are taken off ---- */

/* Pieces that leave no choice come first. */
static int by_span(const void *a, const void *b)
{
    const struct gt_cpu_piece *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->last - x->first, y->last - y->first), GT_ORDER(x->start, y->start),
                       GT_ORDER(x->stop, y->stop), GT_ORDER(x->seconds, y->seconds));
}

/* Cut a piece to the time of the samples, and find its gaps; false: it lies outside. */
static bool place(struct gt_cpu_piece *piece, const struct gt_curve *counted)
{
    double first = gt_curve_time(counted, 0), last = gt_curve_time(counted, counted->count - 1);
    double length = piece->stop - piece->start;
    if (piece->stop < first || piece->start > last)
        return false;
    piece->start = fmax(piece->start, first);
    piece->stop = fmin(piece->stop, last);
    if (length > 0)
        piece->seconds *= (piece->stop - piece->start) / length;
    piece->first = gt_curve_find(counted, piece->start) - 1;
    piece->last = gt_curve_find(counted, piece->stop) - 1;
    piece->first -= piece->first == counted->count - 1;
    piece->last -= piece->last == counted->count - 1;
    if (piece->last > piece->first && gt_curve_time(counted, piece->last) >= piece->stop)
        piece->last--; /* it ends with a sample */
    return piece->seconds > 0;
}

static void place_pieces(struct gt_cpu_split *split)
{
    size_t kept = 0;
    for (size_t i = 0; i < split->pieces; i++)
        if (place(&split->piece[i], &split->counted))
            split->piece[kept++] = split->piece[i];
    split->pieces = kept;
    if (kept)
        qsort(split->piece, kept, sizeof *split->piece, by_span);
}

/* What is used in less than a moment jumps at its end. */
static void add_part(struct bends *bends, double start, double stop, double seconds)
{
    if (!(seconds > 0))
        return;
    if (GT_GROW_TO(bends->bend, bends->capacity, bends->count + 2) < 0) {
        bends->is_short_of_memory = true;
        return;
    }
    double slope = stop - start > MOMENT ? seconds / (stop - start) : 0;
    bends->bend[bends->count++] = (struct bend){stop, -slope, slope > 0 ? 0 : seconds};
    if (slope > 0)
        bends->bend[bends->count++] = (struct bend){start, slope, 0};
}

/* The part of a piece that a gap has by time. */
static double even_part(const struct gt_cpu_piece *piece, const struct gap *gap)
{
    double length = piece->stop - piece->start;
    double inside = fmax(0, fmin(piece->stop, gap->stop) - fmax(piece->start, gap->start));
    return length > 0 ? piece->seconds * inside / length : piece->seconds;
}

/* First each gap gives the part of the time that the piece lies in it, then those that have some left give the rest. What is over stays
 * in the piece. */
static void take_off(struct gt_cpu_piece *piece, struct gap *gap, struct bends *bends)
{
    double rest = piece->seconds, left = 0;
    for (size_t i = piece->first; i <= piece->last; i++) {
        double even = fmin(even_part(piece, &gap[i]), gap[i].left);
        rest -= even;
        left += gap[i].left - even;
    }
    rest = fmax(0, rest);
    double ratio = left > 0 ? fmin(1, rest / left) : 0;
    for (size_t i = piece->first; i <= piece->last; i++) {
        double even = fmin(even_part(piece, &gap[i]), gap[i].left);
        double seconds = fmin(gap[i].left, even + ratio * (gap[i].left - even));
        gap[i].left -= seconds;
        if (piece->start <= gap[i].start && piece->stop >= gap[i].stop)
            continue; /* it covers the gap, and is as even as the rest */
        gap[i].evenly -= seconds;
        add_part(bends, fmax(piece->start, gap[i].start), fmin(piece->stop, gap[i].stop), seconds);
    }
    piece->seconds = rest - ratio * left;
}

/* Counters may be late, and moments of reading a little apart. */
static void take_over(struct gt_cpu_piece *piece, struct gap *gap, struct bends *bends)
{
    double taken = fmin(piece->seconds, gap->left);
    if (!(taken > 0))
        return;
    piece->seconds -= taken;
    gap->left -= taken;
    gap->evenly -= taken;
    add_part(bends, piece->stop, piece->stop, taken);
}

static void take_all_off(struct gt_cpu_split *split, struct gap *gap, size_t gaps, struct bends *bends)
{
    for (size_t i = 0; i < split->pieces; i++)
        take_off(&split->piece[i], gap, bends);
    for (size_t i = 0; i < split->pieces; i++) {
        struct gt_cpu_piece *piece = &split->piece[i];
        if (piece->last + 1 < gaps)
            take_over(piece, &gap[piece->last + 1], bends);
        if (piece->first > 0)
            take_over(piece, &gap[piece->first - 1], bends);
    }
}

/* ---- curves ---- */

static struct gap *make_gaps(const struct gt_curve *counted, size_t count)
{
    struct gap *gap = calloc(count, sizeof *gap);
    for (size_t i = 0; gap && i < count; i++) {
        double rise = fmax(0, gt_curve_value(counted, i + 1, 0) - gt_curve_value(counted, i, 0));
        gap[i] = (struct gap){gt_curve_time(counted, i), gt_curve_time(counted, i + 1), rise, rise};
    }
    return gap;
}

static int by_time(const void *a, const void *b)
{
    return GT_ORDER(((const struct bend *)a)->time, ((const struct bend *)b)->time);
}

static int draw_all(struct gt_curve *all, const struct gap *gap, size_t gaps, struct bends *bends)
{
    double value = 0, slope = 0, before = gap->start;
    size_t sloping = 0;
    for (size_t i = 0; i < gaps; i++)
        add_part(bends, gap[i].start, gap[i].stop, gap[i].evenly);
    if (bends->is_short_of_memory || gt_curve_add(all, gap->start, &value) < 0)
        return -ENOMEM;
    if (bends->count)
        qsort(bends->bend, bends->count, sizeof *bends->bend, by_time);
    for (size_t i = 0; i < bends->count; i++) {
        const struct bend *bend = &bends->bend[i];
        value += slope * (bend->time - before);
        if (bend->time > before && gt_curve_add(all, bend->time, &value) < 0)
            return -ENOMEM;
        before = bend->time;
        sloping += bend->slope > 0;
        sloping -= bend->slope < 0;
        slope = sloping ? slope + bend->slope : 0; /* sums of large and small slopes leave no trace */
        value += bend->jump;
        if (bend->jump > 0 && gt_curve_add(all, before, &value) < 0)
            return -ENOMEM;
    }
    return gt_curve_add(all, gap[gaps - 1].stop, &value);
}

static struct bend *sorted_sharers(const struct gt_time_stretch *sharer, size_t count)
{
    struct bend *bend = calloc(2 * count + 1, sizeof *bend);
    for (size_t i = 0; bend && i < count; i++) {
        bend[2 * i] = (struct bend){sharer[i].start, 1, 0};
        bend[2 * i + 1] = (struct bend){sharer[i].stop, -1, 0};
    }
    if (bend)
        qsort(bend, 2 * count, sizeof *bend, by_time);
    return bend;
}

static int draw_rest(struct gt_curve *rest, const struct gap *gap, size_t gaps, const struct bend *bend, size_t bends)
{
    double value = 0, open = 0;
    size_t next = 0;
    int status = gt_curve_add(rest, gap->start, &value);
    for (size_t i = 0; i < gaps && status == 0; i++) {
        double length = gap[i].stop - gap[i].start, slope = length > 0 ? gap[i].left / length : 0, at = gap[i].start;
        for (; next < bends && bend[next].time < gap[i].stop && status == 0; next++) {
            double time = fmax(at, bend[next].time);
            value += slope * (time - at) / fmax(1, open);
            open += bend[next].slope;
            if (time > at)
                status = gt_curve_add(rest, time, &value);
            at = time;
        }
        value += (length > 0 ? slope * (gap[i].stop - at) : gap[i].left) / fmax(1, open);
        status = status == 0 ? gt_curve_add(rest, gap[i].stop, &value) : status;
    }
    return status;
}

static int draw(struct gt_cpu_split *split, const struct gt_time_stretch *sharer, size_t sharers)
{
    size_t gaps = split->counted.count - 1;
    struct bends bends = {0};
    struct gap *gap = make_gaps(&split->counted, gaps);
    struct bend *open = sorted_sharers(sharer, sharers);
    int status = gap && open ? 0 : -ENOMEM;
    if (status == 0) {
        take_all_off(split, gap, gaps, &bends);
        status = draw_rest(&split->rest, gap, gaps, open, 2 * sharers);
    }
    if (status == 0)
        status = draw_all(&split->all, gap, gaps, &bends);
    free(open);
    free(bends.bend);
    free(gap);
    return status;
}

int gt_cpu_split_finish(struct gt_cpu_split *split, const struct gt_time_stretch *sharer, size_t sharers)
{
    gt_curve_finish(&split->counted);
    for (size_t i = 0; i < split->counted.count; i++)
        if (isnan(gt_curve_value(&split->counted, i, 0)))
            return 0;
    if (split->counted.count < 2)
        return 0;
    place_pieces(split);
    return draw(split, sharer, sharers);
}

/* Before the first sample and after the last nothing is known to be used. */
static double rise(const struct gt_curve *curve, struct gt_time_stretch stretch)
{
    if (curve->count < 2)
        return NAN;
    double first = gt_curve_time(curve, 0), last = gt_curve_time(curve, curve->count - 1);
    double start = fmin(fmax(stretch.start, first), last), stop = fmin(fmax(stretch.stop, first), last);
    return fmax(0, gt_curve_at(curve, stop, 0) - gt_curve_at(curve, start, 0));
}

double gt_cpu_split_all(const struct gt_cpu_split *split, struct gt_time_stretch stretch)
{
    return rise(&split->all, stretch);
}

double gt_cpu_split_rest(const struct gt_cpu_split *split, struct gt_time_stretch stretch)
{
    return rise(&split->rest, stretch);
}
