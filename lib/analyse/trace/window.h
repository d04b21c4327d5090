/* Stretches of time: what is drawn of one, and how long events ran in several. */
#ifndef GT_ANALYSE_WINDOW_H
#define GT_ANALYSE_WINDOW_H

#include "base/table.h"
#include "gpu_tracker.h"
#include "trace/trace.h"

/* System metrics and events of a stretch of time, to be drawn. */
/* The report's HTML shows the metrics and the events above each other. Both are selected by extended regular expressions,
 * NULL: all. -EINVAL: an expression is wrong, or the end lies before the start. */
int gt_trace_window(const struct gt_trace *trace, int64_t start, int64_t end, const char *const *events,
                    const char *const *dimensions, struct gt_report **ret, struct gt_error *error);

/* Events in given spans of time, and how long they ran there. */

/* How long what ran in given spans of time, [start, end) in ns since the epoch: framework_metric, process, overlap_us;
 * by process and name. A span without length asks what ran at that moment, and takes its whole length. Steps count
 * once for each span that they touch. `names`: only these events, or those of these processes; NULL: all. */
int gt_trace_overlaps(const struct gt_trace *trace, const int64_t (*spans)[2], size_t count, const char *const *names,
                      struct gt_table **ret, struct gt_error *error);

#endif
