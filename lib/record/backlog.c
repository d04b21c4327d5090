#include "record/backlog.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"

/* What has many rows gains nothing by waiting, nor do many samples. */
enum { MOST_BYTES = 1 << 15, WORD_BITS = 64, WORDS = (GT_METRIC_COUNT + WORD_BITS - 1) / WORD_BITS };

/* Each row is what stands before its values, the bits of those that are known, and these. */
enum { ROW_HEAD = offsetof(struct gt_row, value), MOST_OF_ROW = sizeof(struct gt_row) + WORDS * sizeof(uint64_t) };

static char *put(char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static const char *get(const char *at, void *bytes, size_t size)
{
    memcpy(bytes, at, size);
    return at + size;
}

static char *put_row(char *at, const struct gt_row *row)
{
    uint64_t known[WORDS] = {0};
    char *bits = put(at, row, ROW_HEAD);
    at = bits + sizeof known;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!isnan(row->value[id])) {
            known[id / WORD_BITS] |= UINT64_C(1) << id % WORD_BITS;
            at = put(at, &row->value[id], sizeof row->value[id]);
        }
    put(bits, known, sizeof known);
    return at;
}

static const char *get_row(const char *at, struct gt_row *row)
{
    uint64_t known[WORDS];
    at = get(at, row, ROW_HEAD);
    at = get(at, known, sizeof known);
    gt_values_clear(row->value);
    for (int word = 0; word < WORDS; word++)
        for (uint64_t left = known[word]; left; left &= left - 1)
            at = get(at, &row->value[word * WORD_BITS + __builtin_ctzll(left)], sizeof *row->value);
    return at;
}

int gt_backlog_add(struct gt_backlog *backlog, const struct gt_sample *sample)
{
    size_t lives = sample->life_count * sizeof *sample->life;
    size_t most = backlog->length + sizeof *sample + sample->row_count * MOST_OF_ROW + lives;
    if (GT_GROW_TO(backlog->bytes, backlog->capacity, most) < 0)
        return -ENOMEM;
    if (!backlog->length)
        backlog->first_ns = sample->monotonic_ns;
    char *at = put(backlog->bytes + backlog->length, sample, sizeof *sample);
    for (size_t i = 0; i < sample->row_count; i++)
        at = put_row(at, &sample->row[i]);
    if (lives)
        at = put(at, sample->life, lives);
    backlog->length = (size_t)(at - backlog->bytes);
    return 0;
}

bool gt_backlog_is_due(const struct gt_backlog *backlog, int64_t now_ns, int64_t period_ns)
{
    return backlog->length >= MOST_BYTES || now_ns + period_ns - backlog->first_ns >= GT_SECOND;
}

int gt_backlog_take(struct gt_backlog *backlog, const struct gt_sample **ret)
{
    struct gt_sample head, *sample = &backlog->copy.sample;
    if (backlog->taken == backlog->length) {
        backlog->taken = backlog->length = 0;
        return 0;
    }
    const char *at = get(backlog->bytes + backlog->taken, &head, sizeof head);
    if (gt_sample_copy_reserve(&backlog->copy, head.row_count) < 0 ||
        gt_sample_copy_reserve_lives(&backlog->copy, head.life_count) < 0)
        return -ENOMEM;
    struct gt_row *row = sample->row;
    *sample = head;
    sample->row = row;
    sample->life = backlog->copy.life;
    for (size_t i = 0; i < head.row_count; i++)
        at = get_row(at, &row[i]);
    if (head.life_count)
        at = get(at, backlog->copy.life, head.life_count * sizeof *head.life);
    backlog->taken = (size_t)(at - backlog->bytes);
    *ret = sample;
    return 1;
}

void gt_backlog_release(struct gt_backlog *backlog)
{
    free(backlog->bytes);
    gt_sample_copy_release(&backlog->copy);
    *backlog = (struct gt_backlog){0};
}
