#include "aggregate/origin.h"

#include "aggregate/attribute.h"

static const struct gt_origin origins[] = {
    {GT_RAM, GT_SAMPLED, "/proc/PID/statm",
     "resident set sizes, less what the last walk found to be counted more than once"},
    {GT_RAM_PRIVATE, GT_SAMPLED, "walk over the processes' pages", "at the time of the last walk"},
    {GT_RAM_SHARED, GT_SAMPLED, "walk over the processes' pages", "at the time of the last walk"},
    {GT_RAM_PEAK_BOUND, GT_DERIVED, "/proc/PID/status VmHWM, exit records",
     "sum of the high-water marks of processes alive together"},
    {GT_THREADS_PEAK, GT_SAMPLED, "/proc/PID/task", "largest sample"},
    {GT_PROCESSES_PEAK, GT_SAMPLED, "/proc/PID/task/TID/children", "largest sample"},
    {GT_PROCESSES_STARTED, GT_SAMPLED, "/proc/PID/task/TID/children",
     "processes seen; those that came and went between two looks are missing"},
};

const struct gt_origin *gt_combined_origin(enum gt_metric_id metric)
{
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        if (origins[i].metric == metric)
            return &origins[i];
    return NULL;
}

const char *gt_energy_note(enum gt_scope scope, enum gt_metric_id metric, bool by_package)
{
    bool is_share = scope == GT_SCOPE_COMBINED;
    switch (metric) {
    case GT_CPU_ENERGY: return is_share ? gt_energy_method(GT_ENERGY_CPU, by_package) : NULL;
    case GT_DRAM_ENERGY: return is_share ? gt_energy_method(GT_ENERGY_DRAM, false) : NULL;
    case GT_GPU_ENERGY: return is_share ? gt_energy_method(GT_ENERGY_GPU, false) : NULL;
    case GT_CPU_ENERGY_PLACEMENT_ERROR:
        return "if the CPU time of threads that moved between packages had all been where it costs most, or least";
    case GT_CPU_ENERGY_SHARE_ERROR:
        return "two deviations of busy time counted in ticks; and, beside others, what changes of load and power together may come to";
    case GT_ENERGY: return "sum of the shares of the devices that were measured";
    case GT_CPU_ENERGY_OTHER: return "the rest of the active energy";
    case GT_DRAM_ENERGY_OTHER: return "the rest of the memory in use";
    case GT_GPU_ENERGY_OTHER: return "share of processes outside the job that can be seen from here";
    case GT_CPU_ENERGY_IDLE:
    case GT_GPU_ENERGY_IDLE:
        return "time without a user; with another policy than share, the lowest power seen while idle";
    case GT_CPU_ENERGY_MISSING:
    case GT_DRAM_ENERGY_MISSING:
    case GT_GPU_ENERGY_MISSING: return "while the counter could not be read, stood still or was set back";
    case GT_CPU_ENERGY_UNATTRIBUTED:
    case GT_DRAM_ENERGY_UNATTRIBUTED:
    case GT_GPU_ENERGY_UNATTRIBUTED: return "drawn while it was not known who used the device";
    default: return NULL;
    }
}

enum gt_metric_id gt_energy_whole(enum gt_metric_id metric)
{
    switch (metric) {
    case GT_CPU_ENERGY_OTHER:
    case GT_CPU_ENERGY_IDLE:
    case GT_CPU_ENERGY_PLACEMENT_ERROR:
    case GT_CPU_ENERGY_SHARE_ERROR:
    case GT_CPU_ENERGY_MISSING:
    case GT_CPU_ENERGY_UNATTRIBUTED: return GT_CPU_ENERGY;
    case GT_DRAM_ENERGY_OTHER:
    case GT_DRAM_ENERGY_MISSING:
    case GT_DRAM_ENERGY_UNATTRIBUTED: return GT_DRAM_ENERGY;
    case GT_GPU_ENERGY_OTHER:
    case GT_GPU_ENERGY_IDLE:
    case GT_GPU_ENERGY_MISSING:
    case GT_GPU_ENERGY_UNATTRIBUTED: return GT_GPU_ENERGY;
    case GT_ENERGY: return GT_CPU_ENERGY;
    default: return metric;
    }
}
