/* Power and energy of one board.
 *
 * Fields, scopes and averaging: NVIDIA's NVML API reference (nvmlDeviceGetPowerUsage, nvmlFieldValueEnums, nvmlDeviceGetFieldValues).
 * A board answers any of the scopes: GPU, module (of a superchip: GPU and CPU), memory (a part of the GPU). Of two that contain
 * each other one is the board's power, the others are never added to it. Part-time sensors: Yang, Adamek and Armour, "Part-time
 * Power Measurements" (arXiv 2312.02741). Counters that contradict power: github.com/ml-energy/zeus, issue 181. */
#include <stdio.h>
#include <string.h>

#include "collect/gpu/nvml.h"

double gt_nvml_number(const union nvml_value *value, int type)
{
    switch (type) {
    case NVML_DOUBLE: return value->as_double;
    case NVML_UNSIGNED: return value->as_unsigned;
    case NVML_UNSIGNED_LONG: return (double)value->as_unsigned_long;
    case NVML_UNSIGNED_LONG_LONG: return (double)value->as_unsigned_long_long;
    case NVML_LONG_LONG: return (double)value->as_long_long;
    case NVML_INT: return value->as_int;
    case NVML_UNSIGNED_SHORT: return value->as_unsigned_short;
    default: return NAN;
    }
}

static int read_field(struct nvml *nvml, struct nvml_gpu *gpu, unsigned field, unsigned scope, double *ret_watts)
{
    struct nvml_field value = {.field = field, .scope = scope, .result = NVML_UNKNOWN};
    if (!nvml->call.fields)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->call.fields(gpu->handle, 1, &value);
    if (result == NVML_SUCCESS)
        result = value.result;
    if (result == NVML_SUCCESS)
        *ret_watts = gt_nvml_number(&value.value, value.type) / 1e3;
    return result;
}

static int read_power_usage(struct nvml *nvml, struct nvml_gpu *gpu)
{
    unsigned milliwatts;
    if (!nvml->call.power)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->call.power(gpu->handle, &milliwatts);
    if (result == NVML_SUCCESS)
        gpu->value[GT_GPU_POWER] = milliwatts / 1e3;
    return result;
}

static int nvml_read_power(struct nvml *nvml, struct nvml_gpu *gpu)
{
    switch (gpu->power) {
    case NVML_POWER_FIELD_INSTANT:
        return read_field(nvml, gpu, NVML_FIELD_POWER_INSTANT, NVML_SCOPE_GPU, &gpu->value[GT_GPU_POWER]);
    case NVML_POWER_USAGE: return read_power_usage(nvml, gpu);
    case NVML_POWER_MODULE:
        return read_field(nvml, gpu, NVML_FIELD_POWER_INSTANT, NVML_SCOPE_MODULE, &gpu->value[GT_GPU_POWER]);
    default: return NVML_NOT_SUPPORTED;
    }
}

static int nvml_read_memory_power(struct nvml *nvml, struct nvml_gpu *gpu)
{
    if (!gpu->memory_field)
        return NVML_NOT_SUPPORTED;
    return read_field(nvml, gpu, gpu->memory_field, NVML_SCOPE_MEMORY, &gpu->value[GT_GPU_MEMORY_POWER]);
}

/* Readings return the result of the driver. */
static int nvml_read_energy(struct nvml *nvml, struct nvml_gpu *gpu)
{
    unsigned long long millijoules;
    if (!nvml->call.energy || gpu->is_integrated)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->call.energy(gpu->handle, &millijoules);
    if (result == NVML_SUCCESS)
        gpu->value[GT_GPU_ENERGY] = gt_energy_counter_read(&gpu->energy, (double)millijoules / 1e3);
    return result;
}

/* Where a scope is not there some drivers tell 0 W. */
static bool answers(struct nvml *nvml, struct nvml_gpu *gpu, unsigned field, unsigned scope)
{
    double watts = 0;
    return read_field(nvml, gpu, field, scope, &watts) == NVML_SUCCESS && watts > 0;
}

