/* One NVIDIA board: its states, power, energy and health.
 *
 * Fields, scopes and averaging: NVIDIA's NVML API reference (nvmlDeviceGetPowerUsage, nvmlFieldValueEnums, nvmlDeviceGetFieldValues).
 * A board answers any of the scopes: GPU, module (of a superchip: GPU and CPU), memory (a part of the GPU). Of two that contain
 * each other one is the board's power, the others are never added to it. Part-time sensors: Yang, Adamek and Armour, "Part-time
 * Power Measurements" (arXiv 2312.02741). Counters that contradict power: github.com/ml-energy/zeus, issue 181. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "collect/gpu/nvml.h"

static double number_of(const union nvml_value *value, int type)
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
    int result = NVML_CALL(fields, gpu->handle, 1, &value);
    if (result == NVML_SUCCESS)
        result = value.result;
    if (result == NVML_SUCCESS)
        *ret_watts = number_of(&value.value, value.type) / 1e3;
    return result;
}

static int read_power_of(struct nvml *nvml, struct nvml_gpu *gpu, enum nvml_power source, double *ret_watts)
{
    unsigned milliwatts;
    if (source == NVML_POWER_FIELD_INSTANT || source == NVML_POWER_MODULE)
        return read_field(nvml, gpu, NVML_FIELD_POWER_INSTANT,
                          source == NVML_POWER_MODULE ? NVML_SCOPE_MODULE : NVML_SCOPE_GPU, ret_watts);
    int result = source == NVML_POWER_USAGE ? NVML_CALL(power, gpu->handle, &milliwatts) : NVML_NOT_SUPPORTED;
    if (result == NVML_SUCCESS)
        *ret_watts = milliwatts / 1e3;
    return result;
}

static int read_power(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    return read_power_of(nvml, gpu, gpu->power, &gpu->gpu.value[metric]);
}

static int read_memory_power(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    if (!gpu->memory_field)
        return NVML_NOT_SUPPORTED;
    return read_field(nvml, gpu, gpu->memory_field, NVML_SCOPE_MEMORY, &gpu->gpu.value[metric]);
}

/* Readings return the result of the driver. This is the raw counter, which gt_nvml_read replaces. */
static int read_energy(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    unsigned long long millijoules;
    if (gpu->is_integrated)
        return NVML_FUNCTION_NOT_FOUND;
    int result = NVML_CALL(energy, gpu->handle, &millijoules);
    if (result == NVML_SUCCESS)
        gpu->gpu.value[metric] = (double)millijoules / 1e3;
    return result;
}

/* Some drivers report 0 W for a scope that is missing. */
static bool answers(struct nvml *nvml, struct nvml_gpu *gpu, unsigned field, unsigned scope)
{
    double watts = 0;
    return read_field(nvml, gpu, field, scope, &watts) == NVML_SUCCESS && watts > 0;
}

/* nvmlDeviceGetPowerUsage averages over 1 s on Ampere but for GA100 (8.0), and on what came after it. */
static bool is_averaged(const struct nvml_gpu *gpu)
{
    return gpu->power == NVML_POWER_USAGE && (gpu->major == 0 || gpu->major > 8 || (gpu->major == 8 && gpu->minor > 0));
}

