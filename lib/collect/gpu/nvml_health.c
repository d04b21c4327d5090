/* What the driver counts of a board's errors: fields of nvmlDeviceGetFieldValues in one call, older functions where a driver has none,
 * and events for XIDs, of the NVML API reference. XIDs: docs.nvidia.com/deploy/xid-errors. Errors of programs are among them. */
#include <stdio.h>

#include "collect/gpu/nvml.h"

static const int64_t PERIOD_NS = 60 * GT_SECOND;
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

static void add(struct nvml_gpu *gpu, enum gt_metric_id metric, double count)
{
    double *sum = health(gpu, metric);
    if (!isnan(count))
        *sum = isnan(*sum) ? count : *sum + count;
}

static void read_fields(struct nvml *nvml, struct nvml_gpu *gpu)
{
    struct nvml_field value[FIELDS];
    for (int i = 0; i < FIELDS; i++)
        value[i] = (struct nvml_field){.field = fields[i].field, .result = NVML_UNKNOWN};
    if (!nvml->call.fields || nvml->call.fields(gpu->handle, FIELDS, value) != NVML_SUCCESS)
        return;
    for (int i = 0; i < FIELDS; i++)
        if (value[i].result == NVML_SUCCESS)
            add(gpu, fields[i].metric, gt_nvml_number(&value[i].value, value[i].type));
}

static void read_ecc(struct nvml *nvml, struct nvml_gpu *gpu, enum gt_metric_id metric, int error, int counter)
{
    unsigned long long count;
    if (isnan(*health(gpu, metric)) && nvml->call.ecc_errors &&
        nvml->call.ecc_errors(gpu->handle, error, counter, &count) == NVML_SUCCESS)
        add(gpu, metric, (double)count);
}

/* What no field told. */
static void read_functions(struct nvml *nvml, struct nvml_gpu *gpu)
{
    unsigned correctable, uncorrectable, is_pending, has_failed, replays;
    read_ecc(nvml, gpu, GT_GPU_ECC_CORRECTED, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE);
    read_ecc(nvml, gpu, GT_GPU_ECC_UNCORRECTED, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE);
    read_ecc(nvml, gpu, GT_GPU_ECC_CORRECTED_TOTAL, NVML_ECC_CORRECTED, NVML_ECC_AGGREGATE);
    read_ecc(nvml, gpu, GT_GPU_ECC_UNCORRECTED_TOTAL, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE);
    if (isnan(*health(gpu, GT_GPU_REMAPPED_ROWS)) && nvml->call.remapped_rows &&
        nvml->call.remapped_rows(gpu->handle, &correctable, &uncorrectable, &is_pending, &has_failed) == NVML_SUCCESS) {
        *health(gpu, GT_GPU_REMAPPED_ROWS) = (double)correctable + uncorrectable;
        *health(gpu, GT_GPU_REMAP_PENDING) = is_pending != 0;
        *health(gpu, GT_GPU_REMAP_FAILED) = has_failed != 0;
    }
    if (isnan(*health(gpu, GT_GPU_PCIE_REPLAYS)) && nvml->call.pcie_replays &&
        nvml->call.pcie_replays(gpu->handle, &replays) == NVML_SUCCESS)
        *health(gpu, GT_GPU_PCIE_REPLAYS) = replays;
}

static bool can_wait(const struct nvml *nvml)
{
    return nvml->call.events_new && nvml->call.events_register && nvml->call.events_wait && nvml->call.events_free;
}

/* A board whose driver tells of XIDs has had none yet. */
static void register_events(struct nvml *nvml, struct nvml_gpu *gpu)
{
    if (gpu->was_registered)
        return;
    gpu->was_registered = true;
    if (!nvml->events && (!can_wait(nvml) || nvml->call.events_new(&nvml->events) != NVML_SUCCESS))
        nvml->events = NULL;
    else if (nvml->call.events_register(gpu->handle, NVML_EVENT_XID, nvml->events) == NVML_SUCCESS)
        *health(gpu, GT_GPU_XIDS) = *health(gpu, GT_GPU_XID) = 0;
}

static void take_event(struct nvml *nvml, const struct nvml_event *event)
{
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        if (gpu->handle != event->device || event->kind != NVML_EVENT_XID)
            continue;
        *health(gpu, GT_GPU_XIDS) += 1;
        double *last = health(gpu, GT_GPU_XID), number = (double)event->number;
        if (!(*last > 0) || gt_xid_is_of_program(*last) || !gt_xid_is_of_program(number))
            *last = number; /* the programs of a GPU that fails get errors, too */
    }
}

/* Those that came since the last time; nothing is waited for. */
static void read_events(struct nvml *nvml)
{
    struct nvml_event event = {0};
    for (int i = 0; nvml->events && i < MOST_EVENTS; i++) {
        if (nvml->call.events_wait(nvml->events, &event, 0) != NVML_SUCCESS)
            return;
        take_event(nvml, &event);
    }
}

static void read_board(struct nvml *nvml, struct nvml_gpu *gpu)
{
    for (int metric = GT_GPU_ECC_CORRECTED; metric < GT_GPU_XIDS; metric++)
        *health(gpu, metric) = NAN;
    register_events(nvml, gpu);
    read_fields(nvml, gpu);
    read_functions(nvml, gpu);
}

static void forget(struct nvml *nvml)
{
    for (size_t i = 0; i < nvml->gpu_count; i++)
        for (int k = 0; k < NVML_HEALTH; k++)
            nvml->gpu[i].health[k] = NAN;
}

/* Slices have no counters of their own, and boards that sleep are not asked. */
void gt_nvml_read_health(struct nvml *nvml, bool is_last, bool is_new)
{
    int64_t now_ns = gt_clock_monotonic(nvml->clock);
    bool is_first = !nvml->health_ns, is_due = is_first || is_last || now_ns >= nvml->health_ns;
    if (is_first)
        forget(nvml);
    if (is_due)
        nvml->health_ns = now_ns + PERIOD_NS;
    if (is_due || is_new)
        read_events(nvml);
    for (size_t i = 0; i < nvml->gpu_count; i++) {
        struct nvml_gpu *gpu = &nvml->gpu[i];
        if (is_due && !gpu->is_lost && !gpu->is_asleep && gpu->parent < 0)
            read_board(nvml, gpu);
        for (int metric = GT_GPU_ECC_CORRECTED; metric <= GT_GPU_XID; metric++)
            gpu->value[metric] = *health(gpu, metric);
    }
}

void gt_nvml_close_health(struct nvml *nvml)
{
    if (nvml->events)
        nvml->call.events_free(nvml->events);
    nvml->events = NULL;
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
    bool is_told[PARTS] = {false};
    if (nvml && !nvml->health_ns)
        gt_nvml_read_health(nvml, false, false);
    for (size_t part = 0; part < PARTS; part++) {
        names[part] = parts[part].name;
        for (size_t i = 0; nvml && i < nvml->gpu_count; i++)
            is_told[part] |= !isnan(nvml->gpu[i].health[parts[part].metric - GT_GPU_ECC_CORRECTED]);
    }
    gt_gpu_survey_errors(ret, "counters of errors of the NVIDIA driver", names, is_told, PARTS);
}
