#include "sample/outcome.h"

#include <math.h>
#include <stdlib.h>

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

void gt_outcome_init(struct gt_outcome *outcome)
{
    *outcome = (struct gt_outcome){.elapsed = NAN, .exit_status = -1, .own_cpu_time = NAN, .slowest_sample = NAN};
    outcome->peak_missing_hwm = outcome->platform_error = NAN;
    outcome->events = (struct gt_kernel_events){NAN, NAN, NAN, NAN, 0, NAN, "", false, NAN};
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        gt_values_clear(outcome->value[scope]);
        outcome->peak[scope] = (struct gt_peak_fields){NAN};
    }
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        outcome->counter[i] = (struct gt_counter_fields){NAN, NAN, NAN, {NAN, NAN, NAN, NAN, NAN, NAN}};
}

void gt_outcome_release(struct gt_outcome *outcome)
{
    free(outcome->provenance);
    free(outcome->rank);
    gt_process_records_release(&outcome->records);
    *outcome = (struct gt_outcome){0};
}
