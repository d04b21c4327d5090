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
 * all). */
int gt_recording_samples(const char *path, const struct gt_time_span *spans, size_t span_count, struct gt_table **ret,
                         struct gt_error *error);
/* Read the machine and the units of a recording: one row. */
int gt_recording_static(const char *path, struct gt_table **ret, struct gt_error *error);
/* Read every call of every block in sub-tracking files and folders of them, by start: code_block_name, process_id,
 * thread_id, call, start, stop (seconds since the epoch; missing when it never ended), elapsed and self (seconds). */
int gt_blocks_calls(const char *const *files, struct gt_table **ret, struct gt_error *error);
/* Read when the calls of one block began and ended, by process and start: start, stop (seconds since the epoch). Calls
 * that never ended are left out, as in the figures of the block. Returns -EBADMSG where a stop lies before its start,
 * or has none. */
int gt_blocks_pairs(const char *const *files, const char *name, struct gt_table **ret, struct gt_error *error);

/* Turn a request for traces into the readers' options; NULL asks for everything. -EINVAL names the bound that is
 * none. */
int gt_trace_request_read(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error);

/* Returns 1 where energy of the processors ("cpu") or power of GPUs ("gpu") can be measured here, else 0. *ret (free
 * with free()) names the source, or what stands in the way and what would help. */
int gt_power_source(const char *device, const char *machine_root, char **ret, struct gt_error *error);

#endif
