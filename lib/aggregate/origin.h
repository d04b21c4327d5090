/* Origins of figures that are made of readings, where no collector gives them as they are. */
#ifndef GT_AGGREGATE_ORIGIN_H
#define GT_AGGREGATE_ORIGIN_H

#include <stdbool.h>

#include "collect/collector.h"

/* NULL: a collector gives it. */
const struct gt_origin *gt_combined_origin(enum gt_metric_id metric);
/* The way a part of a device's energy was found, beside the source of the counter; NULL: it is as counted. */
const char *gt_energy_note(enum gt_scope scope, enum gt_metric_id metric, bool by_package);
/* The counter that a part of a device's energy is taken from; any other metric is its own. */
enum gt_metric_id gt_energy_whole(enum gt_metric_id metric);

#endif
