#include "base/grow.h"
#include "collect/gpu/amd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* AMD SMI: the library of ROCm 6 and later. */

enum { MOST_SOCKETS = 64, MOST_PROCESSORS = 64, FIRST_ROWS = 64, MOST_ROWS = 1 << 16, LARGEST_ROW = 1024 };

#define OPTIONAL(member, symbol) GT_SYMBOL(amdsmi_functions, member, symbol, false)
#define REQUIRED(member, symbol) GT_SYMBOL(amdsmi_functions, member, symbol, true)

static const struct gt_symbol symbols[] = {
    REQUIRED(init, "amdsmi_init"),
    OPTIONAL(shutdown, "amdsmi_shut_down"),
    OPTIONAL(version, "amdsmi_get_lib_version"),
    REQUIRED(sockets, "amdsmi_get_socket_handles"),
    REQUIRED(processors, "amdsmi_get_processor_handles"),
    OPTIONAL(type, "amdsmi_get_processor_type"),
    OPTIONAL(bdf, "amdsmi_get_gpu_device_bdf"),
    OPTIONAL(uuid, "amdsmi_get_gpu_device_uuid"),
    OPTIONAL(asic, "amdsmi_get_gpu_asic_info"),
    OPTIONAL(memory_total, "amdsmi_get_gpu_memory_total"),
    OPTIONAL(memory_usage, "amdsmi_get_gpu_memory_usage"),
    OPTIONAL(activity, "amdsmi_get_gpu_activity"),
    OPTIONAL(temperature, "amdsmi_get_temp_metric"),
    OPTIONAL(clock, "amdsmi_get_clock_info"),
    OPTIONAL(power, "amdsmi_get_power_info"),
    OPTIONAL(energy, "amdsmi_get_energy_count"),
    OPTIONAL(processes, "amdsmi_get_gpu_process_list"),
    OPTIONAL(errors, "amdsmi_get_gpu_ecc_count"),
    OPTIONAL(replays, "amdsmi_get_gpu_pci_replay_counter"),
};

