/* The HTML format draws series as SVG pictures. The classes that the pictures use are in its style sheet. */
#ifndef GT_REPORT_CHART_H
#define GT_REPORT_CHART_H

#include "report/report.h"

enum { GT_CHART_COLOURS = 6 };

/* Appends the picture. `id` is unique in the page. */
void gt_chart_write(struct gt_buffer *out, const struct gt_node *series, int id);
/* Appends `text` with HTML's special characters escaped, as attribute values in double quotes need it, too. */
void gt_html_escape(struct gt_buffer *out, const char *text);

#endif
