/* The collector of AMD GPUs by AMD SMI. */
#ifndef GT_COLLECT_GPU_AMD_H
#define GT_COLLECT_GPU_AMD_H

#include "collect/collector.h"

extern const struct gt_collector_type gt_collector_amd;

/* Reports which errors the driver counts; `state` is the collector's, or NULL. */
void gt_amd_survey_health(void *state, struct gt_availability *ret);

#endif
