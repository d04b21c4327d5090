/* The sources of power. For Python. */
#ifndef GT_API_POWER_SOURCE_H
#define GT_API_POWER_SOURCE_H

#include "gpu_tracker.h"

/* 1: energy of the processors ("cpu") or power of GPUs ("gpu") can be measured here; 0: it cannot. *ret (free with free()) names the
 * source, or what stands in the way and what would help. */
int gt_power_source(const char *device, const char *machine_root, char **ret, struct gt_error *error);

#endif