static const char *const files[] = {
    "libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "/opt/rocm/lib/libamd_smi.so", NULL};

/* Rows of the process list: name, pid, memory, time of engines and memory by kind (64 bytes each), name of the container,
 * and a tail. The names have 32, 64 or 256 characters, the tail 4 words or 12, by release. */
#define ROW(name, tail)                                \
    {                                                  \
        2 * (name) + 144 + (tail), (name), (name) + 96 \
    }
static const struct gt_row_layout layouts[] = {ROW(32, 16), ROW(32, 48),  ROW(64, 16),
                                               ROW(64, 48), ROW(256, 16), ROW(256, 48)};

static int start(struct amd *amd)
{
    struct amdsmi_version version = {0};
    int result = amd->amdsmi.init(AMDSMI_INIT_GPUS);
    if (result == AMD_SUCCESS && amd->amdsmi.version && amd->amdsmi.version(&version) == AMD_SUCCESS)
        amd->amdsmi_version = version.first == 23 && version.second >= 4 ? 24 : version.first;
    return result;
}

static void stop(struct amd *amd)
{
    if (amd->amdsmi.shutdown)
        amd->amdsmi.shutdown();
}

static void describe_device(const struct amd *amd, const struct amd_card *card, struct gt_device *device)
{
    char asic[4096] = "";
    uint64_t bdf, bytes;
    unsigned length = sizeof device->uuid;
    if (amd->amdsmi.asic && amd->amdsmi.asic(card->handle, asic) == AMD_SUCCESS)
        snprintf(device->name, sizeof device->name, "%.95s", asic);
    if (amd->amdsmi.bdf && amd->amdsmi.bdf(card->handle, &bdf) == AMD_SUCCESS)
        gt_pci_name(device->pci, (unsigned)(bdf >> 16), (unsigned)(bdf >> 8), (unsigned)(bdf >> 3), (unsigned)bdf);
    if (!amd->amdsmi.uuid || amd->amdsmi.uuid(card->handle, &length, device->uuid) != AMD_SUCCESS)
        device->uuid[0] = '\0';
    if (amd->amdsmi.memory_total && amd->amdsmi.memory_total(card->handle, AMDSMI_MEMORY_VRAM, &bytes) == AMD_SUCCESS &&
        bytes > 0)
        device->memory = (double)bytes;
}

static int list_socket(struct amd *amd, void *socket, struct gt_frame *frame)
{
    void *processor[MOST_PROCESSORS];
    uint32_t count = MOST_PROCESSORS;
    if (amd->amdsmi.processors(socket, &count, processor) != AMD_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count && i < MOST_PROCESSORS; i++) {
        int type = AMDSMI_TYPE_GPU;
        if (amd->amdsmi.type)
            amd->amdsmi.type(processor[i], &type);
        if (type != AMDSMI_TYPE_GPU && type != AMDSMI_TYPE_APU)
            continue;
        struct amd_card *card = gt_amd_add_card(amd, frame);
        if (!card)
            return -ENOMEM;
        card->handle = processor[i];
        card->is_apu = type == AMDSMI_TYPE_APU;
        describe_device(amd, card, &frame->device[card->device]);
    }
    return 0;
}

static int list(struct amd *amd, struct gt_frame *frame)
{
    void *socket[MOST_SOCKETS];
    uint32_t count = MOST_SOCKETS;
    int status = 0;
    if (amd->amdsmi.sockets(&count, socket) != AMD_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count && i < MOST_SOCKETS && status == 0; i++)
        status = list_socket(amd, socket[i], frame);
    return status;
}

static double available(uint32_t value)
{
    return value == AMDSMI_NOT_AVAILABLE || value == AMDSMI_NOT_AVAILABLE_16 ? NAN : value;
}

/* Current power is for newer cards, average power for older ones; either is "not available" on the others. */
static double read_watts(const struct amd *amd, const struct amd_card *card)
{
    static const struct {
        unsigned since;
        int current, average; /* offsets, negative: not there */
    } places[] = {{25, 8, 12}, {24, 0, 4}, {0, -1, 0}};
    unsigned char info[1024];
    size_t place = 0;
    memset(info, 0xff, sizeof info);
    if (!amd->amdsmi.power || amd->amdsmi.power(card->handle, info) != AMD_SUCCESS)
        return NAN;
    while (amd->amdsmi_version < places[place].since)
        place++;
    double watts = places[place].current < 0 ? NAN : available(gt_row_u32(info, (size_t)places[place].current));
    return isnan(watts) ? available(gt_row_u32(info, (size_t)places[place].average)) : watts;
}

static double read_celsius(const struct amd *amd, const struct amd_card *card)
{
    int64_t celsius;
    for (int sensor = AMDSMI_TEMPERATURE_EDGE; amd->amdsmi.temperature && sensor <= AMDSMI_TEMPERATURE_HOTSPOT;
         sensor++)
        if (amd->amdsmi.temperature(card->handle, sensor, AMDSMI_TEMPERATURE_CURRENT, &celsius) == AMD_SUCCESS)
            return available((uint32_t)celsius);
    return NAN;
}

static double read_clock(const struct amd *amd, const struct amd_card *card, int type)
{
    struct amdsmi_clock clock = {.current = AMDSMI_NOT_AVAILABLE};
    if (!amd->amdsmi.clock || amd->amdsmi.clock(card->handle, type, &clock) != AMD_SUCCESS)
        return NAN;
    return available(clock.current) * 1e6;
}

static void read_card(struct amd *amd, struct amd_card *card, struct amd_reading *reading)
{
    struct amdsmi_activity activity = {0};
    uint64_t bytes, count, time_ns;
    float unit;
    int result = amd->amdsmi.activity ? amd->amdsmi.activity(card->handle, &activity) : -1;
    reading->busy = gt_amd_percent(result, activity.graphics);
    reading->memory_busy = gt_amd_percent(result, activity.memory);
    reading->watts = read_watts(amd, card);
    reading->celsius = read_celsius(amd, card);
    reading->clock = read_clock(amd, card, AMDSMI_CLOCK_GRAPHICS);
    reading->memory_clock = read_clock(amd, card, AMDSMI_CLOCK_MEMORY);
    if (amd->amdsmi.memory_usage && amd->amdsmi.memory_usage(card->handle, AMDSMI_MEMORY_VRAM, &bytes) == AMD_SUCCESS)
        reading->memory = (double)bytes;
    if (amd->amdsmi.energy && amd->amdsmi.energy(card->handle, &count, &unit, &time_ns) == AMD_SUCCESS)
        reading->joules = (double)count * (double)unit / 1e6;
}

static int add_rows(struct amd *amd, uint32_t count, const struct gt_row_layout *layout, struct amd_rows *rows)
{
    int status = 0;
    for (uint32_t i = 0; i < count && status == 0; i++) {
        const unsigned char *at = amd->buffer + i * layout->size;
        struct amd_row row = {.id.driver_pid = gt_row_u32(at, layout->pid),
                              .bytes = (double)gt_row_u64(at, layout->bytes),
                              .graphics_ns = gt_row_u64(at, layout->pid + 16),
                              .encoder_ns = gt_row_u64(at, layout->pid + 24)};
        status = gt_amd_add_row(rows, row);
    }
    return status;
}

static int ask_rows(struct amd *amd, struct amd_card *card, uint32_t *ret_count)
{
    int result = AMDSMI_OUT_OF_RESOURCES;
    size_t rows = amd->buffer_size ? amd->buffer_size / LARGEST_ROW : FIRST_ROWS;
    for (; rows <= MOST_ROWS && result == AMDSMI_OUT_OF_RESOURCES; rows *= 2) {
        if (GT_GROW_TO(amd->buffer, amd->buffer_size, rows * LARGEST_ROW) < 0)
            return -ENOMEM;
        memset(amd->buffer, GT_ROW_PATTERN, amd->buffer_size);
        *ret_count = (uint32_t)rows;
        result = amd->amdsmi.processes(card->handle, ret_count, amd->buffer);
        if (result == AMD_SUCCESS && *ret_count > rows)
            result = AMDSMI_OUT_OF_RESOURCES;
    }
    return result;
}

static int read_rows(struct amd *amd, struct amd_card *card, const struct gt_frame *frame, struct amd_rows *rows)
{
    enum { FIRST_WITH_ROWS = 24, SLACK = 48 };
    uint32_t count = 0;
    (void)frame;
    if (!amd->amdsmi.processes || amd->amdsmi_version < FIRST_WITH_ROWS)
        return 0;
    int result = ask_rows(amd, card, &count);
    if (result == -ENOMEM)
        return result;
    if (result != AMD_SUCCESS || count == 0)
        return 0;
    const struct gt_row_layout *layout = gt_row_layout_find(amd->buffer, amd->buffer_size, count, SLACK, layouts,
                                                            sizeof layouts / sizeof *layouts);
    amd->has_unknown_rows |= !layout;
    return layout ? add_rows(amd, count, layout, rows) : 0;
}

static int read_errors(struct amd *amd, const struct amd_card *card, uint64_t block, struct amd_errors *ret)
{
    return amd->amdsmi.errors ? amd->amdsmi.errors(card->handle, block, ret) : -1;
}

static int read_replays(struct amd *amd, const struct amd_card *card, uint64_t *ret)
{
    return amd->amdsmi.replays ? amd->amdsmi.replays(card->handle, ret) : -1;
}

const struct amd_library gt_amdsmi_library = {
    .name = "amdsmi",
    .title = "AMD SMI",
    .files = files,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .functions = offsetof(struct amd, amdsmi),
    .denied = AMDSMI_NO_PERMISSION,
    .start = start,
    .list = list,
    .read = read_card,
    .read_rows = read_rows,
    .errors = read_errors,
    .replays = read_replays,
    .stop = stop,
};
