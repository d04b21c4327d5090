/* RAPL (Running Average Power Limit) has energy counters of processors, Intel's and AMD's.
 *
 * A zone is one counter. Zones contain each other, so a domain is summed over zones of one kind only: packages, their cores, their
 * graphics units (uncore), DRAM, or the whole platform (psys, which contains the packages). Domains are never added up: core and
 * uncore are parts of the package. Copies of a counter count once: the MMIO copy of an MSR zone, and dies of one package whose counters
 * advance alike.
 *
 * Sources: Documentation/power/powercap/powercap.rst and arch/x86/events/rapl.c in the kernel's sources. */
#ifndef GT_COLLECT_ENERGY_RAPL_H
#define GT_COLLECT_ENERGY_RAPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/collector.h"

enum gt_rapl_domain { GT_RAPL_PACKAGE, GT_RAPL_DRAM, GT_RAPL_PLATFORM, GT_RAPL_CORE, GT_RAPL_UNCORE, GT_RAPL_DOMAINS };
/* The earlier is preferred. */
enum gt_rapl_interface { GT_RAPL_PERF, GT_RAPL_POWERCAP, GT_RAPL_INTERFACES };

struct gt_rapl_zone {
    char name[64]; /* "package-0", "package-0/dram", "psys" */
    enum gt_rapl_domain domain;
    enum gt_rapl_interface interface;
    int fd;         /* negative errno: it is there and cannot be read; -ENODATA: it does not move */
    double unit;    /* joules for each count */
    uint64_t range; /* counts after which it begins again at 0; 0: not known, UINT64_MAX: never */
    uint64_t last;  /* counts at the last reading */
    int64_t last_ns;
    int64_t moved_ns; /* of the reading of its last move */
    bool is_begun;    /* there was a reading */
    double joules;    /* since the first reading */
    int package;      /* physical_package_id, -1: of none, or not known */
    int mirror;       /* zone of which this one is a copy as far as was seen, else -1 */
    bool is_unread;   /* the last reading failed */
    bool falls;       /* it was set back, or runs backwards */
    uint32_t wraps, resets;
    uint32_t blind;    /* readings so far apart that the counter may have gone round unseen */
    double most_watts; /* seen so far */
    /* Joules of such rounds at most, since it was last asked for; INFINITY: it was set back, or began late. */
    double doubt;
};

enum { GT_RAPL_ZONES = 128 };

struct gt_rapl_zones {
    struct gt_rapl_zone zone[GT_RAPL_ZONES];
    int count;
    bool is_read; /* they were, or it was tried */
};

/* Append the zones of all interfaces. */
void gt_rapl_find(struct gt_rapl_zones *zones, const struct gt_root *root);
/* Take in one reading. A lower one than the last is a wrap where that could be at any believable power; else the counter was
 * set back, nobody knows to what, and what was drawn since the last reading is lost. What no power would explain is no energy, and lost as
 * well. */
void gt_rapl_advance(struct gt_rapl_zone *zone, uint64_t counts, int64_t now_ns);
/* Read every zone. One that fails has no reading this time: its next covers the gap. */
void gt_rapl_read(struct gt_rapl_zones *zones, int64_t now_ns);
/* Open those anew that fail, or have stopped: a driver that was loaded again has other files of the same names. */
void gt_rapl_reopen(struct gt_rapl_zones *zones, const struct gt_root *root);
/* Returns joules of a domain since the first reading, as one interface has them. NaN: it has no zone of the domain, one of its zones has no
 * reading, or one has not moved yet, for a counter that stands still measures nothing. */
double gt_rapl_total(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain);
/* Do the same for one package. */
double gt_rapl_package_total(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface,
                             enum gt_rapl_domain domain, int package);
/* List the packages that have counters. Returns how many there are, -ENOENT if the package of a counter is unknown, or -E2BIG. */
int gt_rapl_packages(const struct gt_rapl_zones *zones, int numbers[GT_PACKAGES]);
/* Look for dies that show one and the same counter, after the first reading. */
void gt_rapl_find_mirrors(struct gt_rapl_zones *zones);

