#include "sample/sample.h"

const enum gt_metric_id gt_energy_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY,
    [GT_ENERGY_DRAM] = GT_DRAM_ENERGY,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY,
};

const enum gt_metric_id gt_missing_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY_MISSING,
    [GT_ENERGY_DRAM] = GT_DRAM_ENERGY_MISSING,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY_MISSING,
};

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
    static const char *const names[] = {"missing", "sampled", "exact", "derived", "estimated"};
    return names[exactness];
}
