/* Events as their files have them are a table, for programs that look into arguments themselves. */
#ifndef GT_TRACE_RAW_TABLE_H
#define GT_TRACE_RAW_TABLE_H

#include "base/table.h"
#include "trace/trace.h"

/* Makes a table of the events that last, instants too, in the order of the files: start_us (since the epoch), duration_us,
 * name, args (JSON; missing where there are none), ph, pid, tid, process, node, file. B and E are paired. */
int gt_trace_raw_table(const char *const paths[], size_t count, const struct gt_trace_options *options,
                       struct gt_table **ret, struct gt_error *error);

#endif
