/* RAPL counters as model-specific registers, by /dev/cpu/N/msr: the last resort, for root.
 *
 * Sources: Intel's Software Developer's Manual, volume 4 (registers 606h to 64Dh); AMD's Processor Programming Reference of family
 * 17h (C0010299h to C001029Bh). Which processors count in another unit, and that AMD counts by socket: the kernel's
 * arch/x86/events/rapl.c (rapl_model_match) and drivers/powercap/intel_rapl_common.c (rapl_ids), as of Linux 6.13. They differ on
 * the memory of Broadwell-D: here it counts as in the first. A counter has 32 bits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/energy/rapl.h"

enum { INTEL_UNIT = 0x606, MOST_CPUS = 4096 };
static const uint64_t AMD_UNIT = 0xC0010299;

static const struct counter {
    uint64_t address;
    const char *part;
    enum gt_rapl_domain domain;
} intel_counters[] =
    {
        {0x611, "", GT_RAPL_PACKAGE},   {0x639, "/core", GT_RAPL_CORE},     {0x641, "/uncore", GT_RAPL_UNCORE},
        {0x619, "/dram", GT_RAPL_DRAM}, {0x64D, "/psys", GT_RAPL_PLATFORM},
},
  amd_counters[] = {
      {0xC001029B, "", GT_RAPL_PACKAGE}, /* that of a core, C001029Ah, is in it, and would interrupt each core */
};

struct processor {
    bool is_intel, is_amd;
    unsigned family, model;
};

static unsigned number_after(const char *text, const char *key)
{
    const char *line = strstr(text, key), *colon = line ? strchr(line, ':') : NULL;
    return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

static struct processor identify(const struct gt_root *root)
{
    char text[2048];
    struct processor ret = {0};
    if (gt_root_read(root, "proc/cpuinfo", text, sizeof text) <= 0)
        return ret;
    ret.family = number_after(text, "cpu family");
    ret.model = number_after(text, "model\t");
    ret.is_intel = strstr(text, "GenuineIntel") && ret.family == 6;
    ret.is_amd = (strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine")) && ret.family >= 0x17;
    return ret;
}

bool gt_rapl_is_of_socket(const struct gt_root *root)
{
    return identify(root).is_amd;
}

static bool is_one_of(unsigned model, const unsigned *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == model)
            return true;
    return false;
}

/* Joules for each count: 2^-n, but for small Atoms, for memory of servers from Haswell to Ice Lake and of Xeon Phi, and for the
 * platform of Sapphire and Emerald Rapids. */
static double unit_of(const struct processor *processor, enum gt_rapl_domain domain, unsigned exponent)
{
    static const unsigned atoms[] = {0x37, 0x4A, 0x4C, 0x5A}; /* Silvermont and Airmont */
    static const unsigned servers[] = {0x3F, 0x4F, 0x56, 0x55, 0x6A, 0x6C, 0x57, 0x85};
    static const unsigned whole_joules[] = {0x8F, 0xCF};
#define AMONG(list) is_one_of(processor->model, list, sizeof list / sizeof *list)
    if (processor->is_intel && AMONG(atoms))
        return (double)(1ull << exponent) * 1e-6;
    if (processor->is_intel && domain == GT_RAPL_DRAM && AMONG(servers))
        return 1.0 / (1 << 16);
    if (processor->is_intel && domain == GT_RAPL_PLATFORM && AMONG(whole_joules))
        return 1;
#undef AMONG
    return 1.0 / (double)(1ull << exponent);
}

static int read_register(int fd, uint64_t address, uint64_t *ret)
{
    ssize_t length = pread(fd, ret, sizeof *ret, (off_t)address);
    return length == sizeof *ret ? 0 : length < 0 ? -errno : -EIO;
}

static void add_counter(struct gt_rapl_zones *zones, const struct processor *processor, int package,
                        const struct counter *counter, const char *file, const struct gt_root *root)
{
    char name[64];
    uint64_t word = 0;
    int fd = gt_root_open_file(root, file);
    int status = fd < 0 ? fd : read_register(fd, processor->is_amd ? AMD_UNIT : INTEL_UNIT, &word);
    unsigned exponent = (unsigned)(word >> 8 & 0x1f);
    if (status == 0)
        status = read_register(fd, counter->address, &word);
    bool is_denied = status == -EACCES || status == -EPERM;
    snprintf(name, sizeof name, "package-%d%s", package, counter->part);
    struct gt_rapl_zone *zone = status == 0 || (is_denied && counter->domain == GT_RAPL_PACKAGE)
                                    ? gt_rapl_add(zones, GT_RAPL_MSR, counter->domain, name)
                                    : NULL; /* this processor has no such register */
    if (zone) {
        zone->fd = status == 0 ? fd : status;
        zone->address = counter->address;
        zone->unit = unit_of(processor, counter->domain, exponent);
        zone->range = 1ull << 32;
    }
    if (fd >= 0 && (!zone || zone->fd < 0))
        close(fd);
}

static void add_package(struct gt_rapl_zones *zones, const struct processor *processor, const struct gt_root *root,
                        int cpu, int package, bool is_first)
{
    const struct counter *counters = processor->is_amd ? amd_counters : intel_counters;
    size_t count = processor->is_amd ? sizeof amd_counters / sizeof *amd_counters
                                     : sizeof intel_counters / sizeof *intel_counters;
    char file[64];
    snprintf(file, sizeof file, "dev/cpu/%d/msr", cpu);
    for (size_t i = 0; i < count; i++)
        if (counters[i].domain != GT_RAPL_PLATFORM || is_first) /* the platform has one counter */
            add_counter(zones, processor, package, &counters[i], file, root);
}

/* One that is offline has a folder, and no topology in it. */
static bool is_present(const struct gt_root *root, int cpu)
{
    char path[64];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d", cpu);
    return gt_root_access(root, path, F_OK) == 0;
}

/* On the first CPU of each die: processors with several dies have a counter for each. */
static void find(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    if (gt_root_access(root, "dev/cpu", F_OK) == -ENOENT)
        return; /* asking what processors there are takes longer */
    struct processor processor = identify(root);
    unsigned long long seen[64];
    size_t count = 0;
    for (int cpu = 0; (processor.is_intel || processor.is_amd) && cpu < MOST_CPUS && count < 64; cpu++) {
        char path[128];
        unsigned long long package, die = 0;
        bool is_known = false;
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        int status = gt_root_read_u64(root, path, &package);
        if (status == -ENOENT && !is_present(root, cpu))
            break;
        if (status < 0)
            continue;
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/die_id", cpu);
        if (processor.is_amd || gt_root_read_u64(root, path, &die) < 0)
            die = 0; /* AMD counts by socket */
        for (size_t i = 0; i < count; i++)
            is_known |= seen[i] == (package << 16 | die);
        if (is_known)
            continue;
        seen[count++] = package << 16 | die;
        add_package(zones, &processor, root, cpu, (int)package, count == 1);
    }
}

static int read_count(const struct gt_rapl_zone *zone, uint64_t *ret)
{
    int status = read_register(zone->fd, zone->address, ret);
    *ret &= UINT32_MAX;
    return status;
}

const struct gt_rapl_source gt_rapl_msr = {
    .name = "MSR",
    .absent = "no /dev/cpu/0/msr, or the processor lacks the registers",
    .remedy = "sudo modprobe msr",
    .is_last = true,
    .find = find,
    .read = read_count,
};
