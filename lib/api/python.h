/* The Python package calls these functions beside those of gpu_tracker.h. */
#ifndef GT_API_PYTHON_H
#define GT_API_PYTHON_H

#include "analyse/blocks/results.h"
#include "base/table.h"
#include "collect/energy/rapl.h"
#include "gpu_tracker.h"
#include "trace/trace.h"

struct gt_time_span {
    double start, stop; /* seconds since the epoch; both ends belong to it */
};

/* Read the samples of a recording, with the columns and in the units of its file; those inside any of the spans (NULL:
 * all), which are sorted by start, each with the latest stop of all up to it. */
int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_table **ret,
                         struct gt_error *error);
/* Read the machine and the units of a recording: one row. */
int gt_recording_static(const char *path, struct gt_table **ret, struct gt_error *error);
/* Read every call of every block in sub-tracking files and folders of them, by start: code_block_name, process_id,
 * thread_id, call, start, stop (seconds since the epoch; missing when it never ended), elapsed and self (seconds).
 * `name`: of one block (NULL: all), by process and start; -EBADMSG where a stop lies before its start, or has none. */
int gt_blocks_calls(const char *const *files, const char *name, struct gt_table **ret, struct gt_error *error);

/* Turn a request for traces into the readers' options; NULL asks for everything. -EINVAL names the bound that is
 * none. */
int gt_trace_request_read(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error);

#endif