extern const struct gt_collector_type gt_collector_rapl;
extern const double gt_rapl_most_watts; /* more than any processor package, with its memory, can draw for long */

/* A way to read the counters. */
struct gt_rapl_source {
    const char *name;   /* "perf events" */
    const char *absent; /* why there would be none, one clause */
    const char *remedy; /* a command that would make the counters readable */
    /* Append its zones; those that may not be read, too. */
    void (*find)(struct gt_rapl_zones *zones, const struct gt_root *root);
    /* 0, or a negative errno. */
    int (*read)(const struct gt_rapl_zone *zone, uint64_t *ret);
};
extern const struct gt_rapl_source gt_rapl_sources[GT_RAPL_INTERFACES];

/* Write the sentence of `doctor` about zones of both that were read twice, some seconds apart. Returns false where they disagree. */
bool gt_rapl_judge(const struct gt_rapl_zones *zones, double seconds, struct gt_availability *availability);
/* Find the zones and say whether each interface can be read, and if not, why, and whether both agree. */
void gt_rapl_survey(const struct gt_root *root, struct gt_availability each[GT_RAPL_INTERFACES],
                    struct gt_availability *both);

/* The first is true if there are zones of the domain and all can be read; the second if one of the interface is denied. */
bool gt_rapl_has(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain);
bool gt_rapl_is_denied(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface);
/* Close the counters that have not moved since the first reading: virtual machines show such. Real ones move at each of their
 * refreshes of 1 ms, but for that of a graphics unit that sleeps. Those that could not be read are left: nothing is known of them yet. */
void gt_rapl_drop_dead(struct gt_rapl_zones *zones);
/* Returns the joules that a domain may have missed since the last call, as a snapshot has it. One that does not move while others do misses
 * something as well. */
double gt_rapl_doubt(struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain);
/* Close the counters of each domain that are not of its source; -1: it has none yet. */
void gt_rapl_drop_others(struct gt_rapl_zones *zones, const int source[GT_RAPL_DOMAINS]);
/* Returns what is wrong with a counter that has counted nothing: "does not change, as in virtual machines". */
const char *gt_rapl_trouble(const struct gt_rapl_zone *zone);
void gt_rapl_close(struct gt_rapl_zones *zones);

/* A sample holds the processors' energy counters at one moment, or what they counted between two. Only counters that count from the
 * machine's start are read: an event of perf counts from when it was opened. */

struct gt_energy_sample;

/* Read the counters. -EACCES and -ENODEV come with the reason why there are none. */
int gt_energy_sample_take(struct gt_energy_sample **ret, const char *machine_root, struct gt_error *error);
/* Subtract the earlier sample from the later one, wraps taken into account. The difference is a sample, too. */
int gt_energy_sample_between(struct gt_energy_sample **ret, const struct gt_energy_sample *earlier,
                             const struct gt_energy_sample *later, struct gt_error *error);
void gt_energy_sample_free(struct gt_energy_sample *sample);

/* Zones contain each other, so their joules are not to be added. */
struct gt_energy_zone {
    const char *name; /* "package-0", "package-0/dram", "psys" */
    double joules;    /* of the counter, or between the two samples; NaN: it could not be read */
};
/* Get zone number `index`. Returns 0 or -ENOENT. */
int gt_energy_sample_zone(const struct gt_energy_sample *sample, size_t index, struct gt_energy_zone *ret);
/* Returns seconds since the epoch, and in *ret_seconds those between the two samples, NaN for one. */
double gt_energy_sample_time(const struct gt_energy_sample *sample, double *ret_seconds);
/* Returns the watts of a difference: "intel_power" (all packages), "psys_power", "cpu_power" (their cores), "dram_power",
 * "uncore_power"; NaN without such a zone. */
double gt_energy_sample_watts(const struct gt_energy_sample *sample, const char *name);

#endif