/* Counters of all boards are described together; of several only one that contradicts its power is worth its numbers. */
void gt_nvml_describe_energy(const struct nvml *nvml, char *text, size_t size)
{
    const struct gt_gpu_base *shown = NULL;
    unsigned resets = 0;
    char comparison[160] = "", set_back[64] = "";
    bool integrated = false, averaged = false, module = false, left_out = false, part_time = false;
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        const struct nvml_gpu *gpu = &nvml->gpu[i];
        resets += gpu->gpu.meter.counter.resets;
        if (gpu->parent >= 0)
            continue;
        if (!gpu->is_integrated && (!shown || (gpu->gpu.meter.is_wrong && !shown->meter.is_wrong)))
            shown = &gpu->gpu;
        integrated |= gpu->is_integrated && gpu->power != NVML_POWER_UNKNOWN;
        averaged |= is_averaged(gpu);
        module |= gpu->power == NVML_POWER_MODULE;
        left_out |= gpu->gpu.is_left_out;
        part_time |= (gpu->major == 8 && gpu->minor == 0) || gpu->major == 9;
    }
    if (shown)
        gt_gpu_describe(shown, comparison, sizeof comparison);
    if (resets)
        snprintf(set_back, sizeof set_back, "energy counters were set back %u times; ", resets);
    snprintf(text, size, "%s%s%s%s%s%s%s%s", comparison, *comparison ? "; " : "", set_back,
             integrated ? "energy is power added up; " : "", averaged ? "power may be the driver's 1 s average; " : "",
             module ? "power is of the module, CPU included; " : "",
             left_out ? "a module's energy is left out, for its CPU is counted already; " : "",
             part_time ? "the sensor looks at 25 of each 100 ms; " : "");
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
    gpu->seen_power = gpu->seen_utilization = (unsigned long long)(gt_clock_real(nvml->clock) / 1000);
    if (gpu->parent >= 0)
        return;
    double *watts = &gpu->gpu.value[GT_GPU_POWER];
    for (enum nvml_power source = NVML_POWER_FIELD_INSTANT; source <= NVML_POWER_MODULE && !gpu->power; source++)
        if (read_power_of(nvml, gpu, source, watts) == NVML_SUCCESS)
            gpu->power = source;
    static const unsigned memory_fields[] = {NVML_FIELD_POWER_AVERAGE, NVML_FIELD_POWER_INSTANT};
    for (int i = 0; i < 2; i++)
        if (answers(nvml, gpu, memory_fields[i], NVML_SCOPE_MEMORY))
            gpu->memory_field = memory_fields[i];
    /* The counter of a superchip is that of its module, CPU included; if the GPU alone reports its power, that is added up. */
    unsigned long long millijoules;
    bool has_counter = nvml->call.energy && nvml->call.energy(gpu->handle, &millijoules) != NVML_NOT_SUPPORTED;
    bool has_module = answers(nvml, gpu, NVML_FIELD_POWER_INSTANT, NVML_SCOPE_MODULE);
    gpu->is_integrated = !has_counter || (has_module && gpu->power != NVML_POWER_MODULE);
    if (NVML_CALL(capability, gpu->handle, &gpu->major, &gpu->minor) != NVML_SUCCESS)
        gpu->major = gpu->minor = 0;
    if (gpu->is_integrated)
        gt_gpu_energy(&gpu->gpu, gt_clock_monotonic(nvml->clock), NAN, *watts);
}

/* States and counters of one device. Each reading is a function of a table; one that a device does not support is not
 * asked for again. */

static double percent(unsigned value)
{
    return value <= 100 ? value / 100.0 : NAN;
}

int gt_nvml_memory(struct nvml *nvml, struct nvml_device *handle, double *ret_total, double *ret_used)
{
    struct nvml_memory_v2 memory = {.version = NVML_MEMORY_V2};
    struct nvml_memory older = {0};
    int result = NVML_CALL(memory_v2, handle, &memory);
    if (result == NVML_FUNCTION_NOT_FOUND || result == NVML_ARGUMENT_VERSION_MISMATCH || result == NVML_NOT_SUPPORTED) {
        result = NVML_CALL(memory, handle, &older);
        memory.total = older.total;
        memory.used = older.used;
    }
    bool is_known = result == NVML_SUCCESS && memory.total > 0;
    *ret_total = is_known ? (double)memory.total : NAN;
    *ret_used = is_known ? (double)memory.used : NAN;
    return result;
}

static int read_memory(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    return gt_nvml_memory(nvml, gpu->handle, &(double){0}, &gpu->gpu.value[metric]);
}

static int read_utilization(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    struct nvml_utilization utilization;
    int result = NVML_CALL(utilization, gpu->handle, &utilization);
    if (result == NVML_SUCCESS) {
        gpu->gpu.value[metric] = percent(utilization.gpu);
        gpu->gpu.value[GT_GPU_MEMORY_UTILIZATION] = percent(utilization.memory);
    }
    return result;
}

static int read_video(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    unsigned value, period_us;
    int result = metric == GT_GPU_ENCODER ? NVML_CALL(encoder, gpu->handle, &value, &period_us)
                                          : NVML_CALL(decoder, gpu->handle, &value, &period_us);
    if (result == NVML_SUCCESS)
        gpu->gpu.value[metric] = percent(value);
    return result;
}

static int read_temperature(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    unsigned celsius;
    int result = NVML_CALL(temperature, gpu->handle, NVML_TEMPERATURE_GPU, &celsius);
    if (result == NVML_SUCCESS)
        gpu->gpu.value[metric] = (double)(int)celsius;
    return result;
}

static int read_clock(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    unsigned megahertz;
    int which = metric == GT_GPU_CLOCK ? NVML_CLOCK_SM : NVML_CLOCK_MEMORY;
    int result = NVML_CALL(clock, gpu->handle, which, &megahertz);
    if (result == NVML_SUCCESS)
        gpu->gpu.value[metric] = megahertz * 1e6;
    return result;
}

