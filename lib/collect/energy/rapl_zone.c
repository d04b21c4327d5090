/* RAPL zones: how the two interfaces of the kernel show them, perf events and powercap, and what their counters say.
 *
 * Perf events: one of each kind for every package (Intel: for every die), on the CPUs that /sys names, 64 bits wide. AMD's have
 * the same names since Linux 5.8, packages only; a core's is in another folder, "power_core", since 6.14. On a stored machine
 * the file perf/TYPE/CONFIG/CPU holds what the event's descriptor would give: 8 bytes. As in the kernel,
 * proc/sys/kernel/perf_event_paranoid above 0 denies them. Source: arch/x86/events/rapl.c in the kernel's sources. Linux 6.9 to
 * 6.11 name a CPU of each die of AMD's as well, though all of a package read one register.
 *
 * Powercap: zones below /sys/class/powercap, intel-rapl:PACKAGE and intel-rapl:PACKAGE:PART, also on AMD processors. Names, by
 * drivers/powercap/intel_rapl_common.c: "package-0" or "package-0-die-1", "psys"; a "psys-1" is what the second package shows of
 * the one platform, and left out. */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/number.h"
#include "collect/energy/rapl.h"
#include "collect/host/host.h"

/* The names of an event, and of a zone in a package. */
static const struct {
    const char *event, *part;
} names[GT_RAPL_DOMAINS] = {
    [GT_RAPL_PACKAGE] = {"energy-pkg", NULL},    [GT_RAPL_DRAM] = {"energy-ram", "dram"},
    [GT_RAPL_PLATFORM] = {"energy-psys", NULL},  [GT_RAPL_CORE] = {"energy-cores", "core"},
    [GT_RAPL_UNCORE] = {"energy-gpu", "uncore"},
};

static bool is_of(const struct gt_rapl_zone *zone, enum gt_rapl_interface interface, enum gt_rapl_domain domain)
{
    return zone->interface == interface && zone->domain == domain;
}

static struct gt_rapl_zone *add_zone_of(struct gt_rapl_zones *zones, enum gt_rapl_interface interface,
                                        enum gt_rapl_domain domain, const char *name)
{
    if (zones->count == GT_RAPL_ZONES)
        return NULL;
    struct gt_rapl_zone *zone = &zones->zone[zones->count++];
    *zone = (struct gt_rapl_zone){.interface = interface, .domain = domain, .fd = -ENOENT, .package = -1, .mirror = -1};
    snprintf(zone->name, sizeof zone->name, "%s", name);
    int package;
    if (sscanf(name, "package-%d", &package) == 1)
        zone->package = package;
    return zone;
}

/* ---- Perf events ------------------------------------------------------------------------------------------------- */

#define UNIT_FOLDER "sys/bus/event_source/devices/power"

static int open_event(const struct gt_root *root, unsigned long long type, unsigned long long config, int cpu)
{
    char name[128];
    unsigned long long paranoid;
    snprintf(name, sizeof name, "perf/%llu/%llu/%d", type, config, cpu);
    if (!root->is_machine) {
        bool is_denied = gt_root_read_u64(root, "proc/sys/kernel/perf_event_paranoid", &paranoid) == 0 && paranoid > 0;
        return is_denied ? -EACCES : gt_root_open_file(root, name);
    }
    int early = gt_early_open(name);
    if (early >= 0)
        return early;
    struct perf_event_attr attributes = {.type = (unsigned)type, .size = sizeof attributes, .config = config};
    int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        gt_early_keep(name, fd);
    return fd < 0 ? -errno : fd;
}

static bool read_event_file(const struct gt_root *root, const char *name, const char *suffix, char *text, size_t size)
{
    return gt_root_read_line(root, text, size, UNIT_FOLDER "/events/%s%s", name, suffix) > 0;
}

