/* The command's options as the library's. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "gpu_tracker.h"
#include "option.h"

struct gt_tracker_options settings_tracker(const struct options *options);
struct gt_trace_request request_of(const struct options *options); /* the part of traces to be read */

#endif
