#include "collect/gpu/drm.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"

struct drm_driver {
    const char *name;
    const char *brand;
};

enum { DRM_MOST_CARDS = 64, DRM_DIRECTORY = 48, DRM_HWMON = 96 };

struct drm_card {
    char directory[DRM_DIRECTORY]; /* "sys/class/drm/card0" */
    char hwmon[DRM_HWMON];         /* "sys/class/drm/card0/device/hwmon/hwmon3", empty when it has none */
    const struct drm_driver *driver;
    struct gt_gpu_base gpu;
    unsigned missing; /* bits of the sources that are not there */
    bool is_package;  /* its power is that of a processor with a graphics unit: counted there */
};

struct drm_clients {
    struct drm_client *client;
    size_t count, capacity;
};

struct drm {
    const struct gt_root *root;
    const struct gt_clock *clock;
    struct drm_card card[DRM_MOST_CARDS];
    size_t card_count;
    struct gt_rate_limit values, lists;
    struct drm_clients clients, previous;
    struct drm_usage *usage; /* one for each client */
    size_t usage_capacity;
    int64_t clients_ns; /* 0: not read yet */
};

/* The ways of telling memory, the best first: what is resident, the older name of the same, what is allocated. */
static const char *const memory_keys[] = {"drm-resident-", "drm-memory-", "drm-total-"};
enum { MEMORY_KEYS = sizeof memory_keys / sizeof *memory_keys };

struct memory {
    double local[MEMORY_KEYS], system[MEMORY_KEYS]; /* bytes, NaN: missing */
};

static const char *after(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) ? NULL : text + length;
}

/* "23992 KiB" */
static double bytes_of(const char *value)
{
    char *unit;
    double number = (double)strtoull(value, &unit, 10);
    unit += strspn(unit, " \t");
    if (unit == value)
        return NAN;
    return !strncmp(unit, "KiB", 3) ? number * 1024 : !strncmp(unit, "MiB", 3) ? number * 1048576 : number;
}

static void take_memory(struct memory *memory, const char *key, const char *value)
{
    for (int i = 0; i < MEMORY_KEYS; i++) {
        const char *region = after(key, memory_keys[i]);
        if (!region || after(region, "cycles-"))
            continue;
        bool is_local = after(region, "vram") || after(region, "local") || after(region, "lmem");
        gt_add_known(is_local ? &memory->local[i] : &memory->system[i], bytes_of(value));
    }
}

/* Returns the number of an engine, -1 where there is none of that name. */
static int find_engine(const struct drm_client *client, const char *name)
{
    for (size_t i = 0; client && i < client->engine_count; i++)
        if (!strcmp(client->engine[i].name, name))
            return (int)i;
    return -1;
}

static struct drm_engine *get_engine(struct drm_client *client, const char *name)
{
    int known = find_engine(client, name);
    if (known >= 0 || client->engine_count == DRM_MOST_ENGINES)
        return known >= 0 ? &client->engine[known] : NULL;
    struct drm_engine *engine = &client->engine[client->engine_count++];
    *engine = (struct drm_engine){.capacity = 1};
    snprintf(engine->name, sizeof engine->name, "%s", name);
    return engine;
}

static void take_engine(struct drm_client *client, const char *key, const char *value)
{
    enum { CAPACITY, BUSY, CYCLES, TOTAL, KEYS };
    static const char *const keys[KEYS] = {"drm-engine-capacity-", "drm-engine-", "drm-cycles-", "drm-total-cycles-"};
    uint64_t number = strtoull(value, NULL, 10);
    int i = 0;
    while (i < KEYS && !after(key, keys[i]))
        i++;
    struct drm_engine *engine = i < KEYS ? get_engine(client, after(key, keys[i])) : NULL;
    if (engine && i == TOTAL)
        engine->total = number;
    else if (engine && i != CAPACITY)
        engine->busy = number;
    else if (engine && number > 0)
        engine->capacity = (unsigned)number;
}

