/* Tables show some rows, the first ones, and say how many are left out. */
#ifndef GT_ANALYSE_TRACE_TOP_H
#define GT_ANALYSE_TRACE_TOP_H

#include "report/report.h"

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
