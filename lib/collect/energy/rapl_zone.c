#include "collect/energy/rapl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const double gt_rapl_most_watts = 2000;

/* A loaded package draws so much: at that power a counter must not go round between two readings. */
static const double LOADED_WATTS = 500;

/* Two counters that are one differ by what was drawn between reading the one and the other. */
static const double SAME_JOULES = 1;

/* Over less than that a refresh more or less would look like a great power. */
static const double SHORT_SECONDS = 0.05;
/* One that stands still for so long, hundreds of refreshes, has stopped. */
static const int64_t STILL_NS = GT_SECOND / 2;

/* The platform holds GPUs as well. Between the moment that is taken for a reading's and the reading itself we may not have run. */
static const double PLATFORM_MOST_WATTS = 1e5, LATE_SECONDS = 5;

enum { ANY_PACKAGE = -1 };

struct gt_rapl_zone *gt_rapl_add(struct gt_rapl_zones *zones, enum gt_rapl_interface interface,
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

/* Rounds that may have been missed at the greatest power that such a counter is known to show. */
static void doubt_rounds(struct gt_rapl_zone *zone, double joules, double seconds)
{
    double round = (double)zone->range * zone->unit, most = fmax(LOADED_WATTS, zone->most_watts) * seconds;
    double rounds = round > 0 && most > joules ? floor((most - joules) / round) : 0;
    zone->blind += rounds > 0;
    zone->doubt += rounds * round;
}

static void note(struct gt_rapl_zone *zone, uint64_t growth, int64_t now_ns)
{
    double seconds = (double)(now_ns - zone->last_ns) / 1e9, joules = (double)growth * zone->unit;
    if (zone->is_begun && seconds >= SHORT_SECONDS)
        zone->most_watts = fmax(zone->most_watts, joules / seconds);
    zone->joules += joules;
    if (!zone->is_begun || growth)
        zone->moved_ns = now_ns;
    zone->last_ns = now_ns;
    zone->is_begun = true;
}

/* What perf events have is weighed against powercap instead: see gt_rapl_compare. */
static bool is_believable(const struct gt_rapl_zone *zone, uint64_t growth, double seconds)
{
    double most = zone->domain == GT_RAPL_PLATFORM ? PLATFORM_MOST_WATTS : gt_rapl_most_watts;
    return zone->interface == GT_RAPL_PERF || (double)growth * zone->unit <= most * (seconds + LATE_SECONDS);
}

void gt_rapl_advance(struct gt_rapl_zone *zone, uint64_t counts, int64_t now_ns)
{
    double seconds = (double)(now_ns - zone->last_ns) / 1e9;
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
    if (!is_believable(zone, growth, seconds)) {
        zone->resets += counts > zone->last;
        zone->doubt = INFINITY;
        growth = 0;
    }
    if (zone->is_begun && zone->range && zone->range != UINT64_MAX)
        doubt_rounds(zone, (double)growth * zone->unit, seconds);
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
        zone->is_unread = zone->fd < 0 || gt_rapl_sources[zone->interface]->read(zone, &counts) < 0;
        if (zone->is_unread)
            continue;
        zone->doubt = !zone->is_begun && zones->is_read ? INFINITY : zone->doubt;
        gt_rapl_advance(zone, counts, now_ns);
    }
    zones->is_read = true;
    part(zones);
}

static bool are_dies_of_one_package(const struct gt_rapl_zone *a, const struct gt_rapl_zone *b)
{
    return a->package >= 0 && a->package == b->package && a->domain == b->domain && a->interface == b->interface;
}

void gt_rapl_find_mirrors(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++)
        for (int j = 0; j < i && zones->zone[i].mirror < 0; j++) {
            const struct gt_rapl_zone *a = &zones->zone[i], *b = &zones->zone[j];
            double apart = ((double)a->last - (double)b->last) * a->unit;
            if (are_dies_of_one_package(a, b) && !a->is_unread && !b->is_unread && fabs(apart) <= SAME_JOULES)
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
    bool any = false;
    for (int i = 0; i < zones->count; i++) {
        const struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->interface == interface && zone->domain == domain) {
            if (zone->fd < 0)
                return false;
            any = true;
        }
    }
    return any;
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

