#include "sample/job_peak.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

/* ---- The upper bound ---------------------------------------------------------------------------------------------- */

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

struct gt_peak_member {
    uint32_t bound[GT_PEAK_SCOPES]; /* GT_PEAK_NONE: it is not in that scope */
    uint32_t together;              /* in untold_together; GT_PEAK_NONE: the main process */
    uint32_t next_free;
    uint32_t parent;                /* its handle; GT_PEAK_NONE */
    uint64_t birth, parents_birth;  /* numbers of the processes that began: a handle is used again */
    double inherited;               /* the most that it can have had from its parent */
    double mark;                    /* as looks have it */
    double told;                    /* as the kernel told it */
    double began_with;              /* bytes of its parent, as looks have it; what exits loses them by and by */
    double rss, own, file_bytes;    /* at the last look */
    double most_rss;                /* of any look */
    double at_most[GT_PEAK_SCOPES]; /* what the scope had at that look */
    double pending;                 /* rss, when it might have executed a program next; else 0 */
    double around[GT_PEAK_SCOPES];  /* of the others, when it ended */
    uint64_t look;                  /* number of that look */
    bool is_seen, is_forked, has_ended, is_limited;
};

static const double UNKNOWN = -1;

void gt_job_peak_release(struct gt_job_peak *peak)
{
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        gt_peak_bound_release(&peak->bound[scope]);
    gt_peak_bound_release(&peak->untold_together);
    free(peak->member);
    *peak = (struct gt_job_peak){0};
}

static struct gt_peak_member *take(struct gt_job_peak *peak, uint32_t *ret)
{
    struct gt_peak_member *member;
    if (peak->free) {
        *ret = peak->free - 1;
        member = &peak->member[*ret];
        peak->free = member->next_free;
        return member;
    }
    member = GT_GROW(peak, member);
    *ret = (uint32_t)peak->member_count - 1;
    return member;
}

static void give_back(struct gt_job_peak *peak, uint32_t index)
{
    peak->member[index] = (struct gt_peak_member){.next_free = peak->free};
    peak->free = index + 1;
}

int gt_job_peak_begin(struct gt_job_peak *peak, uint32_t parent, uint32_t *ret)
{
    double inherited = parent == GT_PEAK_NONE ? 0 : fmax(peak->member[parent].mark, peak->member[parent].rss);
    uint64_t parents_birth = parent == GT_PEAK_NONE ? 0 : peak->member[parent].birth;
    struct gt_peak_member *member = take(peak, ret);
    if (!member)
        return -ENOMEM;
    *member = (struct gt_peak_member){.bound = {GT_PEAK_NONE, GT_PEAK_NONE},
                                      .together = GT_PEAK_NONE,
                                      .parent = parent,
                                      .birth = ++peak->births,
                                      .parents_birth = parents_birth,
                                      .inherited = inherited,
                                      .mark = UNKNOWN,
                                      .told = UNKNOWN};
    int result = gt_peak_bound_begin(&peak->bound[GT_PEAK_COMBINED], &member->bound[GT_PEAK_COMBINED]);
    if (result == 0 && peak->has_main)
        result = gt_peak_bound_begin(&peak->bound[GT_PEAK_DESCENDANTS], &member->bound[GT_PEAK_DESCENDANTS]);
    if (result == 0 && peak->has_main)
        result = gt_peak_bound_begin(&peak->untold_together, &member->together);
    peak->has_main = true;
    if (result < 0)
        gt_job_peak_drop(peak, *ret);
    return result;
}

static void raise_bounds(struct gt_job_peak *peak, const struct gt_peak_member *member, double mark)
{
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        if (member->bound[scope] != GT_PEAK_NONE)
            gt_peak_bound_raise(&peak->bound[scope], member->bound[scope], mark);
}

void gt_job_peak_certain(struct gt_job_peak *peak, int scope, double bytes)
{
    struct gt_scope_peak *ret = &peak->scope[scope];
    ret->least = fmax(ret->least, bytes);
    if (ret->least <= ret->best)
        return;
    ret->private_bytes += peak->looks ? ret->least - ret->best : NAN;
    ret->best = ret->least;
    ret->is_between = true;
}

