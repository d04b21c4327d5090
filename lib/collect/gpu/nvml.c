#include "collect/gpu/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

/* Loading NVIDIA's management library and listing its devices and slices. What never changes is read here, once. */

enum { MOST_DEVICES = 256 };

#define OPTIONAL(member, symbol) GT_SYMBOL(nvml_functions, member, symbol, false)

static const struct gt_symbol symbols[] = {
#define NVML(member, symbol, ...) OPTIONAL(member, #symbol),
#include "collect/gpu/nvml.def"
#undef NVML
    OPTIONAL(error_string, "nvmlErrorString"),
#define PROCESSES(number, version)                                                                   \
    OPTIONAL(processes[number][NVML_COMPUTE], "nvmlDeviceGetComputeRunningProcesses" version),       \
        OPTIONAL(processes[number][NVML_GRAPHICS], "nvmlDeviceGetGraphicsRunningProcesses" version), \
        OPTIONAL(processes[number][NVML_MPS], "nvmlDeviceGetMPSComputeRunningProcesses" version)
    PROCESSES(0, "_v3"),
    PROCESSES(1, "_v2"),
    PROCESSES(2, ""),
};

static const char NO_DRIVER[] = "the NVIDIA driver is not loaded";

static int refused(const struct nvml *nvml, int result, struct gt_availability *availability)
{
    char number[32];
    const char *known = nvml->call.error_string ? nvml->call.error_string(result) : NULL,
               *text = known ? known : number;
    snprintf(number, sizeof number, "NVML error %d", result);
    switch (result) {
    case NVML_DRIVER_NOT_LOADED: return gt_unavailable(availability, GT_ABSENT, NULL, NO_DRIVER);
    case NVML_NO_PERMISSION:
        return gt_unavailable(availability, GT_DENIED, "sudo chmod a+rw /dev/nvidiactl /dev/nvidia[0-9]*", "%s", text);
    case NVML_VERSION_MISMATCH:
        return gt_unavailable(availability, GT_BROKEN, "sudo rmmod nvidia_uvm nvidia && sudo modprobe nvidia", "%s",
                              text);
    default: return gt_unavailable(availability, GT_BROKEN, NULL, "%s", text);
    }
}

/* Returns true for a driver of this system, of the Windows below it, or of a Tegra. */
static bool has_driver(const struct gt_root *root)
{
    static const char *const traces[] = {"dev/nvidiactl", "proc/driver/nvidia/version", "sys/module/nvidia", "dev/dxg",
                                         "dev/nvmap"};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        if (gt_root_access(root, traces[i], F_OK) == 0)
            return true;
    return false;
}

/* Returns 0, ready or not: see the availability. */
static int load(struct nvml *nvml, const struct gt_collect_options *options, struct gt_availability *availability)
{
    static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
    const char *path = gt_collect_library(options, "nvml"), *file;
    char library[80] = "", driver[80] = ""; /* NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE */
    struct gt_error why = {0};
    bool lacks_driver = !path && !has_driver(options->root);
    /* The loader searches some fifty folders, which doctor can afford. A folder of LD_LIBRARY_PATH may hold another maker's library. */
    bool is_open = !(lacks_driver && options->pid && !getenv("LD_LIBRARY_PATH")) &&
                   gt_library_open(&nvml->library, path, names, symbols, sizeof symbols / sizeof *symbols, &nvml->call,
                                   &why) >= 0;
    if (!is_open)
        return gt_unavailable(availability, path ? GT_BROKEN : GT_ABSENT, NULL, "%s",
                              lacks_driver ? NO_DRIVER
                              : path       ? why.text
                                           : "NVML is not installed");
    if (!nvml->call.init || !nvml->call.count || !nvml->call.handle)
        return gt_unavailable(availability, GT_BROKEN, NULL, "NVML lacks the functions that list the devices");
    int result = nvml->call.init();
    if (result != NVML_SUCCESS) {
        nvml->call.shutdown = NULL;
        return refused(nvml, result, availability);
    }
    NVML_CALL(library_version, library, sizeof library);
    NVML_CALL(driver_version, driver, sizeof driver);
    file = strrchr(nvml->library.path, '/');
    snprintf(availability->source, sizeof availability->source, "NVML%s%.30s%s%.30s (%.30s)", *library ? " " : "",
             library, *driver ? ", driver " : "", driver, file ? file + 1 : nvml->library.path);
    return 0;
}

