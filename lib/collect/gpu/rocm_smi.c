#include "collect/gpu/amd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ROCm SMI: the older library, for machines that have no AMD SMI. */

#define OPTIONAL(member, symbol) GT_SYMBOL(rsmi_functions, member, symbol, false)
#define REQUIRED(member, symbol) GT_SYMBOL(rsmi_functions, member, symbol, true)

static const struct gt_symbol symbols[] = {
    REQUIRED(init, "rsmi_init"),
    OPTIONAL(shutdown, "rsmi_shut_down"),
    REQUIRED(count, "rsmi_num_monitor_devices"),
    OPTIONAL(name, "rsmi_dev_name_get"),
    OPTIONAL(unique_id, "rsmi_dev_unique_id_get"),
    OPTIONAL(pci, "rsmi_dev_pci_id_get"),
    OPTIONAL(memory_total, "rsmi_dev_memory_total_get"),
    OPTIONAL(memory_usage, "rsmi_dev_memory_usage_get"),
    OPTIONAL(busy, "rsmi_dev_busy_percent_get"),
    OPTIONAL(memory_busy, "rsmi_dev_memory_busy_percent_get"),
    OPTIONAL(temperature, "rsmi_dev_temp_metric_get"),
    OPTIONAL(clock, "rsmi_dev_gpu_clk_freq_get"),
    OPTIONAL(power, "rsmi_dev_power_get"),
    OPTIONAL(power_average, "rsmi_dev_power_ave_get"),
    OPTIONAL(energy, "rsmi_dev_energy_count_get"),
    OPTIONAL(process, "rsmi_compute_process_info_by_device_get"),
    OPTIONAL(errors, "rsmi_dev_ecc_count_get"),
    OPTIONAL(replays, "rsmi_dev_pci_replay_counter_get"),
};

static const char *const files[] = {"librocm_smi64.so",
                                    "librocm_smi64.so.7",
                                    "librocm_smi64.so.6",
                                    "librocm_smi64.so.5",
                                    "/opt/rocm/lib/librocm_smi64.so",
                                    NULL};

static int start(struct amd *amd)
{
    return amd->rsmi.init(0);
}

static void stop(struct amd *amd)
{
    if (amd->rsmi.shutdown)
        amd->rsmi.shutdown();
}

static void describe_device(const struct amd *amd, const struct amd_card *card, struct gt_device *device)
{
    uint64_t bdf, id, bytes;
    uint32_t number = card->number;
    if (amd->rsmi.name)
        amd->rsmi.name(number, device->name, sizeof device->name);
    if (amd->rsmi.pci && amd->rsmi.pci(number, &bdf) == AMD_SUCCESS)
        gt_pci_name(device->pci, (unsigned)(bdf >> 32), (unsigned)(bdf >> 8), (unsigned)(bdf >> 3), (unsigned)bdf);
    if (amd->rsmi.unique_id && amd->rsmi.unique_id(number, &id) == AMD_SUCCESS && id != 0)
        snprintf(device->uuid, sizeof device->uuid, "GPU-%016llx", (unsigned long long)id);
    if (amd->rsmi.memory_total && amd->rsmi.memory_total(number, RSMI_MEMORY_VRAM, &bytes) == AMD_SUCCESS && bytes > 0)
        device->memory = (double)bytes;
}

static int list(struct amd *amd, struct gt_frame *frame)
{
    enum { MOST_DEVICES = 256 };
    uint32_t count = 0;
    if (amd->rsmi.count(&count) != AMD_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count && i < MOST_DEVICES; i++) {
        struct amd_card *card = gt_amd_add_card(amd, frame);
        if (!card)
            return -ENOMEM;
        card->number = i;
        describe_device(amd, card, &frame->device[card->device]);
    }
    return 0;
}

static double read_watts(const struct amd *amd, uint32_t number)
{
    uint64_t microwatts;
    int type;
    if (amd->rsmi.power && amd->rsmi.power(number, &microwatts, &type) == AMD_SUCCESS)
        return (double)microwatts / 1e6;
    if (amd->rsmi.power_average && amd->rsmi.power_average(number, 0, &microwatts) == AMD_SUCCESS)
        return (double)microwatts / 1e6;
    return NAN;
}

