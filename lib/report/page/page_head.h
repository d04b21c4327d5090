/* What an HTML page begins with: its title, how the run ended, a card for each resource, warnings, what to ask for next time. All of it is
 * the brief of the report. */
#ifndef GT_REPORT_PAGE_PAGE_HEAD_H
#define GT_REPORT_PAGE_PAGE_HEAD_H

#include "report/report.h"

/* Appends the text of the title element: "13.9 GB · python train.py". */
void gt_page_title(struct gt_buffer *out, const struct gt_report *report);
/* Appends the heading and all that stands before the charts. */
void gt_page_head(struct gt_buffer *out, const struct gt_report *report);

#endif
