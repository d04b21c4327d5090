#include "analyse/power_table.h"

#include <math.h>

#include "store/store.h"

enum form {
    WATTS,   /* of a counter of joules */
    SECONDS, /* growth of a counter */
    STATE,   /* as it is */
    PERCENT, /* of a ratio */
};

static const struct figure {
    const char *name;
    enum form form;
    enum gt_scope scope;
    enum gt_metric_id metric;
} figures[] = {
    {"intel_power", WATTS, GT_SCOPE_SYSTEM, GT_CPU_ENERGY},
    {"rel_intel_power", WATTS, GT_SCOPE_COMBINED, GT_CPU_ENERGY},
    {"psys_power", WATTS, GT_SCOPE_SYSTEM, GT_PLATFORM_ENERGY},
    {"total_cpu_power", WATTS, GT_SCOPE_SYSTEM, GT_CORE_ENERGY},
    {"uncore_power", WATTS, GT_SCOPE_SYSTEM, GT_UNCORE_ENERGY},
    {"total_dram_power", WATTS, GT_SCOPE_SYSTEM, GT_DRAM_ENERGY},
    {"per_process_dram_power", WATTS, GT_SCOPE_COMBINED, GT_DRAM_ENERGY},
    {"absolute_cpu_time_per_pid", SECONDS, GT_SCOPE_COMBINED, GT_CPU_TIME},
    {"per_process_mem_use_abs", STATE, GT_SCOPE_COMBINED, GT_RAM},
    {"total_mem_use", STATE, GT_SCOPE_SYSTEM, GT_RAM},
    {"nvidia_power", WATTS, GT_SCOPE_SYSTEM, GT_GPU_ENERGY},
    {"nvidia_attributable_power", WATTS, GT_SCOPE_COMBINED, GT_GPU_ENERGY},
    {"nvidia_memory", STATE, GT_SCOPE_SYSTEM, GT_GPU_RAM},
    {"nvidia_mem_use", STATE, GT_SCOPE_COMBINED, GT_GPU_RAM},
    {"nvidia_use_rate", PERCENT, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION},
};
enum { FIGURES = sizeof figures / sizeof *figures };

struct moment {
    double date, clock;
    double value[FIGURES], job_cpu, system_cpu;
};

static struct moment moment_of(const struct gt_sample *sample)
{
    struct moment moment = {
        .date = (double)sample->real_ns / 1e9,
        .clock = (double)sample->monotonic_ns / 1e9,
        .job_cpu = sample->row[GT_SCOPE_COMBINED].value[GT_CPU_TIME],
        .system_cpu = sample->row[GT_SCOPE_SYSTEM].value[GT_CPU_TIME],
    };
    for (size_t i = 0; i < FIGURES; i++)
        moment.value[i] = sample->row[figures[i].scope].value[figures[i].metric];
    return moment;
}

/* Energy that is divided is asked of the curve; other counters are not divided. NaN: not known. */
static double value_of(const struct figure *figure, double before, double now, const struct gt_time_stretch *time,
                       const struct gt_energy_curve *energy, int gpus)
{
    enum gt_energy_device device;
    enum gt_energy_part part;
    switch (figure->form) {
    case WATTS:
        if (gt_energy_column(figure->scope, figure->metric, &device, &part))
            now = before + gt_energy_curve_over(energy, device, part, time, 1).joules;
        return (now - before) / (time->stop - time->start);
    case SECONDS: return now - before;
    case STATE: return now;
    case PERCENT: break;
    }
    return gpus ? now / gpus * 100 : NAN;
}

static void add_row(struct gt_table *table, const struct moment *before, const struct moment *now,
                    const struct gt_energy_curve *energy, int gpus)
{
    const struct gt_time_stretch time = {before->clock, now->clock};
    double busy = now->system_cpu - before->system_cpu;
    if (!(time.stop > time.start))
        return;
    gt_table_number(table, now->date);
    gt_table_number(table, time.stop - time.start);
    for (size_t i = 0; i < FIGURES; i++)
        gt_table_number(table, value_of(&figures[i], before->value[i], now->value[i], &time, energy, gpus));
    gt_table_number(table, busy > 0 ? fmin(1, (now->job_cpu - before->job_cpu) / busy) : NAN);
}

int gt_power_table(const char *path, struct gt_table **ret, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct gt_energy_curve energy;
    struct gt_table *table = gt_table_new();
    const struct gt_sample *sample;
    struct moment before = {.clock = NAN};
    gt_table_column(table, "date", "date", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "window", "window", GT_CELL_NUMBER, "seconds");
    for (size_t i = 0; i < FIGURES; i++)
        gt_table_column(table, figures[i].name, figures[i].name, GT_CELL_NUMBER, NULL);
    gt_table_column(table, "per_process_cpu_uses", "per_process_cpu_uses", GT_CELL_NUMBER, NULL);
    int status = gt_recording_energy(&energy, path, true, error);
    if (status >= 0)
        status = gt_recording_open(&recording, path, error);
    while (status >= 0 && (status = gt_recording_next(recording, &sample, error)) > 0) {
        struct moment now = moment_of(sample);
        add_row(table, &before, &now, &energy, gt_recording_machine(recording)->expected_gpus);
        before = now;
    }
    gt_recording_close(recording);
    gt_energy_curve_release(&energy);
    if (status >= 0)
        return gt_table_finish(ret, table, path, error);
    gt_table_free(table);
    return status;
}
