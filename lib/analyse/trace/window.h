/* A stretch of time is drawn; events are added up over many. Both return 0, -ENOMEM or -EINVAL. */
#ifndef GT_ANALYSE_TRACE_WINDOW_H
#define GT_ANALYSE_TRACE_WINDOW_H

#include "base/table.h"
#include "gpu_tracker.h"
#include "trace/trace.h"

/* Makes a report whose HTML shows system metrics and events above each other, from `start` to `end` in ns since the
 * epoch. Extended regular expressions select both; NULL selects all. -EINVAL: an expression is wrong, or the window
 * ends before it starts. */
int gt_trace_window(const struct gt_trace *trace, int64_t start, int64_t end, const char *const *events,
                    const char *const *dimensions, struct gt_report **ret, struct gt_error *error);

/* Makes a table of how long events ran in given spans of time, [start, end) in ns since the epoch: framework_metric,
 * process, overlap_us; sorted by process and name. A span without length is a moment: events that run then count
 * whole. An event counts once for each span that it touches. `names` keeps these events and those of these
 * processes; NULL keeps all. */
int gt_trace_overlaps(const struct gt_trace *trace, const int64_t (*spans)[2], size_t count, const char *const *names,
                      struct gt_table **ret, struct gt_error *error);

#endif
