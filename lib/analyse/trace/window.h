/* System metrics and events of a stretch of time, to be drawn. */
#ifndef GT_ANALYSE_WINDOW_H
#define GT_ANALYSE_WINDOW_H

#include "gpu_tracker.h"
#include "trace/trace.h"

/* The report's HTML shows the metrics and the events above each other. Both are selected by extended regular expressions,
 * NULL: all. -EINVAL: an expression is wrong, or the end lies before the start. */
int gt_trace_window(const struct gt_trace *trace, int64_t start, int64_t end, const char *const *events,
                    const char *const *dimensions, struct gt_report **ret, struct gt_error *error);

#endif