static void take_over(struct gt_rapl_zone *zone, struct gt_rapl_zones *anew)
{
    for (int i = 0; i < anew->count; i++) {
        struct gt_rapl_zone *found = &anew->zone[i];
        if (found->fd < 0 || found->interface != zone->interface || strcmp(found->name, zone->name) != 0)
            continue;
        close(zone->fd);
        zone->fd = found->fd;
        found->fd = -ENOENT;
        return;
    }
}

void gt_rapl_reopen(struct gt_rapl_zones *zones, const struct gt_root *root)
{
    bool has_lost[GT_RAPL_INTERFACES] = {false}, any = false;
    for (int i = 0; i < zones->count; i++) {
        has_lost[zones->zone[i].interface] |= is_lost(&zones->zone[i]);
        any |= is_lost(&zones->zone[i]);
    }
    struct gt_rapl_zones *anew = any ? calloc(1, sizeof *anew) : NULL;
    if (!anew)
        return;
    for (int interface = 0; interface < GT_RAPL_INTERFACES; interface++)
        if (has_lost[interface])
            gt_rapl_sources[interface]->find(anew, root);
    for (int i = 0; i < zones->count; i++)
        if (is_lost(&zones->zone[i]))
            take_over(&zones->zone[i], anew);
    gt_rapl_close(anew);
    free(anew);
}

double gt_rapl_doubt(struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain)
{
    double doubt = 0;
    int count = 0, stopped = 0;
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->interface != interface || zone->domain != domain || zone->mirror >= 0 || zone->is_unread)
            continue;
        stopped += has_stopped(zone);
        count++;
        doubt += zone->doubt;
        zone->doubt = 0;
    }
    bool is_part = stopped > 0 && stopped < count;
    return is_part && !isinf(doubt) ? -INFINITY : doubt;
}

void gt_rapl_drop_dead(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->fd < 0 || !zone->is_begun || is_moving(zones, zone))
            continue;
        close(zone->fd);
        zone->fd = -ENODATA;
        zone->is_unread = true;
    }
}

void gt_rapl_drop_others(struct gt_rapl_zones *zones, const int source[GT_RAPL_DOMAINS])
{
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->fd >= 0 && source[zone->domain] >= 0 && (int)zone->interface != source[zone->domain]) {
            close(zone->fd);
            zone->fd = -EBADF;
            zone->is_unread = true;
        }
    }
}

void gt_rapl_close(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].fd >= 0)
            close(zones->zone[i].fd);
    zones->count = 0;
}

double gt_rapl_package_total(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface,
                             enum gt_rapl_domain domain, int package)
{
    double total = NAN;
    for (int i = 0; i < zones->count; i++) {
        const struct gt_rapl_zone *zone = &zones->zone[i];
        bool is_elsewhere = package != ANY_PACKAGE && zone->package != package;
        if (zone->interface != interface || zone->domain != domain || is_elsewhere)
            continue;
        if (zone->is_unread || (zone->mirror < 0 && !is_moving(zones, zone)))
            return NAN;
        total = (isnan(total) ? 0 : total) + (zone->mirror < 0 ? zone->joules : 0);
    }
    return total;
}

double gt_rapl_total(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface, enum gt_rapl_domain domain)
{
    return gt_rapl_package_total(zones, interface, domain, ANY_PACKAGE);
}

static bool has_several(const struct gt_rapl_zones *zones)
{
    int count[GT_RAPL_INTERFACES] = {0};
    bool any = false;
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].domain == GT_RAPL_PACKAGE && zones->zone[i].fd >= 0)
            any |= ++count[zones->zone[i].interface] > 1;
    return any;
}

int gt_rapl_packages(const struct gt_rapl_zones *zones, int numbers[GT_PACKAGES])
{
    int count = 0, relevant = has_several(zones) ? zones->count : 0;
    for (int i = 0; i < relevant; i++) {
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
