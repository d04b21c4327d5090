/* A tracking file under the names of experiments: counters as their growth from sample to sample. */
#include <errno.h>
#include <math.h>

#include "analyse/experiment/experiment.h"
#include "store/recording_energy.h"
#include "store/store.h"

enum form {
    WATTS,   /* of a counter of joules */
    SECONDS, /* growth of a counter */
    STATE,   /* as it is */
    PERCENT, /* of a ratio */
};

static const struct figure {
    enum gt_experiment_group group;
    const char *name;
    enum form form;
    enum gt_scope scope;
    enum gt_metric_id metric;
} figures[] = {
    {GT_EXPERIMENT_CPU, "intel_power", WATTS, GT_SCOPE_SYSTEM, GT_CPU_ENERGY},
    {GT_EXPERIMENT_CPU, "rel_intel_power", WATTS, GT_SCOPE_COMBINED, GT_CPU_ENERGY},
    {GT_EXPERIMENT_CPU, "psys_power", WATTS, GT_SCOPE_SYSTEM, GT_PLATFORM_ENERGY},
    {GT_EXPERIMENT_CPU, "total_cpu_power", WATTS, GT_SCOPE_SYSTEM, GT_CORE_ENERGY},
    {GT_EXPERIMENT_CPU, "uncore_power", WATTS, GT_SCOPE_SYSTEM, GT_UNCORE_ENERGY},
    {GT_EXPERIMENT_CPU, "total_dram_power", WATTS, GT_SCOPE_SYSTEM, GT_DRAM_ENERGY},
    {GT_EXPERIMENT_CPU, "per_process_dram_power", WATTS, GT_SCOPE_COMBINED, GT_DRAM_ENERGY},
    {GT_EXPERIMENT_CPU, "absolute_cpu_time_per_pid", SECONDS, GT_SCOPE_COMBINED, GT_CPU_TIME},
    {GT_EXPERIMENT_CPU, "per_process_mem_use_abs", STATE, GT_SCOPE_COMBINED, GT_RAM},
    {GT_EXPERIMENT_CPU, "total_mem_use", STATE, GT_SCOPE_SYSTEM, GT_RAM},
    {GT_EXPERIMENT_GPU, "nvidia_power", WATTS, GT_SCOPE_SYSTEM, GT_GPU_ENERGY},
    {GT_EXPERIMENT_GPU, "nvidia_attributable_power", WATTS, GT_SCOPE_COMBINED, GT_GPU_ENERGY},
    {GT_EXPERIMENT_GPU, "nvidia_memory", STATE, GT_SCOPE_SYSTEM, GT_GPU_RAM},
    {GT_EXPERIMENT_GPU, "nvidia_mem_use", STATE, GT_SCOPE_COMBINED, GT_GPU_RAM},
    {GT_EXPERIMENT_GPU, "nvidia_use_rate", PERCENT, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION},
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

struct stretch {
    const struct moment *before, *now;
    const struct gt_energy_curve *energy;
    int gpus;
};

/* Energy that is divided is asked of the curve; other counters are not divided. NaN: not known. */
static double watts_of(size_t i, const struct stretch *stretch)
{
    const struct gt_time_stretch time = {stretch->before->clock, stretch->now->clock};
    double seconds = time.stop - time.start;
    enum gt_energy_device device;
    enum gt_energy_part part;
    if (gt_energy_column(figures[i].scope, figures[i].metric, &device, &part))
        return gt_energy_curve_over(stretch->energy, device, part, &time, 1).joules / seconds;
    return (stretch->now->value[i] - stretch->before->value[i]) / seconds;
}

static double figure_in(size_t i, const struct stretch *stretch)
{
    const struct moment *now = stretch->now;
    switch (figures[i].form) {
    case WATTS: return watts_of(i, stretch);
    case SECONDS: return now->value[i] - stretch->before->value[i];
    case STATE: return now->value[i];
    case PERCENT: break;
    }
    return stretch->gpus ? now->value[i] / stretch->gpus * 100 : NAN;
}

static int take_stretch(struct gt_experiment *experiment, const struct stretch *stretch)
{
    const struct moment *before = stretch->before, *now = stretch->now;
    double seconds = now->clock - before->clock, busy = now->system_cpu - before->system_cpu;
    int status = 0;
    if (!(seconds > 0))
        return 0;
    for (size_t i = 0; i < FIGURES && status == 0; i++)
        status = gt_experiment_add(experiment, figures[i].group, figures[i].name, NULL,
                                   (struct gt_experiment_point){now->date, figure_in(i, stretch)}, seconds);
    if (status == 0 && busy > 0)
        status = gt_experiment_add(
            experiment, GT_EXPERIMENT_CPU, "per_process_cpu_uses", NULL,
            (struct gt_experiment_point){now->date, fmin(1, (now->job_cpu - before->job_cpu) / busy)}, seconds);
    return status;
}

static int take_samples(struct gt_experiment *experiment, struct gt_recording *recording,
                        const struct gt_energy_curve *energy, struct gt_error *error)
{
    int gpus = gt_recording_machine(recording)->expected_gpus, status;
    const struct gt_sample *sample;
    struct moment before = {.clock = NAN};
    while ((status = gt_recording_next(recording, &sample, error)) > 0) {
        struct moment now = moment_of(sample);
        if (take_stretch(experiment, &(struct stretch){&before, &now, energy, gpus}) < 0)
            return gt_error_system(error, ENOMEM, "experiment");
        before = now;
    }
    return status;
}

int gt_experiment_read_recording(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct gt_energy_curve energy;
    int status = gt_recording_energy(&energy, path, true, error);
    if (status >= 0)
        status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = take_samples(experiment, recording, &energy, error);
    gt_recording_close(recording);
    gt_energy_curve_release(&energy);
    return status;
}