static double read_celsius(const struct amd *amd, uint32_t number)
{
    int64_t millicelsius;
    for (uint32_t sensor = RSMI_TEMPERATURE_EDGE; amd->rsmi.temperature && sensor <= RSMI_TEMPERATURE_JUNCTION;
         sensor++)
        if (amd->rsmi.temperature(number, sensor, RSMI_TEMPERATURE_CURRENT, &millicelsius) == AMD_SUCCESS)
            return (double)millicelsius / 1e3;
    return NAN;
}

/* The list of frequencies is (count, current, frequency[32]) in older releases; since ROCm 6 a flag of one byte stands
 * before it, and after the flag three bytes that nobody writes. */
static double read_clock(const struct amd *amd, uint32_t number, int type)
{
    enum { MOST = 33 };
    static const double least = 1e6, most = 1e10;
    unsigned char list[1024];
    memset(list, GT_ROW_PATTERN, sizeof list);
    if (!amd->rsmi.clock || amd->rsmi.clock(number, type, list) != AMD_SUCCESS)
        return NAN;
    bool has_flag = list[1] == GT_ROW_PATTERN || gt_row_u32(list, 0) <= 1;
    uint32_t count = gt_row_u32(list, has_flag ? 4 : 0), current = gt_row_u32(list, has_flag ? 8 : 4);
    if (count > MOST || current >= count)
        return NAN;
    double hertz = (double)gt_row_u64(list, (has_flag ? 16 : 8) + current * sizeof(uint64_t));
    return hertz >= least && hertz <= most ? hertz : NAN;
}

static void read_card(struct amd *amd, struct amd_card *card, struct amd_reading *reading)
{
    uint32_t number = card->number, percent = 0;
    uint64_t bytes, count, time_ns;
    float unit;
    int result = amd->rsmi.busy ? amd->rsmi.busy(number, &percent) : -1;
    reading->busy = gt_amd_percent(result, percent);
    result = amd->rsmi.memory_busy ? amd->rsmi.memory_busy(number, &percent) : -1;
    reading->memory_busy = gt_amd_percent(result, percent);
    reading->watts = read_watts(amd, number);
    reading->celsius = read_celsius(amd, number);
    reading->clock = read_clock(amd, number, RSMI_CLOCK_SYSTEM);
    reading->memory_clock = read_clock(amd, number, RSMI_CLOCK_MEMORY);
    if (amd->rsmi.memory_usage && amd->rsmi.memory_usage(number, RSMI_MEMORY_VRAM, &bytes) == AMD_SUCCESS)
        reading->memory = (double)bytes;
    if (amd->rsmi.energy && amd->rsmi.energy(number, &count, &unit, &time_ns) == AMD_SUCCESS)
        reading->joules = (double)count * (double)unit / 1e6;
}

/* The library's list of processes has no devices, so each process of the job is asked for. */
static int read_rows(struct amd *amd, struct amd_card *card, const struct gt_frame *frame, struct amd_rows *rows)
{
    int status = 0;
    for (size_t i = 0; amd->rsmi.process && i < frame->process_count && status == 0; i++) {
        struct rsmi_process process = {0};
        pid_t pid = frame->process[i]->pid;
        if (amd->rsmi.process((uint32_t)pid, card->number, &process) == AMD_SUCCESS && process.pid == (uint32_t)pid)
            status = gt_amd_add_row(rows,
                                    (struct amd_row){.id.driver_pid = process.pid, .bytes = (double)process.vram});
    }
    return status;
}

static int read_errors(struct amd *amd, const struct amd_card *card, uint64_t block, struct amd_errors *ret)
{
    return amd->rsmi.errors ? amd->rsmi.errors(card->number, block, ret) : -1;
}

static int read_replays(struct amd *amd, const struct amd_card *card, uint64_t *ret)
{
    return amd->rsmi.replays ? amd->rsmi.replays(card->number, ret) : -1;
}

const struct amd_library gt_rsmi_library = {
    .name = "rocm_smi",
    .title = "ROCm SMI",
    .files = files,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .functions = offsetof(struct amd, rsmi),
    .denied = RSMI_PERMISSION,
    .start = start,
    .list = list,
    .read = read_card,
    .read_rows = read_rows,
    .errors = read_errors,
    .replays = read_replays,
    .stop = stop,
};
