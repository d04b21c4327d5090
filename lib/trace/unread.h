/* Files of other programs that are not read are named, with what to do. */
#ifndef GT_TRACE_UNREAD_H
#define GT_TRACE_UNREAD_H

#include "trace/format.h"

/* Returns what a file is that no format knows, and what to do; NULL where nothing tells. */
const char *gt_unread_about(const struct gt_trace_probe *probe);

#endif
