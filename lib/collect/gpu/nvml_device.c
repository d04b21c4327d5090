#include "collect/gpu/nvml.h"

#include <stdio.h>
#include <string.h>

/* States and counters of one device. Each reading is a function of a table; one that a device does not support is not
 * asked for again. */

static double percent(unsigned value)
{
    return value <= 100 ? value / 100.0 : NAN;
}

static int read_memory_v1(struct nvml *nvml, struct nvml_gpu *gpu)
{
    struct nvml_memory memory = {0};
    if (!nvml->call.memory)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->call.memory(gpu->handle, &memory);
    if (result == NVML_SUCCESS && memory.total > 0)
        gpu->value[GT_GPU_RAM] = (double)memory.used;
    return result;
}

/* Version 2 tells what the driver reserves for itself apart from what is used. A device that shares the memory of the
 * machine has a total of 0 or does not answer. */
static int read_memory(struct nvml *nvml, struct nvml_gpu *gpu)
{
    struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
    int result = nvml->call.memory_v2 ? nvml->call.memory_v2(gpu->handle, &memory) : NVML_FUNCTION_NOT_FOUND;
    if (result == NVML_SUCCESS && memory.total > 0)
        gpu->value[GT_GPU_RAM] = (double)memory.used;
    if (result == NVML_FUNCTION_NOT_FOUND || result == NVML_ARGUMENT_VERSION_MISMATCH || result == NVML_NOT_SUPPORTED)
        result = read_memory_v1(nvml, gpu);
    return result;
}

static int read_utilization(struct nvml *nvml, struct nvml_gpu *gpu)
{
    struct nvml_utilization utilization;
    if (!nvml->call.utilization)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->call.utilization(gpu->handle, &utilization);
    if (result == NVML_SUCCESS) {
        gpu->value[GT_GPU_UTILIZATION] = percent(utilization.gpu);
        gpu->value[GT_GPU_MEMORY_UTILIZATION] = percent(utilization.memory);
    }
    return result;
}

static int read_video(int (*call)(struct nvml_device *, unsigned *, unsigned *), struct nvml_gpu *gpu,
                      enum gt_metric_id metric)
{
    unsigned value, period_us;
    if (!call)
        return NVML_FUNCTION_NOT_FOUND;
    int result = call(gpu->handle, &value, &period_us);
    if (result == NVML_SUCCESS)
        gpu->value[metric] = percent(value);
    return result;
}

static int read_encoder(struct nvml *nvml, struct nvml_gpu *gpu)
{
    return read_video(nvml->call.encoder, gpu, GT_GPU_ENCODER);
}

static int read_decoder(struct nvml *nvml, struct nvml_gpu *gpu)
{
    return read_video(nvml->call.decoder, gpu, GT_GPU_DECODER);
}

static int read_temperature(struct nvml *nvml, struct nvml_gpu *gpu)
{
    unsigned celsius;
    if (!nvml->call.temperature)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->call.temperature(gpu->handle, NVML_TEMPERATURE_GPU, &celsius);
    if (result == NVML_SUCCESS)
        gpu->value[GT_GPU_TEMPERATURE] = (double)(int)celsius;
    return result;
}

static int read_one_clock(struct nvml *nvml, struct nvml_gpu *gpu, int which, enum gt_metric_id metric)
{
    unsigned megahertz;
    if (!nvml->call.clock)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->call.clock(gpu->handle, which, &megahertz);
    if (result == NVML_SUCCESS)
        gpu->value[metric] = megahertz * 1e6;
    return result;
}

static int read_clock(struct nvml *nvml, struct nvml_gpu *gpu)
{
    return read_one_clock(nvml, gpu, NVML_CLOCK_SM, GT_GPU_CLOCK);
}

static int read_memory_clock(struct nvml *nvml, struct nvml_gpu *gpu)
{
    return read_one_clock(nvml, gpu, NVML_CLOCK_MEMORY, GT_GPU_MEMORY_CLOCK);
}

