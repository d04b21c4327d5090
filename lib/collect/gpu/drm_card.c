#include "base/order.h"
#include "collect/gpu/drm.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    char path[DRM_DIRECTORY + 64];
    snprintf(path, sizeof path, "%s/%s", card->directory, file);
    ssize_t length = gt_root_read(drm->root, path, text, size);
    if (length >= 0)
        text[strcspn(text, "\n")] = '\0';
    return length;
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
static bool is_asleep(const struct drm *drm, const struct drm_card *card)
{
    char text[32];
    return read_text(drm, card, "device/power/runtime_status", text, sizeof text) > 0 && !strncmp(text, "suspend", 7);
}

void gt_drm_read_card(struct drm *drm, struct drm_card *card)
{
    int64_t now_ns = gt_clock_monotonic(drm->clock);
    gt_values_clear(card->value);
    card->read_ns = now_ns;
    card->is_asleep = is_asleep(drm, card);
    if (card->is_asleep) {
        if (!isnan(card->integral.watts))
            gt_power_integrate(&card->integral, now_ns, 0);
        return;
    }
    for (int i = 0; i < SOURCES; i++)
        if (isnan(card->value[sources[i].metric]))
            card->value[sources[i].metric] = read_source(drm, card, i);
    if (card->value[GT_GPU_UTILIZATION] > 1)
        card->value[GT_GPU_UTILIZATION] = NAN;
    card->value[GT_GPU_ENERGY] = gt_energy_counter_read(&card->energy, card->value[GT_GPU_ENERGY]);
    if (isnan(card->energy.last) && !card->is_package) /* it has no counter */
        card->value[GT_GPU_ENERGY] = gt_power_integrate(&card->integral, now_ns, card->value[GT_GPU_POWER]);
}

/* The value of a line "KEY=VALUE". */
static void find_line(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, key, length) && at[length] == '=')
            snprintf(value, size, "%.*s", (int)strcspn(at + length + 1, "\n"), at + length + 1);
}

/* That of the whole card: i915 has others, "i915_gt0", for each of its tiles (i915_hwmon.c). */
static void find_hwmon(const struct drm *drm, struct drm_card *card)
{
    char path[DRM_DIRECTORY + 16], file[DRM_HWMON + 16];
    snprintf(path, sizeof path, "%s/device/hwmon", card->directory);
    int fd = gt_root_open_directory(drm->root, path);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        char name[32] = "";
        if (strncmp(entry->d_name, "hwmon", 5) || strlen(entry->d_name) > 24)
            continue;
        snprintf(file, sizeof file, "%s/%.24s/name", path, entry->d_name);
        gt_root_read(drm->root, file, name, sizeof name);
        name[strcspn(name, "\n")] = '\0';
        if (!card->hwmon[0] || !strcmp(name, card->driver->name))
            snprintf(card->hwmon, sizeof card->hwmon, "%s/%.24s", path, entry->d_name);
    }
    closedir(directory);
}

/* The power that amdgpu tells of a processor with a graphics unit includes its cores. Only these have a voltage "vddnb", in1; of
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
    snprintf(path, sizeof path, "%s/power1_label", card->hwmon);
    return gt_root_read(drm->root, path, text, sizeof text) > 0 && !strncmp(text, "slowPPT", 7);
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

static int count_brand(const struct gt_frame *frame, const char *brand)
{
    int count = 0;
    for (size_t i = 0; i < frame->device_count; i++)
        count += !strcmp(frame->device[i].brand, brand);
    return count;
}

/* Add "card<number>" unless its driver is not one of ours, its brand is not wanted, or another collector has it. */
static int add_card(struct drm *drm, int number, const struct gt_collect_options *options, struct gt_frame *frame)
{
    struct drm_card *card = &drm->card[drm->card_count];
    char text[1024], driver[32] = "", pci[16] = "";
    *card = (struct drm_card){.energy.last = NAN, .integral.watts = NAN};
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
    if (!card->driver || !gt_brand_wanted(options, card->driver->brand) || gt_pci_known(frame, pci))
        return 0;
    int index = count_brand(frame, card->driver->brand);
    struct gt_device *device = gt_frame_device(frame);
    if (!device)
        return -ENOMEM;
    card->device = (int)frame->device_count - 1;
    device->index = index;
    snprintf(device->brand, sizeof device->brand, "%s", card->driver->brand);
    snprintf(device->pci, sizeof device->pci, "%s", pci);
    name_device(drm, card, number, device);
    find_hwmon(drm, card);
    card->is_package = is_of_package(drm, card);
    gt_values_clear(card->value);
    drm->card_count++;
    return 0;
}

/* The numbers of the cards, in order; connectors ("card0-HDMI-A-1") are left out. */
static int find_cards(const struct gt_root *root, int number[DRM_MOST_CARDS])
{
    int count = 0;
    int fd = gt_root_open_directory(root, "sys/class/drm");
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
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

int gt_drm_add_cards(struct drm *drm, const struct gt_collect_options *options, struct gt_frame *frame, int *ret_found)
{
    int number[DRM_MOST_CARDS], status = 0;
    *ret_found = find_cards(drm->root, number);
    for (int i = 0; i < *ret_found && status == 0; i++)
        status = add_card(drm, number[i], options, frame);
    return status;
}
