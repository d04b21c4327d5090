/* Which of the devices in a frame count: --guuids, CUDA_VISIBLE_DEVICES. */
#ifndef GT_COLLECT_DEVICE_H
#define GT_COLLECT_DEVICE_H

#include "collect/collector.h"

/* Select exactly the devices that `text` names, separated by commas: full UUIDs, UUID prefixes that fit one device only,
 * indices, "MIG-<uuid>" and the older "MIG-GPU-<uuid>/<gpu instance>/<compute instance>". A board that is named brings
 * its slices. NULL or blank selects all. -EINVAL names the part that fits no device, or more than one, and the known ones;
 * the selection is then unchanged. */
int gt_device_select(struct gt_frame *frame, const char *text, struct gt_error *error);

#endif
