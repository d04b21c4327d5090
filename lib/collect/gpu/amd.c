#include "collect/gpu/amd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

/* AMD GPUs: AMD SMI where it is installed, else ROCm SMI. */

static const struct amd_library *const libraries[] = {&gt_amdsmi_library, &gt_rsmi_library};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

/* Seconds: an assumption, as for the counters of NVIDIA; AMD documents none. */
static const double REFRESH = 0.1;

static const enum gt_metric_id metrics[] = {
    GT_GPU_RAM,         GT_GPU_UTILIZATION,  GT_GPU_MEMORY_UTILIZATION, GT_GPU_ENCODER,
    GT_GPU_TEMPERATURE, GT_GPU_CLOCK,        GT_GPU_MEMORY_CLOCK,       GT_GPU_POWER,
    GT_GPU_ENERGY,      GT_GPU_THROTTLE,     GT_GPU_ECC_CORRECTED,      GT_GPU_ECC_UNCORRECTED,
    GT_GPU_XGMI_ERRORS, GT_GPU_PCIE_REPLAYS,
};

double gt_amd_percent(int result, uint32_t percent)
{
    return result == AMD_SUCCESS && percent <= 100 ? percent / 100.0 : NAN;
}

struct amd_card *gt_amd_add_card(struct amd *amd, struct gt_frame *frame)
{
    struct amd_card *card = GT_GROW_BY_ONE(amd->card, amd->card_count);
    struct gt_device *device = card ? gt_frame_device(frame) : NULL;
    if (!device)
        return NULL;
    *card = (struct amd_card){
        .device = (int)frame->device_count - 1, .energy.last = NAN, .check.joules = NAN, .integral.watts = NAN};
    gt_values_clear(card->value);
    memset(card->residency, 0xff, sizeof card->residency);
    snprintf(device->brand, sizeof device->brand, "amd");
    snprintf(device->name, sizeof device->name, "AMD GPU");
    device->index = (int)amd->card_count++;
    return card;
}

int gt_amd_add_row(struct amd_rows *rows, struct amd_row row)
{
    struct amd_row *place = GT_GROW_LIST(rows, row);
    if (!place)
        return -ENOMEM;
    row.graphics = row.encoder = NAN;
    *place = row;
    return 0;
}

static void unavailable(struct gt_availability *availability, enum gt_source_state state, const char *reason,
                        const char *remedy)
{
    availability->state = state;
    snprintf(availability->reason, sizeof availability->reason, "%.199s", reason);
    snprintf(availability->remedy, sizeof availability->remedy, "%s", remedy);
}

/* Returns true where the kernel runs AMD GPUs: the libraries fail in many ways where it does not. */
static bool has_kernel_driver(const struct gt_root *root)
{
    int fd = gt_root_open_directory(root, "sys/module/amdgpu");
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool is_overridden(const struct gt_collect_options *options)
{
    bool overridden = false;
    for (int i = 0; i < LIBRARIES; i++)
        overridden |= gt_collect_library(options, libraries[i]->name) != NULL;
    return overridden;
}

/* Load the first library there is, where it is of use. A path given for one of them leaves out those without. */
static bool load(struct amd *amd, const struct gt_collect_options *options, struct gt_availability *availability)
{
    if (!is_overridden(options) && !has_kernel_driver(options->root)) {
        unavailable(availability, GT_ABSENT, "the kernel runs no AMD GPUs", "");
        return false;
    }
    unavailable(availability, GT_ABSENT, "neither AMD SMI nor ROCm SMI is installed", "");
    for (int i = 0; i < LIBRARIES; i++) {
        const struct amd_library *kind = libraries[i];
        const char *path = gt_collect_library(options, kind->name);
        struct gt_error why = {0};
        if (!path && is_overridden(options))
            continue;
        if (gt_library_open(&amd->library, path, kind->files, kind->symbols, kind->symbol_count,
                            (char *)amd + kind->functions, &why) == 0) {
            amd->kind = kind;
            return true;
        }
        if (path)
            unavailable(availability, GT_BROKEN, why.text, "");
    }
    return false;
}

/* 0: ready or not, see the availability; -ENOMEM. */
static int begin(struct amd *amd, const struct gt_collect_options *options, struct gt_frame *frame,
                 struct gt_availability *availability)
{
    char reason[64];
    if (!load(amd, options, availability))
        return 0;
    const char *file = strrchr(amd->library.path, '/');
    int result = amd->kind->start(amd);
    snprintf(availability->source, sizeof availability->source, "%s (%.60s)", amd->kind->title,
             file ? file + 1 : amd->library.path);
    if (result != AMD_SUCCESS) {
        snprintf(reason, sizeof reason, "%s error %d", amd->kind->title, result);
        if (result == amd->kind->denied)
            unavailable(availability, GT_DENIED, reason, "sudo usermod -a -G render,video $USER");
        else
            unavailable(availability, has_kernel_driver(options->root) ? GT_BROKEN : GT_ABSENT, reason, "");
        amd->kind = NULL;
        return 0;
    }
    if (amd->kind->list(amd, frame) < 0)
        return -ENOMEM;
    if (amd->card_count == 0)
        unavailable(availability, GT_ABSENT, "no AMD GPU", "");
    else
        unavailable(availability, GT_READY, "", "");
    return 0;
}

static void amd_close(void *state)
{
    struct amd *amd = state;
    if (!amd)
        return;
    if (amd->kind)
        amd->kind->stop(amd);
    for (size_t i = 0; i < amd->card_count; i++)
        free(amd->card[i].rows.row);
    free(amd->card);
    free(amd->buffer);
    gt_library_close(&amd->library);
    free(amd);
}

static void name_unnamed(const struct amd *amd, struct gt_frame *frame)
{
    for (size_t i = 0; i < amd->card_count; i++) {
        struct gt_device *device = &frame->device[amd->card[i].device];
        if (!device->uuid[0])
            snprintf(device->uuid, sizeof device->uuid, "pci-%s", device->pci);
    }
}

/* What contains the cores is not added to a figure of them, whoever has it. */
static void settle_packages(struct amd *amd, struct gt_frame *frame)
{
    for (size_t i = 0; i < amd->card_count; i++)
        if (amd->card[i].is_apu)
            amd->card[i].is_left_out = !gt_frame_claim(frame, GT_CPU_ENERGY, &gt_collector_amd);
}

static void amd_explain(const void *state, enum gt_metric_id metric, char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "%s", metric == GT_CPU_ENERGY ? "it is part of the energy of the GPU's package" : "");
}

