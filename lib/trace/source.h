/* Files are found below paths, and read into a trace as often as is needed. */
#ifndef GT_TRACE_SOURCE_H
#define GT_TRACE_SOURCE_H

#include "trace/format.h"

/* Files are read first to survey them, then through filters into a sink of the caller's. */
struct gt_trace_source;
int gt_trace_source_open(struct gt_trace_source **ret, const char *const paths[], size_t count,
                         const struct gt_trace_options *options, struct gt_error *error);
/* Returns the trace that describes the files: tracks, series, steps, ranges of time. It is complete after the first
 * read, then its numbers stay. */
struct gt_trace *gt_trace_source_trace(struct gt_trace_source *source);
/* Reads all files into the sink; without one it only surveys them. Times are moved by `shift` (ns for each file; may
 * be NULL). */
int gt_trace_source_read(struct gt_trace_source *source, const struct gt_trace_sink *sink, const int64_t *shift,
                         struct gt_error *error);
/* Returns the options of the next reads, which may be changed between reads. */
struct gt_trace_options *gt_trace_source_options(struct gt_trace_source *source);
void gt_trace_source_close(struct gt_trace_source *source);

/* Checks that a file to be written is none that reading these paths would read. Returns 0 or -EINVAL. */
int gt_trace_spare_inputs(const char *output, const char *const paths[], size_t count, const char *const *suffixes,
                          struct gt_error *error);
/* Returns whether a regular file, or an archive, is recognised as a trace or profile by what it holds. */
bool gt_trace_is_at(const char *path);

/* Counts a file that may be a missing rank, and adds its path and description to the names if it is one of the first. */
void gt_name_doubtful(struct gt_trace_unreadable *doubtful, const char *path, const char *about);
/* Returns true if two paths differ by numbers and compression alone: rank2.json is like rank10.json.gz. */
bool gt_paths_alike(const char *a, const char *b);

#endif
