/* Names and nesting are AIPowerMeter's, of its newer versions and of its older ones, which have other names for some figures. */
#include "store/aipowermeter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void number(struct gt_json *json, const char *key, double value)
{
    if (isnan(value))
        return;
    gt_json_key(json, key);
    gt_json_double(json, value);
}

static void numbered(struct gt_json *json, int64_t number, double value)
{
    char key[24];
    if (isnan(value))
        return;
    snprintf(key, sizeof key, "%lld", (long long)number);
    gt_json_key(json, key);
    gt_json_double(json, value);
}

static void begin(struct gt_json *json, const char *key)
{
    gt_json_key(json, key);
    gt_json_object_begin(json);
}

/* ---- processors -------------------------------------------------------------------------------------------------- */

typedef double process_figure(const struct gt_experiment_window *window, const struct gt_experiment_process *process);

static double seconds_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return process->cpu_used + (process->pid == window->heir ? window->late : 0);
}

static double cpu_use_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return gt_experiment_cpu_ratio(window, seconds_of(window, process));
}

static double intel_power_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return gt_experiment_process_watts(window, process, seconds_of(window, process), GT_CPU_ENERGY);
}

static double core_power_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return gt_experiment_process_watts(window, process, seconds_of(window, process), GT_CORE_ENERGY);
}

static double pss_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    (void)window;
    return process->pss;
}

static double uss_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    (void)window;
    return process->uss;
}

static double memory_ratio_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    double used = window->sampler->frame.system[GT_RAM];
    return used > 0 ? fmin(1, process->pss / used) : NAN;
}

static double dram_power_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return isnan(process->pss) ? NAN : memory_ratio_of(window, process) * gt_experiment_watts(window, GT_DRAM_ENERGY);
}

static void each_process(struct gt_json *json, const struct gt_experiment_window *window, const char *key,
                         process_figure *figure)
{
    begin(json, key);
    for (size_t i = 0; i < window->process_count; i++)
        numbered(json, window->process[i].pid, figure(window, &window->process[i]));
    gt_json_object_end(json);
}

static void cpu(struct gt_json *json, const struct gt_experiment_window *window)
{
    begin(json, "cpu");
    each_process(json, window, "per_process_cpu_uses", cpu_use_of);
    each_process(json, window, "absolute_cpu_time_per_pid", seconds_of);
    each_process(json, window, "per_process_mem_use_abs", pss_of);
    each_process(json, window, "per_process_mem_use_percent", memory_ratio_of);
    each_process(json, window, "per_process_mem_use_uss", uss_of);
    number(json, "total_mem_use", window->sampler->frame.system[GT_RAM]);
    number(json, "intel_power", gt_experiment_watts(window, GT_CPU_ENERGY));
    number(json, "psys_power", gt_experiment_watts(window, GT_PLATFORM_ENERGY));
    number(json, "total_cpu_power", gt_experiment_watts(window, GT_CORE_ENERGY));
    number(json, "uncore_power", gt_experiment_watts(window, GT_UNCORE_ENERGY));
    number(json, "total_dram_power", gt_experiment_watts(window, GT_DRAM_ENERGY));
    if (!isnan(window->grown[GT_CPU_ENERGY]))
        each_process(json, window, "rel_intel_power", intel_power_of);
    if (!isnan(window->grown[GT_CORE_ENERGY]))
        each_process(json, window, "per_process_cpu_power", core_power_of);
    if (!isnan(window->grown[GT_DRAM_ENERGY]))
        each_process(json, window, "per_process_dram_power", dram_power_of);
    gt_json_object_end(json);
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

typedef double gpu_figure(const struct gt_experiment_window *window, size_t device);

static double mean(double sum, unsigned count)
{
    return count ? sum / count : NAN;
}

static double memory_of(const struct gt_experiment_window *window, size_t device)
{
    return mean(window->gpu[device].memory_sum, window->gpu[device].memory_count);
}

static double use_of(const struct gt_experiment_window *window, size_t device)
{
    return mean(window->gpu[device].use_sum, window->gpu[device].use_count);
}

/* Sum over the users of a GPU, or those of them that are ours; NaN when nothing is known of any of them. */
static double use_by(const struct gt_experiment_window *window, size_t device, bool only_ours)
{
    double sum = NAN;
    size_t users = 0;
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
        if (user->device != (int)device || (only_ours && !user->is_ours))
            continue;
        users++;
        if (user->use_count)
            sum = (isnan(sum) ? 0 : sum) + user->use / user->use_count;
    }
    return users ? sum : 0;
}

static double job_use_of(const struct gt_experiment_window *window, size_t device)
{
    return use_by(window, device, true);
}

/* Bytes of ours on a GPU; 0: nobody of ours is on it, NaN: not told. */
static double job_memory_of(const struct gt_experiment_window *window, size_t device)
{
    double sum = NAN;
    size_t users = 0;
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
        if (user->device != (int)device || !user->is_ours)
            continue;
        users++;
        if (user->memory_count)
            sum = (isnan(sum) ? 0 : sum) + mean(user->memory, user->memory_count);
    }
    return users ? sum : 0;
}

static double job_ratio_of(const struct gt_experiment_window *window, size_t device)
{
    double ours = use_by(window, device, true), all = use_by(window, device, false);
    return all > 0 ? (isnan(ours) ? 0 : ours) / all : ours;
}