/* The counter of a superchip is that of its module, CPU included; where the GPU alone tells its power, that is added up. */
static void probe_energy(struct nvml *nvml, struct nvml_gpu *gpu)
{
    unsigned long long millijoules;
    bool has_counter = nvml->call.energy && nvml->call.energy(gpu->handle, &millijoules) != NVML_NOT_SUPPORTED;
    gpu->has_module = answers(nvml, gpu, NVML_FIELD_POWER_INSTANT, NVML_SCOPE_MODULE);
    gpu->is_integrated = !has_counter || (gpu->has_module && gpu->power != NVML_POWER_MODULE);
    if (!nvml->call.capability || nvml->call.capability(gpu->handle, &gpu->major, &gpu->minor) != NVML_SUCCESS)
        gpu->major = gpu->minor = 0;
    if (gpu->is_integrated)
        gt_power_integrate(&gpu->integral, gt_clock_monotonic(nvml->clock), gpu->value[GT_GPU_POWER]);
}

/* A counter that was set back lost what was drawn between two readings; power has it. */
static double bridge(struct nvml_gpu *gpu, double summed)
{
    bool was_set_back = gpu->energy.resets > gpu->resets;
    if (was_set_back && summed > gpu->summed)
        gpu->energy.total += summed - gpu->summed;
    else if (was_set_back)
        gpu->doubt = INFINITY;
    gpu->resets = gpu->energy.resets;
    gpu->summed = summed;
    return isnan(gpu->value[GT_GPU_ENERGY]) ? NAN : gpu->energy.total;
}

/* Work out the energy from the counter and the power that were just read. */
static void nvml_settle_energy(struct nvml *nvml, struct nvml_gpu *gpu)
{
    int64_t now_ns = gpu->read_ns = gt_clock_monotonic(nvml->clock);
    double summed = gt_power_integrate(&gpu->integral, now_ns, gpu->value[GT_GPU_POWER]);
    if (gpu->is_integrated) {
        gpu->value[GT_GPU_ENERGY] = summed;
    } else {
        double counted = bridge(gpu, summed);
        gt_energy_check_add(&gpu->check, now_ns, counted, gpu->value[GT_GPU_POWER]);
        gpu->value[GT_GPU_ENERGY] = gt_energy_choose(&gpu->check, counted, summed);
    }
    if (gpu->is_left_out)
        gpu->value[GT_GPU_ENERGY] = NAN;
}

void gt_nvml_rest(struct nvml *nvml, struct nvml_gpu *gpu)
{
    gt_values_clear(gpu->value);
    gpu->rows.count = 0;
    if (gpu->parent >= 0)
        return;
    if (!isnan(gpu->integral.watts))
        gt_power_integrate(&gpu->integral, gt_clock_monotonic(nvml->clock), 0);
    gpu->check.joules = NAN; /* power and counter are compared anew once it is awake */
}

/* nvmlDeviceGetPowerUsage averages over 1 s on Ampere but for GA100 (8.0), and on what came after it. */
static bool is_averaged(const struct nvml_gpu *gpu)
{
    return gpu->power == NVML_POWER_USAGE && (gpu->major == 0 || gpu->major > 8 || (gpu->major == 8 && gpu->minor > 0));
}

/* Counters of all boards together; of several only one that contradicts its power is worth its numbers. */
static int describe_counters(const struct nvml *nvml, char *text, size_t size)
{
    const struct gt_energy_check *told = NULL;
    unsigned resets = 0;
    char comparison[160] = "";
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        const struct nvml_gpu *gpu = &nvml->gpu[i];
        resets += gpu->energy.resets;
        if (gpu->parent < 0 && !gpu->is_integrated && (!told || (gpu->check.is_wrong && !told->is_wrong)))
            told = &gpu->check;
    }
    if (told)
        gt_energy_check_describe(told, comparison, sizeof comparison);
    int length = snprintf(text, size, "%s%s", comparison, *comparison ? "; " : "");
    if (resets)
        length += snprintf(text + length, size - (size_t)length, "energy counters were set back %u times; ", resets);
    return length;
}