/* One process had more than the look saw of it, alone, while the others had what they had at the look. */
static void raise_between(struct gt_job_peak *peak, int scope, double bytes)
{
    const struct gt_scope_memory *now = &peak->now[scope];
    struct gt_scope_peak *ret = &peak->scope[scope];
    if (!(bytes > ret->best))
        return;
    double shared = now->rss > 0 ? fmin(now->shared_bytes, bytes) : NAN;
    *ret = (struct gt_scope_peak){.best = bytes,
                                  .least = ret->least,
                                  .private_bytes = bytes - shared,
                                  .counted = fmin(now->counted, bytes),
                                  .is_between = true};
}

static void look_at_scope(struct gt_job_peak *peak, int scope, const struct gt_scope_memory *memory)
{
    struct gt_scope_peak *ret = &peak->scope[scope];
    peak->now[scope] = *memory;
    if (memory->ram > ret->best)
        *ret = (struct gt_scope_peak){.best = memory->ram,
                                      .least = ret->least,
                                      .private_bytes = memory->private_bytes,
                                      .counted = memory->counted};
    gt_job_peak_certain(peak, scope, memory->certain);
}

void gt_job_peak_look(struct gt_job_peak *peak, const struct gt_scope_memory *descendants,
                      const struct gt_scope_memory *combined, double largest_file, double all_files)
{
    peak->looks++;
    peak->all_files = fmax(peak->all_files, all_files);
    peak->largest_file = fmax(peak->largest_file, largest_file);
    look_at_scope(peak, GT_PEAK_DESCENDANTS, descendants);
    look_at_scope(peak, GT_PEAK_COMBINED, combined);
}

/* Of `bytes` that a process had more than a look saw, what nobody else has: files come first, and are those of the others. */
static double own_growth(const struct gt_job_peak *peak, const struct gt_peak_member *member, double bytes)
{
    return fmax(0, bytes - fmax(0, peak->largest_file - member->file_bytes));
}

/* It most likely had its mark near the look that saw the most of it. */
void gt_job_peak_rise(struct gt_job_peak *peak, uint32_t index, double mark)
{
    struct gt_peak_member *member = &peak->member[index];
    if (!(mark > member->mark))
        return;
    raise_bounds(peak, member, mark);
    member->mark = mark;
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++) {
        if (member->bound[scope] == GT_PEAK_NONE)
            continue;
        double growth = mark - fmax(member->most_rss, member->began_with);
        raise_between(peak, scope, member->at_most[scope] + own_growth(peak, member, growth));
        gt_job_peak_certain(peak, scope, mark);
    }
}

static void note_most(const struct gt_job_peak *peak, struct gt_peak_member *member)
{
    if (member->is_seen && member->rss < member->most_rss)
        return;
    member->most_rss = member->rss;
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        member->at_most[scope] = peak->now[scope].ram;
}

void gt_job_peak_seen(struct gt_job_peak *peak, uint32_t index, const struct gt_peak_look *look)
{
    struct gt_peak_member *member = &peak->member[index];
    double mark = fmax(look->mark, look->rss), before = member->mark;
    member->rss = look->rss;
    member->own = look->own;
    member->began_with = look->began_with;
    member->file_bytes = look->file_bytes;
    member->look = peak->looks;
    member->pending = look->is_pending ? look->rss : 0;
    if (look->is_pending)
        return;
    note_most(peak, member);
    member->is_seen = true;
    peak->largest_mark = fmax(peak->largest_mark, mark);
    if (before == UNKNOWN && look->is_old) { /* a mark from before tells nothing but a bound */
        raise_bounds(peak, member, mark);
        member->mark = mark;
    }
    gt_job_peak_rise(peak, index, mark);
}

/* What others have is as of the last look: then its parent's memory is as well, also where the look was after the fork. */
static void look_at_parent(struct gt_job_peak *peak, struct gt_peak_member *member)
{
    const struct gt_peak_member *parent = member->parent == GT_PEAK_NONE ? NULL : &peak->member[member->parent];
    if (parent && parent->birth == member->parents_birth && !parent->has_ended)
        member->inherited = fmax(member->inherited, fmax(parent->mark, parent->rss));
}

/* Returns what a process had that no look met: which of its files it shared with others is not known, so files are left out. */
static double own_of_unseen(const struct gt_job_peak *peak, const struct gt_peak_member *member)
{
    return fmax(0, member->told - (member->is_forked ? member->inherited : peak->largest_file));
}