/* How GPUs are numbered: boards, in the drivers' order. */
static void each_gpu(struct gt_json *json, const struct gt_experiment_window *window, gpu_figure *figure)
{
    int64_t card = 0;
    for (size_t i = 0; i < window->sampler->frame.device_count; i++)
        if (gt_experiment_is_board(window, i))
            numbered(json, card++, figure(window, i));
}

static void per_gpu(struct gt_json *json, const struct gt_experiment_window *window, const char *key,
                    gpu_figure *figure)
{
    begin(json, key);
    each_gpu(json, window, figure);
    gt_json_object_end(json);
}

/* NaN when none of them is known. */
static double sum_over_gpus(const struct gt_experiment_window *window, gpu_figure *figure, size_t *known)
{
    double sum = NAN;
    *known = 0;
    for (size_t i = 0; i < window->sampler->frame.device_count; i++) {
        double value = gt_experiment_is_board(window, i) ? figure(window, i) : NAN;
        if (isnan(value))
            continue;
        sum = (isnan(sum) ? 0 : sum) + value;
        ++*known;
    }
    return sum;
}

static void users_of(struct gt_json *json, const struct gt_experiment_window *window, size_t device, bool wants_memory)
{
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
        if (user->device != (int)device || (wants_memory && !user->is_ours))
            continue;
        numbered(json, user->pid,
                 wants_memory ? mean(user->memory, user->memory_count) : mean(user->use, user->use_count));
    }
}

static void per_gpu_and_process(struct gt_json *json, const struct gt_experiment_window *window, const char *key,
                                bool wants_memory)
{
    char card_key[24];
    int card = 0;
    begin(json, key);
    for (size_t i = 0; i < window->sampler->frame.device_count; i++) {
        if (!gt_experiment_is_board(window, i))
            continue;
        snprintf(card_key, sizeof card_key, "%d", card++);
        begin(json, card_key);
        users_of(json, window, i, wants_memory);
        gt_json_object_end(json);
    }
    gt_json_object_end(json);
}

/* Older versions of AIPowerMeter stop when the names they know are not there, so these are null where not measured. */
static void gpu(struct gt_json *json, const struct gt_experiment_window *window)
{
    size_t known, used;
    double watts = sum_over_gpus(window, gt_experiment_gpu_watts, &known);
    double job_watts = sum_over_gpus(window, gt_experiment_gpu_job_watts, &known);
    double use = sum_over_gpus(window, use_of, &used);
    begin(json, "gpu");
    number(json, "nvidia_power", watts);
    gt_json_key(json, "nvidia_draw_absolute");
    gt_json_double(json, watts);
    number(json, "nvidia_attributable_power", job_watts);
    number(json, "nvidia_memory", sum_over_gpus(window, memory_of, &known));
    number(json, "nvidia_use_rate", use / (double)used * 100);
    per_gpu(json, window, "per_gpu_nvidia_power", gt_experiment_gpu_watts);
    per_gpu(json, window, "per_gpu_power_draw", gt_experiment_gpu_watts);
    per_gpu(json, window, "per_gpu_nvidia_memory", memory_of);
    begin(json, "per_gpu_nvidia_use_rate");
    int64_t card = 0;
    for (size_t i = 0; i < window->sampler->frame.device_count; i++)
        if (gt_experiment_is_board(window, i))
            numbered(json, card++, use_of(window, i) * 100);
    gt_json_object_end(json);
    begin(json, "per_gpu_attributable_power");
    each_gpu(json, window, gt_experiment_gpu_job_watts);
    gt_json_key(json, "all");
    gt_json_double(json, job_watts);
    gt_json_object_end(json);
    per_gpu_and_process(json, window, "per_gpu_attributable_mem_use", true);
    per_gpu_and_process(json, window, "per_gpu_per_pid_utilization_absolute", false);
    per_gpu(json, window, "per_gpu_absolute_percent_usage", job_use_of);
    per_gpu(json, window, "nvidia_mem_use", job_memory_of);
    per_gpu(json, window, "nvidia_sm_use", job_use_of);
    per_gpu(json, window, "per_gpu_estimated_attributable_utilization", job_ratio_of);
    number(json, "time", (double)window->end_real_ns / 1e9);
    gt_json_object_end(json);
}

/* {chip: [[label, current, high, critical], ...]} */
static void temperatures(struct gt_json *json, const struct gt_experiment_window *window)
{
    begin(json, "temperature");
    for (size_t i = 0; i < window->temperature_count; i++) {
        const struct gt_temperature *sensor = &window->temperature[i];
        size_t first = 0;
        while (strcmp(window->temperature[first].chip, sensor->chip) != 0)
            first++;
        if (first < i)
            continue; /* written with the first of its kind */
        gt_json_key(json, sensor->chip);
        gt_json_array_begin(json);
        for (size_t k = i; k < window->temperature_count; k++) {
            if (strcmp(window->temperature[k].chip, sensor->chip) != 0)
                continue;
            gt_json_array_begin(json);
            gt_json_text(json, window->temperature[k].label);
            gt_json_double(json, window->temperature[k].current);
            gt_json_double(json, window->temperature[k].high);
            gt_json_double(json, window->temperature[k].critical);
            gt_json_array_end(json);
        }
        gt_json_array_end(json);
    }
    gt_json_object_end(json);
}

void gt_experiment_write_metrics(struct gt_json *json, const struct gt_experiment_window *window)
{
    gt_json_object_begin(json);
    temperatures(json, window);
    cpu(json, window);
    if (window->sampler->frame.device_count)
        gpu(json, window);
    gt_json_object_end(json);
}
