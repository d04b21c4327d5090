#include "collect/energy/rapl.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collect/availability.h"

static const double MOST_APART = 0.05;
/* Both are read right after each other, at both ends: a refresh of 1 ms may lie between, or a few. */
static const double READING_SECONDS = 0.004;
/* The platform's counter may count whole joules. */
static const double PLATFORM_STEP = 1;
/* `doctor` looks again, for longer, where they seem to disagree: something may have come between two readings. */
enum { LOOKS = 3 };
static const long LOOK_NS = 200000000;

/* What the package's own parts say: no less can the package have drawn than its cores, and no processor draws that much. */
static bool is_plausible(const struct gt_rapl_zones *zones, int interface, double seconds)
{
    double package = gt_rapl_total(zones, interface, GT_RAPL_PACKAGE);
    double core = gt_rapl_total(zones, interface, GT_RAPL_CORE);
    int packages = 0;
    for (int i = 0; i < zones->count; i++)
        packages += (int)zones->zone[i].interface == interface && zones->zone[i].domain == GT_RAPL_PACKAGE;
    return !(package < core) && !(package > gt_rapl_most_watts * packages * seconds);
}

bool gt_rapl_compare(const struct gt_rapl_zones *zones, enum gt_rapl_domain domain, double seconds,
                     struct gt_rapl_comparison *ret)
{
    double a = gt_rapl_total(zones, GT_RAPL_PERF, domain), b = gt_rapl_total(zones, GT_RAPL_POWERCAP, domain);
    if (isnan(a) || isnan(b))
        return false;
    double most = fmax(a, b), slack = most * (MOST_APART + READING_SECONDS / seconds);
    if (domain == GT_RAPL_PLATFORM)
        slack += PLATFORM_STEP;
    *ret = (struct gt_rapl_comparison){.domain = domain, .perf = a, .powercap = b, .seconds = seconds};
    ret->disagrees = fabs(a - b) > slack;
    ret->is_powercap_better = ret->disagrees && !is_plausible(zones, GT_RAPL_PERF, seconds) &&
                              is_plausible(zones, GT_RAPL_POWERCAP, seconds);
    return true;
}

bool gt_rapl_compare_all(const struct gt_rapl_zones *zones, double seconds, struct gt_rapl_comparison *ret)
{
    struct gt_rapl_comparison each;
    bool any = false;
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++) {
        if (!gt_rapl_compare(zones, domain, seconds, &each))
            continue;
        if (!any || (each.disagrees && !ret->disagrees))
            *ret = each;
        any = true;
    }
    return any;
}

void gt_rapl_comparison_write(const struct gt_rapl_comparison *comparison, char *text, size_t size)
{
    double most = fmax(comparison->perf, comparison->powercap);
    snprintf(text, size, "%s and %s %s on %s: %.3g J and %.3g J in %.2g s, %.1f %% apart%s", gt_rapl_perf.name,
             gt_rapl_powercap.name, comparison->disagrees ? "disagree" : "agree",
             gt_metrics[gt_rapl_metrics[comparison->domain]].name, comparison->perf, comparison->powercap,
             comparison->seconds, most > 0 ? 100 * fabs(comparison->perf - comparison->powercap) / most : 0,
             !comparison->disagrees           ? ""
             : comparison->is_powercap_better ? "; powercap is used"
                                              : "; perf events are used");
}

static const char *other_than(enum gt_rapl_interface interface)
{
    return gt_rapl_sources[interface == GT_RAPL_PERF ? GT_RAPL_POWERCAP : GT_RAPL_PERF]->name;
}

/* Whether both have a package to compare; else why not. */
static bool has_both(const struct gt_rapl_zones *zones, struct gt_availability *availability)
{
    static const enum gt_rapl_interface both[] = {GT_RAPL_PERF, GT_RAPL_POWERCAP};
    int missing = 0;
    for (int i = 0; i < 2; i++)
        if (!gt_rapl_has(zones, both[i], GT_RAPL_PACKAGE)) {
            missing++;
            gt_unavailable(availability, GT_ABSENT, NULL, "only %s can read the processor packages",
                           other_than(both[i]));
        }
    if (missing == 2)
        gt_unavailable(availability, GT_ABSENT, NULL,
                       "neither perf events nor powercap can read the processor packages");
    return missing == 0;
}

bool gt_rapl_judge(const struct gt_rapl_zones *zones, double seconds, struct gt_availability *availability)
{
    static const enum gt_rapl_interface both[] = {GT_RAPL_PERF, GT_RAPL_POWERCAP};
    struct gt_rapl_comparison comparison;
    int standing = 0;
    *availability = (struct gt_availability){.source = "RAPL by perf events and powercap", .refresh = 0.001};
    if (!has_both(zones, availability))
        return true;
    for (int i = 0; i < 2; i++)
        if (isnan(gt_rapl_total(zones, both[i], GT_RAPL_PACKAGE))) {
            standing++;
            gt_unavailable(availability, GT_BROKEN, NULL, "by %s the counters stand still, by %s they do not",
                           gt_rapl_sources[both[i]]->name, other_than(both[i]));
        }
    if (standing == 2)
        gt_unavailable(availability, GT_BROKEN, NULL,
                       zones->zone[0].falls ? "the counters run backwards in both"
                                            : "the counters stand still in both, as in virtual machines");
    if (standing || !gt_rapl_compare_all(zones, seconds, &comparison))
        return true;
    availability->state = comparison.disagrees ? GT_BROKEN : GT_READY;
    gt_rapl_comparison_write(&comparison, availability->reason, sizeof availability->reason);
    return !comparison.disagrees;
}

void gt_rapl_survey_both(const struct gt_root *root, struct gt_availability *availability)
{
    struct gt_rapl_zones *zones = calloc(1, sizeof *zones);
    *availability = (struct gt_availability){.source = "RAPL by perf events and powercap"};
    if (!zones)
        return;
    gt_rapl_perf.find(zones, root);
    gt_rapl_powercap.find(zones, root);
    int64_t begin_ns = gt_clock_monotonic(&gt_clock_system), now_ns = begin_ns;
    gt_rapl_read(zones, begin_ns);
    gt_rapl_find_mirrors(zones);
    bool is_sure = !has_both(zones, availability);
    for (int look = 0; look < LOOKS && !is_sure; look++) {
        if (root->is_machine)
            nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        now_ns = gt_clock_monotonic(&gt_clock_system);
        gt_rapl_read(zones, now_ns);
        is_sure = gt_rapl_judge(zones, (double)(now_ns - begin_ns) / 1e9, availability);
    }
    gt_rapl_close(zones);
    free(zones);
}