static void take_line(struct drm_client *client, struct memory *memory, const char *key, const char *value)
{
    if (!strcmp(key, "drm-driver"))
        snprintf(client->driver, sizeof client->driver, "%.23s", value);
    else if (!strcmp(key, "drm-pdev"))
        snprintf(client->pci, sizeof client->pci, "%.15s", value);
    else if (!strcmp(key, "drm-client-id")) {
        client->id = strtoull(value, NULL, 10);
        client->has_id = true;
    } else {
        take_engine(client, key, value);
        take_memory(memory, key, value);
    }
}

static double held(const struct memory *memory)
{
    bool has_local = false;
    for (int i = 0; i < MEMORY_KEYS; i++)
        has_local |= !isnan(memory->local[i]);
    for (int i = 0; i < MEMORY_KEYS; i++) {
        double bytes = has_local ? memory->local[i] : memory->system[i];
        if (!isnan(bytes))
            return bytes;
    }
    return NAN;
}

bool gt_drm_parse(const char *text, struct drm_client *client)
{
    struct memory memory = {{NAN, NAN, NAN}, {NAN, NAN, NAN}};
    *client = (struct drm_client){.bytes = NAN};
    while (*text) {
        char key[48], value[48];
        size_t length = strcspn(text, "\n");
        size_t colon = strcspn(text, ":\n");
        if (after(text, "drm-") && colon < length && colon < sizeof key) {
            const char *start = text + colon + 1;
            start += strspn(start, " \t");
            int rest = start < text + length ? (int)(text + length - start) : 0;
            snprintf(key, sizeof key, "%.*s", (int)colon, text);
            snprintf(value, sizeof value, "%.*s", rest < 47 ? rest : 47, start);
            take_line(client, &memory, key, value);
        }
        text += length + (text[length] == '\n');
    }
    client->bytes = held(&memory);
    return client->driver[0] && client->has_id;
}

enum engine_kind { GRAPHICS, ENCODER, DECODER, OTHER };

