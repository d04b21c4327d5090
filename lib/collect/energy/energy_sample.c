#include "collect/energy/energy_sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collect/energy/rapl.h"

struct gt_energy_sample {
    struct gt_rapl_zones zones; /* closed: their counts stay */
    int64_t monotonic_ns, real_ns;
    double seconds; /* of a difference, else NaN */
};

/* Says why there is nothing to read. */
static int explain(const struct gt_root *root, struct gt_error *error)
{
    struct gt_availability each[GT_RAPL_INTERFACES], both;
    gt_rapl_survey(root, each, &both);
    const struct gt_availability *found = &each[GT_RAPL_POWERCAP];
    int status = gt_error_set(error, found->state == GT_DENIED ? EACCES : ENODEV, "%s: %s%s%s", found->source,
                              found->reason, found->remedy[0] ? ": " : "", found->remedy);
    if (error)
        error->path_length = 0; /* of no file */
    return status;
}

static int read_zones(struct gt_energy_sample *sample, const struct gt_root *root, struct gt_error *error)
{
    gt_rapl_sources[GT_RAPL_POWERCAP].find(&sample->zones, root);
    if (!gt_rapl_has(&sample->zones, GT_RAPL_POWERCAP, GT_RAPL_PACKAGE)) {
        gt_rapl_close(&sample->zones);
        return explain(root, error);
    }
    sample->monotonic_ns = gt_clock_monotonic(&gt_clock_system);
    sample->real_ns = gt_clock_real(&gt_clock_system);
    gt_rapl_read(&sample->zones, sample->monotonic_ns);
    gt_rapl_find_mirrors(&sample->zones);
    int count = sample->zones.count;
    gt_rapl_close(&sample->zones);
    sample->zones.count = count;
    for (int i = 0; i < count; i++)
        sample->zones.zone[i].fd = -EBADF;
    return 0;
}

int gt_energy_sample_take(struct gt_energy_sample **ret, const char *machine_root, struct gt_error *error)
{
    struct gt_root root;
    struct gt_energy_sample *sample = calloc(1, sizeof *sample);
    if (!sample)
        return gt_error_system(error, ENOMEM, "energy sample");
    sample->seconds = NAN;
    int status = gt_root_open(&root, machine_root, error);
    if (status >= 0) {
        status = read_zones(sample, &root, error);
        gt_root_close(&root);
    }
    if (status < 0) {
        free(sample);
        return status;
    }
    *ret = sample;
    return 0;
}

static bool are_of_one_machine(const struct gt_rapl_zones *a, const struct gt_rapl_zones *b)
{
    for (int i = 0; a->count == b->count && i < a->count; i++)
        if (strcmp(a->zone[i].name, b->zone[i].name) != 0)
            return false;
    return a->count == b->count;
}

int gt_energy_sample_between(struct gt_energy_sample **ret, const struct gt_energy_sample *earlier,
                             const struct gt_energy_sample *later, struct gt_error *error)
{
    if (!isnan(earlier->seconds) || !isnan(later->seconds) || !are_of_one_machine(&earlier->zones, &later->zones))
        return gt_error_set(error, EINVAL, "only two samples of one machine's counters have a difference");
    if (later->monotonic_ns <= earlier->monotonic_ns)
        return gt_error_set(error, EINVAL, "the earlier sample is to be taken away from the later one");
    struct gt_energy_sample *difference = malloc(sizeof *difference);
    if (!difference)
        return gt_error_system(error, ENOMEM, "energy sample");
    *difference = *earlier;
    difference->real_ns = later->real_ns;
    difference->seconds = (double)(later->monotonic_ns - earlier->monotonic_ns) / 1e9;
    for (int i = 0; i < later->zones.count; i++) {
        struct gt_rapl_zone *zone = &difference->zones.zone[i];
        const struct gt_rapl_zone *now = &later->zones.zone[i];
        zone->is_unread |= now->is_unread;
        if (!zone->is_unread)
            gt_rapl_advance(zone, now->last, later->monotonic_ns);
        zone->is_unread |= isinf(zone->doubt) != 0; /* set back: what was drawn meanwhile is not known */
        if (now->mirror < 0)                        /* parted meanwhile */
            zone->mirror = -1;
    }
    *ret = difference;
    return 0;
}

void gt_energy_sample_free(struct gt_energy_sample *sample)
{
    free(sample);
}

int gt_energy_sample_zone(const struct gt_energy_sample *sample, size_t index, struct gt_energy_zone *ret)
{
    if (index >= (size_t)sample->zones.count)
        return -ENOENT;
    const struct gt_rapl_zone *zone = &sample->zones.zone[index];
    double joules = isnan(sample->seconds) ? (double)zone->last * zone->unit : zone->joules;
    *ret = (struct gt_energy_zone){.name = zone->name, .joules = zone->is_unread ? NAN : joules};
    return 0;
}

double gt_energy_sample_time(const struct gt_energy_sample *sample, double *ret_seconds)
{
    *ret_seconds = sample->seconds;
    return (double)sample->real_ns / 1e9;
}

double gt_energy_sample_watts(const struct gt_energy_sample *sample, const char *name)
{
    static const struct {
        const char *name;
        enum gt_rapl_domain domain;
    } domains[] = {
        {"intel_power", GT_RAPL_PACKAGE}, {"psys_power", GT_RAPL_PLATFORM}, {"cpu_power", GT_RAPL_CORE},
        {"dram_power", GT_RAPL_DRAM},     {"uncore_power", GT_RAPL_UNCORE},
    };
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        if (!strcmp(domains[i].name, name))
            return gt_rapl_total(&sample->zones, GT_RAPL_POWERCAP, domains[i].domain) / sample->seconds;
    return NAN;
}
