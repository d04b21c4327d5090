/* What makes the charts of an HTML page move: its data, and the scripts that draw it. Without the chart library at build time there
 * are no scripts, and pages have pictures that stay still. */
#ifndef GT_REPORT_PAGE_PAGE_H
#define GT_REPORT_PAGE_PAGE_H

#include <stdbool.h>

#include "report/report.h"

enum { GT_PAGE_SIZE = 4500000 };

struct gt_page_text {
    const char *text;
    size_t length;
};

struct gt_page_text gt_page_style(void);
/* Returns the two scripts, that of charts first; of length 0 where there are none. */
struct gt_page_text gt_page_script(int number);
bool gt_page_has_scripts(void);

/* The series of a page, in the order in which it shows them: number i has the picture "chart<i + 1>". */
struct gt_page_charts {
    const struct gt_node **series;
    size_t count;
};

/* Appends what a page that is open takes to become that of `report`, as one line of JSON: {"title", "head", "rest", "data"}, the first
 * three of them in HTML. Returns 0 or negative errno. */
int gt_page_state(const struct gt_report *report, struct gt_buffer *out);
/* Appends the data as JSON for a script element, with as many samples as fit into `size` bytes. */
void gt_page_data(struct gt_buffer *out, const struct gt_page_charts *charts, size_t size);

#endif