/* One engine of Intel's both encodes and decodes; it counts as the decoder. */
static enum engine_kind kind_of(const char *name)
{
    static const struct {
        const char *prefix;
        enum engine_kind kind;
    } table[] = {
        {"video-enhance", OTHER}, {"vecs", OTHER},  {"copy", OTHER},  {"bcs", OTHER},
        {"dma", OTHER},           {"vpe", OTHER},   {"other", OTHER}, {"enc", ENCODER},
        {"video", DECODER},       {"vcs", DECODER}, {"dec", DECODER}, {"jpeg", DECODER},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (after(name, table[i].prefix))
            return table[i].kind;
    return GRAPHICS;
}

/* Counters may step back for a while; that is no use. */
static double engine_share(const struct drm_engine *now, const struct drm_engine *before, double seconds)
{
    uint64_t busy_before = before ? before->busy : 0;
    double busy = now->busy > busy_before ? (double)(now->busy - busy_before) : 0;
    double available = seconds * 1e9;
    if (now->total) {
        if (!before || now->total <= before->total)
            return NAN;
        available = (double)(now->total - before->total);
    }
    return fmin(busy / available / now->capacity, 1);
}

struct drm_usage gt_drm_usage(const struct drm_client *now, const struct drm_client *before, double seconds)
{
    double share[OTHER + 1] = {NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < now->engine_count && seconds > 0; i++) {
        const struct drm_engine *engine = &now->engine[i];
        double *largest = &share[kind_of(engine->name)];
        int older = find_engine(before, engine->name);
        *largest = fmax(*largest, engine_share(engine, older < 0 ? NULL : &before->engine[older], seconds));
    }
    return (struct drm_usage){share[GRAPHICS], share[ENCODER], share[DECODER]};
}

/* The cards of the kernel's graphics drivers, and the sensors they have in /sys. */

static const struct drm_driver drivers[] = {
    {"amdgpu", "amd"},   {"i915", "intel"},  {"xe", "intel"},     {"nouveau", "nvidia"},  {"msm", "qualcomm"},
    {"panfrost", "arm"}, {"panthor", "arm"}, {"v3d", "broadcom"}, {"etnaviv", "vivante"},
};

/* Files of one number. Of several with the same metric the first that can be read counts. Kernel documentation:
 * gpu/amdgpu/thermal, ABI/testing/sysfs-driver-intel-i915-hwmon and sysfs-driver-intel-xe-hwmon: energy1 is the card's, energy2 the
 * package's, which is a part of it; temp2 the package's. None of Intel's has a power1_input. */
static const struct source {
    enum gt_metric_id metric;
    bool in_hwmon;
    const char *file;
    double unit;
} sources[] = {
    {GT_GPU_RAM, false, "device/mem_info_vram_used", 1},
    {GT_GPU_UTILIZATION, false, "device/gpu_busy_percent", 0.01},
    {GT_GPU_MEMORY_UTILIZATION, false, "device/mem_busy_percent", 0.01},
    {GT_GPU_TEMPERATURE, true, "temp1_input", 1e-3},
    {GT_GPU_TEMPERATURE, true, "temp2_input", 1e-3},
    {GT_GPU_POWER, true, "power1_input", 1e-6},
    {GT_GPU_POWER, true, "power1_average", 1e-6},
    {GT_GPU_ENERGY, true, "energy1_input", 1e-6},
    {GT_GPU_ENERGY, true, "energy2_input", 1e-6}, /* xe: where the card has none */
    {GT_GPU_CLOCK, true, "freq1_input", 1},
    {GT_GPU_CLOCK, false, "gt_act_freq_mhz", 1e6},
    {GT_GPU_CLOCK, false, "device/tile0/gt0/freq0/act_freq", 1e6},
    {GT_GPU_MEMORY_CLOCK, true, "freq2_input", 1},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static ssize_t read_text(const struct drm *drm, const struct drm_card *card, const char *file, char *text, size_t size)
{
    return gt_root_read_line(drm->root, text, size, "%s/%s", card->directory, file);
}

static double read_source(const struct drm *drm, struct drm_card *card, int i)
{
    char path[DRM_HWMON + 64];
    unsigned long long number;
    if (card->missing & 1u << i)
        return NAN;
    snprintf(path, sizeof path, "%s/%s", sources[i].in_hwmon ? card->hwmon : card->directory, sources[i].file);
    int status = sources[i].in_hwmon && !card->hwmon[0] ? -ENOENT : gt_root_read_u64(drm->root, path, &number);
    if (status == -ENOENT)
        card->missing |= 1u << i;
    return status < 0 ? NAN : (double)number * sources[i].unit;
}

/* Reading the sensors of a card that sleeps would wake it (xe_hwmon.c and amdgpu_pm.c resume it first), and one that is about to
 * would be held up. The status itself wakes nothing: Documentation/ABI/testing/sysfs-devices-power. */
static void drm_read_card(struct drm *drm, struct drm_card *card)
{
    char status[32];
    int64_t now_ns = card->gpu.meter.read_ns = gt_clock_monotonic(drm->clock);
    gt_values_clear(card->gpu.value);
    bool is_asleep = read_text(drm, card, "device/power/runtime_status", status, sizeof status) > 0 &&
                     !strncmp(status, "suspend", strlen("suspend"));
    if (gt_gpu_rest(&card->gpu, is_asleep, now_ns))
        return;
    for (int i = 0; i < SOURCES; i++)
        if (isnan(card->gpu.value[sources[i].metric]))
            card->gpu.value[sources[i].metric] = read_source(drm, card, i);
    if (card->gpu.value[GT_GPU_UTILIZATION] > 1)
        card->gpu.value[GT_GPU_UTILIZATION] = NAN;
    card->gpu.value[GT_GPU_ENERGY] = gt_gpu_energy(&card->gpu, now_ns, card->gpu.value[GT_GPU_ENERGY],
                                                   card->is_package ? NAN : card->gpu.value[GT_GPU_POWER]);
}

/* The value of a line "KEY=VALUE". */
static void find_line(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, key, length) && at[length] == '=')
            snprintf(value, size, "%.*s", (int)strcspn(at + length + 1, "\n"), at + length + 1);
}

