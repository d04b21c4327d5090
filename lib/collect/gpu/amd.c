/* The collector "amd": AMD GPUs by AMD SMI, the library of ROCm 6 and later. ROCm SMI, its predecessor, is not read.
 *
 * Facts from the reference pages of the library (rocm.docs.amd.com, ROCm 5.6 to 7.13) and checked against the structures of the
 * amdsmi package 7.0.2. They change from release to release, so only fields that kept their place, or whose place can be
 * found out, are used, and the library always writes into a larger buffer of ours. */
#include "collect/gpu/gpu.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/os/library.h"
#include "base/number.h"

enum { AMD_SUCCESS = 0, AMD_MISSING = -1 };

/* Functions that a release lacks are missing. */
#define CALL(function, ...) (amd->call.function ? amd->call.function(__VA_ARGS__) : AMD_MISSING)

enum {
    AMDSMI_INIT_GPUS = 2,
    AMDSMI_NO_PERMISSION = 10,
    AMDSMI_OUT_OF_RESOURCES = 15, /* the caller's array is too small */
    AMDSMI_TYPE_GPU = 1,
    AMDSMI_TYPE_APU = 6,
    AMDSMI_MEMORY_VRAM = 0,
    AMDSMI_CLOCK_GRAPHICS = 0,
    AMDSMI_CLOCK_MEMORY = 4,
    AMDSMI_TEMPERATURE_EDGE = 0,
    AMDSMI_TEMPERATURE_HOTSPOT = 1,
    AMDSMI_TEMPERATURE_CURRENT = 0,
};

/* "Not available" in a field of 32 bits; smaller fields of the firmware are widened. */
#define AMDSMI_NOT_AVAILABLE UINT32_MAX
#define AMDSMI_NOT_AVAILABLE_16 UINT16_MAX

struct amdsmi_activity {
    uint32_t graphics, memory, media; /* percent */
    uint32_t reserved[61];
};

struct amdsmi_clock {
    uint32_t current; /* MHz */
    uint32_t reserved[63];
};

/* The first word is 23 for ROCm 5.7 and 6.0.0, 24 for 6.0.2 to 6.3, 25 for 6.4, 26 and more for 7: once the year, now the major
 * version. The second word was the major version then, 4 and more since ROCm 6. */
struct amdsmi_version {
    uint32_t first, second;
    uint32_t reserved[30];
};

/* Releases add fields behind. */
struct amd_errors {
    uint64_t corrected, uncorrected;
    uint64_t reserved[14];
};

struct amdsmi_functions {
#define AMDSMI(member, symbol, is_required, ...) int (*member)(__VA_ARGS__);
#include "collect/gpu/amd.def"
#undef AMDSMI
};

struct amd_row {
    struct gt_pid_entry id;
    double bytes;
    uint64_t graphics_ns, encoder_ns; /* engine time so far, 0: not counted */
    double graphics, encoder;         /* ratio over the last interval, NaN unknown */
};

struct amd_rows {
    struct amd_row *row;
    size_t count, capacity;
};

enum { AMD_ECC_CORRECTED, AMD_ECC_UNCORRECTED, AMD_XGMI_ERRORS, AMD_PCIE_REPLAYS, AMD_HEALTH };
enum { AMD_RESIDENCIES = 5 };

struct amd_card {
    void *handle;
    struct gt_gpu_base gpu;
    struct amd_rows rows;
    int64_t rows_ns; /* when they were read */
    double health[AMD_HEALTH];
    uint64_t uncounted;                  /* blocks of the chip without a counter of errors */
    uint32_t residency[AMD_RESIDENCIES]; /* as read last; UINT32_MAX: not known */
};

struct amd {
    struct gt_library library;
    struct amdsmi_functions call;
    unsigned version;
    bool has_unknown_rows;
    const struct gt_clock *clock;
    struct amd_card *card;
    size_t card_count;
    struct gt_rate_limit values, lists;
    int64_t health_ns; /* when health is read next; 0: it has not been */
    struct gt_gpu_pids pids;
    unsigned char *buffer;
    size_t buffer_size;
};

/* ---- Cards -------------------------------------------------------------------------------------------------------- */

