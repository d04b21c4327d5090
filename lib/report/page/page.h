/* What makes the charts of an HTML page move: its data, and the script that draws it. */
#ifndef GT_REPORT_PAGE_PAGE_H
#define GT_REPORT_PAGE_PAGE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "report/human_text.h"
#include "report/report.h"

enum { GT_PAGE_SIZE = 4500000 };

extern const char gt_page_style[], gt_page_script[];

/* Appends what a page that is open takes to become that of `report`, as one line of JSON: {"title", "head", "rest", "data"}, the first
 * three of them in HTML. Returns 0 or negative errno. */
int gt_page_state(const struct gt_report *report, struct gt_buffer *out);
/* Appends the data of series as JSON for a script element, with as many samples as fit into `size` bytes. Number i has the picture
 * "chart<i + 1>". */
void gt_page_data(struct gt_buffer *out, const struct gt_node *const series[], size_t count, size_t size);

/* Tables of pages. On a narrow screen wide ones show each row as a card, its figures by their titles.
 *
 * Of an analysis of traces, columns that say the same in all rows are told in a line below, file names are shortened to what differs,
 * shares have bars behind them, and a matrix of percentages is a heat map. */

enum { GT_PAGE_TABLE_ANALYSIS = 1 };

/* Appends attributes of a cell that shows an amount by its size: the exact figure, which people see when they point at
 * it, and which scripts sort and copy. `unit` may be "". */
void gt_page_exact(struct gt_buffer *out, const char *exact, const char *unit);
/* Appends the grid of `table` (NULL: of fields) and releases it. */
void gt_page_table(struct gt_buffer *out, struct gt_grid *grid, const struct gt_table *table, unsigned flags);

/* Pictures of pages with rows, for series with GT_HEAT, GT_STACKS or GT_FOREST. The rows are as wide as the page and stand beside
 * names in HTML, which therefore keep their size on a phone. They need no scripts: values are told where the pointer rests. */

void gt_page_rows(struct gt_buffer *out, const struct gt_node *series);

#endif
