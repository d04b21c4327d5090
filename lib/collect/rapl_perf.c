/* RAPL counters as perf events: one of each kind for every package, on the CPUs that /sys names. 64 bits wide. AMD's
 * have the same names since Linux 5.8. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/rapl.h"

#define UNIT_FOLDER "sys/bus/event_source/devices/power"

static const struct event {
    const char *name;
    enum gt_rapl_domain domain;
} events[] = {
    {"energy-pkg", GT_RAPL_PACKAGE}, {"energy-ram", GT_RAPL_DRAM},   {"energy-psys", GT_RAPL_PLATFORM},
    {"energy-cores", GT_RAPL_CORE},  {"energy-gpu", GT_RAPL_UNCORE},
};

static int open_event(unsigned long long type, unsigned long long config, int cpu)
{
    struct perf_event_attr attributes = {.type = (unsigned)type, .size = sizeof attributes, .config = config};
    int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool read_event(const struct gt_root *root, const char *name, unsigned long long *config, double *scale)
{
    char path[128], text[64], unit[16];
    snprintf(path, sizeof path, UNIT_FOLDER "/events/%s", name);
    if (gt_root_read(root, path, text, sizeof text) <= 0 || sscanf(text, "event=%llx", config) != 1)
        return false;
    snprintf(path, sizeof path, UNIT_FOLDER "/events/%s.unit", name);
    if (gt_root_read(root, path, unit, sizeof unit) <= 0 || strncmp(unit, "Joules", strlen("Joules")))
        return false;
    snprintf(path, sizeof path, UNIT_FOLDER "/events/%s.scale", name);
    return gt_root_read(root, path, text, sizeof text) > 0 && (*scale = strtod(text, NULL)) > 0;
}

static int package_of(const struct gt_root *root, long cpu)
{
    char path[128];
    unsigned long long package;
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%ld/topology/physical_package_id", cpu);
    return gt_root_read_u64(root, path, &package) < 0 ? -1 : (int)package;
}

/* The platform has one counter, whichever package is asked. */
static void add_event(struct gt_rapl_zones *zones, const struct gt_root *root, const struct event *event,
                      unsigned long long type, const char *cpus)
{
    unsigned long long config;
    double scale;
    if (!read_event(root, event->name, &config, &scale))
        return;
    for (const char *at = cpus; *at >= '0' && *at <= '9';) { /* "0,16" or "0-3" */
        char *end;
        long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last; cpu++) {
            char name[64];
            snprintf(name, sizeof name, "%s of CPU %ld", event->name, cpu);
            struct gt_rapl_zone *zone = gt_rapl_add(zones, GT_RAPL_PERF, event->domain, name);
            if (!zone)
                return;
            zone->fd = open_event(type, config, (int)cpu);
            zone->unit = scale;
            zone->package = package_of(root, cpu);
            zone->range = UINT64_MAX;
            if (event->domain == GT_RAPL_PLATFORM)
                return;
        }
        at = *end == ',' ? end + 1 : "";
    }
}

static void find(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    unsigned long long type;
    char cpus[512];
    if (!root->is_machine || gt_root_read_u64(root, UNIT_FOLDER "/type", &type) < 0 ||
        gt_root_read(root, UNIT_FOLDER "/cpumask", cpus, sizeof cpus) <= 0)
        return;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        add_event(zones, root, &events[i], type, cpus);
}

static int read_count(const struct gt_rapl_zone *zone, uint64_t *ret)
{
    return read(zone->fd, ret, sizeof *ret) == sizeof *ret ? 0 : -EIO;
}

const struct gt_rapl_source gt_rapl_perf = {
    .name = "perf events",
    .absent = "the kernel has no energy events for this processor",
    .remedy = "sudo setcap cap_perfmon+ep \"$(command -v gpu-tracker)\"",
    .find = find,
    .read = read_count,
};