/* The bits of GT_GPU_THROTTLE. An idle GPU lowers its clock, too, and is not throttled. */
static int read_throttle(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    enum { POWER = 1, HEAT = 2, HARDWARE = 4, OTHER = 8 };
    static const unsigned long long power = NVML_REASON_POWER_CAP | NVML_REASON_POWER_BRAKE,
                                    heat = NVML_REASON_HEAT_SOFTWARE | NVML_REASON_HEAT_HARDWARE,
                                    hardware = NVML_REASON_HARDWARE_SLOWDOWN, idle = NVML_REASON_IDLE;
    unsigned long long reasons;
    int result = nvml->call.reasons ? nvml->call.reasons(gpu->handle, &reasons)
                                    : NVML_CALL(reasons_old, gpu->handle, &reasons);
    if (result == NVML_SUCCESS)
        gpu->gpu.value[metric] = (reasons & power ? POWER : 0) + (reasons & heat ? HEAT : 0) +
                                 (reasons & hardware ? HARDWARE : 0) +
                                 (reasons & ~(power | heat | hardware | idle) ? OTHER : 0);
    return result;
}

static const struct reading {
    int (*read)(struct nvml *, struct nvml_gpu *, enum gt_metric_id);
    enum gt_metric_id metric;
} readings[] = {
    {read_energy, GT_GPU_ENERGY},
    {read_power, GT_GPU_POWER},
    {read_memory_power, GT_GPU_MEMORY_POWER},
    {read_memory, GT_GPU_RAM},
    {read_utilization, GT_GPU_UTILIZATION},
    {read_video, GT_GPU_ENCODER},
    {read_video, GT_GPU_DECODER},
    {read_temperature, GT_GPU_TEMPERATURE},
    {read_clock, GT_GPU_CLOCK},
    {read_clock, GT_GPU_MEMORY_CLOCK},
    {read_throttle, GT_GPU_THROTTLE},
};

/* Each reading of all devices before the next one: their energy is then of nearly the same moment. */
void gt_nvml_read(struct nvml *nvml)
{
    for (size_t k = 0; k < nvml->gpu_count; k++)
        if (!nvml->gpu[k].gpu.is_asleep)
            gt_values_clear(nvml->gpu[k].gpu.value);
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        for (size_t k = 0; k < nvml->gpu_count; k++) {
            struct nvml_gpu *gpu = &nvml->gpu[k];
            bool is_its_own = gpu->parent < 0 || readings[i].read == read_memory; /* slices have nothing else */
            if (!gt_nvml_can_ask(gpu) || gpu->unsupported & 1u << i || !is_its_own)
                continue;
            int result = readings[i].read(nvml, gpu, readings[i].metric);
            if (result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND)
                gpu->unsupported |= 1u << i;
            else if (gt_nvml_lost(gpu, result))
                gt_values_clear(gpu->gpu.value);
        }
    for (size_t k = 0; k < nvml->gpu_count; k++) {
        struct gt_gpu_base *gpu = &nvml->gpu[k].gpu;
        if (nvml->gpu[k].parent < 0 && gt_nvml_can_ask(&nvml->gpu[k]))
            gpu->value[GT_GPU_ENERGY] = gt_gpu_energy(gpu, gt_clock_monotonic(nvml->clock), gpu->value[GT_GPU_ENERGY],
                                                      gpu->value[GT_GPU_POWER]);
    }
}

static unsigned long long *seen_of(struct nvml_gpu *gpu, int which)
{
    return which == NVML_SAMPLES_POWER ? &gpu->seen_power : &gpu->seen_utilization;
}

static int ask_samples(struct nvml *nvml, struct nvml_gpu *gpu, int which, unsigned *count)
{
    nvml->sample_type = NVML_UNSIGNED;
    return NVML_CALL(samples, gpu->handle, which, *seen_of(gpu, which), &nvml->sample_type, count,
                     (void *)nvml->buffer);
}

