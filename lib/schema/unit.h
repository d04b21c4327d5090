/* The units a user may choose for memory and time, and their factors (decimal: 1 gigabyte is 10^9 bytes). */
#ifndef GT_SCHEMA_UNIT_H
#define GT_SCHEMA_UNIT_H

#include "base/error.h"

/* "bytes" .. "terabytes" -> bytes per unit; "seconds" .. "days" -> seconds per unit. -EINVAL names the choices. */
int gt_unit_memory(const char *name, double *ret, struct gt_error *error);
int gt_unit_time(const char *name, double *ret, struct gt_error *error);
/* The names in order, NULL-terminated. */
extern const char *const gt_memory_units[];
extern const char *const gt_time_units[];

#endif
