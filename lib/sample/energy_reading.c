#include "sample/energy_reading.h"

const enum gt_metric_id gt_energy_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY,
    [GT_ENERGY_DRAM] = GT_DRAM_ENERGY,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY,
};

const enum gt_metric_id gt_energy_missing_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY_MISSING,
    [GT_ENERGY_DRAM] = GT_DRAM_ENERGY_MISSING,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY_MISSING,
};

/* The total is in the machine's row, the job's part under the same name in the job's. Memory is never idle. */
static const enum gt_metric_id part_metrics[GT_ENERGY_DEVICES][GT_ENERGY_PARTS] = {
    [GT_ENERGY_CPU] = {GT_CPU_ENERGY, GT_CPU_ENERGY, GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE,
                       GT_CPU_ENERGY_UNATTRIBUTED},
    [GT_ENERGY_DRAM] = {GT_DRAM_ENERGY, GT_DRAM_ENERGY, GT_DRAM_ENERGY_OTHER, GT_METRIC_COUNT,
                        GT_DRAM_ENERGY_UNATTRIBUTED},
    [GT_ENERGY_GPU] = {GT_GPU_ENERGY, GT_GPU_ENERGY, GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY_IDLE,
                       GT_GPU_ENERGY_UNATTRIBUTED},
};

/* In the job's row, beside the parts. */
static const enum gt_metric_id idle_job_metrics[GT_ENERGY_DEVICES] = {
    [GT_ENERGY_CPU] = GT_CPU_ENERGY_IDLE_CHARGED,
    [GT_ENERGY_DRAM] = GT_METRIC_COUNT,
    [GT_ENERGY_GPU] = GT_GPU_ENERGY_IDLE_CHARGED,
};

double gt_energy_part(const struct gt_energy *energy, enum gt_energy_part part)
{
    switch (part) {
    case GT_ENERGY_TOTAL: return energy->total;
    case GT_ENERGY_JOB: return energy->job;
    case GT_ENERGY_OTHER: return energy->other;
    case GT_ENERGY_IDLE: return energy->idle;
    case GT_ENERGY_UNATTRIBUTED: return energy->unattributed;
    case GT_ENERGY_PARTS: break;
    }
    return NAN;
}

bool gt_energy_is_divided(const struct gt_energy *energy)
{
    return !isnan(energy->total + energy->job + energy->other + energy->idle + energy->unattributed);
}

void gt_energy_reading_clear(struct gt_energy_reading *reading)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        reading->device[i] = (struct gt_energy){false, NAN, NAN, NAN, NAN, NAN, NAN};
        reading->missing[i] = NAN;
    }
    reading->cpu_time = reading->share_error = reading->placement_error = reading->platform = reading->wall = NAN;
}

bool gt_energy_reading_uses(enum gt_metric_id metric)
{
    bool uses = metric == GT_CPU_TIME || gt_metrics[metric].unit == GT_JOULES;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        uses |= metric == gt_energy_missing_metrics[i];
    return uses;
}

static double column(const double *values, enum gt_metric_id metric)
{
    return metric == GT_METRIC_COUNT ? 0 : values[metric];
}

void gt_energy_reading_take(struct gt_energy_reading *ret, const double *system, const double *job)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const enum gt_metric_id *metric = part_metrics[i];
        ret->device[i] = (struct gt_energy){.is_measured = !isnan(system[metric[GT_ENERGY_TOTAL]]),
                                            .total = system[metric[GT_ENERGY_TOTAL]],
                                            .job = job[metric[GT_ENERGY_JOB]],
                                            .other = system[metric[GT_ENERGY_OTHER]],
                                            .idle = column(system, metric[GT_ENERGY_IDLE]),
                                            .unattributed = system[metric[GT_ENERGY_UNATTRIBUTED]],
                                            .idle_job = column(job, idle_job_metrics[i])};
        ret->missing[i] = system[gt_energy_missing_metrics[i]];
    }
    ret->cpu_time = job[GT_CPU_TIME];
    ret->share_error = job[GT_CPU_ENERGY_SHARE_ERROR];
    ret->placement_error = job[GT_CPU_ENERGY_PLACEMENT_ERROR];
    ret->platform = system[GT_PLATFORM_ENERGY];
    ret->wall = system[GT_WALL_ENERGY];
}