/* Returns the largest value of the driver's ring that is newer than those seen before; NaN when there is none. */
static double highest_sample(struct nvml *nvml, struct nvml_gpu *gpu, int which)
{
    unsigned count = 0;
    unsigned long long *seen = seen_of(gpu, which);
    int result = gt_nvml_list(nvml, gpu, which, sizeof(struct nvml_sample), &count, ask_samples);
    double highest = NAN;
    unsigned long long after = *seen;
    for (unsigned i = 0; result == NVML_SUCCESS && i < count; i++) {
        struct nvml_sample sample;
        memcpy(&sample, nvml->buffer + i * sizeof sample, sizeof sample);
        if (sample.time <= after)
            continue;
        highest = fmax(highest, number_of(&sample.value, nvml->sample_type));
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
    double utilization = highest_sample(nvml, gpu, NVML_SAMPLES_UTILIZATION);
    double power = highest_sample(nvml, gpu, NVML_SAMPLES_POWER);
    gpu->gpu.value[GT_GPU_UTILIZATION_PEAK] = utilization <= 100 ? utilization / 100 : NAN;
    gpu->gpu.value[GT_GPU_POWER_PEAK] = power / 1e3;
}

/* ---- Health --------------------------------------------------------------------------------------------------------- */

/* What the driver counts of a board's errors: fields of nvmlDeviceGetFieldValues in one call, older functions where a driver has none,
 * and events for XIDs, of the NVML API reference. XIDs: docs.nvidia.com/deploy/xid-errors. Errors of programs are among them. */
static const int64_t HEALTH_NS = 60 * GT_SECOND;
enum { MOST_EVENTS = 256 };

static const struct {
    unsigned field;
    enum gt_metric_id metric;
} fields[] = {
    {NVML_FIELD_ECC_CORRECTED, GT_GPU_ECC_CORRECTED},
    {NVML_FIELD_ECC_UNCORRECTED, GT_GPU_ECC_UNCORRECTED},
    {NVML_FIELD_ECC_CORRECTED_TOTAL, GT_GPU_ECC_CORRECTED_TOTAL},
    {NVML_FIELD_ECC_UNCORRECTED_TOTAL, GT_GPU_ECC_UNCORRECTED_TOTAL},
    {NVML_FIELD_REMAPPED_CORRECTABLE, GT_GPU_REMAPPED_ROWS},
    {NVML_FIELD_REMAPPED_UNCORRECTABLE, GT_GPU_REMAPPED_ROWS},
    {NVML_FIELD_REMAP_PENDING, GT_GPU_REMAP_PENDING},
    {NVML_FIELD_REMAP_FAILED, GT_GPU_REMAP_FAILED},
    {NVML_FIELD_PCIE_REPLAYS, GT_GPU_PCIE_REPLAYS},
    {NVML_FIELD_LINK_FLIT_ERRORS, GT_GPU_NVLINK_ERRORS},
    {NVML_FIELD_LINK_DATA_ERRORS, GT_GPU_NVLINK_ERRORS},
    {NVML_FIELD_LINK_REPLAYS, GT_GPU_NVLINK_ERRORS},
    {NVML_FIELD_LINK_RECOVERIES, GT_GPU_NVLINK_ERRORS},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static double *health(struct nvml_gpu *gpu, enum gt_metric_id metric)
{
    return &gpu->health[metric - GT_GPU_ECC_CORRECTED];
}

static void read_fields(struct nvml *nvml, struct nvml_gpu *gpu)
{
    struct nvml_field value[FIELDS];
    for (int i = 0; i < FIELDS; i++)
        value[i] = (struct nvml_field){.field = fields[i].field, .result = NVML_UNKNOWN};
    if (NVML_CALL(fields, gpu->handle, FIELDS, value) != NVML_SUCCESS)
        return;
    for (int i = 0; i < FIELDS; i++)
        if (value[i].result == NVML_SUCCESS)
            gt_add_known(health(gpu, fields[i].metric), number_of(&value[i].value, value[i].type));
}

static void read_ecc(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric, int error, int counter)
{
    unsigned long long count;
    if (isnan(*health(gpu, metric)) && NVML_CALL(ecc_errors, gpu->handle, error, counter, &count) == NVML_SUCCESS)
        *health(gpu, metric) = (double)count;
}

/* Counters that no field has. */
static void read_functions(struct nvml *nvml, struct nvml_gpu *gpu)
{
    unsigned correctable, uncorrectable, is_pending, has_failed, replays;
    read_ecc(nvml, gpu, GT_GPU_ECC_CORRECTED, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE);
    read_ecc(nvml, gpu, GT_GPU_ECC_UNCORRECTED, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE);
    read_ecc(nvml, gpu, GT_GPU_ECC_CORRECTED_TOTAL, NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE);
    read_ecc(nvml, gpu, GT_GPU_ECC_UNCORRECTED_TOTAL, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE);
    if (isnan(*health(gpu, GT_GPU_REMAPPED_ROWS)) &&
        NVML_CALL(remapped_rows, gpu->handle, &correctable, &uncorrectable, &is_pending, &has_failed) == NVML_SUCCESS) {
        *health(gpu, GT_GPU_REMAPPED_ROWS) = (double)correctable + uncorrectable;
        *health(gpu, GT_GPU_REMAP_PENDING) = is_pending != 0;
        *health(gpu, GT_GPU_REMAP_FAILED) = has_failed != 0;
    }
    if (isnan(*health(gpu, GT_GPU_PCIE_REPLAYS)) && NVML_CALL(pcie_replays, gpu->handle, &replays) == NVML_SUCCESS)
        *health(gpu, GT_GPU_PCIE_REPLAYS) = replays;
}

/* A board whose driver reports XIDs has had none yet. */
static void register_events(struct nvml *nvml, struct nvml_gpu *gpu)
{
    bool can_wait = nvml->call.events_register && nvml->call.events_wait && nvml->call.events_free;
    if (gpu->was_registered)
        return;
    gpu->was_registered = true;
    if (!nvml->events && (!can_wait || NVML_CALL(events_new, &nvml->events) != NVML_SUCCESS))
        nvml->events = NULL;
    else if (nvml->call.events_register(gpu->handle, NVML_EVENT_XID, nvml->events) == NVML_SUCCESS)
        *health(gpu, GT_GPU_XIDS) = *health(gpu, GT_GPU_XID) = 0;
}

/* Those that came since the last time; nothing is waited for. */
static void read_events(struct nvml *nvml)
{
    struct nvml_event event = {0};
    for (int k = 0; nvml->events && k < MOST_EVENTS; k++) {
        if (nvml->call.events_wait(nvml->events, &event, 0) != NVML_SUCCESS)
            return;
        for (size_t i = 0; i < nvml->gpu_count; i++) {
            struct nvml_gpu *gpu = &nvml->gpu[i];
            if (gpu->handle != event.device || event.kind != NVML_EVENT_XID)
                continue;
            *health(gpu, GT_GPU_XIDS) += 1;
            double *last = health(gpu, GT_GPU_XID), number = (double)event.number;
            if (!(*last > 0) || gt_xid_is_of_program(*last) || !gt_xid_is_of_program(number))
                *last = number; /* the programs of a GPU that fails get errors, too */
        }
    }
}

/* Slices have no counters of their own, and boards that sleep are not asked. */
void gt_nvml_read_health(struct nvml *nvml, bool is_last, bool is_new)
{
    int64_t now_ns = gt_clock_monotonic(nvml->clock);
    bool is_first = !nvml->health_ns, is_due = is_first || is_last || now_ns >= nvml->health_ns;
    for (size_t i = 0; is_first && i < nvml->gpu_count; i++)
        for (int k = 0; k < NVML_HEALTH; k++)
            nvml->gpu[i].health[k] = NAN;
    if (is_due)
        nvml->health_ns = now_ns + HEALTH_NS;
    if (is_due || is_new)
        read_events(nvml);
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        if (is_due && gt_nvml_can_ask(gpu) && gpu->parent < 0) {
            for (int metric = GT_GPU_ECC_CORRECTED; metric < GT_GPU_XIDS; metric++)
                *health(gpu, metric) = NAN;
            register_events(nvml, gpu);
            read_fields(nvml, gpu);
            read_functions(nvml, gpu);
        }
        for (int metric = GT_GPU_ECC_CORRECTED; metric <= GT_GPU_XID; metric++)
            gpu->gpu.value[metric] = *health(gpu, metric);
    }
}

static const struct {
    enum gt_metric_id metric;
    const char *name;
} parts[] = {
    {GT_GPU_ECC_UNCORRECTED, "ECC errors"},
    {GT_GPU_REMAPPED_ROWS, "remapped rows"},
    {GT_GPU_PCIE_REPLAYS, "PCIe replays"},
    {GT_GPU_NVLINK_ERRORS, "NVLink errors"},
    {GT_GPU_XIDS, "XIDs"},
};

void gt_nvml_survey_health(void *state, struct gt_availability *ret)
{
    enum { PARTS = sizeof parts / sizeof *parts };
    struct nvml *nvml = state;
    const char *names[PARTS];
    bool is_counted[PARTS] = {false};
    if (nvml && !nvml->health_ns)
        gt_nvml_read_health(nvml, false, false);
    for (size_t part = 0; part < PARTS; part++) {
        names[part] = parts[part].name;
        for (size_t i = 0; nvml && i < nvml->gpu_count; i++)
            is_counted[part] |= !isnan(*health(&nvml->gpu[i], parts[part].metric));
    }
    gt_gpu_survey_errors(ret, "counters of errors of the NVIDIA driver", names, is_counted, PARTS);
}
