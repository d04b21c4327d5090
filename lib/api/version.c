#include "gpu_tracker.h"

const char *gt_version(void)
{
    return GT_VERSION;
}