/* An event with another field, another unit or a strange scale is not counted: its meaning is not known for sure. */
static bool read_event(const struct gt_root *root, const char *name, unsigned long long *config, double *scale)
{
    char text[64];
    int end = 0;
    if (!read_event_file(root, name, "", text, sizeof text) || sscanf(text, "event=%llx%n", config, &end) != 1 ||
        text[end])
        return false;
    if (!read_event_file(root, name, ".unit", text, sizeof text) || strcmp(text, "Joules"))
        return false;
    return read_event_file(root, name, ".scale", text, sizeof text) && gt_number_double(text, scale) == 0 &&
           *scale > 0 && *scale <= 1;
}

/* The platform has one counter, whichever package is asked; each of AMD's packages has one, whichever die is asked. */
static void add_event(struct gt_rapl_zones *zones, const struct gt_root *root, enum gt_rapl_domain domain,
                      unsigned long long type, const char *cpus)
{
    unsigned long long config;
    double scale;
    char text[2048];
    if (!read_event(root, names[domain].event, &config, &scale))
        return;
    /* AMD counts by socket, whatever its dies. */
    bool is_by_socket = gt_root_read(root, "proc/cpuinfo", text, sizeof text) > 0 &&
                        (strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine"));
    for (long first, last; gt_number_range_next(&cpus, &first, &last) > 0;) {
        for (long cpu = first; cpu <= last; cpu++) {
            char name[64];
            int package = gt_package_number(root, (int)cpu);
            bool is_there = false;
            for (int i = 0; i < zones->count && is_by_socket && package >= 0; i++)
                is_there |= is_of(&zones->zone[i], GT_RAPL_PERF, domain) && zones->zone[i].package == package;
            if (is_there)
                continue;
            snprintf(name, sizeof name, "%s of CPU %ld", names[domain].event, cpu);
            struct gt_rapl_zone *zone = add_zone_of(zones, GT_RAPL_PERF, domain, name);
            if (!zone)
                return;
            zone->fd = open_event(root, type, config, (int)cpu);
            zone->unit = scale;
            zone->package = package;
            zone->range = UINT64_MAX;
            if (domain == GT_RAPL_PLATFORM)
                return;
        }
    }
}

static void find_events(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    unsigned long long type;
    char cpus[512];
    if (gt_root_read_u64(root, UNIT_FOLDER "/type", &type) < 0 ||
        gt_root_read(root, UNIT_FOLDER "/cpumask", cpus, sizeof cpus) <= 0)
        return;
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++)
        add_event(zones, root, domain, type, cpus);
}

static int read_event_count(const struct gt_rapl_zone *zone, uint64_t *ret)
{
    lseek(zone->fd, 0, SEEK_SET); /* a stored one; an event has no position */
    return read(zone->fd, ret, sizeof *ret) == sizeof *ret ? 0 : -EIO;
}

/* ---- Powercap ---------------------------------------------------------------------------------------------------- */

static const char directory[] = "sys/class/powercap";

static bool read_name(const struct gt_root *root, const char *zone, char *text, size_t size)
{
    return gt_root_read_line(root, text, size, "%s/%.63s/name", directory, zone) > 0;
}

/* "intel-rapl:0:2" in folder "intel-rapl:0" is named after both: every package has its own "dram". */
static int full_name(const struct gt_root *root, const char *entry, char *text, size_t size,
                     enum gt_rapl_domain *domain)
{
    char own[24] = "", parent[32] = "", above[64];
    const char *first = strchr(entry, ':'), *last = strrchr(entry, ':');
    if (!read_name(root, entry, own, sizeof own) || !first)
        return -ENOENT;
    if (first == last) {
        *domain = !strcmp(own, "psys") ? GT_RAPL_PLATFORM : GT_RAPL_PACKAGE;
        snprintf(text, size, "%s", own);
        return *domain == GT_RAPL_PACKAGE && strncmp(own, "package", strlen("package")) ? -ENOENT : 0;
    }
    snprintf(above, sizeof above, "%.*s", (int)(last - entry), entry);
    for (*domain = 0; *domain < GT_RAPL_DOMAINS; ++*domain)
        if (names[*domain].part && !strcmp(own, names[*domain].part))
            break;
    if (*domain == GT_RAPL_DOMAINS || !read_name(root, above, parent, sizeof parent))
        return -ENOENT;
    snprintf(text, size, "%s/%s", parent, own);
    return 0;
}