enum { MOST_SOCKETS = 64, MOST_PROCESSORS = 64, FIRST_ROWS = 64, MOST_ROWS = 1 << 16, LARGEST_ROW = 1024 };

static const struct gt_symbol symbols[] = {
#define AMDSMI(member, symbol, is_required, ...) GT_SYMBOL(amdsmi_functions, member, #symbol, is_required),
#include "collect/gpu/amd.def"
#undef AMDSMI
};

static const char *const files[] = {
    "libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24", "/opt/rocm/lib/libamd_smi.so", NULL};

static int add_card(struct amd *amd, void *handle, bool is_package, struct gt_snapshot *snapshot)
{
    char asic[4096] = "";
    uint64_t bdf, bytes;
    struct amd_card *card = GT_GROW_BY_ONE(amd->card, amd->card_count);
    struct gt_device *device = card ? gt_snapshot_device(snapshot) : NULL;
    if (!device)
        return -ENOMEM;
    unsigned length = sizeof device->uuid;
    *card = (struct amd_card){.handle = handle};
    gt_gpu_begin(&card->gpu, snapshot);
    /* The power of an APU is that of its package, cores included, which is not added to a value of the cores. */
    card->gpu.is_left_out = is_package && !gt_snapshot_claim(snapshot, GT_CPU_ENERGY, &gt_collector_amd);
    memset(card->residency, 0xff, sizeof card->residency);
    snprintf(device->brand, sizeof device->brand, "amd");
    device->index = (int)amd->card_count++;
    bool has_name = CALL(asic, handle, asic) == AMD_SUCCESS;
    snprintf(device->name, sizeof device->name, "%.95s", has_name ? asic : "AMD GPU");
    if (CALL(bdf, handle, &bdf) == AMD_SUCCESS)
        gt_pci_name(device->pci, (unsigned)(bdf >> 16), (unsigned)(bdf >> 8), (unsigned)(bdf >> 3), (unsigned)bdf);
    if (CALL(uuid, handle, &length, device->uuid) != AMD_SUCCESS || !device->uuid[0])
        snprintf(device->uuid, sizeof device->uuid, "pci-%s", device->pci);
    if (CALL(memory_total, handle, AMDSMI_MEMORY_VRAM, &bytes) == AMD_SUCCESS && bytes > 0)
        device->memory = (double)bytes;
    return 0;
}

