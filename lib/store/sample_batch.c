#include "store/sample_batch.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/grow.h"

/* A larger batch gains nothing by waiting. */
enum { LARGE_BYTES = 1 << 20, WORD_BITS = 64, WORDS = (GT_METRIC_COUNT + WORD_BITS - 1) / WORD_BITS };

/* Each row is what comes before its values, the bits of the known values, and these values. */
enum { ROW_HEAD = offsetof(struct gt_row, value), MOST_OF_ROW = sizeof(struct gt_row) + WORDS * sizeof(uint64_t) };

struct head {
    int64_t real_ns, monotonic_ns;
    size_t rows, records;
};

static int reserve(struct gt_sample_copy *copy, size_t rows, size_t records)
{
    int status = GT_GROW_TO(copy->sample.row, copy->capacity, rows);
    if (status >= 0)
        status = GT_GROW_TO(copy->record, copy->record_capacity, records);
    copy->sample.record = copy->record;
    return status;
}

int gt_sample_copy_set(struct gt_sample_copy *copy, const struct gt_sample *sample)
{
    if (reserve(copy, sample->row_count, sample->record_count) < 0)
        return -ENOMEM;
    copy->sample.real_ns = sample->real_ns;
    copy->sample.monotonic_ns = sample->monotonic_ns;
    copy->sample.row_count = sample->row_count;
    copy->sample.record_count = sample->record_count;
    copy->sample.energy = sample->energy;
    memcpy(copy->sample.row, sample->row, sample->row_count * sizeof *sample->row);
    if (sample->record_count)
        memcpy(copy->record, sample->record, sample->record_count * sizeof *sample->record);
    return 0;
}

struct gt_row *gt_sample_copy_add(struct gt_sample_copy *copy, enum gt_scope scope)
{
    if (GT_GROW_TO(copy->sample.row, copy->capacity, copy->sample.row_count + 1) < 0)
        return NULL;
    struct gt_row *row = &copy->sample.row[copy->sample.row_count++];
    *row = (struct gt_row){.scope = scope, .device = -1};
    gt_values_clear(row->value);
    return row;
}

void gt_sample_copy_release(struct gt_sample_copy *copy)
{
    free(copy->sample.row);
    free(copy->record);
    *copy = (struct gt_sample_copy){0};
}

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

int gt_sample_batch_add(struct gt_sample_batch *batch, const struct gt_sample *sample)
{
    struct head head = {sample->real_ns, sample->monotonic_ns, sample->row_count, sample->record_count};
    size_t records = head.records * sizeof *sample->record;
    if (GT_GROW_TO(batch->bytes, batch->capacity, batch->length + sizeof head + head.rows * MOST_OF_ROW + records) < 0)
        return -ENOMEM;
    if (!batch->count++)
        batch->first_ns = sample->monotonic_ns;
    char *at = put(batch->bytes + batch->length, &head, sizeof head);
    for (size_t i = 0; i < head.rows; i++)
        at = put_row(at, &sample->row[i]);
    if (records)
        at = put(at, sample->record, records);
    batch->length = (size_t)(at - batch->bytes);
    return 0;
}

bool gt_sample_batch_is_due(const struct gt_sample_batch *batch, int64_t now_ns, int64_t period_ns)
{
    return batch->length >= LARGE_BYTES || now_ns + period_ns - batch->first_ns >= GT_SECOND;
}

int gt_sample_batch_move(struct gt_sample_batch *to, struct gt_sample_batch *from)
{
    if (!to->count) {
        struct gt_sample_batch empty = *to;
        *to = *from;
        *from = empty;
    } else if (GT_GROW_TO(to->bytes, to->capacity, to->length + from->length) < 0) {
        return -ENOMEM;
    } else {
        memcpy(to->bytes + to->length, from->bytes, from->length);
        to->length += from->length;
        to->count += from->count;
    }
    to->taken = 0;
    gt_sample_batch_clear(from);
    return 0;
}

int gt_sample_batch_take(struct gt_sample_batch *batch, struct gt_sample_copy *ret)
{
    struct gt_sample *sample = &ret->sample;
    struct head head;
    if (batch->taken == batch->length)
        return 0;
    const char *at = get(batch->bytes + batch->taken, &head, sizeof head);
    if (reserve(ret, head.rows, head.records) < 0)
        return -ENOMEM;
    sample->real_ns = head.real_ns;
    sample->monotonic_ns = head.monotonic_ns;
    sample->row_count = head.rows;
    sample->record_count = head.records;
    for (size_t i = 0; i < head.rows; i++)
        at = get_row(at, &sample->row[i]);
    if (head.records)
        at = get(at, ret->record, head.records * sizeof *ret->record);
    batch->taken = (size_t)(at - batch->bytes);
    return 1;
}

void gt_sample_batch_clear(struct gt_sample_batch *batch)
{
    batch->length = batch->count = batch->taken = 0;
}
