#include "sample/outcome.h"

const char *const gt_package_figure_names[GT_PACKAGE_FIGURES] = {
    [GT_PACKAGE_TOTAL] = "total",
    [GT_PACKAGE_JOB] = "job",
    [GT_PACKAGE_OTHER] = "other",
    [GT_PACKAGE_IDLE] = "idle",
    [GT_PACKAGE_UNATTRIBUTED] = "unattributed",
    [GT_PACKAGE_CORE] = "core",
    [GT_PACKAGE_UNCORE] = "uncore",
    [GT_PACKAGE_DRAM] = "dram",
    [GT_PACKAGE_BUSY_TIME] = "busy_time",
    [GT_PACKAGE_JOB_TIME] = "job_time",
    [GT_PACKAGE_BOUND_TIME] = "bound_time",
};

const char *gt_exactness_name(enum gt_exactness exactness)
{
    static const char *const names[] = {"missing", "sampled", "exact", "derived", "estimated", "at least"};
    return names[exactness];
}
