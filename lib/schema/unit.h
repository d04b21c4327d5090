/* A user may choose units for memory and time. They are decimal: 1 gigabyte is 10^9 bytes. */
#ifndef GT_SCHEMA_UNIT_H
#define GT_SCHEMA_UNIT_H

#include "base/error.h"

/* Look up "bytes" to "terabytes" in bytes, and "seconds" to "days" in seconds. -EINVAL names the choices. */
int gt_unit_memory(const char *name, double *ret, struct gt_error *error);
int gt_unit_time(const char *name, double *ret, struct gt_error *error);
/* Returns the names from small to large, and NULL behind them. */
extern const char *const gt_memory_units[];
extern const char *const gt_time_units[];

#endif