/* The bits of GT_GPU_THROTTLE. An idle GPU lowers its clock, too, and is not throttled. */
static double throttle_bits(unsigned long long reasons)
{
    enum { POWER = 1, HEAT = 2, HARDWARE = 4, OTHER = 8 };
    static const struct {
        unsigned long long reason;
        unsigned bit;
    } table[] = {
        {NVML_REASON_POWER_CAP | NVML_REASON_POWER_BRAKE, POWER},
        {NVML_REASON_HEAT_SOFTWARE | NVML_REASON_HEAT_HARDWARE, HEAT},
        {NVML_REASON_HARDWARE_SLOWDOWN, HARDWARE},
    };
    unsigned bits = 0;
    unsigned long long left = reasons & ~(unsigned long long)NVML_REASON_IDLE;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (left & table[i].reason)
            bits |= table[i].bit;
        left &= ~table[i].reason;
    }
    return bits | (left ? OTHER : 0);
}

static int read_throttle(struct nvml *nvml, struct nvml_gpu *gpu)
{
    unsigned long long reasons;
    int (*call)(struct nvml_device *, unsigned long long *) = nvml->call.reasons ? nvml->call.reasons
                                                                                 : nvml->call.reasons_old;
    if (!call)
        return NVML_FUNCTION_NOT_FOUND;
    int result = call(gpu->handle, &reasons);
    if (result == NVML_SUCCESS)
        gpu->value[GT_GPU_THROTTLE] = throttle_bits(reasons);
    return result;
}

static const struct reading {
    int (*read)(struct nvml *, struct nvml_gpu *);
    bool of_slices; /* the others exist for the whole board only */
} readings[] = {
    {gt_nvml_read_energy, false}, {gt_nvml_read_power, false}, {gt_nvml_read_memory_power, false},
    {read_memory, true},          {read_utilization, false},   {read_encoder, false},
    {read_decoder, false},        {read_temperature, false},   {read_clock, false},
    {read_memory_clock, false},   {read_throttle, false},
};

void gt_nvml_read(struct nvml *nvml, struct nvml_gpu *gpu)
{
    gt_values_clear(gpu->value);
    for (size_t i = 0; i < sizeof readings / sizeof *readings && !gpu->is_lost; i++) {
        if (gpu->unsupported & 1u << i || (gpu->parent >= 0 && !readings[i].of_slices))
            continue;
        int result = readings[i].read(nvml, gpu);
        if (result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND)
            gpu->unsupported |= 1u << i;
        else if (gt_nvml_lost(gpu, result))
            gt_values_clear(gpu->value);
    }
    if (gpu->parent < 0 && !gpu->is_lost)
        gt_nvml_settle_energy(nvml, gpu);
}

/* Largest value of the driver's ring newer than *seen, which moves on; NaN when there is none. */
static double highest_sample(struct nvml *nvml, struct nvml_gpu *gpu, int which, unsigned long long *seen)
{
    enum { FIRST = 256, MOST = 16384 };
    int type = NVML_UNSIGNED, result = NVML_INSUFFICIENT_SIZE;
    unsigned count = FIRST;
    for (unsigned capacity = FIRST; capacity <= MOST && result == NVML_INSUFFICIENT_SIZE; capacity *= 2) {
        if (gt_nvml_buffer(nvml, capacity * sizeof(struct nvml_sample)) < 0)
            return NAN;
        count = capacity;
        result = nvml->call.samples(gpu->handle, which, *seen, &type, &count, (void *)nvml->buffer);
        if (count > capacity)
            count = capacity;
    }
    double highest = NAN;
    unsigned long long after = *seen;
    for (unsigned i = 0; result == NVML_SUCCESS && i < count; i++) {
        struct nvml_sample sample;
        memcpy(&sample, nvml->buffer + i * sizeof sample, sizeof sample);
        if (sample.time <= after)
            continue;
        highest = fmax(highest, gt_nvml_number(&sample.value, type));
        if (sample.time > *seen)
            *seen = sample.time;
    }
    gt_nvml_lost(gpu, result);
    return highest;
}

void gt_nvml_read_samples(struct nvml *nvml, struct nvml_gpu *gpu)
{
    if (!nvml->call.samples || gpu->parent >= 0)
        return;
    double utilization = highest_sample(nvml, gpu, NVML_SAMPLES_UTILIZATION, &gpu->seen_utilization);
    double power = highest_sample(nvml, gpu, NVML_SAMPLES_POWER, &gpu->seen_power);
    gpu->value[GT_GPU_UTILIZATION_PEAK] = utilization <= 100 ? utilization / 100 : NAN;
    gpu->value[GT_GPU_POWER_PEAK] = power / 1e3;
}
