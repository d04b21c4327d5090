#include "sample/job_peak.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

/* ---- The upper bound ---------------------------------------------------------------------------------------------- */

/* A piece that begins now, in which nothing has a mark so far. */
static int append(struct gt_peak_bound *bound, uint32_t *ret)
{
    if (GT_GROW_TO(bound->piece, bound->capacity, (size_t)bound->count + 2) < 0)
        return -ENOMEM;
    if (!bound->count) {
        bound->piece[0] = (struct gt_peak_piece){.end = GT_PEAK_NONE, .previous = GT_PEAK_NONE, .next = GT_PEAK_NONE};
        bound->count = 1;
        bound->free = GT_PEAK_NONE;
    }
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

/* Its mark may still be raised. Without memory it goes on. */
static void end_piece(struct gt_peak_bound *bound, uint32_t process)
{
    uint32_t end;
    if (append(bound, &end) < 0)
        return;
    bound->piece[process].end = end;
    bound->piece[end].hwm = -bound->piece[process].hwm;
}

/* The mark of a process is final: where it ended, nothing but the largest sum is kept. */
static void settle_piece(struct gt_peak_bound *bound, uint32_t process)
{
    struct gt_peak_piece *piece = &bound->piece[process];
    double hwm = piece->hwm;
    uint32_t end = piece->end;
    piece->more += hwm;
    bound->more += hwm;
    if (end != GT_PEAK_NONE) {
        bound->piece[end].more -= hwm;
        bound->more -= hwm;
        join(bound, end);
    }
    join(bound, process);
}

/* ---- Processes ----------------------------------------------------------------------------------------------------- */

struct gt_peak_member {
    bool is_main;                   /* no descendant: its mark counts for the whole job alone */
    uint32_t piece[GT_PEAK_SCOPES]; /* in which it began */
    uint32_t next_free;
    double hwm;                  /* as far as it is known */
    double best[GT_PEAK_SCOPES]; /* the mark, where it counts for the scope; else 0 */
    bool has_hwm, has_ended, is_limited;
};

void gt_job_peak_release(struct gt_job_peak *peak)
{
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        free(peak->bound[scope].piece);
    free(peak->member);
    *peak = (struct gt_job_peak){0};
}

int gt_job_peak_begin(struct gt_job_peak *peak, uint32_t *ret)
{
    struct gt_peak_member *member = peak->free ? &peak->member[peak->free - 1] : GT_GROW(peak, member);
    if (!member)
        return -ENOMEM;
    *ret = (uint32_t)(member - peak->member);
    peak->free = peak->free ? member->next_free : 0;
    *member = (struct gt_peak_member){.is_main = !peak->has_main};
    peak->has_main = true;
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        if (append(&peak->bound[scope], &member->piece[scope]) < 0) {
            *ret = GT_PEAK_NONE;
            return -ENOMEM;
        }
    return 0;
}

static void raise_scope(struct gt_scope_peak *ret, double bytes)
{
    if (!(bytes > ret->best))
        return;
    ret->private_bytes += bytes - ret->best;
    ret->best = bytes;
}

void gt_job_peak_raise(struct gt_job_peak *peak, int scope, double bytes)
{
    raise_scope(&peak->scope[scope], bytes);
}

static void keep_larger(struct gt_scope_peak *peak, struct gt_scope_peak other)
{
    if (other.best > peak->best)
        *peak = other;
}

void gt_job_peak_reading(struct gt_job_peak *peak, int scope, const struct gt_scope_memory *memory, bool is_certain)
{
    struct gt_scope_peak now = {.best = memory->ram, .private_bytes = memory->private_bytes};
    if (!is_certain && now.best > peak->pending[scope].best)
        peak->pending_guess[scope] = memory->guess;
    keep_larger(is_certain ? &peak->scope[scope] : &peak->pending[scope], now);
}

/* Returns how much of an excess an estimate had; all of it where a guess is NaN. */
static double share_of(double excess, double guess, double guess_now)
{
    double lowered = guess - guess_now;
    return fmin(excess, lowered < 0 ? 0 : lowered); /* fmin passes over NaN */
}

void gt_job_peak_confirm(struct gt_job_peak *peak, int scope, double excess, double guess)
{
    struct gt_scope_peak pending = peak->pending[scope];
    pending.best -= share_of(excess, peak->pending_guess[scope], guess);
    pending.private_bytes = fmin(pending.private_bytes, pending.best);
    keep_larger(&peak->scope[scope], pending);
    peak->pending[scope] = (struct gt_scope_peak){0};
    if (scope == GT_PEAK_COMBINED) {
        peak->between = fmax(peak->between, peak->pending_between - share_of(excess, peak->between_guess, guess));
        peak->pending_between = 0;
    }
}

void gt_job_peak_between(struct gt_job_peak *peak, double bytes, double guess, bool is_certain)
{
    if (!is_certain && bytes > peak->pending_between)
        peak->between_guess = guess;
    double *between = is_certain ? &peak->between : &peak->pending_between;
    *between = fmax(*between, bytes); /* fmax passes over NaN */
}

static bool counts_in(const struct gt_peak_member *member, int scope)
{
    return scope == GT_PEAK_COMBINED || !member->is_main;
}

static void bound_hwm(struct gt_job_peak *peak, const struct gt_peak_member *member, double hwm)
{
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++) {
        struct gt_peak_piece *all = peak->bound[scope].piece, *piece = &all[member->piece[scope]];
        if (!counts_in(member, scope) || !(hwm > piece->hwm))
            continue;
        piece->hwm = hwm;
        if (piece->end != GT_PEAK_NONE)
            all[piece->end].hwm = -hwm;
    }
}

