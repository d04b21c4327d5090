/* An external power meter leaves a file: CSV of time and watts, which is read while it grows or afterwards.
 *
 * A header within the first lines names the columns: one of times (timestamp, time, date, ...), and those of watts (with "watt",
 * "power" or a unit in their names; kW and mW are scaled). OmegaWatt's files have #timestamp, #frame_is_ok and then a column for
 * each channel; frames that are not ok are left out. Two columns without a header are time and watts. Several columns of watts are
 * added up, unless the user names some. Times are seconds since 1970 (or ms, us, ns), or ISO 8601. Separators are commas,
 * semicolons or tabs; after semicolons a number may have a decimal comma. A last line that is cut off is left for later. */
#ifndef GT_COLLECT_ENERGY_METER_H
#define GT_COLLECT_ENERGY_METER_H

#include <stdint.h>

#include "base/error.h"

struct gt_meter;

/* `name` is FILE, or FILE:COLUMN,... where there is no such file. An empty file may yet be filled; one that is no table of time and
 * watts is -EINVAL, and so are pipes and devices. */
int gt_meter_open(struct gt_meter **ret, const char *name, struct gt_error *error);
/* Take in what was appended. -EINVAL names the first line that could not be read, once; the others count all the same. */
int gt_meter_read(struct gt_meter *meter, struct gt_error *error);
/* Returns joules from one moment to another, in ns since 1970, by the trapezoidal rule. Beyond the first and the last line their watts
 * hold for two of the meter's periods. NaN: the meter has nothing at `from` or nothing at `to`. */
double gt_meter_joules(const struct gt_meter *meter, int64_t from_ns, int64_t to_ns);
/* Returns watts at a moment, NaN where the meter has nothing. */
double gt_meter_watts(const struct gt_meter *meter, int64_t at_ns);
/* Returns seconds between two lines, NaN while there is only one. */
double gt_meter_period(const struct gt_meter *meter);
/* Returns how many lines were left out, because their frames were not ok or could not be read. */
uint64_t gt_meter_left_out(const struct gt_meter *meter);
void gt_meter_close(struct gt_meter *meter);

#endif
