#include "analyse/energy.h"
#include "analyse/usage/usage_parts.h"

static void take(double values[GT_METRIC_COUNT], const struct gt_usage *usage, enum gt_scope scope)
{
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++) {
        double final = usage->outcome->value[scope][metric];
        values[metric] = isnan(final) ? usage->summary->of[scope][metric].last : final;
    }
}

void gt_usage_energy(const struct gt_usage *usage, struct gt_node *root)
{
    double system[GT_METRIC_COUNT], job[GT_METRIC_COUNT];
    struct gt_energy_reading end;
    take(system, usage, GT_SCOPE_SYSTEM);
    take(job, usage, GT_SCOPE_COMBINED);
    gt_energy_reading_take(&end, system, job);
    gt_energy_section(root, &(struct gt_energy_figures){
                                .machine = usage->machine,
                                .outcome = usage->outcome,
                                .end = &end,
                                .seconds = usage->outcome->elapsed,
                                .reason = gt_usage_reason_missing(usage, GT_SCOPE_SYSTEM, GT_CPU_ENERGY),
                            });
}
