/* A merged timeline is written to a file: its events, counters and marks. */
#ifndef GT_ANALYSE_MERGE_MERGED_TRACE_H
#define GT_ANALYSE_MERGE_MERGED_TRACE_H

#include <regex.h>
#include <stdbool.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/error.h"
#include "trace/source.h"

/* Processes and threads of the merged file. */
struct gt_merged_lane {
    int64_t pid, tid;
    uint32_t first; /* the first track of this pid and tid; its is_told counts for all */
    bool is_told;   /* the thread's name was written */
};

struct gt_merged_process {
    int64_t pid;
    uint32_t first; /* the first process of this pid */
    bool is_told;
};

/* The last event that was written, or the first of several of the same time. */
struct gt_merged_equal {
    uint32_t track;
    int64_t start, duration;
    size_t at;       /* in the text */
    uint64_t events; /* that were written, with it */
};

struct gt_merged_trace {
    const struct gt_trace *trace;
    gzFile file; /* plain text or gzip, written beside its place and renamed when it is whole */
    const char *path;
    struct gt_buffer out;   /* goes to the file in blocks */
    const regex_t *metrics; /* samples whose NAME_DIMENSION_NODE matches; NULL: all */
    double low_gpu;         /* percent of use below which a GPU is marked; 0: no marks */
    int64_t base;           /* ns that the file's times count from; whole microseconds */
    size_t nodes;           /* ids of several nodes are kept apart */
    struct gt_buffer scratch;
    struct gt_merged_equal equal;
    struct gt_merged_lane *lane;       /* of each track */
    struct gt_merged_process *process; /* of each process */
    uint64_t events, counters, marks;
    int64_t first, last; /* of what was written */
};

/* Gives processes pids by class of phase, in SMDebug's order, and threads ids that JavaScript can hold. Returns 0 or
 * -ENOMEM. */
int gt_merged_number(struct gt_merged_trace *merged);
/* Writes an event; the first one of a process or thread comes behind its name. */
int gt_merged_event(struct gt_merged_trace *merged, const struct gt_trace_event *event, struct gt_error *error);
/* Write an event about a process, or about a thread where `tid` is not -1: what ("process_name"), with its only argument. */
void gt_merged_name(struct gt_merged_trace *merged, const char *what, const char *key, const char *text, int64_t pid,
                    int64_t tid);
void gt_merged_sort_index(struct gt_merged_trace *merged, const char *what, int64_t index, int64_t pid, int64_t tid);
/* Writes counters and marks of all samples of the trace. */
int gt_merged_samples(struct gt_merged_trace *merged, struct gt_error *error);
/* Writes the text to the file; gt_merged_end does it behind an event when enough has come together. */
int gt_merged_end(struct gt_merged_trace *merged, struct gt_error *error);
int gt_merged_write(struct gt_merged_trace *merged, struct gt_error *error);
/* Writes a time as microseconds, exact. */
void gt_merged_time(struct gt_buffer *out, int64_t ns);
void gt_merged_release(struct gt_merged_trace *merged);

/* The critical path as tracks of a merged timeline: a process for each node and one for the job, whose slices are the
 * pieces of the path, and arrows between the threads and streams on which it lies. */

/* Reads the files once more, into memory. Pieces that lie outside of `start` to `end` are left out; `shift` is by how
 * many ns each file is moved. */
int gt_merged_critical_path(struct gt_merged_trace *merged, const char *const paths[], size_t count,
                            const struct gt_trace_options *options, const int64_t *shift, struct gt_error *error);

#endif