/* Append a device to the collector and to the snapshot; -ENOMEM or its index in nvml->gpu. */
static int add_gpu(struct nvml *nvml, struct nvml_device *handle, struct gt_snapshot *snapshot)
{
    struct nvml_gpu *gpu = GT_GROW_BY_ONE(nvml->gpu, nvml->gpu_count);
    struct gt_device *device = gpu ? gt_snapshot_device(snapshot) : NULL;
    if (!device)
        return -ENOMEM;
    *gpu = (struct nvml_gpu){.handle = handle, .parent = -1};
    gt_gpu_begin(&gpu->gpu, snapshot);
    snprintf(device->brand, sizeof device->brand, "nvidia");
    if (NVML_CALL(name, handle, device->name, sizeof device->name) != NVML_SUCCESS)
        snprintf(device->name, sizeof device->name, "NVIDIA GPU");
    if (NVML_CALL(uuid, handle, device->uuid, sizeof device->uuid) != NVML_SUCCESS)
        device->uuid[0] = '\0';
    return (int)nvml->gpu_count++;
}

static int add_slice(struct nvml *nvml, size_t board, struct nvml_device *handle, struct gt_snapshot *snapshot)
{
    int index = add_gpu(nvml, handle, snapshot);
    if (index < 0)
        return index;
    struct nvml_gpu *slice = &nvml->gpu[index], *parent = &nvml->gpu[board];
    struct gt_device *device = &snapshot->device[slice->gpu.device];
    slice->parent = (int)board;
    slice->gpu_instance = slice->compute_instance = UINT32_MAX;
    parent->has_slices = true;
    memcpy(slice->file, parent->file, sizeof slice->file);
    NVML_CALL(gpu_instance, handle, &slice->gpu_instance);
    NVML_CALL(compute_instance, handle, &slice->compute_instance);
    device->parent = parent->gpu.device;
    device->index = snapshot->device[parent->gpu.device].index;
    device->gpu_instance = (int)slice->gpu_instance;
    device->compute_instance = (int)slice->compute_instance;
    gt_nvml_memory(nvml, handle, &device->memory, &(double){0});
    gt_nvml_probe(nvml, slice);
    return 0;
}

static int add_slices(struct nvml *nvml, size_t board, struct gt_snapshot *snapshot)
{
    unsigned current = 0, pending = 0, most = 0;
    struct nvml_device *handle = nvml->gpu[board].handle, *slice;
    if (NVML_CALL(mig_mode, handle, &current, &pending) != NVML_SUCCESS || current != NVML_MIG_ENABLED ||
        NVML_CALL(mig_count, handle, &most) != NVML_SUCCESS)
        return 0;
    int status = 0;
    for (unsigned i = 0; i < most && i < MOST_DEVICES && status == 0; i++)
        if (NVML_CALL(mig_handle, handle, i, &slice) == NVML_SUCCESS)
            status = add_slice(nvml, board, slice, snapshot);
    return status;
}

static int add_board(struct nvml *nvml, unsigned number, struct nvml_device *handle, struct gt_snapshot *snapshot)
{
    struct nvml_pci pci;
    unsigned minor;
    int index = add_gpu(nvml, handle, snapshot);
    if (index < 0)
        return index;
    struct nvml_gpu *gpu = &nvml->gpu[index];
    struct gt_device *device = &snapshot->device[gpu->gpu.device];
    device->index = (int)number;
    if (NVML_CALL(pci, handle, &pci) == NVML_SUCCESS)
        gt_pci_name(device->pci, pci.domain, pci.bus, pci.device, 0);
    if (!device->uuid[0])
        snprintf(device->uuid, sizeof device->uuid, "pci-%s", device->pci);
    if (NVML_CALL(minor, handle, &minor) == NVML_SUCCESS)
        snprintf(gpu->file, sizeof gpu->file, "/dev/nvidia%u", minor);
    gt_nvml_memory(nvml, handle, &device->memory, &(double){0});
    gt_nvml_probe(nvml, gpu);
    /* Energy of a module contains its CPU, and is not added to a value of the CPU from another source. */
    gpu->gpu.is_left_out = gpu->power == NVML_POWER_MODULE &&
                           !gt_snapshot_claim(snapshot, GT_CPU_ENERGY, &gt_collector_nvml);
    return add_slices(nvml, (size_t)index, snapshot);
}

