/* The critical path as tracks of a merged timeline: a process for each node and one for the job, whose slices are the pieces of
 * the path, and arrows between the threads and streams on which it lies. */
#ifndef GT_ANALYSE_MERGE_CRITICAL_OVERLAY_H
#define GT_ANALYSE_MERGE_CRITICAL_OVERLAY_H

#include "analyse/merge/merged_trace.h"

/* Reads the files once more, into memory. Pieces that lie outside of `start` to `end` are left out; `shift` is by how many
 * ns each file is moved. */
int gt_merged_critical_path(struct gt_merged_trace *merged, const char *const paths[], size_t count,
                            const struct gt_trace_options *options, const int64_t *shift, struct gt_error *error);

#endif