void gt_job_peak_seen(struct gt_job_peak *peak, uint32_t index, double rss, double hwm, bool is_old)
{
    struct gt_peak_member *member = &peak->member[index];
    hwm = fmax(hwm, rss);
    peak->largest_hwm = fmax(peak->largest_hwm, hwm);
    bound_hwm(peak, member, hwm);
    bool has_risen = hwm > member->hwm;
    member->hwm = fmax(member->hwm, hwm);
    bool is_first = !member->has_hwm;
    member->has_hwm = true;
    if (has_risen && !(is_first && is_old))
        gt_job_peak_tell(peak, index, hwm, false);
}

void gt_job_peak_end(struct gt_job_peak *peak, uint32_t index)
{
    struct gt_peak_member *member = &peak->member[index];
    member->has_ended = true;
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        end_piece(&peak->bound[scope], member->piece[scope]);
}

void gt_job_peak_tell(struct gt_job_peak *peak, uint32_t index, double hwm, bool is_copy)
{
    struct gt_peak_member *member = &peak->member[index];
    bound_hwm(peak, member, hwm);
    member->hwm = fmax(member->hwm, hwm);
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        if (counts_in(member, scope) && !(is_copy && !member->has_hwm && scope == GT_PEAK_DESCENDANTS))
            member->best[scope] = fmax(member->best[scope], hwm);
}

void gt_job_peak_limit(struct gt_job_peak *peak, uint32_t index, double hwm)
{
    bound_hwm(peak, &peak->member[index], hwm);
    peak->member[index].is_limited = true;
}

static void give_back(struct gt_job_peak *peak, uint32_t index)
{
    struct gt_peak_member *member = &peak->member[index];
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        settle_piece(&peak->bound[scope], member->piece[scope]);
    *member = (struct gt_peak_member){.next_free = peak->free};
    peak->free = index + 1;
}

void gt_job_peak_settle(struct gt_job_peak *peak, uint32_t index, bool has_hwm)
{
    struct gt_peak_member *member = &peak->member[index];
    if (!member->has_ended)
        gt_job_peak_end(peak, index);
    peak->unknown += !has_hwm && !member->is_limited;
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        raise_scope(&peak->scope[scope], member->best[scope]);
    give_back(peak, index);
}

void gt_job_peak_drop(struct gt_job_peak *peak, uint32_t index)
{
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        peak->bound[scope].piece[peak->member[index].piece[scope]].hwm = 0;
    give_back(peak, index);
}

/* Returns the largest sum of high-water marks; NaN: not known. */
static double sum_hwms(const struct gt_job_peak *peak, int scope)
{
    const struct gt_peak_bound *bound = &peak->bound[scope];
    double sum = 0, most = 0;
    if (peak->unknown)
        return NAN;
    for (uint32_t i = 0; bound->count && i != GT_PEAK_NONE; i = bound->piece[i].next) {
        sum += bound->piece[i].more + bound->piece[i].hwm;
        most = fmax(most, bound->piece[i].most + sum);
    }
    return most;
}

struct gt_scope_peak gt_job_peak_best(const struct gt_job_peak *peak, int scope)
{
    struct gt_scope_peak ret = peak->scope[scope];
    for (size_t i = 0; i < peak->member_count; i++)
        raise_scope(&ret, peak->member[i].best[scope]);
    if (scope == GT_PEAK_COMBINED && peak->between > ret.best) /* fmin passes over NaN */
        raise_scope(&ret, fmin(peak->between, sum_hwms(peak, scope)));
    return ret;
}

double gt_job_peak_unmapped(const struct gt_job_peak *peak)
{
    return fmax(0, peak->between - sum_hwms(peak, GT_PEAK_COMBINED));
}

double gt_job_peak_most(const struct gt_job_peak *peak, int scope)
{
    double hwms = sum_hwms(peak, scope);
    double most = peak->group > 0 ? fmin(hwms, peak->group) : hwms; /* fmin passes over NaN */
    return isnan(most) ? NAN : fmax(most, gt_job_peak_best(peak, scope).best);
}
