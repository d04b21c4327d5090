/* A series as an SVG picture; private to the HTML format, whose style sheet has its classes. */
#ifndef GT_REPORT_CHART_H
#define GT_REPORT_CHART_H

#include "report/report.h"

enum { GT_CHART_COLOURS = 6 };

/* `id` is unique in the page. */
void gt_chart_write(struct gt_buffer *out, const struct gt_node *series, int id);
/* Text with HTML's special characters escaped; also for attribute values in double quotes. */
void gt_html_escape(struct gt_buffer *out, const char *text);

#endif
