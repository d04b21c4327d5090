#include "aggregate/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/grow.h"

/* ---- Utilization ---------------------------------------------------------------------------------------------------- */

static const double LEAST_CORES = 0.01, STEP = 1.02;
static const double IDLE = 0.05, STARVED = 0.3, CORE_BUSY = 0.95;
static const unsigned POWER = 1, HEAT = 2, HARDWARE = 4; /* bits of GT_GPU_THROTTLE */

static size_t step_of(double cores)
{
    if (!(cores > LEAST_CORES))
        return 0;
    double step = 1 + floor(log(cores / LEAST_CORES) / log(STEP));
    return step < GT_UTILIZATION_STEPS ? (size_t)step : GT_UTILIZATION_STEPS - 1;
}

static void begin_window(struct gt_utilization *utilization, int64_t now_ns, double cpu)
{
    utilization->window_ns = now_ns;
    utilization->window_cpu = cpu;
}

/* Shorter windows would count in the kernel's ticks. */
static void add_cores(struct gt_utilization *utilization, const struct gt_sample *sample)
{
    double cpu = sample->row[GT_SCOPE_COMBINED].value[GT_CPU_TIME];
    double seconds = (double)(sample->monotonic_ns - utilization->window_ns) / GT_SECOND;
    if (isnan(cpu))
        return;
    if (isnan(utilization->window_cpu) || seconds < 0 || cpu < utilization->window_cpu) {
        begin_window(utilization, sample->monotonic_ns, cpu);
    } else if (seconds >= 0.95) {
        utilization->cores[step_of((cpu - utilization->window_cpu) / seconds)] += seconds;
        utilization->windowed += seconds;
        begin_window(utilization, sample->monotonic_ns, cpu);
    }
}

static void add_gpu_time(struct gt_gpu_use_time *gpu, double use, double throttle, double cores, double seconds)
{
    if (!isnan(use)) {
        gpu->known += seconds;
        gpu->idle += use < IDLE ? seconds : 0;
        gpu->starved += use < STARVED && cores >= CORE_BUSY ? seconds : 0;
    }
    if (!isnan(throttle)) {
        unsigned bits = (unsigned)throttle;
        gpu->reported += seconds;
        gpu->hot += bits & HEAT ? seconds : 0;
        gpu->powered_down += bits & POWER ? seconds : 0;
        gpu->slowed += bits & (POWER | HEAT | HARDWARE) ? seconds : 0;
    }
}

static int add_gpu_times(struct gt_utilization *utilization, const struct gt_sample *sample, double seconds)
{
    double cores = sample->row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION];
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope != GT_SCOPE_GPU || row->device < 0)
            continue;
        while (utilization->gpus <= (size_t)row->device) {
            if (!GT_GROW_BY_ONE(utilization->gpu, utilization->gpus))
                return -ENOMEM;
            utilization->gpu[utilization->gpus++] = (struct gt_gpu_use_time){0};
        }
        add_gpu_time(&utilization->gpu[row->device], row->value[GT_GPU_UTILIZATION], row->value[GT_GPU_THROTTLE], cores,
                     seconds);
    }
    add_gpu_time(&utilization->all_gpus, sample->row[GT_SCOPE_SYSTEM].value[GT_GPU_UTILIZATION], NAN, cores, seconds);
    return 0;
}

/* Count a sample. 0 or -ENOMEM, which only the first sample with GPU rows can meet. */
static int add_utilization(struct gt_utilization *utilization, const struct gt_sample *sample)
{
    double seconds = utilization->last_ns ? (double)(sample->monotonic_ns - utilization->last_ns) / GT_SECOND : 0;
    utilization->last_ns = sample->monotonic_ns;
    add_cores(utilization, sample);
    return add_gpu_times(utilization, sample, seconds > 0 ? seconds : 0);
}

double gt_utilization_cores(const struct gt_utilization *utilization, double share)
{
    double sum = 0;
    if (!(utilization->windowed > 0))
        return NAN;
    for (int step = 0; step < GT_UTILIZATION_STEPS; step++) {
        sum += utilization->cores[step];
        if (sum >= share * utilization->windowed)
            return step ? LEAST_CORES * pow(STEP, step - 0.5) : 0;
    }
    return NAN;
}

/* ---- Statistics ----------------------------------------------------------------------------------------------------- */

static void clear(struct gt_statistic statistics[GT_METRIC_COUNT])
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        statistics[id] = (struct gt_statistic){.min = NAN, .max = NAN, .last = NAN};
}

void gt_summary_init(struct gt_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->utilization.window_cpu = NAN;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        clear(summary->of[scope]);
        summary->shared_at_peak[scope] = NAN;
    }
}

void gt_summary_release(struct gt_summary *summary)
{
    gt_sample_course_release(&summary->course);
    free(summary->utilization.gpu);
    free(summary->gpu);
    memset(summary, 0, sizeof *summary);
}

static void add(struct gt_statistic *s, double value)
{
    if (isnan(value))
        return;
    if (!s->count++)
        s->min = s->max = value;
    s->min = value < s->min ? value : s->min; /* no number is NaN here, and fmin is a call */
    s->max = value > s->max ? value : s->max;
    s->sum += value;
    s->last = value;
}

static int add_gpu(struct gt_summary *summary, const struct gt_row *row)
{
    size_t needed = (size_t)row->device + 1;
    while (summary->gpu_count < needed) {
        if (!GT_GROW_BY_ONE(summary->gpu, summary->gpu_count))
            return -ENOMEM;
        clear(summary->gpu[summary->gpu_count++]);
    }
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        add(&summary->gpu[row->device][id], row->value[id]);
    return 0;
}

int gt_summary_add(struct gt_summary *summary, const struct gt_sample *sample)
{
    if (!summary->samples++)
        summary->first_real_ns = sample->real_ns;
    summary->last_real_ns = sample->real_ns;
    int status = gt_sample_course_add(&summary->course, sample);
    if (!status)
        status = add_utilization(&summary->utilization, sample);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        const double *value = sample->row[scope].value;
        if (!(value[GT_RAM] <= summary->of[scope][GT_RAM].max) && !isnan(value[GT_RAM]))
            summary->shared_at_peak[scope] = value[GT_RAM_SHARED];
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            add(&summary->of[scope][id], value[id]);
    }
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count && !status; i++)
        if (sample->row[i].scope == GT_SCOPE_GPU && sample->row[i].device >= 0)
            status = add_gpu(summary, &sample->row[i]);
    return status;
}

void gt_summary_end(struct gt_summary *summary, const struct gt_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->device_count && i < summary->gpu_count; i++)
        for (int id = GT_GPU_ECC_CORRECTED; id <= GT_GPU_LOST; id++)
            add(&summary->gpu[i][id], snapshot->device[i].value[id]);
}

double gt_summary_mean(const struct gt_summary *summary, enum gt_scope scope, enum gt_metric_id metric)
{
    const struct gt_statistic *s = &summary->of[scope][metric];
    return s->count ? s->sum / (double)s->count : NAN;
}

void gt_summary_outcome(const struct gt_summary *summary, struct gt_outcome *outcome)
{
    gt_outcome_init(outcome);
    outcome->samples = summary->samples;
    if (summary->samples)
        outcome->elapsed = (double)(summary->last_real_ns - summary->first_real_ns) / 1e9;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            const struct gt_statistic *s = &summary->of[scope][id];
            outcome->value[scope][id] = gt_metrics[id].kind == GT_GAUGE ? s->max : s->last;
        }
}