/* Finds the one of the whole card: i915 has others, "i915_gt0", for each of its tiles (i915_hwmon.c). */
static void find_hwmon(const struct drm *drm, struct drm_card *card)
{
    char path[DRM_DIRECTORY + 16];
    snprintf(path, sizeof path, "%s/device/hwmon", card->directory);
    DIR *directory = gt_root_list(drm->root, path);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char name[32];
        if (strncmp(entry->d_name, "hwmon", 5) || strlen(entry->d_name) > 24)
            continue;
        gt_root_read_line(drm->root, name, sizeof name, "%s/%.24s/name", path, entry->d_name);
        if (!card->hwmon[0] || !strcmp(name, card->driver->name))
            snprintf(card->hwmon, sizeof card->hwmon, "%s/%.24s", path, entry->d_name);
    }
    closedir(directory);
}

/* The power that amdgpu shows for a processor with a graphics unit includes its cores. Only these have a voltage "vddnb", in1; of
 * them only Van Gogh has limits by the names "slowPPT" and "fastPPT", others "PPT" (amdgpu_pm.c, "hwmon interfaces for GPU power"
 * and hwmon_attributes_visible). Neither file wakes the card when it is looked at so. */
static bool is_of_package(const struct drm *drm, const struct drm_card *card)
{
    char path[DRM_HWMON + 16], text[32];
    if (!card->hwmon[0] || strcmp(card->driver->name, "amdgpu"))
        return false;
    snprintf(path, sizeof path, "%s/in1_input", card->hwmon);
    if (gt_root_access(drm->root, path, F_OK) == 0)
        return true;
    return gt_root_read_line(drm->root, text, sizeof text, "%s/power1_label", card->hwmon) > 0 &&
           !strncmp(text, "slowPPT", 7);
}

static void name_device(const struct drm *drm, const struct drm_card *card, int number, struct gt_device *device)
{
    char text[80], vendor[16] = "", product[16] = "";
    unsigned long long bytes;
    char path[DRM_DIRECTORY + 64];
    if (read_text(drm, card, "device/unique_id", text, sizeof text) > 0 && text[0])
        snprintf(device->uuid, sizeof device->uuid, "GPU-%s", text);
    else if (device->pci[0])
        snprintf(device->uuid, sizeof device->uuid, "pci-%s", device->pci);
    else
        snprintf(device->uuid, sizeof device->uuid, "card-%d", number);
    read_text(drm, card, "device/vendor", vendor, sizeof vendor);
    read_text(drm, card, "device/device", product, sizeof product);
    if (read_text(drm, card, "device/product_name", text, sizeof text) > 0 && text[0])
        snprintf(device->name, sizeof device->name, "%s", text);
    else
        snprintf(device->name, sizeof device->name, "%s %s %s", card->driver->name, vendor, product);
    snprintf(path, sizeof path, "%s/device/mem_info_vram_total", card->directory);
    if (gt_root_read_u64(drm->root, path, &bytes) == 0 && bytes > 0)
        device->memory = (double)bytes;
}

/* Add "card<number>" unless its driver is not one of ours, its brand is not wanted, or another collector has it. */
static int add_card(struct drm *drm, int number, const struct gt_collect_options *options, struct gt_snapshot *snapshot)
{
    struct drm_card *card = &drm->card[drm->card_count];
    char text[1024], driver[32] = "", pci[16] = "";
    *card = (struct drm_card){0};
    snprintf(card->directory, sizeof card->directory, "sys/class/drm/card%d", number);
    char path[DRM_DIRECTORY + 16];
    snprintf(path, sizeof path, "%s/device/uevent", card->directory);
    if (drm->card_count + 1 == DRM_MOST_CARDS || gt_root_read(drm->root, path, text, sizeof text) < 0)
        return 0;
    find_line(text, "DRIVER", driver, sizeof driver);
    find_line(text, "PCI_SLOT_NAME", pci, sizeof pci);
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (!strcmp(drivers[i].name, driver))
            card->driver = &drivers[i];
    if (!card->driver || !gt_brand_wanted(options, card->driver->brand) || gt_pci_known(snapshot, pci))
        return 0;
    int index = 0;
    for (size_t i = 0; i < snapshot->device_count; i++)
        index += !strcmp(snapshot->device[i].brand, card->driver->brand);
    struct gt_device *device = gt_snapshot_device(snapshot);
    if (!device)
        return -ENOMEM;
    gt_gpu_begin(&card->gpu, snapshot);
    device->index = index;
    snprintf(device->brand, sizeof device->brand, "%s", card->driver->brand);
    snprintf(device->pci, sizeof device->pci, "%s", pci);
    name_device(drm, card, number, device);
    find_hwmon(drm, card);
    card->is_package = is_of_package(drm, card);
    drm->card_count++;
    return 0;
}

