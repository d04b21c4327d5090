#include "trace/format.h"

#define TRACE(entry) extern const struct gt_trace_format gt_trace_##entry;
#include "trace/trace.def"
#undef TRACE

const struct gt_trace_format *const gt_trace_formats[GT_TRACE_FORMAT_COUNT] = {
#define TRACE(entry) &gt_trace_##entry,
#include "trace/trace.def"
#undef TRACE
};