static int amd_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                    struct gt_availability *availability, struct gt_error *error)
{
    *ret = NULL;
    *availability = (struct gt_availability){.source = "AMD SMI", .refresh = NAN};
    if (!gt_brand_wanted(options, "amd")) {
        unavailable(availability, GT_ABSENT, "only GPUs of another brand were asked for", "");
        return 0;
    }
    struct amd *amd = calloc(1, sizeof *amd);
    if (!amd)
        return gt_error_set(error, ENOMEM, "AMD SMI: no memory");
    amd->clock = options->clock;
    amd->values.share = amd->lists.share = 0.005; /* of a core: together 1 % */
    gt_gpu_pids_open(&amd->pids, options->root);
    int status = begin(amd, options, frame, availability);
    if (status < 0 || availability->state != GT_READY) {
        amd_close(amd);
        return status < 0 ? gt_error_set(error, ENOMEM, "AMD SMI: no memory") : 0;
    }
    availability->refresh = REFRESH;
    name_unnamed(amd, frame);
    settle_packages(amd, frame);
    *ret = amd;
    return 0;
}

static void keep(struct amd_card *card, const struct amd_reading *reading, int64_t now_ns)
{
    /* The second die of a dual-die board has neither power nor energy: both are told as 0. */
    bool is_second_die = reading->joules == 0 && !(reading->watts > 0);
    double joules = is_second_die ? NAN : gt_energy_counter_read(&card->energy, reading->joules);
    gt_energy_check_add(&card->check, now_ns, joules, reading->watts);
    double summed = gt_power_integrate(&card->integral, now_ns, is_second_die ? NAN : reading->watts);
    card->value[GT_GPU_RAM] = reading->memory;
    card->value[GT_GPU_UTILIZATION] = reading->busy;
    card->value[GT_GPU_MEMORY_UTILIZATION] = reading->memory_busy;
    card->value[GT_GPU_TEMPERATURE] = reading->celsius;
    card->value[GT_GPU_CLOCK] = reading->clock;
    card->value[GT_GPU_MEMORY_CLOCK] = reading->memory_clock;
    card->value[GT_GPU_POWER] = is_second_die ? NAN : reading->watts;
    card->value[GT_GPU_ENERGY] = gt_energy_choose(&card->check, joules, summed);
    if (card->is_left_out)
        card->value[GT_GPU_ENERGY] = NAN;
}

/* While a card sleeps it has no figures and draws nothing; power and counter are compared anew once it is awake. */
static void see_who_sleeps(struct amd *amd, const struct gt_frame *frame)
{
    for (size_t i = 0; i < amd->card_count; i++) {
        struct amd_card *card = &amd->card[i];
        card->is_asleep = gt_pci_is_asleep(amd->pids.root, frame->device[card->device].pci);
        if (!card->is_asleep)
            continue;
        gt_values_clear(card->value);
        card->rows.count = 0;
        card->check.joules = NAN;
        if (!isnan(card->integral.watts))
            gt_power_integrate(&card->integral, gt_clock_monotonic(amd->clock), 0);
    }
}

