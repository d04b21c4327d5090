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

/* The idle energy that is charged to the job follows the parts. */
enum { IDLE_JOB = GT_ENERGY_PARTS, FIELDS };

/* The total is in the machine's row, the job's part under the same name in the job's. Memory is never idle. */
static const enum gt_metric_id part_metrics[GT_ENERGY_DEVICES][FIELDS] = {
    [GT_ENERGY_CPU] = {GT_CPU_ENERGY, GT_CPU_ENERGY, GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE,
                       GT_CPU_ENERGY_UNATTRIBUTED, GT_CPU_ENERGY_IDLE_CHARGED},
    [GT_ENERGY_DRAM] = {GT_DRAM_ENERGY, GT_DRAM_ENERGY, GT_DRAM_ENERGY_OTHER, GT_METRIC_COUNT,
                        GT_DRAM_ENERGY_UNATTRIBUTED, GT_METRIC_COUNT},
    [GT_ENERGY_GPU] = {GT_GPU_ENERGY, GT_GPU_ENERGY, GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY_IDLE,
                       GT_GPU_ENERGY_UNATTRIBUTED, GT_GPU_ENERGY_IDLE_CHARGED},
};

static bool is_of_job(int field)
{
    return field == GT_ENERGY_JOB || field == IDLE_JOB;
}

static double *field_of(struct gt_energy *energy, int field)
{
    double *const fields[FIELDS] = {[GT_ENERGY_TOTAL] = &energy->total,
                                    [GT_ENERGY_JOB] = &energy->job,
                                    [GT_ENERGY_OTHER] = &energy->other,
                                    [GT_ENERGY_IDLE] = &energy->idle,
                                    [GT_ENERGY_UNATTRIBUTED] = &energy->unattributed,
                                    [IDLE_JOB] = &energy->idle_job};
    return fields[field];
}

double gt_energy_part(const struct gt_energy *energy, enum gt_energy_part part)
{
    struct gt_energy copy = *energy;
    return part < GT_ENERGY_PARTS ? *field_of(&copy, part) : NAN;
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

void gt_energy_reading_take(struct gt_energy_reading *ret, const double *system, const double *job)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        ret->device[i].is_measured = !isnan(system[part_metrics[i][GT_ENERGY_TOTAL]]);
        for (int field = 0; field < FIELDS; field++) {
            enum gt_metric_id metric = part_metrics[i][field];
            *field_of(&ret->device[i], field) = metric == GT_METRIC_COUNT ? 0
                                                                          : (is_of_job(field) ? job : system)[metric];
        }
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
    job[GT_ENERGY] = NAN;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_energy energy = reading->device[i];
        if (!energy.is_measured)
            continue;
        for (int field = 0; field < FIELDS; field++) {
            enum gt_metric_id metric = part_metrics[i][field];
            double value = *field_of(&energy, field);
            if (metric != GT_METRIC_COUNT && (field != IDLE_JOB || !isnan(value)))
                (is_of_job(field) ? job : system)[metric] = value;
        }
        system[gt_energy_missing_metrics[i]] = reading->missing[i];
        job[GT_ENERGY] = (isnan(job[GT_ENERGY]) ? 0 : job[GT_ENERGY]) + energy.job;
    }
    show_known(&job[GT_CPU_ENERGY_SHARE_ERROR], reading->share_error);
    show_known(&job[GT_CPU_ENERGY_PLACEMENT_ERROR], reading->placement_error);
}

void gt_energy_reading_update(struct gt_energy_reading *last, const struct gt_energy_reading *now)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        struct gt_energy energy = now->device[i];
        last->device[i].is_measured |= energy.is_measured;
        for (int field = 0; field < FIELDS; field++)
            show_known(field_of(&last->device[i], field), *field_of(&energy, field));
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
        for (int k = 0; k < FIELDS && metric != GT_METRIC_COUNT; k++)
            if (metric == part_metrics[i][k])
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
