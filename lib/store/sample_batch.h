/* Samples that are kept: one with its rows, or many packed into a batch, which has only the values that are known. */
#ifndef GT_STORE_SAMPLE_BATCH_H
#define GT_STORE_SAMPLE_BATCH_H

#include <stdbool.h>

#include "sample/sample.h"

/* A sample that owns its rows and process records. Its capacity only grows. */
struct gt_sample_copy {
    struct gt_sample sample; /* its process records are those below */
    size_t capacity;
    struct gt_process_record *record;
    size_t record_capacity;
};

/* Copy a sample. Returns 0 or -ENOMEM. */
int gt_sample_copy_set(struct gt_sample_copy *copy, const struct gt_sample *sample);
/* Add a row without values. Returns NULL without memory. */
struct gt_row *gt_sample_copy_add(struct gt_sample_copy *copy, enum gt_scope scope);
void gt_sample_copy_release(struct gt_sample_copy *copy);

struct gt_sample_batch {
    char *bytes; /* of the samples, one behind the other */
    size_t length, capacity, count;
    size_t taken;     /* bytes */
    int64_t first_ns; /* CLOCK_MONOTONIC: of the oldest */
};

/* Add a sample, without its energy reading. Returns 0, or -ENOMEM with the batch as it was. */
int gt_sample_batch_add(struct gt_sample_batch *batch, const struct gt_sample *sample);
/* Returns true where the batch should not wait for the next sample, which comes after `period_ns`. */
bool gt_sample_batch_is_due(const struct gt_sample_batch *batch, int64_t now_ns, int64_t period_ns);
/* Move all samples of `from` behind those of `to`, of which none was taken then. Returns 0, or -ENOMEM with both as they were. */
int gt_sample_batch_move(struct gt_sample_batch *to, struct gt_sample_batch *from);
/* Copy the oldest sample that was not taken yet. Returns 1, 0 when there is none, or -ENOMEM. */
int gt_sample_batch_take(struct gt_sample_batch *batch, struct gt_sample_copy *ret);
void gt_sample_batch_clear(struct gt_sample_batch *batch);

#endif
