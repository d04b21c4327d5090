/* Users choose units for memory and time: 1 gigabyte is 10^9 bytes, 1 gibibyte 2^30. */
#ifndef GT_SCHEMA_UNIT_H
#define GT_SCHEMA_UNIT_H

#include "base/buffer.h"
#include "base/error.h"
#include "schema/metric.h"

/* Get name `index` of the units; NULL past the end. */
const char *gt_memory_unit(size_t index);
const char *gt_time_unit(size_t index);
/* Look up "bytes" to "terabytes" in bytes, and "seconds" to "days" in seconds, or their symbols ("GB", "MiB", "s").
 * -EINVAL names the choices. */
int gt_unit_memory(const char *name, double *ret, struct gt_error *error);
int gt_unit_time(const char *name, double *ret, struct gt_error *error);
/* Look up the unit that the symbol behind an amount means, and how many base units it is: "5kJ" is 5000 joules.
 * -EINVAL: it is none. */
int gt_unit_of_amount(const char *symbol, enum gt_unit *ret_unit, double *ret_factor);
/* Appends the symbols of all units of this kind: "J, kJ, Wh, kWh". */
void gt_unit_symbols(struct gt_buffer *out, enum gt_unit base);
/* Returns "GB" for "gigabytes"; NULL: not the name of a unit. */
const char *gt_unit_symbol(const char *name);
/* Returns "gigabytes" for "GB", and what is no symbol of a unit as it is. Recordings and reports have full names. */
const char *gt_unit_full_name(const char *name);

#endif
