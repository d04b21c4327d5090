/* Recordings and code blocks as data sets. For Python. */
#ifndef GT_API_DATASETS_H
#define GT_API_DATASETS_H

#include "base/dataset.h"

struct gt_time_span {
    double start, stop; /* seconds since the epoch; both ends belong to it */
};

/* The samples of a recording, with the columns and in the units of its file; those inside any of the spans (NULL: all). */
int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_dataset **ret,
                         struct gt_error *error);
/* The machine and the units of a recording: one row. */
int gt_recording_static(const char *path, struct gt_dataset **ret, struct gt_error *error);
/* Every call of every block in sub-tracking files and folders of them, by start: code_block_name, process_id, thread_id,
 * call, start, stop (seconds since the epoch; missing when it never ended), elapsed and self (seconds). */
int gt_blocks_calls(const char *const *files, struct gt_dataset **ret, struct gt_error *error);
/* When the calls of one block began and ended, by process and start: start, stop (seconds since the epoch). Calls that never ended
 * are left out, as in the figures of the block. -EBADMSG where a stop lies before its start, or has none. */
int gt_blocks_pairs(const char *const *files, const char *name, struct gt_dataset **ret, struct gt_error *error);
/* Table number `index` of those at the top of a report; 0 or -ENOENT. The key is borrowed. */
int gt_report_table_data(const struct gt_report *report, size_t index, const char **key, struct gt_dataset **ret,
                         struct gt_error *error);

#endif
