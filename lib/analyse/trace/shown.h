/* Which rows of a report are shown: those of one node that was asked for, and of tables the first ones, with how many are left out. */
#ifndef GT_ANALYSE_TRACE_SHOWN_H
#define GT_ANALYSE_TRACE_SHOWN_H

#include "report/report.h"
#include "trace/trace.h"

/* One node may be asked for. What compares nodes with one another reads all of them, and shows that one. */

bool gt_has_node(const struct gt_trace *trace, const char *wanted);
/* Leaves nothing in a trace but its files, if the node that is to be shown is none of its own. */
void gt_shown_nodes_need_one(struct gt_trace *trace);
/* Returns true for a name that is not that of a hidden node; `hidden` is by number of the string. */
bool gt_shows_name(const struct gt_trace *trace, const unsigned char *hidden, const char *name, size_t length);
/* Leaves rows of other nodes out of tables whose first column is the node. Returns 0 or -ENOMEM. */
int gt_shown_nodes_cut(const struct gt_trace *trace, const unsigned char *hidden, struct gt_node *root);

#define GT_TOP_ALL "all ranks" /* the node of rows of all of them together */

/* Shows so many rows of each node unless it is told (--top) how many; of tables without nodes, so many in all. Without
 * this, or with 0, all of them. */
void gt_top_shown(struct gt_table *table, size_t rows);
/* The rows were chosen before they came to the table, and so many were left out. */
void gt_top_left_out(struct gt_table *table, size_t rows);

/* Cuts all tables of a report: `top` rows of each, which nodes share; 0: as above; negative: none are left out. Tells how
 * many are. Returns 0 or -ENOMEM. */
int gt_top_cut(struct gt_node *root, int top);

#endif