/* The numbers of the cards, in order; connectors ("card0-HDMI-A-1") are left out. */
static int find_cards(const struct gt_root *root, int number[DRM_MOST_CARDS])
{
    int count = 0;
    DIR *directory = gt_root_list(root, "sys/class/drm");
    if (!directory)
        return 0;
    for (struct dirent *entry; count < DRM_MOST_CARDS && (entry = readdir(directory));) {
        char *end;
        if (strncmp(entry->d_name, "card", 4) || !isdigit((unsigned char)entry->d_name[4]))
            continue;
        long value = strtol(entry->d_name + 4, &end, 10);
        if (!*end && value < 100000)
            number[count++] = (int)value;
    }
    closedir(directory);
    qsort(number, (size_t)count, sizeof *number, gt_order_ints);
    return count;
}

/* GPUs by files of the kernel's own drivers: /sys, and fdinfo of the job's processes; no library. */

static const enum gt_metric_id metrics[] = {
    GT_GPU_RAM,         GT_GPU_UTILIZATION, GT_GPU_MEMORY_UTILIZATION, GT_GPU_ENCODER, GT_GPU_DECODER,
    GT_GPU_TEMPERATURE, GT_GPU_CLOCK,       GT_GPU_MEMORY_CLOCK,       GT_GPU_POWER,   GT_GPU_ENERGY,
};

static void drm_close(void *state)
{
    struct drm *drm = state;
    free(drm->clients.client);
    free(drm->previous.client);
    free(drm->usage);
}

static int drm_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                    struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    int number[DRM_MOST_CARDS], status = 0;
    struct drm *drm = opaque;
    drm->root = options->root;
    drm->clock = options->clock;
    drm->values.share = 0.004;
    drm->lists.share = 0.006; /* of a core: together 1 % */
    int found = find_cards(drm->root, number);
    for (int i = 0; i < found && status == 0; i++)
        status = add_card(drm, number[i], options, snapshot);
    if (!drm->card_count)
        gt_unavailable(
            availability, GT_ABSENT, NULL, "%s",
            found ? "the kernel's graphics drivers here tell no use, or their GPUs are measured by a library already"
                  : "no graphics card");
    return status;
}

static int find_card(const struct drm *drm, const struct gt_snapshot *snapshot, const struct drm_client *client)
{
    int found = -1, count = 0;
    for (size_t i = 0; i < drm->card_count; i++) {
        const char *pci = snapshot->device[drm->card[i].gpu.device].pci;
        bool fits = client->pci[0] ? !strcmp(client->pci, pci)
                                   : !pci[0] && !strcmp(client->driver, drm->card[i].driver->name);
        if (fits) {
            found = (int)i;
            count++;
        }
    }
    return count == 1 ? found : -1;
}

static struct drm_client *find_client(const struct drm_clients *clients, const struct drm_client *wanted)
{
    for (size_t i = 0; i < clients->count; i++)
        if (clients->client[i].id == wanted->id && clients->client[i].card == wanted->card)
            return &clients->client[i];
    return NULL;
}

static int read_process(struct drm *drm, const struct gt_snapshot *snapshot, pid_t pid)
{
    char path[64], text[8192];
    struct drm_clients *clients = &drm->clients;
    int status = 0;
    snprintf(path, sizeof path, "proc/%d/fd", (int)pid);
    DIR *directory = gt_root_list(drm->root, path);
    if (!directory)
        return 0; /* it ended, or it is not ours to read */
    for (struct dirent *entry; status == 0 && (entry = readdir(directory));) {
        struct drm_client client;
        char link[64] = "";
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1) < 0 || !after(link, "/dev/dri/"))
            continue;
        snprintf(path, sizeof path, "proc/%d/fdinfo/%.16s", (int)pid, entry->d_name);
        if (gt_root_read(drm->root, path, text, sizeof text) < 0 || !gt_drm_parse(text, &client))
            continue;
        client.pid = pid;
        client.card = find_card(drm, snapshot, &client);
        /* Duplicated and inherited descriptors are one client; it counts for the first process that has it. */
        if (client.card < 0 || find_client(clients, &client))
            continue;
        status = GT_APPEND(clients, client, client);
    }
    closedir(directory);
    return status;
}