/* Returns 0, ready or not: see the availability; or -ENOMEM. */
static int add_devices(struct nvml *nvml, struct gt_snapshot *snapshot, struct gt_availability *availability)
{
    unsigned count = 0;
    int refusal = nvml->call.count(&count);
    for (unsigned i = 0; refusal == NVML_SUCCESS && i < count && i < MOST_DEVICES; i++) {
        struct nvml_device *handle;
        int result = nvml->call.handle(i, &handle);
        if (result != NVML_SUCCESS)
            refusal = result;
        else if (add_board(nvml, i, handle, snapshot) < 0)
            return -ENOMEM;
    }
    if (nvml->gpu_count)
        return 0;
    return refusal != NVML_SUCCESS ? refused(nvml, refusal, availability)
                                   : gt_unavailable(availability, GT_ABSENT, NULL, "no NVIDIA GPU");
}

/* NVIDIA GPUs, one snapshot after the other. */

static const enum gt_metric_id metrics[] = {GT_GPU_RAM,
                                            GT_GPU_UTILIZATION,
                                            GT_GPU_UTILIZATION_PEAK,
                                            GT_GPU_MEMORY_UTILIZATION,
                                            GT_GPU_ENCODER,
                                            GT_GPU_DECODER,
                                            GT_GPU_TEMPERATURE,
                                            GT_GPU_CLOCK,
                                            GT_GPU_MEMORY_CLOCK,
                                            GT_GPU_THROTTLE,
                                            GT_GPU_POWER,
                                            GT_GPU_POWER_PEAK,
                                            GT_GPU_MEMORY_POWER,
                                            GT_GPU_ENERGY,
                                            GT_GPU_RAM_PEAK,
                                            GT_GPU_RAM_PEAK_BOUND,
                                            GT_GPU_ECC_CORRECTED,
                                            GT_GPU_ECC_UNCORRECTED,
                                            GT_GPU_ECC_CORRECTED_TOTAL,
                                            GT_GPU_ECC_UNCORRECTED_TOTAL,
                                            GT_GPU_REMAPPED_ROWS,
                                            GT_GPU_REMAP_PENDING,
                                            GT_GPU_REMAP_FAILED,
                                            GT_GPU_PCIE_REPLAYS,
                                            GT_GPU_NVLINK_ERRORS,
                                            GT_GPU_XIDS,
                                            GT_GPU_XID,
                                            GT_GPU_LOST};

static void nvml_close(void *state)
{
    struct nvml *nvml = state;
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        free(nvml->gpu[i].rows.row);
        gt_nvml_hwms_release(&nvml->gpu[i].hwms);
    }
    if (nvml->events)
        nvml->call.events_free(nvml->events);
    free(nvml->gpu);
    free(nvml->fresh.row);
    free(nvml->buffer);
    if (nvml->library.handle && nvml->call.shutdown)
        nvml->call.shutdown();
    gt_library_close(&nvml->library);
}

static void nvml_explain(const void *state, enum gt_metric_id metric, char *text, size_t size)
{
    bool is_peak = metric == GT_GPU_RAM_PEAK || metric == GT_GPU_RAM_PEAK_BOUND;
    struct gt_availability hwms = {.reason = ""};
    if (is_peak)
        gt_nvml_survey_hwms(state, &hwms);
    snprintf(text, size, "%s",
             metric == GT_CPU_ENERGY ? "it is part of the energy of the GPU's module"
             : !is_peak              ? ""
             : hwms.reason[0]        ? hwms.reason
                                     : "the driver has no account of a process of the job");
}

