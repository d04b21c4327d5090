/* A made-up machine and samples to record, each value a function of its place. */
#ifndef TEST_SUPPORT_RECORDER_H
#define TEST_SUPPORT_RECORDER_H

#include "store/store.h"

enum { RECORDER_PROCESSES = 3, RECORDER_ROWS = GT_FIXED_ROWS + 2 + RECORDER_PROCESSES };

/* Two GPUs, or none. Borrowed until the next call. */
struct gt_machine *recorder_machine(bool has_gpus);
/* Sample `number`, a millisecond after the one before: fixed rows, two GPUs, three processes. Borrowed until the next call.
 * The metrics of one scope are as in a machine without its sensors: SWAP is not measured in every third sample. */
const struct gt_sample *recorder_sample(int number);
/* The value of that sample. */
double recorder_value(int number, int row, enum gt_scope scope, enum gt_metric_id metric);
struct gt_outcome recorder_outcome(int samples);
/* Hand over one sample, at once. */
void recorder_send(struct gt_store *store, const struct gt_sample *sample);
/* Record samples 0..count-1 at `path`, which may exist; not so many that the queue is full. */
void recorder_write(const char *path, int count, bool detail);

/* Replace the file with this text. */
void recorder_put(const char *path, const char *text, size_t length);

#endif
