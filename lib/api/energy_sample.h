/* Energy counters of the processors, read once. For Python. */
#ifndef GT_API_ENERGY_SAMPLE_H
#define GT_API_ENERGY_SAMPLE_H

#include "gpu_tracker.h"

/* The processors' energy counters as they are now, by zone. -EACCES, -ENODEV: why there are none. */
struct gt_energy_sample;
int gt_energy_sample_take(struct gt_energy_sample **ret, const char *machine_root, struct gt_error *error);
/* The joules between two samples, wraps taken into account; the difference is a sample, too. */
int gt_energy_sample_between(struct gt_energy_sample **ret, const struct gt_energy_sample *earlier,
                             const struct gt_energy_sample *later, struct gt_error *error);
void gt_energy_sample_free(struct gt_energy_sample *sample);
struct gt_energy_zone {
    const char *
        name; /* "package-0", "package-0/dram", "psys"; zones contain each other, so their joules are not to be added */
    double joules; /* as the counter stands, or between the two samples; NaN: it could not be read */
};
/* Zone number `index`; 0 or -ENOENT. */
int gt_energy_sample_zone(const struct gt_energy_sample *sample, size_t index, struct gt_energy_zone *ret);
/* Seconds since the epoch, and in *ret_seconds those between the two samples, NaN for one. */
double gt_energy_sample_time(const struct gt_energy_sample *sample, double *ret_seconds);
/* Watts of a difference: "intel_power" (all packages), "psys_power", "cpu_power" (their cores), "dram_power", "uncore_power"; NaN
 * without such a zone. */
double gt_energy_sample_watts(const struct gt_energy_sample *sample, const char *name);

#endif
