/* RAPL counters as perf events: one of each kind for every package (Intel: for every die), on the CPUs that /sys names. 64 bits
 * wide. AMD's have the same names since Linux 5.8, packages only; a core's is in another folder, "power_core", since 6.14.
 *
 * On a stored machine the file perf/TYPE/CONFIG/CPU holds what the event's descriptor would give: 8 bytes. As the kernel does it,
 * proc/sys/kernel/perf_event_paranoid above 0 denies them.
 *
 * Source: arch/x86/events/rapl.c in the kernel's sources. Linux 6.9 to 6.11 name a CPU of each die of AMD's as well, though all of
 * a package read one register. */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/root.h"
#include "base/number.h"
#include "collect/energy/rapl.h"

#define UNIT_FOLDER "sys/bus/event_source/devices/power"

static const struct event {
    const char *name;
    enum gt_rapl_domain domain;
} events[] = {
    {"energy-pkg", GT_RAPL_PACKAGE}, {"energy-ram", GT_RAPL_DRAM},   {"energy-psys", GT_RAPL_PLATFORM},
    {"energy-cores", GT_RAPL_CORE},  {"energy-gpu", GT_RAPL_UNCORE},
};

static int open_stored_event(const struct gt_root *root, unsigned long long type, unsigned long long config, int cpu)
{
    char path[128];
    unsigned long long paranoid;
    if (gt_root_read_u64(root, "proc/sys/kernel/perf_event_paranoid", &paranoid) == 0 && paranoid > 0)
        return -EACCES;
    snprintf(path, sizeof path, "perf/%llu/%llu/%d", type, config, cpu);
    return gt_root_open_file(root, path);
}

static int open_event(const struct gt_root *root, unsigned long long type, unsigned long long config, int cpu)
{
    if (!root->is_machine)
        return open_stored_event(root, type, config, cpu);
    char name[64];
    snprintf(name, sizeof name, "perf/%llu/%llu/%d", type, config, cpu);
    int early = gt_early_open(name);
    if (early >= 0)
        return early;
    struct perf_event_attr attributes = {.type = (unsigned)type, .size = sizeof attributes, .config = config};
    int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0)
        gt_early_keep(name, fd);
    return fd < 0 ? -errno : fd;
}

static bool read_word(const struct gt_root *root, const char *name, const char *of, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, UNIT_FOLDER "/events/%s%s", name, of);
    ssize_t length = gt_root_read(root, path, text, size);
    if (length <= 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return true;
}

/* What is not known for sure is not counted: another field in the event, another unit, a scale that is none. */
static bool read_event(const struct gt_root *root, const char *name, unsigned long long *config, double *scale)
{
    char text[64];
    int end = 0;
    if (!read_word(root, name, "", text, sizeof text) || sscanf(text, "event=%llx%n", config, &end) != 1 || text[end])
        return false;
    if (!read_word(root, name, ".unit", text, sizeof text) || strcmp(text, "Joules"))
        return false;
    return read_word(root, name, ".scale", text, sizeof text) && gt_number_double(text, scale) == 0 && *scale > 0 &&
           *scale <= 1;
}

static int package_of(const struct gt_root *root, long cpu)
{
    char path[128];
    unsigned long long package;
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%ld/topology/physical_package_id", cpu);
    return gt_root_read_u64(root, path, &package) < 0 ? -1 : (int)package;
}

static bool has_package(const struct gt_rapl_zones *zones, enum gt_rapl_domain domain, int package)
{
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].interface == GT_RAPL_PERF && zones->zone[i].domain == domain &&
            zones->zone[i].package == package)
            return true;
    return false;
}

/* The platform has one counter, whichever package is asked; each of AMD's packages has one, whichever die is asked. */
static void add_event(struct gt_rapl_zones *zones, const struct gt_root *root, const struct event *event,
                      unsigned long long type, const char *cpus)
{
    unsigned long long config;
    double scale;
    bool is_of_socket = gt_rapl_is_of_socket(root);
    if (!read_event(root, event->name, &config, &scale))
        return;
    for (long first, last; gt_number_range_next(&cpus, &first, &last) > 0;) {
        for (long cpu = first; cpu <= last; cpu++) {
            char name[64];
            int package = package_of(root, cpu);
            if (is_of_socket && package >= 0 && has_package(zones, event->domain, package))
                continue;
            snprintf(name, sizeof name, "%s of CPU %ld", event->name, cpu);
            struct gt_rapl_zone *zone = gt_rapl_add(zones, GT_RAPL_PERF, event->domain, name);
            if (!zone)
                return;
            zone->fd = open_event(root, type, config, (int)cpu);
            zone->unit = scale;
            zone->package = package;
            zone->range = UINT64_MAX;
            if (event->domain == GT_RAPL_PLATFORM)
                return;
        }
    }
}

static void find(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    unsigned long long type;
    char cpus[512];
    if (gt_root_read_u64(root, UNIT_FOLDER "/type", &type) < 0 ||
        gt_root_read(root, UNIT_FOLDER "/cpumask", cpus, sizeof cpus) <= 0)
        return;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        add_event(zones, root, &events[i], type, cpus);
}

static int read_count(const struct gt_rapl_zone *zone, uint64_t *ret)
{
    lseek(zone->fd, 0, SEEK_SET); /* a stored one; an event has no position */
    return read(zone->fd, ret, sizeof *ret) == sizeof *ret ? 0 : -EIO;
}

const struct gt_rapl_source gt_rapl_perf = {
    .name = "perf events",
    .absent = "the kernel has no energy events for this processor",
    .remedy =
        "the energy relay; else sudo setcap cap_perfmon+ep \"$(command -v gpu-tracker)\" (opens energy of the machine, exactly, to "
        "whoever runs it; see gpu-tracker doctor --fix)",
    .find = find,
    .read = read_count,
};
