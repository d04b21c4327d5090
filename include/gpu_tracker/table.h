/* Tables, for whoever computes with the data themselves. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_TABLE_H
#define GPU_TRACKER_TABLE_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

/* Columns of one length, which libraries for Arrow read. */
struct gt_table;
struct ArrowArrayStream; /* https://arrow.apache.org/docs/format/CStreamInterface.html */

size_t gt_table_rows(const struct gt_table *table);
/* The table as one batch that is not copied. Release the stream by its own function, before or after the table is freed. 0 or
 * -ENOMEM. */
int gt_table_arrow_stream(struct gt_table *table, struct ArrowArrayStream *ret);
void gt_table_free(struct gt_table *table);

struct gt_time_span {
    double start, stop; /* seconds since the epoch; both ends belong to it */
};

/* The samples of a recording, with the columns and in the units of its file; those inside any of the spans (NULL: all). */
int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_table **ret,
                         struct gt_error *error);
/* What a recording says of its machine and units: one row. */
int gt_recording_static(const char *path, struct gt_table **ret, struct gt_error *error);
/* What a recording has of a column at moments of your choosing, in the column's unit: accuracy of each epoch against joules
 * ("combined_energy"). Linear between the samples around a moment, NaN before the first and after the last. `column` may be
 * several, added up: "combined_cpu_energy+combined_gpu_energy". `times` are seconds since the epoch, in any order; `values`
 * has as many. -ENOENT names a column that the recording has not. */
int gt_recording_interpolate(const char *path, const char *column, const double *times, size_t count, double *values,
                             struct gt_error *error);
/* Every call of every block in sub-tracking files and folders of them, by start: code_block_name, process_id, thread_id,
 * call, start, stop (seconds since the epoch; missing when it never ended), elapsed and self (seconds). */
int gt_blocks_calls(const char *const *files, struct gt_table **ret, struct gt_error *error);
/* When the calls of one block began and ended, by process and start: start, stop (seconds since the epoch). Calls that never ended
 * are left out, as in the figures of the block. -EBADMSG where a stop lies before its start, or has none. */
int gt_blocks_pairs(const char *const *files, const char *name, struct gt_table **ret, struct gt_error *error);

#endif
