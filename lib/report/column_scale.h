/* Columns of tables for people have one unit, which suits their greatest number: 115 ms for 115,057.9 us. */
#ifndef GT_REPORT_COLUMN_SCALE_H
#define GT_REPORT_COLUMN_SCALE_H

#include "report/report.h"

struct gt_column_scale {
    double by;        /* numbers are divided by it */
    const char *unit; /* NULL: that of the column */
    bool is_moment;   /* numbers that are near each other, of which small differences matter */
};

/* Only columns with GT_COLUMN_SCALED are scaled. */
struct gt_column_scale gt_column_scale(const struct gt_table *table, size_t column);

#endif