static void add_zone(struct gt_rapl_zones *zones, const struct gt_root *root, const char *entry)
{
    char name[64], path[128];
    unsigned long long range;
    enum gt_rapl_domain domain;
    if (full_name(root, entry, name, sizeof name, &domain) < 0)
        return;
    struct gt_rapl_zone *zone = NULL; /* the MMIO copy of a zone takes its place only where it cannot be read */
    for (int i = 0; i < zones->count && !zone; i++)
        if (zones->zone[i].interface == GT_RAPL_POWERCAP && !strcmp(zones->zone[i].name, name))
            zone = &zones->zone[i];
    if (zone && zone->fd >= 0)
        return;
    if (!zone)
        zone = add_zone_of(zones, GT_RAPL_POWERCAP, domain, name);
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

static void find_zones(struct gt_rapl_zones *zones, const struct gt_root *root)
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

static int read_zone_count(const struct gt_rapl_zone *zone, uint64_t *ret)
{
    unsigned long long counts;
    int status = gt_root_reread_u64(zone->fd, &counts);
    if (status < 0)
        return status;
    *ret = counts;
    return zone->range && counts > zone->range ? -ERANGE : 0;
}

const struct gt_rapl_source gt_rapl_sources[GT_RAPL_INTERFACES] = {
    [GT_RAPL_PERF] =
        {
            .name = "perf events",
            .absent = "the kernel has no energy events for this processor",
            .remedy =
                "the energy relay; else sudo setcap cap_perfmon+ep \"$(command -v gpu-tracker)\" (opens energy of the machine, exactly, to "
                "whoever runs it; see gpu-tracker doctor --fix)",
            .find = find_events,
            .read = read_event_count,
        },
    [GT_RAPL_POWERCAP] =
        {
            .name = "powercap",
            .absent = "no RAPL zones below /sys/class/powercap (containers hide them)",
            .remedy = gt_remedy_energy,
            .find = find_zones,
            .read = read_zone_count,
        },
};

void gt_rapl_find(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    find_events(zones, root);
    find_zones(zones, root);
}

/* ---- Counters ----------------------------------------------------------------------------------------------------- */

const double gt_rapl_most_watts = 2000;

/* A loaded package draws so much: at that power a counter must not go round between two readings. */
static const double LOADED_WATTS = 500;

/* Two counters that are one differ by what was drawn between reading the one and the other. */
static const double SAME_JOULES = 1;

/* Over less than that a refresh more or less would look like a great power. */
static const double SHORT_SECONDS = 0.05;
/* A counter that does not move for this time, hundreds of refreshes, has stopped. */
static const int64_t STILL_NS = GT_SECOND / 2;

/* The platform holds GPUs as well. Between the moment that is taken for a reading's and the reading itself we may not have run. */
static const double PLATFORM_MOST_WATTS = 1e5, LATE_SECONDS = 5;

enum { ANY_PACKAGE = -1 };

/* Adds the growth, and as a doubt the rounds that may have been missed at the greatest power that such a counter is known to show. */
static void note(struct gt_rapl_zone *zone, uint64_t growth, int64_t now_ns)
{
    double seconds = (double)(now_ns - zone->last_ns) / 1e9, joules = (double)growth * zone->unit;
    double round = zone->range == UINT64_MAX ? 0 : (double)zone->range * zone->unit;
    double most = fmax(LOADED_WATTS, zone->most_watts) * seconds;
    double rounds = zone->is_begun && round > 0 && most > joules ? floor((most - joules) / round) : 0;
    zone->blind += rounds > 0;
    zone->doubt += rounds * round;
    if (zone->is_begun && seconds >= SHORT_SECONDS)
        zone->most_watts = fmax(zone->most_watts, joules / seconds);
    zone->joules += joules;
    if (!zone->is_begun || growth)
        zone->moved_ns = now_ns;
    zone->last_ns = now_ns;
    zone->is_begun = true;
}

void gt_rapl_advance(struct gt_rapl_zone *zone, uint64_t counts, int64_t now_ns)
{
    double seconds = (double)(now_ns - zone->last_ns) / 1e9;
    double most = zone->domain == GT_RAPL_PLATFORM ? PLATFORM_MOST_WATTS : gt_rapl_most_watts;
    uint64_t growth = counts - zone->last;
    if (!zone->is_begun) {
        growth = 0;
    } else if (counts < zone->last) {
        uint64_t around = zone->range > zone->last ? zone->range - zone->last + counts : 0;
        bool is_wrap = around && (double)around * zone->unit <= gt_rapl_most_watts * seconds;
        growth = is_wrap ? around : 0;
        zone->wraps += is_wrap;
        zone->resets += !is_wrap;
        zone->falls |= !is_wrap;
        zone->doubt = is_wrap ? zone->doubt : INFINITY;
    }
    /* Perf events are compared with powercap instead. */
    if (zone->interface != GT_RAPL_PERF && (double)growth * zone->unit > most * (seconds + LATE_SECONDS)) {
        zone->resets += counts > zone->last;
        zone->doubt = INFINITY;
        growth = 0;
    }
    note(zone, growth, now_ns);
    zone->last = counts;
}

/* A die that parts from the one it seemed to be a copy of is a counter of its own, and was from the first. */
static void part(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->mirror < 0 || zone->is_unread || zones->zone[zone->mirror].is_unread)
            continue;
        if (fabs(zone->joules - zones->zone[zone->mirror].joules) > SAME_JOULES)
            zone->mirror = -1;
    }
}

