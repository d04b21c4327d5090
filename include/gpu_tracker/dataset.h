/* Data sets: tables of columns, for whoever computes with the data themselves. Part of gpu_tracker.h. */
#ifndef GPU_TRACKER_DATASET_H
#define GPU_TRACKER_DATASET_H

#ifndef GPU_TRACKER_H
#error "include gpu_tracker.h"
#endif

struct gt_dataset;

enum gt_dataset_kind {
    GT_DATASET_NUMBER,
    GT_DATASET_INTEGER,
    GT_DATASET_TEXT,
    GT_DATASET_CHOICE, /* texts that repeat, each kept once */
    GT_DATASET_TIME,   /* nanoseconds since the epoch, UTC */
};

/* What the kind says is set; text i is the bytes from text_end[i - 1] (0 for the first) to text_end[i]. */
struct gt_dataset_column {
    const char *name;
    enum gt_dataset_kind kind;
    const double *number;   /* NaN: missing */
    const int64_t *integer; /* integers and times */
    const int32_t *choice;  /* which of the texts a row has; -1: missing */
    size_t choices;         /* how many texts there are */
    const char *text;
    const int64_t *text_end;
};

struct gt_time_span {
    double start, stop; /* seconds since the epoch; both ends belong to it */
};

/* The samples of a recording, with the columns and in the units of its file; those inside any of the spans (NULL: all). */
int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_dataset **ret,
                         struct gt_error *error);
/* What a recording says of its machine and units: one row. */
int gt_recording_static(const char *path, struct gt_dataset **ret, struct gt_error *error);
/* What a recording has of a column at moments of your choosing, in the column's unit: accuracy of each epoch against joules
 * ("combined_energy"). Linear between the samples around a moment, NaN before the first and after the last. `column` may be
 * several, added up: "combined_cpu_energy+combined_gpu_energy". `times` are seconds since the epoch, in any order; `values`
 * has as many. -ENOENT names a column that the recording has not. */
int gt_recording_interpolate(const char *path, const char *column, const double *times, size_t count, double *values,
                             struct gt_error *error);
/* Every call of every block in sub-tracking files and folders of them, by start: code_block_name, process_id, thread_id,
 * call, start, stop (seconds since the epoch; missing when it never ended), elapsed and self (seconds). */
int gt_blocks_calls(const char *const *files, struct gt_dataset **ret, struct gt_error *error);
/* When the calls of one block began and ended, by process and start: start, stop (seconds since the epoch). Calls that never ended
 * are left out, as in the figures of the block. -EBADMSG where a stop lies before its start, or has none. */
int gt_blocks_pairs(const char *const *files, const char *name, struct gt_dataset **ret, struct gt_error *error);

size_t gt_dataset_rows(const struct gt_dataset *frame);
size_t gt_dataset_columns(const struct gt_dataset *frame);
/* Borrowed from the data set; 0 or -ENOENT. */
int gt_dataset_column(const struct gt_dataset *frame, size_t column, struct gt_dataset_column *ret);
void gt_dataset_free(struct gt_dataset *frame);

#endif
