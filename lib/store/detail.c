#include "store/detail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

const struct gt_detail gt_details[GT_DETAIL_COUNT] = {
    {GT_SCOPE_GPU, "gpu_data", ".gpus"},
    {GT_SCOPE_PROCESS, "process_data", ".processes"},
};

int gt_sample_copy_reserve(struct gt_sample_copy *copy, size_t rows)
{
    return GT_GROW_TO(copy->sample.row, copy->capacity, rows);
}

int gt_sample_copy_reserve_lives(struct gt_sample_copy *copy, size_t lives)
{
    return GT_GROW_TO(copy->life, copy->life_capacity, lives);
}

size_t gt_sample_copy_bytes(const struct gt_sample_copy *copy)
{
    return copy->capacity * sizeof(struct gt_row) + copy->life_capacity * sizeof(struct gt_life);
}

int gt_sample_copy_set(struct gt_sample_copy *copy, const struct gt_sample *sample, size_t rows)
{
    int status = gt_sample_copy_reserve(copy, rows);
    if (status >= 0)
        status = gt_sample_copy_reserve_lives(copy, sample->life_count);
    if (status < 0)
        return status;
    copy->sample.real_ns = sample->real_ns;
    copy->sample.monotonic_ns = sample->monotonic_ns;
    copy->sample.row_count = rows;
    copy->sample.energy = sample->energy;
    memcpy(copy->sample.row, sample->row, rows * sizeof *sample->row);
    if (sample->life_count)
        memcpy(copy->life, sample->life, sample->life_count * sizeof *sample->life);
    copy->sample.life = copy->life;
    copy->sample.life_count = sample->life_count;
    return 0;
}

struct gt_row *gt_sample_copy_add(struct gt_sample_copy *copy, enum gt_scope scope)
{
    if (gt_sample_copy_reserve(copy, copy->sample.row_count + 1) < 0)
        return NULL;
    struct gt_row *row = &copy->sample.row[copy->sample.row_count++];
    *row = (struct gt_row){.scope = scope, .device = -1};
    gt_values_clear(row->value);
    return row;
}

void gt_sample_copy_release(struct gt_sample_copy *copy)
{
    free(copy->sample.row);
    free(copy->life);
    *copy = (struct gt_sample_copy){0};
}

void gt_detail_begin_row(struct gt_detail_cursor *cursor)
{
    cursor->row = (struct gt_row){.scope = cursor->scope, .device = -1};
    gt_values_clear(cursor->row.value);
}

int gt_detail_take(struct gt_detail_cursor *cursor, struct gt_sample_copy *copy,
                   int (*read)(void *context, struct gt_detail_cursor *cursor, struct gt_error *error), void *context,
                   struct gt_error *error)
{
    bool found = false;
    for (;;) {
        int status = cursor->has_row ? 1 : read(context, cursor, error);
        if (status <= 0)
            return status;
        cursor->has_row = true;
        int64_t ahead = cursor->moment.real_ns - copy->sample.real_ns;
        if (ahead > 0 || (ahead < 0 && found)) /* the next sample's, perhaps behind a clock that was set back */
            return 0;
        cursor->has_row = false;
        if (ahead < 0)
            continue;
        found = true;
        struct gt_row *row = gt_sample_copy_add(copy, cursor->scope);
        if (!row)
            return gt_error_system(error, ENOMEM, "details of a sample");
        *row = cursor->row;
    }
}