int gt_nvml_describe_energy(const struct nvml *nvml, char *text, size_t size)
{
    bool integrated = false, averaged = false, module = false, left_out = false, part_time = false;
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        const struct nvml_gpu *gpu = &nvml->gpu[i];
        if (gpu->parent >= 0)
            continue;
        integrated |= gpu->is_integrated && gpu->power != NVML_POWER_UNKNOWN;
        averaged |= is_averaged(gpu);
        module |= gpu->power == NVML_POWER_MODULE;
        left_out |= gpu->is_left_out;
        part_time |= (gpu->major == 8 && gpu->minor == 0) || gpu->major == 9;
    }
    int length = describe_counters(nvml, text, size);
    length += snprintf(text + length, size - (size_t)length, "%s%s%s%s%s",
                       integrated ? "energy is power added up; " : "",
                       averaged ? "power may be the driver's 1 s average; " : "",
                       module ? "power is of the module, CPU included; " : "",
                       left_out ? "a module's energy is left out, for its CPU is counted already; " : "",
                       part_time ? "the sensor looks at 25 of each 100 ms; " : "");
    return length;
}

double gt_nvml_energy_refresh(const struct nvml *nvml)
{
    double most = 0.1; /* counters: 20 to 100 ms */
    for (size_t i = 0; i < nvml->gpu_count; i++)
        if (nvml->gpu[i].is_integrated && is_averaged(&nvml->gpu[i]))
            most = 1;
    return most;
}

/* Each scope of each source is tried: boards answer any of them. */
void gt_nvml_probe(struct nvml *nvml, struct nvml_gpu *gpu)
{
    gt_values_clear(gpu->value);
    gpu->energy.last = gpu->integral.watts = gpu->check.joules = NAN;
    gpu->seen_power = gpu->seen_utilization = (unsigned long long)(gt_clock_real(nvml->clock) / 1000);
    if (gpu->parent >= 0)
        return;
    if (read_field(nvml, gpu, NVML_FIELD_POWER_INSTANT, NVML_SCOPE_GPU, &gpu->value[GT_GPU_POWER]) == NVML_SUCCESS)
        gpu->power = NVML_POWER_FIELD_INSTANT;
    else if (read_power_usage(nvml, gpu) == NVML_SUCCESS)
        gpu->power = NVML_POWER_USAGE;
    else if (read_field(nvml, gpu, NVML_FIELD_POWER_INSTANT, NVML_SCOPE_MODULE, &gpu->value[GT_GPU_POWER]) ==
             NVML_SUCCESS)
        gpu->power = NVML_POWER_MODULE;
    static const unsigned memory_fields[] = {NVML_FIELD_POWER_AVERAGE, NVML_FIELD_POWER_INSTANT};
    for (int i = 0; i < 2; i++)
        if (answers(nvml, gpu, memory_fields[i], NVML_SCOPE_MEMORY))
            gpu->memory_field = memory_fields[i];
    probe_energy(nvml, gpu);
}

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
    {nvml_read_energy, false}, {nvml_read_power, false},   {nvml_read_memory_power, false}, {read_memory, true},
    {read_utilization, false}, {read_encoder, false},      {read_decoder, false},           {read_temperature, false},
    {read_clock, false},       {read_memory_clock, false}, {read_throttle, false},
};

static bool can_read(const struct nvml_gpu *gpu, size_t reading)
{
    return !gpu->is_asleep && !gpu->is_lost && !(gpu->unsupported & 1u << reading) &&
           (gpu->parent < 0 || readings[reading].of_slices);
}

/* Each reading of all devices before the next one: their energy is then of nearly the same moment. */
void gt_nvml_read(struct nvml *nvml)
{
    for (size_t k = 0; k < nvml->gpu_count; k++)
        if (!nvml->gpu[k].is_asleep)
            gt_values_clear(nvml->gpu[k].value);
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        for (size_t k = 0; k < nvml->gpu_count; k++) {
            struct nvml_gpu *gpu = &nvml->gpu[k];
            int result = can_read(gpu, i) ? readings[i].read(nvml, gpu) : NVML_SUCCESS;
            if (result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND)
                gpu->unsupported |= 1u << i;
            else if (gt_nvml_lost(gpu, result))
                gt_values_clear(gpu->value);
        }
    for (size_t k = 0; k < nvml->gpu_count; k++)
        if (nvml->gpu[k].parent < 0 && !nvml->gpu[k].is_lost && !nvml->gpu[k].is_asleep)
            nvml_settle_energy(nvml, &nvml->gpu[k]);
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
