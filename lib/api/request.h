/* A caller's request for traces as the readers' options. */
#ifndef GT_API_REQUEST_H
#define GT_API_REQUEST_H

#include "trace/trace.h"

/* -EINVAL names the bound that is none. NULL: everything. */
int gt_trace_request_read(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error);

#endif
