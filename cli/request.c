#include "request.h"

#include <string.h>

struct gt_trace_request request_of(const struct options *options)
{
    struct gt_trace_request request = GT_INIT(struct gt_trace_request);
    request.start = options->start;
    request.end = options->end;
    request.by_step = options->unit && strcmp(options->unit, "step") == 0;
    request.suffixes = (const char *const *)options->suffix.value;
    request.select = options->select;
    request.node = options->node;
    request.threads = options->threads;
    return request;
}
