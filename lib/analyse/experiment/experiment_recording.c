/* A tracking file under the names of experiments: counters as what they grew by from sample to sample. */
#include <errno.h>
#include <math.h>

#include "analyse/experiment/experiment.h"
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

/* Of a stretch between two samples. NaN: not known. */
static double figure_between(size_t i, const struct moment *before, const struct moment *now, int gpus)
{
    switch (figures[i].form) {
    case WATTS: return (now->value[i] - before->value[i]) / (now->clock - before->clock);
    case SECONDS: return now->value[i] - before->value[i];
    case STATE: return now->value[i];
    case PERCENT: break;
    }
    return gpus ? now->value[i] / gpus * 100 : NAN;
}

static int take_stretch(struct gt_experiment *experiment, const struct moment *before, const struct moment *now,
                        int gpus)
{
    double seconds = now->clock - before->clock, busy = now->system_cpu - before->system_cpu;
    int status = 0;
    if (!(seconds > 0))
        return 0;
    for (size_t i = 0; i < FIGURES && status == 0; i++)
        status = gt_experiment_add(experiment, figures[i].group, figures[i].name, NULL,
                                   (struct gt_experiment_point){now->date, figure_between(i, before, now, gpus)},
                                   seconds);
    if (status == 0 && busy > 0)
        status = gt_experiment_add(
            experiment, GT_EXPERIMENT_CPU, "per_process_cpu_uses", NULL,
            (struct gt_experiment_point){now->date, fmin(1, (now->job_cpu - before->job_cpu) / busy)}, seconds);
    return status;
}

int gt_experiment_read_recording(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    struct moment before = {.clock = NAN};
    int status = gt_recording_open(&recording, path, error);
    int gpus = status < 0 ? 0 : gt_recording_machine(recording)->expected_gpus;
    while (status >= 0 && (status = gt_recording_next(recording, &sample, error)) > 0) {
        struct moment now = moment_of(sample);
        if (take_stretch(experiment, &before, &now, gpus) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
        before = now;
    }
    gt_recording_close(recording);
    return status;
}
