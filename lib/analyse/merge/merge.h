/* Timelines, system samples and recordings are merged into one Chrome trace. */
#ifndef GT_ANALYSE_MERGE_MERGE_H
#define GT_ANALYSE_MERGE_MERGE_H

#include "report/report.h"
#include "trace/trace.h"

struct gt_merge_options {
    /* by_step: from the first event of start_step up to that of end_step, which is left out. */
    struct gt_trace_options trace;
    struct gt_merge_request request;
};

/* Writes the file and reports what went into it. Merging nothing writes an empty list and returns 1. */
int gt_merge(struct gt_report **ret, const char *const paths[], size_t count, const struct gt_merge_options *options,
             struct gt_error *error);
/* Tells which files there are and their contents: formats, nodes, ranks, steps, phases, time range, damage. */
int gt_trace_info(struct gt_report **ret, const char *const paths[], size_t count,
                  const struct gt_trace_options *options, struct gt_error *error);

#endif
