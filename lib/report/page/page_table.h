/* Tables of pages. On a narrow screen wide ones show each row as a card, its figures by their titles.
 *
 * Of an analysis of traces, columns that say the same in all rows are told in a line below, file names are shortened to what differs,
 * shares have bars behind them, and a matrix of percentages is a heat map. */
#ifndef GT_REPORT_PAGE_PAGE_TABLE_H
#define GT_REPORT_PAGE_PAGE_TABLE_H

#include "base/buffer.h"
#include "report/human_text.h"

enum { GT_PAGE_TABLE_ANALYSIS = 1 };

/* Appends attributes of a cell that shows an amount by its size: the exact figure, which people see when they point at
 * it, and which scripts sort and copy. `unit` may be "". */
void gt_page_exact(struct gt_buffer *out, const char *exact, const char *unit);
/* Appends the grid of `table` (NULL: of fields) and releases it. */
void gt_page_table(struct gt_buffer *out, struct gt_grid *grid, const struct gt_table *table, unsigned flags);

#endif