void gt_rapl_read(struct gt_rapl_zones *zones, int64_t now_ns)
{
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        uint64_t counts;
        zone->is_unread = zone->fd < 0 || gt_rapl_sources[zone->interface].read(zone, &counts) < 0;
        if (zone->is_unread)
            continue;
        zone->doubt = !zone->is_begun && zones->is_read ? INFINITY : zone->doubt;
        gt_rapl_advance(zone, counts, now_ns);
    }
    zones->is_read = true;
    part(zones);
}

void gt_rapl_find_mirrors(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++)
        for (int j = 0; j < i && zones->zone[i].mirror < 0; j++) {
            const struct gt_rapl_zone *a = &zones->zone[i], *b = &zones->zone[j];
            double apart = ((double)a->last - (double)b->last) * a->unit;
            bool are_dies = a->package >= 0 && a->package == b->package && a->domain == b->domain &&
                            a->interface == b->interface;
            if (are_dies && !a->is_unread && !b->is_unread && fabs(apart) <= SAME_JOULES)
                zones->zone[i].mirror = j;
        }
}

/* A graphics unit may sleep through the whole run. */
static bool is_moving(const struct gt_rapl_zones *zones, const struct gt_rapl_zone *zone)
{
    if (zone->joules > 0)
        return true;
    for (int i = 0; i < zones->count && zone->domain == GT_RAPL_UNCORE; i++)
        if (zones->zone[i].domain == GT_RAPL_PACKAGE && zones->zone[i].joules > 0)
            return true;
    return false;
}

bool gt_rapl_has(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain)
{
    bool any = false, all = true;
    for (int i = 0; i < zones->count; i++)
        if (is_of(&zones->zone[i], interface, domain)) {
            any = true;
            all &= zones->zone[i].fd >= 0;
        }
    return any && all;
}

bool gt_rapl_is_denied(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface)
{
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].interface == interface && (zones->zone[i].fd == -EACCES || zones->zone[i].fd == -EPERM))
            return true;
    return false;
}

const char *gt_rapl_trouble(const struct gt_rapl_zone *zone)
{
    if (zone->falls)
        return "runs backwards";
    if (zone->resets)
        return "jumps by more than any power explains";
    return zone->is_unread && zone->fd != -ENODATA ? "cannot be read" : "does not change, as in virtual machines";
}

static bool has_stopped(const struct gt_rapl_zone *zone)
{
    return zone->domain != GT_RAPL_UNCORE && zone->last_ns - zone->moved_ns > STILL_NS;
}

