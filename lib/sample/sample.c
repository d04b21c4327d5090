#include "sample/sample.h"

const enum gt_metric_id gt_energy_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY,
    [GT_ENERGY_DRAM] = GT_DRAM_ENERGY,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY,
};

const char *gt_exactness_name(enum gt_exactness exactness)
{
    static const char *const names[] = {"missing", "sampled", "exact", "derived", "estimated"};
    return names[exactness];
}
