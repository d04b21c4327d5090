/* The collector "rapl": energy of the processor packages, their memory and the platform. */
#include "collect/rapl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/availability.h"

static const enum gt_metric_id metrics[GT_RAPL_DOMAINS] = {
    [GT_RAPL_PACKAGE] = GT_CPU_ENERGY, [GT_RAPL_DRAM] = GT_DRAM_ENERGY,     [GT_RAPL_PLATFORM] = GT_PLATFORM_ENERGY,
    [GT_RAPL_CORE] = GT_CORE_ENERGY,   [GT_RAPL_UNCORE] = GT_UNCORE_ENERGY,
};
static const char *const interface_names[GT_RAPL_INTERFACES] = {"perf", "powercap"};

/* Both interfaces are compared once, over at least this time; counters of 1 ms refresh then differ by much less. */
static const int64_t COMPARE_NS = GT_SECOND;
static const double MOST_APART = 0.05;

static const char remedy[] = "sudo setcap cap_perfmon,cap_dac_read_search+ep \"$(command -v gpu-tracker)\"";

struct state {
    struct gt_rapl_zones zones;
    enum gt_rapl_interface from[GT_RAPL_DOMAINS];
    bool is_usable[GT_RAPL_DOMAINS];
    const struct gt_clock *clock;
    int64_t open_ns;
    bool is_compared;
    char disagreement[120];
};

static void close_zones(struct gt_rapl_zones *zones)
{
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].fd >= 0)
            close(zones->zone[i].fd);
    zones->count = 0;
}

static void rapl_close(void *opaque)
{
    struct state *state = opaque;
    if (state)
        close_zones(&state->zones);
    free(state);
}

/* Virtual machines may show counters that stand still. Real ones move within a few of their refreshes of 1 ms, but for that of
 * a graphics unit that sleeps. */
static void find_dead(struct state *state)
{
    struct gt_rapl_zones *zones = &state->zones;
    bool any = false;
    for (int i = 0; i < zones->count; i++)
        any |= zones->zone[i].fd >= 0;
    if (!any)
        return; /* nothing to wait for */
    nanosleep(&(struct timespec){.tv_nsec = 2500000}, NULL);
    gt_rapl_read(zones, gt_clock_monotonic(state->clock));
    bool any_moves = false;
    for (int i = 0; i < zones->count; i++)
        any_moves |= zones->zone[i].joules > 0;
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->fd < 0 || zone->joules > 0 || (any_moves && zone->domain == GT_RAPL_UNCORE))
            continue;
        close(zone->fd);
        zone->fd = -ENODATA;
        zone->is_unread = true;
    }
}

/* Of each domain, the first interface of which every zone can be read. */
static bool choose(struct state *state)
{
    bool any = false;
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++)
        for (int interface = 0; interface < GT_RAPL_INTERFACES && !state->is_usable[domain]; interface++)
            if (!isnan(gt_rapl_total(&state->zones, interface, domain))) {
                state->from[domain] = interface;
                state->is_usable[domain] = any = true;
            }
    return any;
}

static void name_source(const struct state *state, struct gt_availability *availability)
{
    bool used[GT_RAPL_INTERFACES] = {false};
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++)
        if (state->is_usable[domain])
            used[state->from[domain]] = true;
    snprintf(availability->source, sizeof availability->source, "RAPL by %s%s%s",
             used[GT_RAPL_PERF] ? "perf events" : "", used[GT_RAPL_PERF] && used[GT_RAPL_POWERCAP] ? " and " : "",
             used[GT_RAPL_POWERCAP] ? "powercap" : "");
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++) {
        size_t length = strlen(availability->reason);
        if (!state->is_usable[domain])
            snprintf(availability->reason + length, sizeof availability->reason - length, "%s%s",
                     length ? ", " : "without ", gt_metrics[metrics[domain]].name);
    }
}

