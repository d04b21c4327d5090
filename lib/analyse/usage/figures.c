#include "analyse/usage/figures.h"

#include "analyse/usage/provenance.h"

/* Foreign recordings have samples alone. */
double gt_usage_scope_peak(const struct gt_usage *usage, enum gt_scope scope)
{
    double peak = usage->outcome->value[scope][GT_RAM_PEAK];
    return isnan(peak) ? usage->summary->of[scope][GT_RAM].max : peak;
}

double gt_usage_peak(const struct gt_usage *usage)
{
    return gt_usage_scope_peak(usage, GT_SCOPE_COMBINED);
}

double gt_usage_peak_bound(const struct gt_usage *usage)
{
    double bound = usage->outcome->value[GT_SCOPE_COMBINED][GT_RAM_PEAK_BOUND];
    return fmax(gt_usage_peak(usage), bound); /* fmax passes over NaN */
}

/* No more than all cores: time may be charged a moment late. */
double gt_usage_cores(const struct gt_usage *usage, enum gt_scope scope)
{
    int cores = usage->machine->core_count;
    double exact = usage->outcome->value[scope][GT_CPU_TIME] / usage->outcome->elapsed;
    if (!isfinite(exact) || !gt_usage_is_told(usage, scope, GT_CPU_TIME))
        return gt_summary_mean(usage->summary, scope, GT_CPU_UTILIZATION);
    return cores > 0 && exact > cores ? cores : exact;
}

double gt_usage_final(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    double final = usage->outcome->value[scope][metric];
    return isnan(final) ? usage->summary->of[scope][metric].last : final;
}

double gt_usage_share(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    return gt_usage_final(usage, scope, metric) / usage->outcome->elapsed;
}

double gt_usage_cores_given(const struct gt_usage *usage)
{
    double given = usage->machine->limit[GT_LIMIT_CORES].value;
    return given > 0 ? given : usage->machine->core_count;
}

double gt_usage_group_peak(const struct gt_usage *usage)
{
    return fmax(usage->summary->of[GT_SCOPE_COMBINED][GT_CGROUP_RAM_PEAK].max,
                usage->outcome->value[GT_SCOPE_COMBINED][GT_CGROUP_RAM_PEAK]);
}

static void take_last(double values[GT_METRIC_COUNT], const struct gt_usage *usage, enum gt_scope scope)
{
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        values[metric] = gt_usage_final(usage, scope, (enum gt_metric_id)metric);
}

void gt_usage_energy(const struct gt_usage *usage, struct gt_energy_reading *ret)
{
    double system[GT_METRIC_COUNT], job[GT_METRIC_COUNT];
    take_last(system, usage, GT_SCOPE_SYSTEM);
    take_last(job, usage, GT_SCOPE_COMBINED);
    gt_energy_reading_take(ret, system, job);
}
