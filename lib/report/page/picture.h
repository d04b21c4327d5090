/* Charts of a report as one picture, for papers and pull requests: SVG, or PNG and PDF where librsvg and cairo are installed. */
#ifndef GT_REPORT_PAGE_PICTURE_H
#define GT_REPORT_PAGE_PICTURE_H

#include "report/report.h"

/* `charts`: "memory,gpu", the keys of the report's series without "_over_time"; NULL: all. `kind`: "svg", "png" or "pdf". The errors of
 * -EINVAL name what there is; -ENOENT: the libraries are not installed. */
int gt_picture_write(const struct gt_report *report, const char *charts, const char *kind, struct gt_buffer *out,
                     struct gt_error *error);

#endif
