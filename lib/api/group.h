#ifndef GT_API_GROUP_H
#define GT_API_GROUP_H

#include "gpu_tracker.h"

/* NULL for NULL. */
const struct gt_cgroup *gt_group_cgroup(const struct gt_group *group);

#endif
