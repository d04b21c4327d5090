/* A sample holds the processors' energy counters at one moment, or what they counted between two. Only counters that count from the
 * machine's start are read: an event of perf counts from when it was opened. */
#ifndef GT_COLLECT_ENERGY_ENERGY_SAMPLE_H
#define GT_COLLECT_ENERGY_ENERGY_SAMPLE_H

#include <stddef.h>

#include "base/error.h"

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
