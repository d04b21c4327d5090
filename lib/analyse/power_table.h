/* The power and use of a recording under AIPowerMeter's names, for the Python package. */
#ifndef GT_ANALYSE_POWER_TABLE_H
#define GT_ANALYSE_POWER_TABLE_H

#include "base/error.h"
#include "base/table.h"

/* Makes a table with a row for each pair of neighbouring samples: the date of the second in seconds since the epoch, the seconds between
 * them (window), and a column for each figure, which is missing where it was not measured. */
int gt_power_table(const char *path, struct gt_table **ret, struct gt_error *error);

#endif
