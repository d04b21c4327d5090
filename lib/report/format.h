/* An output format is a function that renders any report. A new one takes a file and a line in format.def. */
#ifndef GT_REPORT_FORMAT_H
#define GT_REPORT_FORMAT_H

#include "report/report.h"

struct gt_format {
    const char *name; /* "json" */
    const char *help;
    const char *suffix; /* ".json" */
    int (*write)(const struct gt_report *report, struct gt_buffer *out, struct gt_error *error);
};

extern const struct gt_format *const gt_formats[];
extern const size_t gt_format_count;
const struct gt_format *gt_format_find(const char *name); /* NULL when there is none */

#endif
