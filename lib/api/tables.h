/* Python gets recordings and code blocks as tables. */
#ifndef GT_API_TABLES_H
#define GT_API_TABLES_H

#include "base/table.h"

struct gt_time_span {
    double start, stop; /* seconds since the epoch; both ends belong to it */
};

/* Reads the samples of a recording, with the columns and in the units of its file; those inside any of the spans (NULL: all). */
int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_table **ret,
                         struct gt_error *error);
/* Reads the machine and the units of a recording: one row. */
int gt_recording_static(const char *path, struct gt_table **ret, struct gt_error *error);
/* Reads every call of every block in sub-tracking files and folders of them, by start: code_block_name, process_id, thread_id,
 * call, start, stop (seconds since the epoch; missing when it never ended), elapsed and self (seconds). */
int gt_blocks_calls(const char *const *files, struct gt_table **ret, struct gt_error *error);
/* Reads when the calls of one block began and ended, by process and start: start, stop (seconds since the epoch). Calls that never ended
 * are left out, as in the figures of the block. -EBADMSG where a stop lies before its start, or has none. */
int gt_blocks_pairs(const char *const *files, const char *name, struct gt_table **ret, struct gt_error *error);

#endif
