/* Which part of traces, from the options. */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

#include "gpu_tracker.h"
#include "option.h"

struct gt_trace_request request_of(const struct options *options);

#endif
