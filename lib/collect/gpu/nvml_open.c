#include "base/grow.h"
#include "collect/gpu/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loading NVIDIA's management library and listing its devices and slices. What never changes is read here, once. */

enum { MOST_DEVICES = 256 };

#define OPTIONAL(member, symbol) GT_SYMBOL(nvml_functions, member, symbol, false)

static const struct gt_symbol symbols[] = {
    OPTIONAL(init_v2, "nvmlInit_v2"),
    OPTIONAL(init, "nvmlInit"),
    OPTIONAL(shutdown, "nvmlShutdown"),
    OPTIONAL(error_string, "nvmlErrorString"),
    OPTIONAL(driver_version, "nvmlSystemGetDriverVersion"),
    OPTIONAL(library_version, "nvmlSystemGetNVMLVersion"),
    OPTIONAL(count_v2, "nvmlDeviceGetCount_v2"),
    OPTIONAL(count, "nvmlDeviceGetCount"),
    OPTIONAL(handle_v2, "nvmlDeviceGetHandleByIndex_v2"),
    OPTIONAL(handle, "nvmlDeviceGetHandleByIndex"),
    OPTIONAL(name, "nvmlDeviceGetName"),
    OPTIONAL(uuid, "nvmlDeviceGetUUID"),
    OPTIONAL(pci, "nvmlDeviceGetPciInfo_v3"),
    OPTIONAL(minor, "nvmlDeviceGetMinorNumber"),
    OPTIONAL(mig_mode, "nvmlDeviceGetMigMode"),
    OPTIONAL(mig_count, "nvmlDeviceGetMaxMigDeviceCount"),
    OPTIONAL(mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex"),
    OPTIONAL(gpu_instance, "nvmlDeviceGetGpuInstanceId"),
    OPTIONAL(compute_instance, "nvmlDeviceGetComputeInstanceId"),
    OPTIONAL(memory_v2, "nvmlDeviceGetMemoryInfo_v2"),
    OPTIONAL(memory, "nvmlDeviceGetMemoryInfo"),
    OPTIONAL(utilization, "nvmlDeviceGetUtilizationRates"),
    OPTIONAL(encoder, "nvmlDeviceGetEncoderUtilization"),
    OPTIONAL(decoder, "nvmlDeviceGetDecoderUtilization"),
    OPTIONAL(temperature, "nvmlDeviceGetTemperature"),
    OPTIONAL(clock, "nvmlDeviceGetClockInfo"),
    OPTIONAL(reasons, "nvmlDeviceGetCurrentClocksEventReasons"),
    OPTIONAL(reasons_old, "nvmlDeviceGetCurrentClocksThrottleReasons"),
    OPTIONAL(power, "nvmlDeviceGetPowerUsage"),
    OPTIONAL(energy, "nvmlDeviceGetTotalEnergyConsumption"),
    OPTIONAL(capability, "nvmlDeviceGetCudaComputeCapability"),
    OPTIONAL(fields, "nvmlDeviceGetFieldValues"),
    OPTIONAL(samples, "nvmlDeviceGetSamples"),
    OPTIONAL(process_detail, "nvmlDeviceGetRunningProcessDetailList"),
    OPTIONAL(processes_v3[NVML_COMPUTE], "nvmlDeviceGetComputeRunningProcesses_v3"),
    OPTIONAL(processes_v3[NVML_GRAPHICS], "nvmlDeviceGetGraphicsRunningProcesses_v3"),
    OPTIONAL(processes_v3[NVML_MPS], "nvmlDeviceGetMPSComputeRunningProcesses_v3"),
    OPTIONAL(processes_v2[NVML_COMPUTE], "nvmlDeviceGetComputeRunningProcesses_v2"),
    OPTIONAL(processes_v2[NVML_GRAPHICS], "nvmlDeviceGetGraphicsRunningProcesses_v2"),
    OPTIONAL(processes_v2[NVML_MPS], "nvmlDeviceGetMPSComputeRunningProcesses_v2"),
    OPTIONAL(processes_v1[NVML_COMPUTE], "nvmlDeviceGetComputeRunningProcesses"),
    OPTIONAL(processes_v1[NVML_GRAPHICS], "nvmlDeviceGetGraphicsRunningProcesses"),
    OPTIONAL(processes_v1[NVML_MPS], "nvmlDeviceGetMPSComputeRunningProcesses"),
    OPTIONAL(processes_utilization, "nvmlDeviceGetProcessesUtilizationInfo"),
    OPTIONAL(process_utilization, "nvmlDeviceGetProcessUtilization"),
};

static const char *result_text(const struct nvml *nvml, int result, char text[32])
{
    const char *known = nvml->call.error_string ? nvml->call.error_string(result) : NULL;
    snprintf(text, 32, "NVML error %d", result);
    return known ? known : text;
}

int gt_nvml_unavailable(struct gt_availability *availability, enum gt_state state, const char *reason,
                        const char *remedy)
{
    availability->state = state;
    snprintf(availability->reason, sizeof availability->reason, "%.199s", reason);
    snprintf(availability->remedy, sizeof availability->remedy, "%.199s", remedy);
    return -ENODEV;
}

static int refused(const struct nvml *nvml, int result, struct gt_availability *availability)
{
    char scratch[32];
    const char *text = result_text(nvml, result, scratch);
    switch (result) {
    case NVML_DRIVER_NOT_LOADED:
        return gt_nvml_unavailable(availability, GT_ABSENT, "the NVIDIA driver is not loaded", "");
    case NVML_NO_PERMISSION:
        return gt_nvml_unavailable(availability, GT_DENIED, text, "sudo chmod a+rw /dev/nvidiactl /dev/nvidia[0-9]*");
    case NVML_VERSION_MISMATCH:
        return gt_nvml_unavailable(availability, GT_BROKEN, text,
                                   "sudo rmmod nvidia_uvm nvidia && sudo modprobe nvidia");
    default: return gt_nvml_unavailable(availability, GT_BROKEN, text, "");
    }
}

static int load(struct nvml *nvml, const struct gt_collect_options *options, struct gt_availability *availability)
{
    static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
    const char *path = gt_collect_library(options, "nvml");
    struct gt_error why = {0};
    int status = gt_library_open(&nvml->library, path, names, symbols, sizeof symbols / sizeof *symbols, &nvml->call,
                                 &why);
    if (status < 0)
        return gt_nvml_unavailable(availability, path ? GT_BROKEN : GT_ABSENT,
                                   path ? why.text : "NVML is not installed", "");
    if (!(nvml->call.init_v2 || nvml->call.init) || !(nvml->call.count_v2 || nvml->call.count) ||
        !(nvml->call.handle_v2 || nvml->call.handle))
        return gt_nvml_unavailable(availability, GT_BROKEN, "NVML lacks the functions that list the devices", "");
    int result = nvml->call.init_v2 ? nvml->call.init_v2() : nvml->call.init();
    if (result != NVML_SUCCESS) {
        nvml->call.shutdown = NULL;
        return refused(nvml, result, availability);
    }
    return 0;
}

static void name_source(const struct nvml *nvml, char *text, size_t size)
{
    char library[80] = "", driver[80] = ""; /* NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE */
    const char *file = strrchr(nvml->library.path, '/');
    if (nvml->call.library_version)
        nvml->call.library_version(library, sizeof library);
    if (nvml->call.driver_version)
        nvml->call.driver_version(driver, sizeof driver);
    snprintf(text, size, "NVML %.30s%s%.30s (%.30s)", library, *driver ? ", driver " : "", driver,
             file ? file + 1 : nvml->library.path);
}

/* Append a device to the collector and to the frame; -ENOMEM or its index in nvml->gpu. */
static int add_gpu(struct nvml *nvml, struct nvml_device *handle, struct gt_frame *frame)
{
    struct nvml_gpu *gpu = GT_GROW_BY_ONE(nvml->gpu, nvml->gpu_count);
    struct gt_device *device = gpu ? gt_frame_device(frame) : NULL;
    if (!device)
        return -ENOMEM;
    *gpu = (struct nvml_gpu){.handle = handle, .device = (int)frame->device_count - 1, .parent = -1};
    snprintf(device->brand, sizeof device->brand, "nvidia");
    if (!nvml->call.name || nvml->call.name(handle, device->name, sizeof device->name) != NVML_SUCCESS)
        snprintf(device->name, sizeof device->name, "NVIDIA GPU");
    if (!nvml->call.uuid || nvml->call.uuid(handle, device->uuid, sizeof device->uuid) != NVML_SUCCESS)
        device->uuid[0] = '\0';
    return (int)nvml->gpu_count++;
}

static double total_memory(const struct nvml *nvml, struct nvml_device *handle)
{
    struct nvml_memory_v2 newer = {.version = NVML_MEMORY_V2};
    struct nvml_memory older = {0};
    if (nvml->call.memory_v2 && nvml->call.memory_v2(handle, &newer) == NVML_SUCCESS && newer.total > 0)
        return (double)newer.total;
    if (nvml->call.memory && nvml->call.memory(handle, &older) == NVML_SUCCESS && older.total > 0)
        return (double)older.total;
    return NAN;
}

static int add_slice(struct nvml *nvml, size_t board, struct nvml_device *handle, struct gt_frame *frame)
{
    int index = add_gpu(nvml, handle, frame);
    if (index < 0)
        return index;
    struct nvml_gpu *slice = &nvml->gpu[index], *parent = &nvml->gpu[board];
    struct gt_device *device = &frame->device[slice->device];
    slice->parent = (int)board;
    slice->gpu_instance = slice->compute_instance = UINT32_MAX;
    parent->has_slices = true;
    memcpy(slice->file, parent->file, sizeof slice->file);
    if (nvml->call.gpu_instance)
        nvml->call.gpu_instance(handle, &slice->gpu_instance);
    if (nvml->call.compute_instance)
        nvml->call.compute_instance(handle, &slice->compute_instance);
    device->parent = parent->device;
    device->index = frame->device[parent->device].index;
    device->gpu_instance = (int)slice->gpu_instance;
    device->compute_instance = (int)slice->compute_instance;
    device->memory = total_memory(nvml, handle);
    gt_nvml_probe(nvml, slice);
    return 0;
}

static int add_slices(struct nvml *nvml, size_t board, struct gt_frame *frame)
{
    unsigned current = 0, pending = 0, most = 0;
    struct nvml_device *handle = nvml->gpu[board].handle, *slice;
    if (!nvml->call.mig_mode || !nvml->call.mig_count || !nvml->call.mig_handle ||
        nvml->call.mig_mode(handle, &current, &pending) != NVML_SUCCESS || current != NVML_MIG_ENABLED ||
        nvml->call.mig_count(handle, &most) != NVML_SUCCESS)
        return 0;
    int status = 0;
    for (unsigned i = 0; i < most && i < MOST_DEVICES && status == 0; i++)
        if (nvml->call.mig_handle(handle, i, &slice) == NVML_SUCCESS)
            status = add_slice(nvml, board, slice, frame);
    return status;
}

static int add_board(struct nvml *nvml, unsigned number, struct nvml_device *handle, struct gt_frame *frame)
{
    struct nvml_pci pci;
    unsigned minor;
    int index = add_gpu(nvml, handle, frame);
    if (index < 0)
        return index;
    struct nvml_gpu *gpu = &nvml->gpu[index];
    struct gt_device *device = &frame->device[gpu->device];
    device->index = (int)number;
    if (nvml->call.pci && nvml->call.pci(handle, &pci) == NVML_SUCCESS)
        gt_pci_name(device->pci, pci.domain, pci.bus, pci.device, 0);
    if (!device->uuid[0])
        snprintf(device->uuid, sizeof device->uuid, "pci-%s", device->pci);
    if (nvml->call.minor && nvml->call.minor(handle, &minor) == NVML_SUCCESS)
        snprintf(gpu->file, sizeof gpu->file, "/dev/nvidia%u", minor);
    device->memory = total_memory(nvml, handle);
    gt_nvml_probe(nvml, gpu);
    return add_slices(nvml, (size_t)index, frame);
}

/* 0, -ENODEV with the availability filled, or -ENOMEM. */
static int add_devices(struct nvml *nvml, struct gt_frame *frame, struct gt_availability *availability)
{
    unsigned count = 0;
    int refusal = NVML_SUCCESS;
    int result = nvml->call.count_v2 ? nvml->call.count_v2(&count) : nvml->call.count(&count);
    if (result != NVML_SUCCESS)
        return refused(nvml, result, availability);
    for (unsigned i = 0; i < count && i < MOST_DEVICES; i++) {
        struct nvml_device *handle;
        result = nvml->call.handle_v2 ? nvml->call.handle_v2(i, &handle) : nvml->call.handle(i, &handle);
        if (result != NVML_SUCCESS)
            refusal = result;
        else if (add_board(nvml, i, handle, frame) < 0)
            return -ENOMEM;
    }
    if (nvml->gpu_count == 0 && refusal != NVML_SUCCESS)
        return refused(nvml, refusal, availability);
    if (nvml->gpu_count == 0)
        return gt_nvml_unavailable(availability, GT_ABSENT, "there is no NVIDIA GPU", "");
    return 0;
}

int gt_nvml_open(struct nvml *nvml, const struct gt_collect_options *options, struct gt_frame *frame,
                 struct gt_availability *availability)
{
    int status = load(nvml, options, availability);
    if (status < 0)
        return status;
    name_source(nvml, availability->source, sizeof availability->source);
    return add_devices(nvml, frame, availability);
}
