/* RAPL zones below /sys/class/powercap: intel-rapl:PACKAGE and intel-rapl:PACKAGE:PART, on AMD processors, too.
 *
 * Names, by drivers/powercap/intel_rapl_common.c: "package-0" or "package-0-die-1", "psys"; a "psys-1" is what the second package
 * shows of the one platform, and left out. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collector.h"
#include "collect/energy/rapl.h"

static const char directory[] = "sys/class/powercap";

static int read_word(const struct gt_root *root, const char *zone, const char *file, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%.63s/%s", directory, zone, file);
    ssize_t length = gt_root_read(root, path, text, size);
    if (length <= 0)
        return length < 0 ? (int)length : -EIO;
    text[strcspn(text, "\n")] = 0;
    return 0;
}

static bool part_of(const char *name, enum gt_rapl_domain *ret)
{
    static const struct {
        const char *name;
        enum gt_rapl_domain domain;
    } parts[] = {{"dram", GT_RAPL_DRAM}, {"core", GT_RAPL_CORE}, {"uncore", GT_RAPL_UNCORE}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strcmp(name, parts[i].name)) {
            *ret = parts[i].domain;
            return true;
        }
    return false;
}

/* "intel-rapl:0:2" in folder "intel-rapl:0" is named after both: every package has its own "dram". */
static int full_name(const struct gt_root *root, const char *entry, char *text, size_t size,
                     enum gt_rapl_domain *domain)
{
    char own[24] = "", parent[32] = "", above[64];
    const char *first = strchr(entry, ':'), *last = strrchr(entry, ':');
    int status = read_word(root, entry, "name", own, sizeof own);
    if (status < 0 || !first)
        return -ENOENT;
    if (first == last) {
        *domain = !strcmp(own, "psys") ? GT_RAPL_PLATFORM : GT_RAPL_PACKAGE;
        snprintf(text, size, "%s", own);
        return *domain == GT_RAPL_PACKAGE && strncmp(own, "package", strlen("package")) ? -ENOENT : 0;
    }
    snprintf(above, sizeof above, "%.*s", (int)(last - entry), entry);
    if (!part_of(own, domain) || read_word(root, above, "name", parent, sizeof parent) < 0)
        return -ENOENT;
    snprintf(text, size, "%s/%s", parent, own);
    return 0;
}

static struct gt_rapl_zone *find_named(struct gt_rapl_zones *zones, const char *name)
{
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].interface == GT_RAPL_POWERCAP && !strcmp(zones->zone[i].name, name))
            return &zones->zone[i];
    return NULL;
}

static void add_zone(struct gt_rapl_zones *zones, const struct gt_root *root, const char *entry)
{
    char name[64], path[128];
    unsigned long long range;
    enum gt_rapl_domain domain;
    if (full_name(root, entry, name, sizeof name, &domain) < 0)
        return;
    struct gt_rapl_zone *zone = find_named(
        zones, name); /* the MMIO copy of a zone takes its place only where it cannot be read */
    if (zone && zone->fd >= 0)
        return;
    if (!zone)
        zone = gt_rapl_add(zones, GT_RAPL_POWERCAP, domain, name);
    if (!zone)
        return;
    snprintf(path, sizeof path, "%s/%.63s/energy_uj", directory, entry);
    zone->fd = gt_root_open_file(root, path);
    zone->unit = 1e-6;
    snprintf(path, sizeof path, "%s/%.63s/max_energy_range_uj", directory, entry);
    if (gt_root_read_u64(root, path, &range) == 0)
        zone->range = range;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b); /* each is an array of char */
}

static void find(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    static const char *const controllers[] = {"intel-rapl:", "intel-rapl-mmio:"};
    char entries[GT_RAPL_ZONES][64];
    size_t count = 0;
    DIR *listing = gt_root_list(root, directory);
    if (!listing)
        return;
    for (struct dirent *entry; (entry = readdir(listing)) && count < GT_RAPL_ZONES;)
        if (strlen(entry->d_name) < sizeof entries[0])
            memcpy(entries[count++], entry->d_name, strlen(entry->d_name) + 1);
    closedir(listing);
    qsort(entries, count, sizeof entries[0], by_name);
    for (size_t k = 0; k < sizeof controllers / sizeof *controllers; k++)
        for (size_t i = 0; i < count; i++)
            if (!strncmp(entries[i], controllers[k], strlen(controllers[k])))
                add_zone(zones, root, entries[i]);
}

static int read_text(const struct gt_rapl_zone *zone, uint64_t *ret)
{
    unsigned long long counts;
    int status = gt_root_reread_u64(zone->fd, &counts);
    if (status < 0)
        return status;
    *ret = counts;
    return zone->range && counts > zone->range ? -ERANGE : 0;
}

const struct gt_rapl_source gt_rapl_powercap = {
    .name = "powercap",
    .absent = "no RAPL zones below /sys/class/powercap (containers hide them)",
    .remedy = gt_remedy_energy,
    .find = find,
    .read = read_text,
};
