#include "collect/gpu/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVIDIA GPUs, one frame after the other. */

extern const struct gt_collector_type gt_collector_nvml;

static const enum gt_metric_id metrics[] = {
    GT_GPU_RAM,
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
};

static void nvml_close(void *state)
{
    struct nvml *nvml = state;
    if (!nvml)
        return;
    for (size_t i = 0; i < nvml->gpu_count; i++)
        free(nvml->gpu[i].rows.row);
    free(nvml->gpu);
    free(nvml->fresh.row);
    free(nvml->buffer);
    if (nvml->library.handle && nvml->call.shutdown)
        nvml->call.shutdown();
    gt_library_close(&nvml->library);
    free(nvml);
}

/* What contains the CPU is not added to a figure of the CPU, whoever has it. */
static void settle_modules(struct nvml *nvml, struct gt_frame *frame)
{
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        if (gpu->parent < 0 && gpu->power == NVML_POWER_MODULE)
            gpu->is_left_out = !gt_frame_claim(frame, GT_CPU_ENERGY, &gt_collector_nvml);
    }
}

static void nvml_explain(const void *state, enum gt_metric_id metric, char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "%s", metric == GT_CPU_ENERGY ? "it is part of the energy of the GPU's module" : "");
}

static int nvml_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                     struct gt_availability *availability, struct gt_error *error)
{
    *ret = NULL;
    *availability = (struct gt_availability){.state = GT_ABSENT, .source = "NVML", .refresh = NAN};
    if (!gt_brand_wanted(options, "nvidia")) {
        gt_nvml_unavailable(availability, GT_ABSENT, "only GPUs of another brand were asked for", "");
        return 0;
    }
    struct nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml)
        return gt_error_set(error, ENOMEM, "NVML: no memory");
    nvml->clock = options->clock;
    nvml->values.share = nvml->lists.share = 0.004; /* of a core: with the samples 1 % */
    nvml->samples.share = 0.002;
    gt_gpu_pids_open(&nvml->pids, options->root);
    int status = gt_nvml_open(nvml, options, frame, availability);
    if (status == 0) {
        availability->state = GT_READY;
        availability->refresh = gt_nvml_energy_refresh(nvml);
        settle_modules(nvml, frame);
        *ret = nvml;
        return 0;
    }
    nvml_close(nvml);
    return status == -ENOMEM ? gt_error_set(error, ENOMEM, "NVML: no memory") : 0;
}

static int read_lists(struct nvml *nvml, const struct gt_frame *frame)
{
    bool slices_have_lists = true;
    for (size_t i = 0; i < nvml->gpu_count; i++)
        if (nvml->gpu[i].parent >= 0 && !nvml->gpu[i].is_lost && !nvml->gpu[i].is_asleep) {
            int status = gt_nvml_read_processes(nvml, &nvml->gpu[i], frame);
            slices_have_lists &= !nvml->gpu[i].lists_unsupported;
            if (status < 0)
                return status;
        }
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        if (gpu->parent >= 0 || gpu->is_lost || gpu->is_asleep || (gpu->has_slices && slices_have_lists))
            continue;
        int status = gt_nvml_read_processes(nvml, gpu, frame);
        if (status < 0)
            return status;
    }
    return 0;
}

static void see_who_sleeps(struct nvml *nvml, const struct gt_frame *frame)
{
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        gpu->is_asleep = gpu->parent >= 0 ? nvml->gpu[gpu->parent].is_asleep
                                          : gt_pci_is_asleep(nvml->pids.root, frame->device[gpu->device].pci);
        if (gpu->is_asleep)
            gt_nvml_rest(nvml, gpu);
    }
}

static bool read_values(struct nvml *nvml)
{
    int64_t start = gt_clock_monotonic(nvml->clock);
    if (!gt_pace_due(&nvml->values, start))
        return false;
    for (size_t i = 0; i < nvml->gpu_count; i++)
        if (!nvml->gpu[i].is_asleep)
            gt_nvml_read(nvml, &nvml->gpu[i]);
    gt_pace_spent(&nvml->values, start, gt_clock_monotonic(nvml->clock));
    return true;
}

static void read_samples(struct nvml *nvml)
{
    int64_t start = gt_clock_monotonic(nvml->clock);
    bool is_due = gt_pace_due(&nvml->samples, start);
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        gpu->value[GT_GPU_UTILIZATION_PEAK] = gpu->value[GT_GPU_POWER_PEAK] = NAN;
        if (is_due && !gpu->is_lost && !gpu->is_asleep)
            gt_nvml_read_samples(nvml, gpu);
    }
    if (is_due)
        gt_pace_spent(&nvml->samples, start, gt_clock_monotonic(nvml->clock));
}

static int publish(struct nvml *nvml, struct gt_frame *frame, bool is_new)
{
    int status = 0;
    for (size_t i = 0; i < nvml->gpu_count && status == 0; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        struct gt_device *device = &frame->device[gpu->device];
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
            device->value[metrics[m]] = gpu->is_lost ? NAN : gpu->value[metrics[m]];
        device->is_resting = gpu->is_asleep && !gpu->is_lost;
        device->is_old = !is_new && !gpu->is_lost;
        device->doubt = gpu->doubt;
        device->read_ns = gpu->read_ns;
        gpu->doubt = 0;
        if (!gpu->is_lost)
            status = gt_nvml_publish_processes(nvml, gpu, frame);
    }
    return status;
}

/* One report for each board that is gone; its slices go with it. */
static int report_lost(struct nvml *nvml, const struct gt_frame *frame, struct gt_error *error)
{
    int status = 0;
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        if (gpu->parent >= 0 && nvml->gpu[gpu->parent].is_lost)
            gpu->is_lost = true;
        if (!gpu->is_lost || gpu->is_reported || gpu->parent >= 0)
            continue;
        const struct gt_device *device = &frame->device[gpu->device];
        gpu->is_reported = true;
        status = gt_error_set(error, EIO, "GPU %d (%s, %s) is lost to its driver; it is not measured any more",
                              device->index, device->name, device->uuid);
    }
    return status;
}

/* Of the boards whose counter contradicts their power. */
static int report_wrong(struct nvml *nvml, const struct gt_frame *frame, struct gt_error *error)
{
    int status = 0;
    for (size_t i = 0; i < nvml->gpu_count && !status; i++)
        status = gt_energy_check_report(&nvml->gpu[i].check, &frame->device[nvml->gpu[i].device], error);
    return status;
}

static int nvml_collect(void *state, struct gt_frame *frame, struct gt_error *error)
{
    struct nvml *nvml = state;
    see_who_sleeps(nvml, frame);
    bool is_new = read_values(nvml);
    int64_t start = gt_clock_monotonic(nvml->clock);
    int status = 0;
    if (gt_pace_due(&nvml->lists, start)) {
        status = read_lists(nvml, frame);
        gt_pace_spent(&nvml->lists, start, gt_clock_monotonic(nvml->clock));
    }
    read_samples(nvml);
    int warning = report_lost(nvml, frame, error);
    if (warning == 0)
        warning = report_wrong(nvml, frame, error);
    if (status == 0)
        status = publish(nvml, frame, is_new);
    return status < 0 ? gt_error_set(error, -status, "NVML: no memory") : warning;
}

static void nvml_describe(const void *state, char *text, size_t size)
{
    const struct nvml *nvml = state;
    char pids[200];
    char energy[400];
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
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = nvml_open,
    .collect = nvml_collect,
    .close = nvml_close,
    .describe = nvml_describe,
    .explain = nvml_explain,
};