static int list(struct amd *amd, struct gt_snapshot *snapshot)
{
    void *socket[MOST_SOCKETS], *processor[MOST_PROCESSORS];
    uint32_t sockets = MOST_SOCKETS;
    if (amd->call.sockets(&sockets, socket) != AMD_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < sockets && i < MOST_SOCKETS; i++) {
        uint32_t count = MOST_PROCESSORS;
        if (amd->call.processors(socket[i], &count, processor) != AMD_SUCCESS)
            continue;
        for (uint32_t k = 0; k < count && k < MOST_PROCESSORS; k++) {
            int type = AMDSMI_TYPE_GPU;
            CALL(type, processor[k], &type);
            if ((type == AMDSMI_TYPE_GPU || type == AMDSMI_TYPE_APU) &&
                add_card(amd, processor[k], type == AMDSMI_TYPE_APU, snapshot) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* ---- Values ------------------------------------------------------------------------------------------------------- */

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
    if (CALL(power, card->handle, info) != AMD_SUCCESS)
        return NAN;
    while (amd->version < places[place].since)
        place++;
    double watts = places[place].current < 0 ? NAN : available(gt_row_u32(info, (size_t)places[place].current));
    return isnan(watts) ? available(gt_row_u32(info, (size_t)places[place].average)) : watts;
}

static double read_celsius(const struct amd *amd, const struct amd_card *card)
{
    int64_t celsius;
    for (int sensor = AMDSMI_TEMPERATURE_EDGE; sensor <= AMDSMI_TEMPERATURE_HOTSPOT; sensor++)
        if (CALL(temperature, card->handle, sensor, AMDSMI_TEMPERATURE_CURRENT, &celsius) == AMD_SUCCESS)
            return available((uint32_t)celsius);
    return NAN;
}

static double read_clock(const struct amd *amd, const struct amd_card *card, int type)
{
    struct amdsmi_clock clock = {.current = AMDSMI_NOT_AVAILABLE};
    if (CALL(clock, card->handle, type, &clock) != AMD_SUCCESS)
        return NAN;
    return available(clock.current) * 1e6;
}

static double percent(int result, uint32_t value)
{
    return result == AMD_SUCCESS && value <= 100 ? value / 100.0 : NAN;
}

/* ---- Why the chip is held back ------------------------------------------------------------------------------------- */

enum { POWER = 1, HEAT = 2, HARDWARE = 4, OTHER = 8 }; /* of gpu_throttle */

/* Revision 1.3 has a word of bits. Since 1.6 there are counters of the time for which each cause held the chip back. */
static const struct revision {
    uint16_t size;
    uint8_t format, content;
    size_t bits;      /* offset; 0: it has counters */
    size_t residency; /* offset of the first counter */
} revisions[] = {{120, 1, 3, 112, 0}, {1664, 1, 6, 0, 36}, {2208, 1, 7, 0, 44}};

/* In the order of the file: the processor is hot (an outside signal), power, the socket, its regulators, its memory. */
static const unsigned causes[AMD_RESIDENCIES] = {HARDWARE, POWER, HEAT, HEAT, HEAT};

/* Cards for games have the bit of the hottest spot (36) set at any load, at their highest clock. */
static double from_bits(uint64_t bits)
{
    static const uint64_t power = 0xffffffffu, heat = 0xfffull << 32, hardware = 0xfull << 44, hot_spot = 1ull << 36;
    if (bits == UINT64_MAX)
        return NAN;
    return (bits & power ? POWER : 0) + (bits & heat & ~hot_spot ? HEAT : 0) + (bits & hardware ? HARDWARE : 0) +
           (bits & (~(power | heat | hardware) | hot_spot) ? OTHER : 0);
}

/* Those that rose since they were read before. */
static double from_residencies(struct amd_card *card, const unsigned char *first)
{
    unsigned reasons = 0;
    bool is_known = false;
    for (int i = 0; i < AMD_RESIDENCIES; i++) {
        uint32_t now = gt_row_u32(first, (size_t)i * sizeof now), before = card->residency[i];
        card->residency[i] = now;
        if (now == UINT32_MAX || before == UINT32_MAX)
            continue;
        is_known = true;
        reasons |= now != before ? causes[i] : 0;
    }
    return is_known ? reasons : NAN;
}

/* Returns the reasons for which the chip is held back, or was since they were last read, as gpu_throttle has them; NaN: not known.
 *
 * They are in the kernel's file "gpu_metrics", a structure whose first words are its size and revision (kgd_pp_interface.h of
 * Linux; the bits: SMU_THROTTLER_* in amdgpu_smu.h). The structures of the library differ by release. */
static double read_throttle(const struct amd *amd, struct amd_card *card, const char *pci)
{
    char path[80];
    unsigned char file[4096];
    snprintf(path, sizeof path, "sys/bus/pci/devices/%.15s/gpu_metrics", pci);
    ssize_t length = *pci ? gt_root_read(amd->pids.root, path, (char *)file, sizeof file) : -1;
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++) {
        const struct revision *revision = &revisions[i];
        if (length == revision->size && !memcmp(file, &revision->size, sizeof revision->size) &&
            revision->format == file[2] && revision->content == file[3])
            return revision->bits ? from_bits(gt_row_u64(file, revision->bits))
                                  : from_residencies(card, file + revision->residency);
    }
    return NAN;
}

/* ---- All values of a card ------------------------------------------------------------------------------------------ */

static void read_card(const struct amd *amd, struct amd_card *card, const char *pci)
{
    struct amdsmi_activity activity = {0};
    uint64_t bytes, count, time_ns;
    float unit;
    double *value = card->gpu.value, joules = NAN;
    int result = CALL(activity, card->handle, &activity);
    value[GT_GPU_UTILIZATION] = percent(result, activity.graphics);
    value[GT_GPU_MEMORY_UTILIZATION] = percent(result, activity.memory);
    value[GT_GPU_POWER] = read_watts(amd, card);
    value[GT_GPU_TEMPERATURE] = read_celsius(amd, card);
    value[GT_GPU_CLOCK] = read_clock(amd, card, AMDSMI_CLOCK_GRAPHICS);
    value[GT_GPU_MEMORY_CLOCK] = read_clock(amd, card, AMDSMI_CLOCK_MEMORY);
    bool has_memory = CALL(memory_usage, card->handle, AMDSMI_MEMORY_VRAM, &bytes) == AMD_SUCCESS;
    value[GT_GPU_RAM] = has_memory ? (double)bytes : NAN;
    if (CALL(energy, card->handle, &count, &unit, &time_ns) == AMD_SUCCESS)
        joules = (double)count * (double)unit / 1e6;
    if (joules == 0 && !(value[GT_GPU_POWER] > 0)) /* of the second die of a dual-die board: it has neither */
        joules = value[GT_GPU_POWER] = NAN;
    value[GT_GPU_ENERGY] = gt_gpu_energy(&card->gpu, gt_clock_monotonic(amd->clock), joules, value[GT_GPU_POWER]);
    value[GT_GPU_THROTTLE] = read_throttle(amd, card, pci);
}

/* Cards that sleep are not asked. */
static bool read_values(struct amd *amd, const struct gt_snapshot *snapshot)
{
    int64_t begin_ns = gt_clock_monotonic(amd->clock);
    bool is_due = gt_rate_limit_due(&amd->values, snapshot, begin_ns);
    for (size_t i = 0; i < amd->card_count; i++) {
        struct amd_card *card = &amd->card[i];
        const char *pci = snapshot->device[card->gpu.device].pci;
        if (gt_gpu_rest(&card->gpu, gt_pci_is_asleep(amd->pids.root, pci), gt_clock_monotonic(amd->clock)))
            card->rows.count = 0;
        else if (is_due)
            read_card(amd, card, pci);
    }
    if (is_due)
        gt_rate_limit_spent(&amd->values, begin_ns, gt_clock_monotonic(amd->clock));
    return is_due;
}

/* ---- Processes ------------------------------------------------------------------------------------------------------ */

/* Rows of the process list: name, pid, memory, time of engines and memory by kind (64 bytes each), name of the container,
 * and a tail. The names have 32, 64 or 256 characters, the tail 4 words or 12, by release. */
#define ROW(name, tail)                                \
    {                                                  \
        2 * (name) + 144 + (tail), (name), (name) + 96 \
    }
static const struct gt_row_layout layouts[] = {ROW(32, 16), ROW(32, 48),  ROW(64, 16),
                                               ROW(64, 48), ROW(256, 16), ROW(256, 48)};

static int add_rows(struct amd *amd, uint32_t count, const struct gt_row_layout *layout, struct amd_rows *rows)
{
    int status = 0;
    for (uint32_t i = 0; i < count && status == 0; i++) {
        const unsigned char *at = amd->buffer + i * layout->size;
        status = GT_APPEND(rows, row,
                           (struct amd_row){.id.driver_pid = gt_row_u32(at, layout->pid),
                                            .bytes = (double)gt_row_u64(at, layout->bytes),
                                            .graphics_ns = gt_row_u64(at, layout->pid + 16),
                                            .encoder_ns = gt_row_u64(at, layout->pid + 24),
                                            .graphics = NAN,
                                            .encoder = NAN});
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
        result = amd->call.processes(card->handle, ret_count, amd->buffer);
        if (result == AMD_SUCCESS && *ret_count > rows)
            result = AMDSMI_OUT_OF_RESOURCES;
    }
    return result;
}

static int read_rows(struct amd *amd, struct amd_card *card, struct amd_rows *rows)
{
    enum { FIRST_WITH_ROWS = 24, SLACK = 48 };
    uint32_t count = 0;
    if (!amd->call.processes || amd->version < FIRST_WITH_ROWS)
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

/* Engine time is not counted for compute queues: a total of 0 means unknown. */
static double engine_share(uint64_t now, uint64_t before, double seconds)
{
    if (now == 0 || now < before || seconds <= 0)
        return NAN;
    return fmin((double)(now - before) / 1e9 / seconds, 1);
}

static int read_card_rows(struct amd *amd, struct amd_card *card, const struct gt_snapshot *snapshot)
{
    struct amd_rows fresh = {0};
    int64_t now_ns = gt_clock_monotonic(amd->clock);
    double seconds = (double)(now_ns - card->rows_ns) / 1e9;
    int status = read_rows(amd, card, &fresh);
    for (size_t i = 0; i < fresh.count; i++) {
        struct amd_row *row = &fresh.row[i];
        const struct amd_row *old = card->rows.row, *end = old + card->rows.count;
        while (old < end && old->id.driver_pid != row->id.driver_pid)
            old++;
        if (old == end)
            continue;
        row->id.pid = old->id.pid;
        row->graphics = engine_share(row->graphics_ns, old->graphics_ns, seconds);
        row->encoder = engine_share(row->encoder_ns, old->encoder_ns, seconds);
    }
    gt_gpu_pids_resolve(&amd->pids, snapshot, NULL, fresh.row, fresh.count, sizeof *fresh.row);
    free(card->rows.row);
    card->rows = fresh;
    card->rows_ns = now_ns;
    return status;
}

static int read_lists(struct amd *amd, const struct gt_snapshot *snapshot)
{
    int64_t begin_ns = gt_clock_monotonic(amd->clock);
    int status = 0;
    if (!gt_rate_limit_due(&amd->lists, snapshot, begin_ns))
        return 0;
    for (size_t i = 0; i < amd->card_count && status == 0; i++)
        if (!amd->card[i].gpu.is_asleep)
            status = read_card_rows(amd, &amd->card[i], snapshot);
    gt_rate_limit_spent(&amd->lists, begin_ns, gt_clock_monotonic(amd->clock));
    return status;
}

/* ---- Health --------------------------------------------------------------------------------------------------------- */

/* Errors that the driver counts of each block of the chip (amdsmi_get_gpu_ecc_count: kernel documentation, "AMDGPU RAS
 * Support"), and packets sent again over PCI Express. They are read once a minute and at the end. */
static const int64_t HEALTH_NS = 60 * GT_SECOND;

/* Blocks are bits. */
enum { PCIE = 0x20, XGMI = 0x80, LAST = 0x40000 };

/* A block that a card does not count is asked for once. */
static void read_board(struct amd *amd, struct amd_card *card)
{
    uint64_t replays;
    for (int k = 0; k < AMD_HEALTH; k++)
        card->health[k] = NAN;
    for (uint64_t block = 1; block <= LAST; block <<= 1) {
        struct amd_errors errors = {0};
        if (block == PCIE || card->uncounted & block)
            continue;
        bool is_counted = CALL(errors, card->handle, block, &errors) == AMD_SUCCESS;
        card->uncounted |= is_counted ? 0 : block;
        if (is_counted) {
            gt_add_known(&card->health[block == XGMI ? AMD_XGMI_ERRORS : AMD_ECC_CORRECTED], (double)errors.corrected);
            gt_add_known(&card->health[block == XGMI ? AMD_XGMI_ERRORS : AMD_ECC_UNCORRECTED],
                         (double)errors.uncorrected);
        }
    }
    if (CALL(replays, card->handle, &replays) == AMD_SUCCESS)
        card->health[AMD_PCIE_REPLAYS] = (double)replays;
}

/* Cards that sleep are not asked, and keep what they had. */
static void read_health(struct amd *amd, bool is_last)
{
    static const enum gt_metric_id counters[AMD_HEALTH] = {GT_GPU_ECC_CORRECTED, GT_GPU_ECC_UNCORRECTED,
                                                           GT_GPU_XGMI_ERRORS, GT_GPU_PCIE_REPLAYS};
    int64_t now_ns = gt_clock_monotonic(amd->clock);
    bool is_first = !amd->health_ns, is_due = is_first || is_last || now_ns >= amd->health_ns;
    if (is_due)
        amd->health_ns = now_ns + HEALTH_NS;
    for (size_t i = 0; i < amd->card_count; i++) {
        struct amd_card *card = &amd->card[i];
        for (int k = 0; k < AMD_HEALTH && is_first; k++)
            card->health[k] = NAN;
        if (is_due && !card->gpu.is_asleep)
            read_board(amd, card);
        for (int k = 0; k < AMD_HEALTH; k++)
            card->gpu.value[counters[k]] = card->health[k];
    }
}

void gt_amd_survey_health(void *state, struct gt_availability *ret)
{
    static const char *const names[] = {"ECC errors", "XGMI errors", "PCIe replays"};
    static const int parts[] = {AMD_ECC_UNCORRECTED, AMD_XGMI_ERRORS, AMD_PCIE_REPLAYS};
    enum { PARTS = sizeof parts / sizeof *parts };
    struct amd *amd = state;
    bool is_counted[PARTS] = {false};
    if (amd && !amd->health_ns)
        read_health(amd, false);
    for (int part = 0; part < PARTS; part++)
        for (size_t i = 0; amd && i < amd->card_count; i++)
            is_counted[part] |= !isnan(amd->card[i].health[parts[part]]);
    gt_gpu_survey_errors(ret, "counters of errors of the AMD driver", names, is_counted, PARTS);
}

/* ---- The collector -------------------------------------------------------------------------------------------------- */

/* Seconds: an assumption, as for the counters of NVIDIA; AMD documents none. */
static const double REFRESH = 0.1;

static const enum gt_metric_id metrics[] = {
    GT_GPU_RAM,         GT_GPU_UTILIZATION,  GT_GPU_MEMORY_UTILIZATION, GT_GPU_ENCODER,
    GT_GPU_TEMPERATURE, GT_GPU_CLOCK,        GT_GPU_MEMORY_CLOCK,       GT_GPU_POWER,
    GT_GPU_ENERGY,      GT_GPU_THROTTLE,     GT_GPU_ECC_CORRECTED,      GT_GPU_ECC_UNCORRECTED,
    GT_GPU_XGMI_ERRORS, GT_GPU_PCIE_REPLAYS,
};

static bool has_rocm_smi(void)
{
    static const char *const old_files[] = {"librocm_smi64.so",
                                            "librocm_smi64.so.7",
                                            "librocm_smi64.so.6",
                                            "librocm_smi64.so.5",
                                            "/opt/rocm/lib/librocm_smi64.so",
                                            NULL};
    struct gt_library library = {0};
    bool has = gt_library_open(&library, NULL, old_files, NULL, 0, NULL, NULL) == 0;
    gt_library_close(&library);
    return has;
}

/* Returns 0, ready or not: see the availability; or -ENOMEM. */
static int begin(struct amd *amd, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                 struct gt_availability *availability)
{
    struct amdsmi_version version = {0};
    struct gt_error why = {0};
    const char *path = gt_collect_library(options, "amdsmi");
    /* The library fails in many ways where the kernel runs no AMD GPUs. */
    bool has_driver = gt_root_access(options->root, "sys/module/amdgpu", F_OK) == 0;
    if (!path && !has_driver)
        return gt_unavailable(availability, GT_ABSENT, NULL, "the kernel runs no AMD GPUs");
    if (gt_library_open(&amd->library, path, files, symbols, sizeof symbols / sizeof *symbols, &amd->call, &why) < 0)
        return path ? gt_unavailable(availability, GT_BROKEN, NULL, "%s", why.text)
               : has_rocm_smi()
                   ? gt_unavailable(availability, GT_ABSENT, "install the package amd-smi-lib of ROCm 6 or later",
                                    "only ROCm SMI is installed, and it is not read")
                   : gt_unavailable(availability, GT_ABSENT, NULL, "AMD SMI is not installed");
    const char *file = strrchr(amd->library.path, '/');
    int result = amd->call.init(AMDSMI_INIT_GPUS);
    snprintf(availability->source, sizeof availability->source, "AMD SMI (%.60s)", file ? file + 1 : amd->library.path);
    if (result != AMD_SUCCESS) {
        amd->call.shutdown = NULL;
        return result == AMDSMI_NO_PERMISSION
                   ? gt_unavailable(availability, GT_DENIED, "sudo usermod -a -G render,video $USER",
                                    "AMD SMI error %d", result)
                   : gt_unavailable(availability, has_driver ? GT_BROKEN : GT_ABSENT, NULL, "AMD SMI error %d", result);
    }
    if (CALL(version, &version) == AMD_SUCCESS)
        amd->version = version.first == 23 && version.second >= 4 ? 24 : version.first;
    if (list(amd, snapshot) < 0)
        return -ENOMEM;
    return amd->card_count ? 0 : gt_unavailable(availability, GT_ABSENT, NULL, "no AMD GPU");
}

static void amd_close(void *state)
{
    struct amd *amd = state;
    if (amd->library.handle && amd->call.shutdown)
        amd->call.shutdown();
    for (size_t i = 0; i < amd->card_count; i++)
        free(amd->card[i].rows.row);
    free(amd->card);
    free(amd->buffer);
    gt_library_close(&amd->library);
}

static void amd_explain(const void *state, enum gt_metric_id metric, char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "%s", metric == GT_CPU_ENERGY ? "it is part of the energy of the GPU's package" : "");
}

static int amd_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                    struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    struct amd *amd = opaque;
    if (!gt_brand_wanted(options, "amd"))
        return gt_unavailable(availability, GT_ABSENT, NULL, "only GPUs of another brand were asked for");
    amd->clock = options->clock;
    amd->values.share = amd->lists.share = 0.005; /* of a core: together 1 % */
    gt_gpu_pids_open(&amd->pids, options->root);
    int status = begin(amd, options, snapshot, availability);
    availability->refresh = availability->state == GT_READY ? REFRESH : NAN;
    return status;
}

static int publish_card(struct amd_card *card, struct gt_snapshot *snapshot, bool is_new)
{
    gt_gpu_publish(&card->gpu, snapshot, &gt_collector_amd, is_new);
    for (size_t i = 0; i < card->rows.count; i++) {
        const struct amd_row *row = &card->rows.row[i];
        struct gt_share *share = row->id.pid ? gt_snapshot_share(snapshot, card->gpu.device, row->id.pid) : NULL;
        if (row->id.pid && !share)
            return -ENOMEM;
        if (!share)
            continue;
        share->value[GT_GPU_RAM] = row->bytes;
        share->value[GT_GPU_UTILIZATION] = row->graphics;
        share->value[GT_GPU_ENCODER] = row->encoder;
    }
    return 0;
}

static int amd_collect(void *state, struct gt_snapshot *snapshot, struct gt_error *error)
{
    struct amd *amd = state;
    int warning = 0;
    bool is_new = read_values(amd, snapshot);
    read_health(amd, snapshot->is_last);
    int status = read_lists(amd, snapshot);
    for (size_t i = 0; i < amd->card_count && status == 0; i++) {
        struct amd_card *card = &amd->card[i];
        status = publish_card(card, snapshot, is_new);
        if (!warning)
            warning = gt_gpu_report(&card->gpu, snapshot, error);
    }
    return status < 0 ? gt_error_set(error, ENOMEM, "AMD SMI: no memory") : warning;
}

static void amd_describe(const void *state, char *text, size_t size)
{
    const struct amd *amd = state;
    char pids[200];
    gt_gpu_pids_describe(&amd->pids, pids, sizeof pids);
    bool left_out = false;
    for (size_t i = 0; i < amd->card_count; i++)
        left_out |= amd->card[i].gpu.is_left_out;
    int length = snprintf(text, size, "%s%s%s",
                          left_out ? "a package's energy is left out, for its cores are counted already; " : "", pids,
                          amd->has_unknown_rows ? "the library lists processes in an unknown form; " : "");
    if (length > 2 && (size_t)length < size)
        text[length - 2] = '\0';
}

const struct gt_collector_type gt_collector_amd = {
    .name = "amd",
    .help = "AMD GPUs, by AMD SMI",
    .brand = "amd",
    .source = "AMD SMI",
    .refresh = NAN,
    .state_size = sizeof(struct amd),
    .libraries = (const char *const[]){"amdsmi", NULL},
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = amd_open,
    .collect = amd_collect,
    .close = amd_close,
    .describe = amd_describe,
    .explain = amd_explain,
    .calls_driver = true,
};