static bool read_values(struct amd *amd, const struct gt_frame *frame)
{
    int64_t begin_ns = gt_clock_monotonic(amd->clock);
    if (!gt_pace_due(&amd->values, frame, begin_ns))
        return false;
    for (size_t i = 0; i < amd->card_count; i++) {
        if (amd->card[i].is_asleep)
            continue;
        struct amd_reading reading = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        int64_t now_ns = gt_clock_monotonic(amd->clock);
        amd->kind->read(amd, &amd->card[i], &reading);
        keep(&amd->card[i], &reading, now_ns);
        amd->card[i].value[GT_GPU_THROTTLE] = gt_amd_throttle(amd, &amd->card[i],
                                                              frame->device[amd->card[i].device].pci);
        amd->card[i].read_ns = gt_clock_monotonic(amd->clock);
    }
    gt_pace_spent(&amd->values, begin_ns, gt_clock_monotonic(amd->clock));
    return true;
}

static const struct amd_row *find_row(const struct amd_rows *rows, unsigned driver_pid)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->row[i].id.driver_pid == driver_pid)
            return &rows->row[i];
    return NULL;
}

/* Engine time is not counted for compute queues: a total of 0 tells nothing. */
static double engine_share(uint64_t now, uint64_t before, double seconds)
{
    if (now == 0 || now < before || seconds <= 0)
        return NAN;
    return fmin((double)(now - before) / 1e9 / seconds, 1);
}

static void compare_rows(struct amd_card *card, const struct amd_rows *fresh, int64_t now_ns)
{
    double seconds = (double)(now_ns - card->rows_ns) / 1e9;
    for (size_t i = 0; i < fresh->count; i++) {
        struct amd_row *row = &fresh->row[i];
        const struct amd_row *old = find_row(&card->rows, row->id.driver_pid);
        if (!old)
            continue;
        row->id.pid = old->id.pid;
        row->graphics = engine_share(row->graphics_ns, old->graphics_ns, seconds);
        row->encoder = engine_share(row->encoder_ns, old->encoder_ns, seconds);
    }
}

static int read_card_rows(struct amd *amd, struct amd_card *card, const struct gt_frame *frame)
{
    struct amd_rows fresh = {0};
    int64_t now_ns = gt_clock_monotonic(amd->clock);
    int status = amd->kind->read_rows(amd, card, frame, &fresh);
    compare_rows(card, &fresh, now_ns);
    unsigned unknown = 0;
    for (size_t i = 0; i < fresh.count && status == 0; i++) {
        gt_gpu_pids_resolve(&amd->pids, frame, NULL, &fresh.row[i].id, 1);
        unknown += amd->pids.unknown;
    }
    amd->pids.unknown = unknown;
    free(card->rows.row);
    card->rows = fresh;
    card->rows_ns = now_ns;
    return status;
}

static int read_lists(struct amd *amd, const struct gt_frame *frame)
{
    int64_t begin_ns = gt_clock_monotonic(amd->clock);
    int status = 0;
    if (!gt_pace_due(&amd->lists, frame, begin_ns))
        return 0;
    for (size_t i = 0; i < amd->card_count && status == 0; i++)
        if (!amd->card[i].is_asleep)
            status = read_card_rows(amd, &amd->card[i], frame);
    gt_pace_spent(&amd->lists, begin_ns, gt_clock_monotonic(amd->clock));
    return status;
}

static int publish_card(struct amd_card *card, struct gt_frame *frame, bool is_new)
{
    struct gt_device *device = &frame->device[card->device];
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        device->value[metrics[i]] = card->value[metrics[i]];
    device->is_resting = card->is_asleep;
    device->is_old = !is_new;
    device->read_ns = card->read_ns;
    device->doubt = card->check.is_wrong ? 0
                                         : gt_energy_counter_doubt(&card->energy) + gt_energy_check_doubt(&card->check);
    for (size_t i = 0; i < card->rows.count; i++) {
        const struct amd_row *row = &card->rows.row[i];
        struct gt_share *share = row->id.pid ? gt_frame_share(frame, card->device, row->id.pid) : NULL;
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

static int amd_collect(void *state, struct gt_frame *frame, struct gt_error *error)
{
    struct amd *amd = state;
    int warning = 0;
    see_who_sleeps(amd, frame);
    bool is_new = read_values(amd, frame);
    gt_amd_read_health(amd, frame->is_last);
    int status = read_lists(amd, frame);
    for (size_t i = 0; i < amd->card_count && status == 0; i++) {
        struct amd_card *card = &amd->card[i];
        status = publish_card(card, frame, is_new);
        if (!warning)
            warning = gt_energy_check_report(&card->check, &frame->device[card->device], error);
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
        left_out |= amd->card[i].is_left_out;
    int length = snprintf(text, size, "%s%s%s",
                          left_out ? "a package's energy is left out, for its cores are counted already; " : "", pids,
                          amd->has_unknown_rows ? "the library lists processes in an unknown form; " : "");
    if (length > 2 && (size_t)length < size)
        text[length - 2] = '\0';
}

const struct gt_collector_type gt_collector_amd = {
    .name = "amd",
    .help = "AMD GPUs, by AMD SMI or ROCm SMI",
    .brand = "amd",
    .libraries = (const char *const[]){"amdsmi", "rocm_smi", NULL},
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = amd_open,
    .collect = amd_collect,
    .close = amd_close,
    .describe = amd_describe,
    .explain = amd_explain,
    .calls_driver = true,
};
