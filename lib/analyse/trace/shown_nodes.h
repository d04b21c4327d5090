/* One node may be asked for. What compares nodes with one another reads all of them, and shows that one. */
#ifndef GT_ANALYSE_TRACE_SHOWN_NODES_H
#define GT_ANALYSE_TRACE_SHOWN_NODES_H

#include "report/report.h"
#include "trace/trace.h"

bool gt_has_node(const struct gt_trace *trace, const char *wanted);
/* Leaves nothing in a trace but its files, if the node that is to be shown is none of its own. */
void gt_shown_nodes_need_one(struct gt_trace *trace);
/* Returns true for a name that is not that of a hidden node; `hidden` is by number of the string. */
bool gt_shows_name(const struct gt_trace *trace, const unsigned char *hidden, const char *name, size_t length);
/* Leaves rows of other nodes out of tables whose first column is the node. Returns 0 or -ENOMEM. */
int gt_shown_nodes_cut(const struct gt_trace *trace, const unsigned char *hidden, struct gt_node *root);

#endif
