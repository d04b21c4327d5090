/* What rocprofv3 calls things, in whatever format. */
#ifndef GT_TRACE_FORMATS_ROCPROF_H
#define GT_TRACE_FORMATS_ROCPROF_H

#include <stdbool.h>

#include "trace/raw_event.h"

/* Says whether a track of its Perfetto traces is a GPU's stream: "COMPUTE AGENT [1] STREAM [3] (GPU)", "COPY to AGENT [1] ...". */
bool gt_rocm_stream(const char *name, int *agent, int *stream);
/* Makes an event of its Perfetto traces what its JSON has: the sort, the call that launched it, the bytes of a copy. */
void gt_rocm_event(struct gt_raw_event *item, bool is_of_gpu);

#endif