/* Returns what the scope had when a process that has ended had its mark, which no look saw. */
static double at_mark(const struct gt_job_peak *peak, const struct gt_peak_member *member, int scope)
{
    bool is_pending = member->is_forked && member->pending > 0;
    if (!member->is_seen && !is_pending)
        return member->around[scope] + own_of_unseen(peak, member);
    bool had_more = member->is_seen && member->rss < member->most_rss;
    double growth = member->told - fmax(had_more ? member->most_rss : member->rss, member->began_with);
    double before = had_more ? member->at_most[scope] : member->around[scope] + member->own;
    return before + own_growth(peak, member, growth);
}

/* Takes in what the kernel told of a process that has ended. */
static void weigh(struct gt_job_peak *peak, struct gt_peak_member *member)
{
    if (!member->has_ended || !(member->told > member->mark))
        return;
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++) {
        if (member->bound[scope] == GT_PEAK_NONE)
            continue;
        raise_between(peak, scope, at_mark(peak, member, scope));
        gt_job_peak_certain(peak, scope, member->told);
    }
    member->mark = member->told;
}

static void leave(struct gt_job_peak *peak, const struct gt_peak_member *member, int scope)
{
    struct gt_scope_memory *now = &peak->now[scope];
    if (member->look == peak->looks) /* else the last look was without it */
        now->ram = fmax(0, now->ram - member->own);
    now->counted = fmin(now->counted, now->ram);
}

void gt_job_peak_end(struct gt_job_peak *peak, uint32_t index, bool is_forked)
{
    struct gt_peak_member *member = &peak->member[index];
    look_at_parent(peak, member);
    member->has_ended = true;
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++) {
        if (member->bound[scope] == GT_PEAK_NONE)
            continue;
        gt_peak_bound_end(&peak->bound[scope], member->bound[scope]);
        leave(peak, member, scope);
        member->around[scope] = peak->now[scope].ram;
    }
    if (member->together != GT_PEAK_NONE)
        gt_peak_bound_end(&peak->untold_together, member->together);
    member->is_forked = is_forked;
    if (is_forked) /* it did not: what it began with was its memory */
        member->told = fmax(member->told, member->pending);
    weigh(peak, member);
}

void gt_job_peak_tell(struct gt_job_peak *peak, uint32_t index, double mark, bool is_forked)
{
    struct gt_peak_member *member = &peak->member[index];
    member->told = fmax(member->told, mark);
    member->is_forked |= is_forked;
    raise_bounds(peak, member, mark);
    weigh(peak, member);
}

void gt_job_peak_limit(struct gt_job_peak *peak, uint32_t index, double mark)
{
    raise_bounds(peak, &peak->member[index], mark);
    peak->member[index].is_limited = true;
}

void gt_job_peak_waited(struct gt_job_peak *peak, double bytes)
{
    peak->largest_waited = fmax(peak->largest_waited, bytes);
}

static void count_untold(struct gt_job_peak *peak, const struct gt_peak_member *member)
{
    double mark = fmax(member->mark, 0);
    peak->least_untold = peak->untold++ ? fmin(peak->least_untold, mark) : mark;
    if (member->together != GT_PEAK_NONE)
        gt_peak_bound_raise(&peak->untold_together, member->together, 1);
}

void gt_job_peak_settle(struct gt_job_peak *peak, uint32_t index, bool is_told)
{
    struct gt_peak_member *member = &peak->member[index];
    if (!member->has_ended)
        gt_job_peak_end(peak, index, false);
    if (!is_told && !member->is_limited)
        count_untold(peak, member);
    if (member->together != GT_PEAK_NONE)
        gt_peak_bound_settle(&peak->untold_together, member->together);
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        if (member->bound[scope] != GT_PEAK_NONE)
            gt_peak_bound_settle(&peak->bound[scope], member->bound[scope]);
    give_back(peak, index);
}

void gt_job_peak_drop(struct gt_job_peak *peak, uint32_t index)
{
    struct gt_peak_member *member = &peak->member[index];
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        if (member->bound[scope] != GT_PEAK_NONE)
            gt_peak_bound_drop(&peak->bound[scope], member->bound[scope]);
    if (member->together != GT_PEAK_NONE)
        gt_peak_bound_drop(&peak->untold_together, member->together);
    give_back(peak, index);
}

double gt_job_peak_most(const struct gt_job_peak *peak, int scope)
{
    double unseen = fmax(0, peak->largest_waited - peak->least_untold) * gt_peak_bound_value(&peak->untold_together);
    return fmax(gt_peak_bound_value(&peak->bound[scope]) + unseen, peak->scope[scope].best);
}
