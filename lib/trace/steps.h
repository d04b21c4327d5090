/* Steps: their windows, and the events that lie in them. */
#ifndef GT_TRACE_STEPS_H
#define GT_TRACE_STEPS_H

#include "trace/trace.h"

/* While files are read, trace->step holds windows by file, with the file's number as node: put those of one node
 * together, and sort them. -ENOMEM. */
int gt_steps_combine(struct gt_trace *trace);
/* Give events without a step that of the window their start lies in. Windows of whole steps (processes "Step:...",
 * "ProfilerStep") go before those made of parts. -ENOMEM. */
int gt_steps_assign(struct gt_trace *trace);
bool gt_steps_is_whole(const struct gt_trace *trace, const struct gt_trace_step *step);

#endif
