/* The energy of a recording over time. */
#ifndef GT_STORE_RECORDING_ENERGY_H
#define GT_STORE_RECORDING_ENERGY_H

#include "aggregate/energy_curve.h"

/* Read all samples, and what is known of the end, into a curve; its moments are seconds since the epoch, or of the monotonic clock.
 * Released by the caller also after an error. */
int gt_recording_energy(struct gt_energy_curve *ret, const char *path, bool is_monotonic, struct gt_error *error);

#endif