static int nvml_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                     struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    struct nvml *nvml = opaque;
    if (!gt_brand_wanted(options, "nvidia"))
        return gt_unavailable(availability, GT_ABSENT, NULL, "only GPUs of another brand were asked for");
    nvml->clock = options->clock;
    nvml->values.share = nvml->lists.share = 0.004; /* of a core: with the samples 1 % */
    nvml->samples.share = 0.002;
    gt_gpu_pids_open(&nvml->pids, options->root);
    int status = load(nvml, options, availability);
    if (availability->state == GT_READY)
        status = add_devices(nvml, snapshot, availability);
    if (status < 0 || availability->state != GT_READY)
        return status;
    availability->refresh = gt_nvml_energy_refresh(nvml);
    /* Slices have no accounts, nor boards that are cut into them. */
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        unsigned mode = 0;
        gpu->reports_accounting = gpu->parent < 0 && !gpu->has_slices &&
                                  NVML_CALL(accounting_mode, gpu->handle, &mode) == NVML_SUCCESS;
        gpu->has_accounting = gpu->reports_accounting && nvml->call.accounting && mode == NVML_ACCOUNTING_ENABLED;
    }
    nvml->opened_us = nvml->collected_us = (uint64_t)gt_clock_real(nvml->clock) / 1000;
    return 0;
}

/* Slices first: a board is asked for its processes where they have no lists. */
static int read_lists(struct nvml *nvml, const struct gt_snapshot *snapshot)
{
    bool slices_have_lists = true;
    for (size_t i = 0; i < 2 * nvml->gpu_count; i++) {
        bool is_board = i >= nvml->gpu_count;
        struct nvml_gpu *gpu = &nvml->gpu[i % nvml->gpu_count];
        if ((gpu->parent < 0) != is_board || !gt_nvml_can_ask(gpu) || (gpu->has_slices && slices_have_lists))
            continue;
        int status = gt_nvml_read_processes(nvml, gpu, snapshot);
        if (status < 0)
            return status;
        slices_have_lists &= is_board || !gpu->lists_unsupported;
    }
    return 0;
}

static void find_sleepers(struct nvml *nvml, const struct gt_snapshot *snapshot)
{
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        bool is_asleep = gpu->parent >= 0 ? nvml->gpu[gpu->parent].gpu.is_asleep
                                          : gt_pci_is_asleep(nvml->pids.root, snapshot->device[gpu->gpu.device].pci);
        if (gt_gpu_rest(&gpu->gpu, is_asleep, gt_clock_monotonic(nvml->clock)))
            gpu->rows.count = 0;
    }
}

static void read_samples(struct nvml *nvml, const struct gt_snapshot *snapshot)
{
    int64_t start = gt_clock_monotonic(nvml->clock);
    bool is_due = gt_rate_limit_due(&nvml->samples, snapshot, start);
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        gpu->gpu.value[GT_GPU_UTILIZATION_PEAK] = gpu->gpu.value[GT_GPU_POWER_PEAK] = NAN;
        if (is_due && gt_nvml_can_ask(gpu))
            gt_nvml_read_samples(nvml, gpu);
    }
    if (is_due)
        gt_rate_limit_spent(&nvml->samples, start, gt_clock_monotonic(nvml->clock));
}

/* The health of a board stays known when it is lost. */
static int publish(struct nvml *nvml, struct gt_snapshot *snapshot, bool is_new)
{
    int status = 0;
    for (size_t i = 0; i < nvml->gpu_count && status == 0; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        for (size_t m = 0; gpu->is_lost && m < sizeof metrics / sizeof *metrics; m++)
            if (metrics[m] < GT_GPU_ECC_CORRECTED || metrics[m] > GT_GPU_XID)
                gpu->gpu.value[metrics[m]] = NAN;
        gpu->gpu.value[GT_GPU_LOST] = gpu->parent < 0 ? gpu->is_lost : NAN;
        gpu->gpu.is_asleep &= !gpu->is_lost;
        gt_gpu_publish(&gpu->gpu, snapshot, &gt_collector_nvml, is_new || gpu->is_lost);
        if (!gpu->is_lost)
            status = gt_nvml_publish_processes(nvml, gpu, snapshot);
        if (status == 0)
            status = gt_nvml_publish_hwms(nvml, gpu, snapshot);
    }
    return status;
}

