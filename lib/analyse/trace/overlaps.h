/* Events in given spans of time, and how long they ran there. */
#ifndef GT_ANALYSE_OVERLAPS_H
#define GT_ANALYSE_OVERLAPS_H

#include "base/table.h"
#include "trace/trace.h"

/* How long what ran in given spans of time, [start, end) in ns since the epoch: framework_metric, process, overlap_us;
 * by process and name. A span without length asks what ran at that moment, and takes its whole length. Steps count
 * once for each span that they touch. `names`: only these events, or those of these processes; NULL: all. */
int gt_trace_overlaps(const struct gt_trace *trace, const int64_t (*spans)[2], size_t count, const char *const *names,
                      struct gt_table **ret, struct gt_error *error);

#endif