static int explain(const struct gt_rapl_zones *zones, struct gt_availability *availability)
{
    for (int i = 0; i < zones->count; i++)
        if (zones->zone[i].fd == -EACCES || zones->zone[i].fd == -EPERM)
            return gt_unavailable(availability, GT_DENIED, remedy,
                                  "the energy counters are there, and this user may not read them");
    if (zones->count)
        return gt_unavailable(availability, GT_BROKEN, NULL, "the energy counter \"%s\" %s", zones->zone[0].name,
                              zones->zone[0].fd == -ENODATA ? "stands still" : "cannot be read");
    return gt_unavailable(availability, GT_ABSENT, NULL, "this machine shows no energy counters of its processors");
}

static int rapl_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                     struct gt_availability *availability, struct gt_error *error)
{
    (void)frame;
    *ret = NULL;
    *availability = (struct gt_availability){.source = "RAPL", .refresh = 0.001};
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "rapl collector");
    state->clock = options->clock;
    gt_rapl_find_perf(&state->zones, options->root);
    gt_rapl_find_powercap(&state->zones, options->root);
    state->open_ns = gt_clock_monotonic(options->clock);
    gt_rapl_read(&state->zones, state->open_ns);
    gt_rapl_find_mirrors(&state->zones);
    if (options->root->is_machine && state->zones.count)
        find_dead(state);
    if (!choose(state)) {
        explain(&state->zones, availability);
        rapl_close(state);
        return 0;
    }
    name_source(state, availability);
    *ret = state;
    return 0;
}

/* Afterwards the interface that nothing comes from is closed. */
static void drop_unused(struct state *state)
{
    struct gt_rapl_zones *zones = &state->zones;
    for (int i = 0; i < zones->count; i++) {
        struct gt_rapl_zone *zone = &zones->zone[i];
        if (zone->fd >= 0 && zone->interface != state->from[zone->domain]) {
            close(zone->fd);
            zone->fd = -EBADF;
        }
    }
}

static void compare(struct state *state)
{
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++) {
        double a = gt_rapl_total(&state->zones, GT_RAPL_PERF, domain);
        double b = gt_rapl_total(&state->zones, GT_RAPL_POWERCAP, domain);
        if (fabs(a - b) > 1 + MOST_APART * fmax(a, b))
            snprintf(state->disagreement, sizeof state->disagreement, "%s and %s disagree on %s: %.1f J and %.1f J",
                     interface_names[GT_RAPL_PERF], interface_names[GT_RAPL_POWERCAP], gt_metrics[metrics[domain]].name,
                     a, b);
    }
    drop_unused(state);
    state->is_compared = true;
}

static int rapl_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    int64_t now = gt_clock_monotonic(state->clock);
    gt_rapl_read(&state->zones, now);
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++)
        if (state->is_usable[domain])
            frame->system[metrics[domain]] = gt_rapl_total(&state->zones, state->from[domain], domain);
    if (!state->is_compared && now - state->open_ns >= COMPARE_NS)
        compare(state);
    return 0;
}

static void rapl_describe(const void *opaque, char *text, size_t size)
{
    const struct state *state = opaque;
    unsigned wraps = 0, resets = 0, mirrors = 0;
    for (int i = 0; i < state->zones.count; i++) {
        const struct gt_rapl_zone *zone = &state->zones.zone[i];
        wraps += zone->wraps;
        resets += zone->resets;
        mirrors += zone->mirror >= 0;
    }
    int length = snprintf(text, size, "counters refresh every 1 ms; wraps: %u, resets: %u, copies left out: %u", wraps,
                          resets, mirrors);
    if (state->disagreement[0] && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, "; %s", state->disagreement);
}

const struct gt_collector_type gt_collector_rapl = {
    .name = "rapl",
    .help = "energy of processor packages, their memory and the platform",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .open = rapl_open,
    .collect = rapl_collect,
    .close = rapl_close,
    .describe = rapl_describe,
};
