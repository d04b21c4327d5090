#include "sample/overlap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t RETRY_NS = GT_SECOND / 10; /* of a process that was just ending, or executing another program */

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static double between(double value, double low, double high)
{
    return value > high ? high : value < low ? low : value;
}

/* Frames keep their order from sample to sample, so the search begins where the last one ended. */
static struct gt_overlap_record *find(struct gt_overlap *overlap, pid_t pid, uint64_t start, size_t *hint)
{
    for (size_t i = 0; i < overlap->count; i++) {
        size_t at = (*hint + i) % overlap->count;
        if (overlap->record[at].pid == pid && overlap->record[at].start == start) {
            *hint = at + 1;
            return &overlap->record[at];
        }
    }
    return NULL;
}

static int reserve(struct gt_overlap *overlap, size_t count)
{
    if (count <= overlap->capacity)
        return 0;
    size_t capacity = count + count / 2 + 16;
    struct gt_overlap_record *record = realloc(overlap->record, capacity * sizeof *record);
    if (!record)
        return -ENOMEM;
    overlap->record = record;
    overlap->capacity = capacity;
    return 0;
}

static void swap(struct gt_overlap_record *a, struct gt_overlap_record *b)
{
    struct gt_overlap_record kept = *a;
    *a = *b;
    *b = kept;
}

/* Records before `at` are settled; those behind are from the last frame, in any order. */
static void take_over(struct gt_overlap *overlap, size_t at, const struct gt_process *process)
{
    size_t hint = at;
    struct gt_overlap_record *known = at < overlap->count ? find(overlap, process->pid, process->start, &hint) : NULL;
    struct gt_overlap_record *record = &overlap->record[at];
    if (known) {
        swap(record, known);
    } else {
        if (overlap->count > at)
            overlap->record[overlap->count] = *record;
        overlap->count++;
        *record = (struct gt_overlap_record){.pid = process->pid, .start = process->start};
    }
    record->parent = process->parent;
    record->is_main = process->is_main;
    record->rss = or_zero(process->value[GT_RSS]);
    record->file_bytes = or_zero(process->file_bytes);
    record->faults = process->value[GT_MINOR_FAULTS] + process->value[GT_MAJOR_FAULTS];
}

int gt_overlap_follow(struct gt_overlap *overlap, const struct gt_frame *frame)
{
    int result = reserve(overlap, overlap->count + frame->process_count);
    if (result < 0)
        return result;
    for (size_t i = 0; i < frame->process_count; i++)
        take_over(overlap, i, frame->process[i]);
    for (size_t i = frame->process_count; i < overlap->count; i++)
        overlap->has_left |= overlap->record[i].has_walk;
    overlap->count = frame->process_count;
    return 0;
}

size_t gt_overlap_ask(struct gt_overlap *overlap, struct gt_memory_process *process, bool only_new)
{
    size_t count = 0;
    for (size_t i = 0; i < overlap->count; i++) {
        struct gt_overlap_record *record = &overlap->record[i];
        if (only_new && (record->has_walk || record->is_denied))
            continue;
        record->asked_rss = record->rss;
        record->asked_file = record->file_bytes;
        record->asked_faults = record->faults;
        process[count++] = (struct gt_memory_process){
            .pid = record->pid, .start = record->start, .is_main = record->is_main};
    }
    return count;
}

static void learn_one(struct gt_overlap_record *record, const struct gt_memory_process *walked, bool is_whole)
{
    record->is_denied = walked->is_denied;
    record->has_walk = walked->ok;
    if (!walked->ok)
        return;
    record->is_alone = !is_whole;
    record->seen = walked->rss;
    record->seen_file = record->asked_file;
    record->walked_private = walked->private_bytes;
    record->walked_shared = walked->shared_bytes;
}

void gt_overlap_learn(struct gt_overlap *overlap, const struct gt_memory_process *process, size_t count,
                      const struct gt_memory_totals *totals, bool is_whole, int64_t end_ns, int pause)
{
    size_t hint = 0;
    for (size_t i = 0; i < count; i++) {
        struct gt_overlap_record *record = find(overlap, process[i].pid, process[i].start, &hint);
        if (!record)
            continue; /* it has ended meanwhile */
        learn_one(record, &process[i], is_whole);
        int64_t left_alone = pause * process[i].duration_ns;
        record->allowed_ns = end_ns + (record->has_walk ? left_alone : left_alone + RETRY_NS);
    }
    if (is_whole) {
        overlap->shared[GT_SCOPE_MAIN] = totals->main.shared_bytes;
        overlap->shared[GT_SCOPE_DESCENDANTS] = totals->descendants.shared_bytes;
        overlap->shared[GT_SCOPE_COMBINED] = totals->combined.shared_bytes;
        overlap->has_left = false;
    }
}

void gt_overlap_update(struct gt_overlap *overlap)
{
    for (size_t i = 0; i < overlap->count; i++) {
        struct gt_overlap_record *record = &overlap->record[i];
        if (!record->has_walk) {
            record->private_bytes = record->shared_bytes = NAN;
            continue;
        }
        double more = record->rss - record->seen, more_file = record->file_bytes - record->seen_file;
        record->private_bytes = between(record->walked_private + more - more_file, 0, record->rss);
        record->shared_bytes = record->rss - record->private_bytes;
    }
}

static double resident_parent(const struct gt_overlap *overlap, pid_t parent)
{
    for (size_t i = 0; i < overlap->count; i++)
        if (overlap->record[i].pid == parent)
            return overlap->record[i].rss;
    return 0;
}

struct sums {
    double rss, largest, private_bytes, shared, largest_shared, more_shared;
    size_t count, walked;
};

static void add(struct sums *sums, const struct gt_overlap *overlap, const struct gt_overlap_record *record)
{
    sums->rss += record->rss;
    sums->largest = fmax(sums->largest, record->rss);
    sums->count++;
    sums->walked += record->has_walk;
    if (record->has_walk) {
        sums->private_bytes += record->private_bytes;
    } else if (record->is_denied) {
        sums->private_bytes += record->rss;
    } else {
        sums->private_bytes += fmax(0, record->rss - resident_parent(overlap, record->parent));
    }
    if (record->has_walk && !record->is_alone) {
        sums->shared += record->shared_bytes;
        sums->largest_shared = fmax(sums->largest_shared, record->shared_bytes);
        sums->more_shared = fmax(sums->more_shared, record->shared_bytes - record->walked_shared);
    }
}

struct gt_scope_memory gt_overlap_scope(const struct gt_overlap *overlap, enum gt_scope scope)
{
    struct sums sums = {0};
    for (size_t i = 0; i < overlap->count; i++) {
        const struct gt_overlap_record *record = &overlap->record[i];
        if (scope == GT_SCOPE_COMBINED || record->is_main == (scope == GT_SCOPE_MAIN))
            add(&sums, overlap, record);
    }
    double shared = between(overlap->shared[scope] + sums.more_shared, sums.largest_shared, sums.shared);
    double ram = between(sums.private_bytes + shared, sums.largest, sums.rss);
    double private_bytes = sums.walked || !sums.count ? fmin(sums.private_bytes, ram) : NAN;
    double certain = between(sums.private_bytes + fmin(overlap->shared[scope], sums.shared), sums.largest, ram);
    return (struct gt_scope_memory){sums.rss, ram, private_bytes, ram - private_bytes, certain};
}

void gt_overlap_release(struct gt_overlap *overlap)
{
    free(overlap->record);
    *overlap = (struct gt_overlap){0};
}