/* One that never moved is left: virtual machines show such. */
static bool is_lost(const struct gt_rapl_zone *zone)
{
    return zone->fd >= 0 && (zone->is_unread || (zone->joules > 0 && has_stopped(zone)));
}

void gt_rapl_reopen(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    struct gt_rapl_zones *anew = NULL; /* found once one is lost */
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (!is_lost(zone))
            continue;
        if (!anew && (anew = calloc(1, sizeof *anew)))
            gt_rapl_find(anew, root);
        for (int k = 0; anew && k < anew->count; k++) {
            struct gt_rapl_zone *found = &anew->zone[k];
            if (found->fd < 0 || found->interface != zone->interface || strcmp(found->name, zone->name) != 0)
                continue;
            close(zone->fd);
            zone->fd = found->fd;
            found->fd = -ENOENT;
            break;
        }
    }
    if (anew)
        gt_rapl_close(anew);
    free(anew);
}

double gt_rapl_doubt(struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain)
{
    double doubt = 0;
    int count = 0, stopped = 0;
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (!is_of(zone, interface, domain) || zone->mirror >= 0 || zone->is_unread)
            continue;
        stopped += has_stopped(zone);
        count++;
        doubt += zone->doubt;
        zone->doubt = 0;
    }
    bool is_part = stopped > 0 && stopped < count;
    return is_part && !isinf(doubt) ? -INFINITY : doubt;
}

static void drop(struct gt_rapl_zone *zone, int status)
{
    close(zone->fd);
    zone->fd = status;
    zone->is_unread = true;
}

void gt_rapl_drop_dead(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].fd >= 0 && zones->zone[i].is_begun && !is_moving(zones, &zones->zone[i]))
            drop(&zones->zone[i], -ENODATA);
}

void gt_rapl_drop_others(struct gt_rapl_zones *zones, const int source[GT_RAPL_DOMAINS])
{
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->fd >= 0 && source[zone->domain] >= 0 && (int)zone->interface != source[zone->domain])
            drop(zone, -EBADF);
    }
}

void gt_rapl_close(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++)
        gt_close_fd(zones->zone[i].fd);
    zones->count = 0;
}

double gt_rapl_package_total(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface,
                             enum gt_rapl_domain domain, int package)
{
    double total = NAN;
    for (int i = 0; i < zones->count; i++) {
        const struct gt_rapl_zone *zone = &zones->zone[i];
        bool is_elsewhere = package != ANY_PACKAGE && zone->package != package;
        if (!is_of(zone, interface, domain) || is_elsewhere)
            continue;
        if (zone->is_unread || (zone->mirror < 0 && !is_moving(zones, zone)))
            return NAN;
        gt_add_known(&total, zone->mirror < 0 ? zone->joules : 0);
    }
    return total;
}

double gt_rapl_total(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain)
{
    return gt_rapl_package_total(zones, interface, domain, ANY_PACKAGE);
}

int gt_rapl_packages(const struct gt_rapl_zones *zones, int numbers[GT_PACKAGES])
{
    int count = 0, open[GT_RAPL_INTERFACES] = {0};
    for (int i = 0; i < zones->count; i++)
        open[zones->zone[i].interface] += zones->zone[i].domain == GT_RAPL_PACKAGE && zones->zone[i].fd >= 0;
    if (open[GT_RAPL_PERF] <= 1 && open[GT_RAPL_POWERCAP] <= 1)
        return 0;
    for (int i = 0; i < zones->count; i++) {
        const struct gt_rapl_zone *zone = &zones->zone[i];
        bool is_known = zone->domain != GT_RAPL_PACKAGE || zone->fd < 0;
        if (!is_known && zone->package < 0)
            return -ENOENT;
        for (int k = 0; k < count && !is_known; k++)
            is_known = numbers[k] == zone->package;
        if (is_known)
            continue;
        if (count == GT_PACKAGES)
            return -E2BIG;
        numbers[count++] = zone->package;
    }
    return count;
}
