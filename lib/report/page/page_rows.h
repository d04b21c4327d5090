/* Pictures of pages with rows and columns, for series with GT_HEAT or GT_STACKS. The rows are as wide as the page and stand beside
 * names in HTML, which therefore keep their size on a phone. They need no scripts: values are told where the pointer rests. */
#ifndef GT_REPORT_PAGE_PAGE_ROWS_H
#define GT_REPORT_PAGE_PAGE_ROWS_H

#include "report/report.h"

void gt_page_rows(struct gt_buffer *out, const struct gt_node *series);

#endif
