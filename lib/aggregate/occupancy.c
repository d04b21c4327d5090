#include "aggregate/occupancy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"

static const double LEAST_CORES = 0.01, STEP = 1.02;
static const double IDLE = 0.05, STARVED = 0.3, CORE_BUSY = 0.95;
static const unsigned POWER = 1, HEAT = 2, HARDWARE = 4; /* bits of GT_GPU_THROTTLE */

void gt_occupancy_init(struct gt_occupancy *occupancy)
{
    memset(occupancy, 0, sizeof *occupancy);
    occupancy->window_cpu = NAN;
}

void gt_occupancy_release(struct gt_occupancy *occupancy)
{
    free(occupancy->gpu);
    occupancy->gpu = NULL;
    occupancy->gpus = 0;
}

static size_t step_of(double cores)
{
    if (!(cores > LEAST_CORES))
        return 0;
    double step = 1 + floor(log(cores / LEAST_CORES) / log(STEP));
    return step < GT_OCCUPANCY_STEPS ? (size_t)step : GT_OCCUPANCY_STEPS - 1;
}

static void begin_window(struct gt_occupancy *occupancy, int64_t now_ns, double cpu)
{
    occupancy->window_ns = now_ns;
    occupancy->window_cpu = cpu;
}

/* Shorter windows would count in the kernel's ticks. */
static void add_cores(struct gt_occupancy *occupancy, const struct gt_sample *sample)
{
    double cpu = sample->row[GT_SCOPE_COMBINED].value[GT_CPU_TIME];
    double seconds = (double)(sample->monotonic_ns - occupancy->window_ns) / GT_SECOND;
    if (isnan(cpu))
        return;
    if (isnan(occupancy->window_cpu) || seconds < 0 || cpu < occupancy->window_cpu) {
        begin_window(occupancy, sample->monotonic_ns, cpu);
    } else if (seconds >= 0.95) {
        occupancy->cores[step_of((cpu - occupancy->window_cpu) / seconds)] += seconds;
        occupancy->windowed += seconds;
        begin_window(occupancy, sample->monotonic_ns, cpu);
    }
}

static void add_gpu(struct gt_gpu_use_time *gpu, double use, double throttle, double cores, double seconds)
{
    if (!isnan(use)) {
        gpu->known += seconds;
        gpu->idle += use < IDLE ? seconds : 0;
        gpu->starved += use < STARVED && cores >= CORE_BUSY ? seconds : 0;
    }
    if (!isnan(throttle)) {
        unsigned bits = (unsigned)throttle;
        gpu->told += seconds;
        gpu->hot += bits & HEAT ? seconds : 0;
        gpu->powered_down += bits & POWER ? seconds : 0;
        gpu->slowed += bits & (POWER | HEAT | HARDWARE) ? seconds : 0;
    }
}

static int add_gpus(struct gt_occupancy *occupancy, const struct gt_sample *sample, double seconds)
{
    double cores = sample->row[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION];
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope != GT_SCOPE_GPU || row->device < 0)
            continue;
        while (occupancy->gpus <= (size_t)row->device) {
            if (!GT_GROW_BY_ONE(occupancy->gpu, occupancy->gpus))
                return -ENOMEM;
            occupancy->gpu[occupancy->gpus++] = (struct gt_gpu_use_time){0};
        }
        add_gpu(&occupancy->gpu[row->device], row->value[GT_GPU_UTILIZATION], row->value[GT_GPU_THROTTLE], cores,
                seconds);
    }
    add_gpu(&occupancy->all_gpus, sample->row[GT_SCOPE_SYSTEM].value[GT_GPU_UTILIZATION], NAN, cores, seconds);
    return 0;
}

int gt_occupancy_add(struct gt_occupancy *occupancy, const struct gt_sample *sample)
{
    double seconds = occupancy->last_ns ? (double)(sample->monotonic_ns - occupancy->last_ns) / GT_SECOND : 0;
    occupancy->last_ns = sample->monotonic_ns;
    add_cores(occupancy, sample);
    return add_gpus(occupancy, sample, seconds > 0 ? seconds : 0);
}

double gt_occupancy_cores(const struct gt_occupancy *occupancy, double share)
{
    double sum = 0;
    if (!(occupancy->windowed > 0))
        return NAN;
    for (int step = 0; step < GT_OCCUPANCY_STEPS; step++) {
        sum += occupancy->cores[step];
        if (sum >= share * occupancy->windowed)
            return step ? LEAST_CORES * pow(STEP, step - 0.5) : 0;
    }
    return NAN;
}
