#include "sample/peak_bound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

static int reserve(struct gt_peak_bound *bound)
{
    if (GT_GROW_TO(bound->piece, bound->capacity, (size_t)bound->count + 1) < 0)
        return -ENOMEM;
    if (!bound->count) {
        bound->piece[0] = (struct gt_peak_piece){.end = GT_PEAK_NONE, .previous = GT_PEAK_NONE, .next = GT_PEAK_NONE};
        bound->count = 1;
        bound->free = GT_PEAK_NONE;
    }
    return 0;
}

/* A piece that begins now, in which nothing has a mark so far. */
static int append(struct gt_peak_bound *bound, uint32_t *ret)
{
    bool has_room = bound->count && (bound->free != GT_PEAK_NONE || bound->count < bound->capacity);
    if (!has_room && reserve(bound) < 0)
        return -ENOMEM;
    uint32_t index = bound->free;
    if (index != GT_PEAK_NONE)
        bound->free = bound->piece[index].next;
    else
        index = bound->count++;
    bound->piece[index] = (struct gt_peak_piece){
        .most = -bound->more, .end = GT_PEAK_NONE, .previous = bound->last, .next = GT_PEAK_NONE};
    bound->piece[bound->last].next = index;
    bound->last = index;
    *ret = index;
    return 0;
}

/* Join a piece at whose beginning nothing changes any more with the one before. */
static void join(struct gt_peak_bound *bound, uint32_t index)
{
    struct gt_peak_piece *piece = &bound->piece[index], *previous = &bound->piece[piece->previous];
    previous->most = fmax(previous->most, piece->most + piece->more);
    previous->next = piece->next;
    if (piece->next != GT_PEAK_NONE) {
        bound->piece[piece->next].previous = piece->previous;
        bound->piece[piece->next].more += piece->more;
    } else {
        bound->last = piece->previous;
        bound->more -= piece->more;
    }
    piece->next = bound->free;
    bound->free = index;
}

int gt_peak_bound_begin(struct gt_peak_bound *bound, uint32_t *ret)
{
    return append(bound, ret);
}

void gt_peak_bound_raise(struct gt_peak_bound *bound, uint32_t process, double mark)
{
    struct gt_peak_piece *piece = &bound->piece[process];
    if (!(mark > piece->mark))
        return;
    piece->mark = mark;
    if (piece->end != GT_PEAK_NONE)
        bound->piece[piece->end].mark = -mark;
}

int gt_peak_bound_end(struct gt_peak_bound *bound, uint32_t process)
{
    uint32_t end;
    int result = append(bound, &end);
    if (result < 0)
        return result;
    bound->piece[process].end = end;
    bound->piece[end].mark = -bound->piece[process].mark;
    return 0;
}

void gt_peak_bound_settle(struct gt_peak_bound *bound, uint32_t process)
{
    struct gt_peak_piece *piece = &bound->piece[process];
    double mark = piece->mark;
    uint32_t end = piece->end;
    piece->more += mark;
    bound->more += mark;
    if (end != GT_PEAK_NONE) {
        bound->piece[end].more -= mark;
        bound->more -= mark;
        join(bound, end);
    }
    join(bound, process);
}

void gt_peak_bound_drop(struct gt_peak_bound *bound, uint32_t process)
{
    bound->piece[process].mark = 0;
    gt_peak_bound_settle(bound, process);
}

double gt_peak_bound_value(const struct gt_peak_bound *bound)
{
    double sum = 0, most = 0;
    if (!bound->count)
        return 0;
    for (uint32_t i = 0; i != GT_PEAK_NONE; i = bound->piece[i].next) {
        sum += bound->piece[i].more + bound->piece[i].mark;
        most = fmax(most, bound->piece[i].most + sum);
    }
    return most;
}

void gt_peak_bound_release(struct gt_peak_bound *bound)
{
    free(bound->piece);
    *bound = (struct gt_peak_bound){0};
}