/* One report of all boards that have gone since the last one; their slices go with them. */
static int report_lost(struct nvml *nvml, const struct gt_snapshot *snapshot, struct gt_error *error)
{
    char names[400] = "";
    size_t used = 0, lost = 0;
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        if (gpu->parent >= 0 && nvml->gpu[gpu->parent].is_lost)
            gpu->is_lost = true;
        if (!gpu->is_lost || gpu->is_reported || gpu->parent >= 0)
            continue;
        const struct gt_device *device = &snapshot->device[gpu->gpu.device];
        gpu->is_reported = true;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%sGPU %d (%s, %s)", lost ? ", " : "",
                                     device->index, device->name, device->uuid);
        lost++;
    }
    if (!lost)
        return 0;
    return gt_error_set(error, EIO, "%s %s lost to %s driver and not measured any more", names, lost > 1 ? "are" : "is",
                        lost > 1 ? "their" : "its");
}

static int nvml_collect(void *state, struct gt_snapshot *snapshot, struct gt_error *error)
{
    struct nvml *nvml = state;
    find_sleepers(nvml, snapshot);
    int64_t start = gt_clock_monotonic(nvml->clock);
    bool is_new = gt_rate_limit_due(&nvml->values, snapshot, start);
    if (is_new) {
        gt_nvml_read(nvml);
        gt_rate_limit_spent(&nvml->values, start, gt_clock_monotonic(nvml->clock));
    }
    start = gt_clock_monotonic(nvml->clock);
    bool is_due = gt_rate_limit_due(&nvml->lists, snapshot, start);
    int status = is_due ? read_lists(nvml, snapshot) : 0;
    for (size_t i = 0; i < nvml->gpu_count && status == 0; i++)
        status = gt_nvml_read_hwms(nvml, &nvml->gpu[i], snapshot, is_due);
    nvml->collected_us = (uint64_t)gt_clock_real(nvml->clock) / 1000;
    if (is_due)
        gt_rate_limit_spent(&nvml->lists, start, gt_clock_monotonic(nvml->clock));
    read_samples(nvml, snapshot);
    gt_nvml_read_health(nvml, snapshot->is_last, is_new);
    int warning = report_lost(nvml, snapshot, error);
    for (size_t i = 0; i < nvml->gpu_count && warning == 0; i++)
        warning = gt_gpu_report(&nvml->gpu[i].gpu, snapshot, error);
    if (status == 0)
        status = publish(nvml, snapshot, is_new);
    return status < 0 ? gt_error_set(error, -status, "NVML: no memory") : warning;
}

static void nvml_describe(const void *state, char *text, size_t size)
{
    const struct nvml *nvml = state;
    char pids[200], energy[400];
    gt_nvml_describe_energy(nvml, energy, sizeof energy);
    gt_gpu_pids_describe(&nvml->pids, pids, sizeof pids);
    int length = snprintf(text, size, "%s%s%s", energy, pids,
                          nvml->has_unknown_rows ? "the driver lists processes in an unknown form, memory unknown; "
                                                 : "");
    if (length > 2 && (size_t)length < size)
        text[length - 2] = '\0';
}

const struct gt_collector_type gt_collector_nvml = {
    .name = "nvml",
    .help = "NVIDIA GPUs, by the driver's management library",
    .brand = "nvidia",
    .source = "NVML",
    .refresh = NAN,
    .state_size = sizeof(struct nvml),
    .libraries = (const char *const[]){"nvml", NULL},
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = nvml_open,
    .collect = nvml_collect,
    .close = nvml_close,
    .describe = nvml_describe,
    .explain = nvml_explain,
    .calls_driver = true,
};
