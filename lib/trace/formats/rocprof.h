/* What rocprofv3 calls things, in whatever format. */
#ifndef GT_TRACE_FORMATS_ROCPROF_H
#define GT_TRACE_FORMATS_ROCPROF_H

#include "trace/walk.h"

/* Returns "Memcpy HtoD" for MEMORY_COPY_HOST_TO_DEVICE, and so on; NULL for others. */
const char *gt_rocm_copy(struct gt_span operation);

#endif
