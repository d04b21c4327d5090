/* The kernel's hwmon drivers show the temperatures of a machine's sensors.
 *
 * Documentation/hwmon/sysfs-interface.rst in the kernel's sources describes the files: tempN_input, _max and _crit hold thousandths
 * of a degree. */
#ifndef GT_COLLECT_HOST_TEMPERATURE_H
#define GT_COLLECT_HOST_TEMPERATURE_H

#include <stddef.h>

#include "base/root.h"

struct gt_temperature {
    char chip[32];         /* "coretemp" */
    char label[48];        /* "Package id 0", empty without */
    double current;        /* degrees Celsius */
    double high, critical; /* NaN: missing */
};

/* Fill in up to `most` sensors that can be read now, by device and number. Returns how many. */
size_t gt_temperatures_read(const struct gt_root *root, struct gt_temperature *list, size_t most);

#endif