static int read_clients(struct drm *drm, const struct gt_snapshot *snapshot)
{
    int64_t now_ns = gt_clock_monotonic(drm->clock);
    int status = 0;
    if (!gt_rate_limit_due(&drm->lists, snapshot, now_ns))
        return 0;
    struct drm_clients old = drm->previous;
    drm->previous = drm->clients;
    drm->clients = old;
    drm->clients.count = 0;
    for (size_t i = 0; i < snapshot->process_count && status == 0; i++)
        status = read_process(drm, snapshot, snapshot->process[i]->pid);
    if (status == 0)
        status = GT_GROW_TO(drm->usage, drm->usage_capacity, drm->clients.count);
    if (status < 0) {
        drm->clients.count = 0;
        return -ENOMEM;
    }
    double seconds = drm->clients_ns ? (double)(now_ns - drm->clients_ns) / 1e9 : 0;
    for (size_t i = 0; i < drm->clients.count; i++) {
        const struct drm_client *client = &drm->clients.client[i];
        drm->usage[i] = gt_drm_usage(client, find_client(&drm->previous, client), seconds);
    }
    drm->clients_ns = now_ns;
    gt_rate_limit_spent(&drm->lists, now_ns, gt_clock_monotonic(drm->clock));
    return 0;
}

static void add_share(double *sum, double value)
{
    if (!isnan(value))
        *sum = fmin(isnan(*sum) ? value : *sum + value, 1);
}

extern const struct gt_collector_type gt_collector_drm;

static int publish(struct drm *drm, struct gt_snapshot *snapshot, bool is_new)
{
    for (size_t i = 0; i < drm->card_count; i++)
        gt_gpu_publish(&drm->card[i].gpu, snapshot, &gt_collector_drm, is_new);
    for (size_t i = 0; i < drm->clients.count; i++) {
        const struct drm_client *client = &drm->clients.client[i];
        struct gt_share *share = gt_snapshot_share(snapshot, drm->card[client->card].gpu.device, client->pid);
        if (!share)
            return -ENOMEM;
        gt_add_known(&share->value[GT_GPU_RAM], client->bytes);
        add_share(&share->value[GT_GPU_UTILIZATION], drm->usage[i].graphics);
        add_share(&share->value[GT_GPU_ENCODER], drm->usage[i].encoder);
        add_share(&share->value[GT_GPU_DECODER], drm->usage[i].decoder);
    }
    return 0;
}

static int drm_collect(void *state, struct gt_snapshot *snapshot, struct gt_error *error)
{
    struct drm *drm = state;
    int64_t start = gt_clock_monotonic(drm->clock);
    bool is_due = gt_rate_limit_due(&drm->values, snapshot, start);
    if (is_due) {
        for (size_t i = 0; i < drm->card_count; i++)
            drm_read_card(drm, &drm->card[i]);
        gt_rate_limit_spent(&drm->values, start, gt_clock_monotonic(drm->clock));
    }
    int status = read_clients(drm, snapshot);
    if (status == 0)
        status = publish(drm, snapshot, is_due);
    return status < 0 ? gt_error_set(error, ENOMEM, "DRM: no memory") : 0;
}

const struct gt_collector_type gt_collector_drm = {
    .name = "drm",
    .help = "AMD, Intel and other GPUs, by the kernel's graphics drivers",
    .brand = "intel",
    .source = "/sys/class/drm, /proc/PID/fdinfo",
    .refresh = NAN,
    .state_size = sizeof(struct drm),
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = drm_open,
    .collect = drm_collect,
    .close = drm_close,
};