static void show_known(double *value, double figure)
{
    if (!isnan(figure))
        *value = figure;
}

void gt_energy_reading_show(const struct gt_energy_reading *reading, double *system, double *job)
{
    double all = NAN;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const struct gt_energy *energy = &reading->device[i];
        const enum gt_metric_id *metric = part_metrics[i];
        if (!energy->is_measured)
            continue;
        system[metric[GT_ENERGY_TOTAL]] = energy->total;
        job[metric[GT_ENERGY_JOB]] = energy->job;
        system[metric[GT_ENERGY_OTHER]] = energy->other;
        system[gt_energy_missing_metrics[i]] = reading->missing[i];
        if (metric[GT_ENERGY_IDLE] != GT_METRIC_COUNT)
            system[metric[GT_ENERGY_IDLE]] = energy->idle;
        system[metric[GT_ENERGY_UNATTRIBUTED]] = energy->unattributed;
        if (idle_job_metrics[i] != GT_METRIC_COUNT)
            show_known(&job[idle_job_metrics[i]], energy->idle_job);
        all = (isnan(all) ? 0 : all) + energy->job;
    }
    job[GT_ENERGY] = all;
    show_known(&job[GT_CPU_ENERGY_SHARE_ERROR], reading->share_error);
    show_known(&job[GT_CPU_ENERGY_PLACEMENT_ERROR], reading->placement_error);
}

static void update_energy(struct gt_energy *last, const struct gt_energy *now)
{
    last->is_measured |= now->is_measured;
    show_known(&last->total, now->total);
    show_known(&last->job, now->job);
    show_known(&last->other, now->other);
    show_known(&last->idle, now->idle);
    show_known(&last->unattributed, now->unattributed);
    show_known(&last->idle_job, now->idle_job);
}

void gt_energy_reading_update(struct gt_energy_reading *last, const struct gt_energy_reading *now)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        update_energy(&last->device[i], &now->device[i]);
        show_known(&last->missing[i], now->missing[i]);
    }
    show_known(&last->cpu_time, now->cpu_time);
    show_known(&last->share_error, now->share_error);
    show_known(&last->placement_error, now->placement_error);
    show_known(&last->platform, now->platform);
    show_known(&last->wall, now->wall);
}

enum gt_energy_device gt_energy_device_of(enum gt_metric_id metric)
{
    if (metric == GT_CPU_ENERGY_SHARE_ERROR || metric == GT_CPU_ENERGY_PLACEMENT_ERROR)
        return GT_ENERGY_CPU;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        for (int k = 0; k < GT_ENERGY_PARTS; k++)
            if (metric == part_metrics[i][k] || (metric == idle_job_metrics[i] && metric != GT_METRIC_COUNT))
                return (enum gt_energy_device)i;
    return GT_ENERGY_DEVICES;
}

bool gt_energy_column(enum gt_scope scope, enum gt_metric_id metric, enum gt_energy_device *device,
                      enum gt_energy_part *part)
{
    bool is_job = scope == GT_SCOPE_COMBINED;
    *part = GT_ENERGY_JOB;
    *device = GT_ENERGY_DEVICES;
    if (is_job && metric == GT_ENERGY)
        return true;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        for (int k = 0; k < GT_ENERGY_PARTS; k++)
            if (metric == part_metrics[i][k] && (is_job ? k == GT_ENERGY_JOB : scope == GT_SCOPE_SYSTEM)) {
                *device = (enum gt_energy_device)i;
                *part = (enum gt_energy_part)k;
                return true;
            }
    return false;
}
