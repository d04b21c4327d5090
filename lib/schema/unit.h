/* A user may choose units for memory and time: 1 gigabyte is 10^9 bytes, 1 gibibyte 2^30. */
#ifndef GT_SCHEMA_UNIT_H
#define GT_SCHEMA_UNIT_H

#include "base/error.h"

/* Look up "bytes" to "terabytes" in bytes, and "seconds" to "days" in seconds, or their symbols ("GB", "MiB", "s"). -EINVAL names
 * the choices. */
int gt_unit_memory(const char *name, double *ret, struct gt_error *error);
int gt_unit_time(const char *name, double *ret, struct gt_error *error);
/* Returns "gigabytes" for "GB", and what is no symbol of a unit as it is. Recordings and reports have full names. */
const char *gt_unit_full_name(const char *name);

#endif
