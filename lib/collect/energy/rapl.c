/* The collector "rapl": energy of the processor packages, their memory and the platform. */
#include "collect/energy/rapl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/root.h"
#include "collect/collector.h"
#include "collect/host/host.h"

/* Two values of one energy that differ by less agree. */
static const double MOST_APART = 0.05;
/* Both are read right after each other, at both ends: a refresh of 1 ms may lie between, or a few. */
static const double READING_SECONDS = 0.004;
/* The platform's counter may count whole joules. */
static const double PLATFORM_STEP = 1;
/* `doctor` polls again, for longer, where they seem to disagree: something may have come between two readings. */
enum { POLLS = 3 };
static const long POLL_NS = 200000000;

static const enum gt_metric_id domain_metrics[GT_RAPL_DOMAINS] = {
    [GT_RAPL_PACKAGE] = GT_CPU_ENERGY, [GT_RAPL_DRAM] = GT_DRAM_ENERGY,     [GT_RAPL_PLATFORM] = GT_PLATFORM_ENERGY,
    [GT_RAPL_CORE] = GT_CORE_ENERGY,   [GT_RAPL_UNCORE] = GT_UNCORE_ENERGY,
};

/* ---- Perf events against powercap --------------------------------------------------------------------------------- */

/* What differs by less than 5 % agrees, and comes from perf events. Where they disagree powercap is used if perf's packages
 * cannot be right (they drew less than their cores, or more than any processor draws) and powercap's can; else still perf events. */
struct comparison {
    enum gt_rapl_domain domain;
    double perf, powercap; /* joules in these seconds */
    double seconds;
    bool disagrees, is_powercap_better;
};

static bool is_plausible(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface, double seconds)
{
    double package = gt_rapl_total(zones, interface, GT_RAPL_PACKAGE);
    double core = gt_rapl_total(zones, interface, GT_RAPL_CORE);
    int packages = 0;
    for (int i = 0; i < zones->count; i++)
        packages += zones->zone[i].interface == interface && zones->zone[i].domain == GT_RAPL_PACKAGE;
    return !(package < core) && !(package > gt_rapl_most_watts * packages * seconds);
}

/* Returns false where one of them has no value. */
static bool compare(const struct gt_rapl_zones *zones, enum gt_rapl_domain domain, double seconds,
                    struct comparison *ret)
{
    double perf = gt_rapl_total(zones, GT_RAPL_PERF, domain);
    double powercap = gt_rapl_total(zones, GT_RAPL_POWERCAP, domain);
    double slack = fmax(perf, powercap) * (MOST_APART + READING_SECONDS / seconds);
    if (isnan(perf) || isnan(powercap))
        return false;
    if (domain == GT_RAPL_PLATFORM)
        slack += PLATFORM_STEP;
    *ret = (struct comparison){domain, perf, powercap, seconds, fabs(perf - powercap) > slack, false};
    ret->is_powercap_better = ret->disagrees && !is_plausible(zones, GT_RAPL_PERF, seconds) &&
                              is_plausible(zones, GT_RAPL_POWERCAP, seconds);
    return true;
}

/* The first domain on which they disagree, else the first that both have. */
static bool compare_all(const struct gt_rapl_zones *zones, double seconds, struct comparison *ret)
{
    struct comparison each;
    bool any = false;
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++) {
        if (!compare(zones, domain, seconds, &each))
            continue;
        if (!any || (each.disagrees && !ret->disagrees))
            *ret = each;
        any = true;
    }
    return any;
}

static void write_comparison(const struct comparison *comparison, char *text, size_t size)
{
    double perf = comparison->perf, powercap = comparison->powercap, most = fmax(perf, powercap);
    snprintf(text, size, "perf events and powercap %s on %s: %.3g J and %.3g J in %.2g s, %.1f %% apart%s",
             comparison->disagrees ? "disagree" : "agree", gt_metrics[domain_metrics[comparison->domain]].name, perf,
             powercap, comparison->seconds, most > 0 ? 100 * fabs(perf - powercap) / most : 0,
             !comparison->disagrees           ? ""
             : comparison->is_powercap_better ? "; powercap is used"
                                              : "; perf events are used");
}

/* Returns true where both have a package to compare; else says why not. */
static bool has_both(const struct gt_rapl_zones *zones, struct gt_availability *availability)
{
    bool perf = gt_rapl_has(zones, GT_RAPL_PERF, GT_RAPL_PACKAGE);
    bool powercap = gt_rapl_has(zones, GT_RAPL_POWERCAP, GT_RAPL_PACKAGE);
    if (perf != powercap)
        gt_unavailable(availability, GT_ABSENT, NULL, "only %s can read the processor packages",
                       gt_rapl_sources[perf ? GT_RAPL_PERF : GT_RAPL_POWERCAP].name);
    else if (!perf)
        gt_unavailable(availability, GT_ABSENT, NULL,
                       "neither perf events nor powercap can read the processor packages");
    return perf && powercap;
}

bool gt_rapl_judge(const struct gt_rapl_zones *zones, double seconds, struct gt_availability *availability)
{
    struct comparison comparison;
    *availability = (struct gt_availability){.source = "RAPL by perf events and powercap", .refresh = 0.001};
    if (!has_both(zones, availability))
        return true;
    bool perf_stands = isnan(gt_rapl_total(zones, GT_RAPL_PERF, GT_RAPL_PACKAGE));
    bool powercap_stands = isnan(gt_rapl_total(zones, GT_RAPL_POWERCAP, GT_RAPL_PACKAGE));
    if (perf_stands && powercap_stands)
        gt_unavailable(availability, GT_BROKEN, NULL,
                       zones->zone[0].falls ? "the counters run backwards in both"
                                            : "the counters stand still in both, as in virtual machines");
    else if (perf_stands || powercap_stands)
        gt_unavailable(availability, GT_BROKEN, NULL, "by %s the counters stand still, by %s they do not",
                       gt_rapl_sources[perf_stands ? GT_RAPL_PERF : GT_RAPL_POWERCAP].name,
                       gt_rapl_sources[perf_stands ? GT_RAPL_POWERCAP : GT_RAPL_PERF].name);
    if (perf_stands || powercap_stands || !compare_all(zones, seconds, &comparison))
        return true;
    availability->state = comparison.disagrees ? GT_BROKEN : GT_READY;
    write_comparison(&comparison, availability->reason, sizeof availability->reason);
    return !comparison.disagrees;
}

/* Real counters move at each of their refreshes of 1 ms. */
static const struct timespec refreshes = {.tv_nsec = 2500000};

static void survey_one(const struct gt_rapl_zones *zones, enum gt_rapl_interface interface, const struct gt_root *root,
                       struct gt_availability *availability)
{
    const struct gt_rapl_source *source = &gt_rapl_sources[interface];
    const struct gt_rapl_zone *first = NULL;
    for (int i = 0; i < zones->count && !first; i++)
        first = zones->zone[i].interface == interface ? &zones->zone[i] : NULL;
    *availability = (struct gt_availability){.refresh = 0.001};
    snprintf(availability->source, sizeof availability->source, "RAPL by %s", source->name);
    if (!first)
        gt_unavailable(availability, GT_ABSENT, NULL, "%s", source->absent);
    else if (gt_rapl_is_denied(zones, interface))
        gt_unavailable(availability, GT_DENIED, source->remedy,
                       "the counters are there, and this user may not read them");
    else if (root->is_machine && isnan(gt_rapl_total(zones, interface, GT_RAPL_PACKAGE)))
        gt_unavailable(availability, GT_BROKEN, NULL, "the counter \"%s\" %s", first->name, gt_rapl_trouble(first));
}

void gt_rapl_survey(const struct gt_root *root, struct gt_availability each[GT_RAPL_INTERFACES],
                    struct gt_availability *both)
{
    struct gt_rapl_zones *zones = calloc(1, sizeof *zones);
    *both = each[GT_RAPL_PERF] = each[GT_RAPL_POWERCAP] = (struct gt_availability){.state = GT_ABSENT};
    if (!zones)
        return;
    gt_rapl_find(zones, root);
    int64_t begin_ns = gt_clock_monotonic(&gt_clock_system);
    gt_rapl_read(zones, begin_ns);
    gt_rapl_find_mirrors(zones);
    if (root->is_machine && zones->count)
        nanosleep(&refreshes, NULL);
    gt_rapl_read(zones, gt_clock_monotonic(&gt_clock_system));
    for (int interface = 0; interface < GT_RAPL_INTERFACES; interface++)
        survey_one(zones, interface, root, &each[interface]);
    *both = (struct gt_availability){.source = "RAPL by perf events and powercap"};
    bool is_sure = !has_both(zones, both);
    for (int poll = 0; poll < POLLS && !is_sure; poll++) {
        if (root->is_machine)
            nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        int64_t now_ns = gt_clock_monotonic(&gt_clock_system);
        gt_rapl_read(zones, now_ns);
        is_sure = gt_rapl_judge(zones, (double)(now_ns - begin_ns) / 1e9, both);
    }
    gt_rapl_close(zones);
    free(zones);
}

/* ---- The collector ------------------------------------------------------------------------------------------------ */

/* Sources that can both be read are compared once, over at least this time; counters of 1 ms refresh then differ by much less. */
static const int64_t COMPARE_NS = GT_SECOND;

/* Counters that fail are opened anew so often. */
static const int64_t REOPEN_NS = GT_SECOND;

struct state {
    struct gt_rapl_zones zones;
    int from[GT_RAPL_DOMAINS];       /* the source of the value; -1: none has moved yet */
    double carried[GT_RAPL_DOMAINS]; /* joules, where the source was changed: the value does not step back */
    double package_carried[GT_RAPL_DOMAINS][GT_PACKAGES];
    int package_count, package[GT_PACKAGES]; /* as found; the snapshot may have given them up */
    const struct gt_clock *clock;
    const struct gt_root *root;
    int64_t open_ns, reopen_ns; /* when those that fail may be opened anew */
    bool is_compared, is_platform_wrong;
    char comparison[200];
};

static void rapl_close(void *opaque)
{
    gt_rapl_close(&((struct state *)opaque)->zones);
}

/* Claim what some source can read. */
static bool claim(struct state *state, struct gt_snapshot *snapshot, struct gt_availability *availability)
{
    bool uses_perf = false, uses_powercap = false;
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++) {
        bool perf = gt_rapl_has(&state->zones, GT_RAPL_PERF, domain);
        bool powercap = gt_rapl_has(&state->zones, GT_RAPL_POWERCAP, domain);
        if ((perf || powercap) && gt_snapshot_claim(snapshot, domain_metrics[domain], &gt_collector_rapl)) {
            uses_perf |= perf;
            uses_powercap |= powercap;
        }
    }
    if (!uses_perf && !uses_powercap)
        return false;
    snprintf(availability->source, sizeof availability->source, "RAPL by %s%s%s",
             uses_perf ? gt_rapl_sources[GT_RAPL_PERF].name : "", uses_perf && uses_powercap ? " and " : "",
             uses_powercap ? gt_rapl_sources[GT_RAPL_POWERCAP].name : "");
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++) {
        size_t length = strlen(availability->reason);
        if (snapshot->owner[domain_metrics[domain]] != &gt_collector_rapl)
            snprintf(availability->reason + length, sizeof availability->reason - length, "%s%s",
                     length ? ", " : "without ", gt_metrics[domain_metrics[domain]].name);
    }
    return true;
}

static int explain_none(const struct gt_rapl_zones *zones, const struct gt_root *root,
                        struct gt_availability *availability)
{
    for (int interface = 0; interface < GT_RAPL_INTERFACES; interface++)
        if (gt_rapl_is_denied(zones, interface))
            return gt_unavailable(availability, GT_DENIED, gt_remedy_energy,
                                  "the energy counters are there, and this user may not read them");
    if (zones->count)
        return gt_unavailable(availability, GT_BROKEN, NULL, "the energy counter \"%s\" %s", zones->zone[0].name,
                              gt_rapl_trouble(&zones->zone[0]));
    if (gt_root_access(root, "dev/cpu/0/msr", F_OK) == 0)
        return gt_unavailable(availability, GT_ABSENT, "sudo modprobe -a rapl intel_rapl_msr",
                              "neither perf events nor powercap shows energy counters; registers (MSR) are not read");
    return gt_unavailable(availability, GT_ABSENT, NULL, "this machine shows no energy counters of its processors");
}

static int rapl_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                     struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    state->clock = options->clock;
    state->root = options->root;
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++)
        state->from[domain] = -1;
    gt_rapl_find(&state->zones, options->root);
    state->open_ns = gt_clock_monotonic(options->clock);
    gt_rapl_read(&state->zones, state->open_ns);
    gt_rapl_find_mirrors(&state->zones);
    /* `doctor` takes no later sample, and a model replaces a counter that measures nothing. */
    bool must_know_now = options->pid == 0 || options->power_model || options->cpu_tdp > 0;
    if (must_know_now && options->root->is_machine && state->zones.count) {
        nanosleep(&refreshes, NULL);
        gt_rapl_read(&state->zones, gt_clock_monotonic(options->clock));
        gt_rapl_drop_dead(&state->zones);
    }
    if (!claim(state, snapshot, availability))
        return explain_none(&state->zones, options->root, availability);
    if (snapshot->owner[GT_CPU_ENERGY] != &gt_collector_rapl)
        return 0;
    state->package_count = gt_rapl_packages(&state->zones, state->package);
    if (state->package_count > 1) /* a single one is not declared */
        return gt_packages_declare(snapshot, options->topology, state->package, state->package_count);
    if (state->package_count < 0)
        gt_packages_forget(snapshot, options->topology,
                           state->package_count == -E2BIG ? "too many processor packages"
                                                          : "an energy counter does not tell its package");
    return 0;
}

static void change_source(struct state *state, int domain, int interface)
{
    const struct gt_rapl_zones *zones = &state->zones;
    int from = state->from[domain];
    double ahead = gt_rapl_total(zones, from, domain) - gt_rapl_total(zones, interface, domain);
    state->carried[domain] += fmax(ahead, 0);
    for (int i = 0; i < state->package_count; i++) {
        ahead = gt_rapl_package_total(zones, from, domain, state->package[i]) -
                gt_rapl_package_total(zones, interface, domain, state->package[i]);
        state->package_carried[domain][i] += fmax(ahead, 0);
    }
    state->from[domain] = interface;
}

static double total_of(const struct state *state, enum gt_rapl_domain domain)
{
    return state->from[domain] < 0 ? NAN : gt_rapl_total(&state->zones, state->from[domain], domain);
}

static void compare_sources(struct state *state, double seconds)
{
    struct comparison comparison;
    /* The platform contains the packages. On some older processors its counter shows anything. */
    double least = total_of(state, GT_RAPL_PACKAGE) * (1 - MOST_APART) - 1;
    state->is_platform_wrong |= total_of(state, GT_RAPL_PLATFORM) < least;
    if (compare_all(&state->zones, seconds, &comparison))
        write_comparison(&comparison, state->comparison, sizeof state->comparison);
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++)
        if (state->from[domain] == GT_RAPL_PERF && compare(&state->zones, domain, seconds, &comparison) &&
            comparison.is_powercap_better)
            change_source(state, domain, GT_RAPL_POWERCAP);
    state->is_compared = true;
    gt_rapl_drop_others(&state->zones, state->from); /* nothing comes from them any more */
}

/* The value comes from the first source in the order of preference whose counters move. */
static double figure(struct state *state, int domain)
{
    for (int interface = 0; state->from[domain] < 0 && interface < GT_RAPL_INTERFACES; interface++)
        if (!isnan(gt_rapl_total(&state->zones, interface, domain)))
            state->from[domain] = interface;
    if (domain == GT_RAPL_PLATFORM && state->is_platform_wrong)
        return NAN;
    return total_of(state, domain) + state->carried[domain];
}

static int rapl_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    int64_t now = gt_clock_monotonic(state->clock), age = now - state->open_ns;
    gt_rapl_read(&state->zones, now);
    if (now >= state->reopen_ns) {
        gt_rapl_reopen(&state->zones, state->root); /* the next reading is of them */
        state->reopen_ns = now + REOPEN_NS;
    }
    for (int domain = 0; domain < GT_RAPL_DOMAINS; domain++) {
        enum gt_metric_id metric = domain_metrics[domain];
        if (snapshot->owner[metric] != &gt_collector_rapl)
            continue;
        snapshot->system[metric] = figure(state, domain);
        if (isnan(snapshot->system[metric]))
            continue;
        for (size_t i = 0; i < snapshot->package_count; i++)
            snapshot->package[i].value[metric] = gt_rapl_package_total(&state->zones, state->from[domain], domain,
                                                                       state->package[i]) +
                                                 state->package_carried[domain][i];
        snapshot->doubt[metric] = gt_rapl_doubt(&state->zones, state->from[domain], domain);
    }
    if (!state->is_compared && age >= COMPARE_NS)
        compare_sources(state, (double)age / 1e9);
    return 0;
}

static void rapl_describe(const void *opaque, char *text, size_t size)
{
    const struct state *state = opaque;
    unsigned wraps = 0, resets = 0, mirrors = 0, blind = 0;
    for (int i = 0; i < state->zones.count; i++) {
        const struct gt_rapl_zone *zone = &state->zones.zone[i];
        wraps += zone->wraps;
        resets += zone->resets;
        mirrors += zone->mirror >= 0;
        blind = zone->blind > blind ? zone->blind : blind;
    }
    int length = snprintf(text, size, "counters refresh every 1 ms; wraps: %u, resets: %u, copies left out: %u", wraps,
                          resets, mirrors);
    if (blind)
        length += snprintf(text + length, size - (size_t)length,
                           "; %u readings were so far apart that a counter may have gone round unseen", blind);
    if (state->comparison[0] && length > 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, "; %s", state->comparison);
}

static void rapl_explain(const void *opaque, enum gt_metric_id metric, char *text, size_t size)
{
    const struct state *state = opaque;
    const char *why = "this processor has no such energy counter, or it may not be read";
    const char *trouble = NULL;
    for (int i = 0; i < state->zones.count; i++) {
        const struct gt_rapl_zone *zone = &state->zones.zone[i];
        if (domain_metrics[zone->domain] != metric)
            continue;
        if (zone->fd == -ENODATA || (zone->fd >= 0 && zone->is_begun && zone->joules <= 0))
            trouble = gt_rapl_trouble(zone);
        else if (zone->is_unread)
            why = "one of its energy counters cannot be read";
        else if (metric == GT_PLATFORM_ENERGY && state->is_platform_wrong)
            why = "its energy counter shows less than that of the processors in it";
    }
    snprintf(text, size, "%s%s", trouble ? "its energy counter " : "", trouble ? trouble : why);
}

const struct gt_collector_type gt_collector_rapl = {
    .name = "rapl",
    .help = "energy of processor packages, their memory and the platform",
    .metrics = domain_metrics,
    .metric_count = GT_RAPL_DOMAINS,
    .source = "RAPL",
    .refresh = 0.001,
    .state_size = sizeof(struct state),
    .claims = true,
    .open = rapl_open,
    .collect = rapl_collect,
    .close = rapl_close,
    .describe = rapl_describe,
    .explain = rapl_explain,
};

/* ---- Remedies ----------------------------------------------------------------------------------------------------- */

/* Energy counters that this user may not read: by the relay, by perf events, by powercap. */

/* kernel/events/core.c: above 0, events of a whole CPU take CAP_PERFMON; CAP_SYS_ADMIN before Linux 5.8. */
static bool is_perf_denied(struct gt_rights *access)
{
    char text[16] = "2";
    gt_root_read(access->root, "proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    return gt_access_exists(access, "sys/bus/event_source/devices/power/type") && strtol(text, NULL, 10) > 0 &&
           !gt_access_has(access, GT_CAPABILITY_PERFMON) && !gt_access_has(access, GT_CAPABILITY_SYS_ADMIN) &&
           !(access->root->is_machine && gt_early_has("perf/"));
}

static bool is_powercap_denied(struct gt_rights *access)
{
    static const char *const zones[] = {"intel-rapl:0", "intel-rapl:1", "intel-rapl-mmio:0"};
    char path[128];
    bool any = false;
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", zones[i]);
        any |= gt_access_is_denied(access, path, R_OK) && !(access->root->is_machine && gt_early_has(path));
    }
    return any;
}

static bool is_relay_denied(struct gt_rights *access)
{
    return gt_access_is_denied(access, &GT_ENERGY_RELAY_SOCKET[1], W_OK);
}

static bool is_relay_wanted(struct gt_rights *access)
{
    return !gt_access_exists(access, &GT_ENERGY_RELAY_SOCKET[1]) &&
           (is_perf_denied(access) || is_powercap_denied(access));
}

#define SIDE_CHANNEL \
    "energy read every millisecond tells what other programs compute: keys were found so (PLATYPUS, CVE-2020-8694)"

const struct gt_remedy gt_energy_remedies[] = {
    {is_relay_wanted, "CPU energy, for a group of users, coarsely",
     "sudo useradd --system --user-group --shell /usr/sbin/nologin gpu-tracker\n"
     "sudo usermod -aG gpu-tracker \"$USER\"\n"
     "sudo systemctl enable --now gpu-tracker-energy-relay.service",
     "joules of the whole machine, ten times a second, in steps of 0.1 J, to members of the group gpu-tracker",
     "least of the three ways to CPU energy: too coarse for the attacks that are known on single operations",
     GT_NO_CAPABILITY},
    {is_relay_denied, "CPU energy from the relay that runs",
     "sudo usermod -aG \"$(stat -c %%G " GT_ENERGY_RELAY_SOCKET ")\" \"$USER\"",
     "joules of the whole machine, ten times a second, in steps of 0.1 J, to this user", "as above", GT_NO_CAPABILITY},
    {is_perf_denied, "CPU energy by perf events", NULL,
     "joules of the whole machine, exactly and as often as wanted, to whoever executes gpu-tracker", SIDE_CHANNEL,
     GT_CAPABILITY_PERFMON},
    {is_powercap_denied, "CPU energy by powercap",
     "sudo groupadd --system --force energy\n"
     "sudo usermod -aG energy \"$USER\"\n"
     "printf 'z /sys/devices/virtual/powercap/%%s/energy_uj 0440 root energy - -\\n' '*/*' '*/*/*' | "
     "sudo tee /etc/tmpfiles.d/energy.conf\n"
     "sudo systemd-tmpfiles --create /etc/tmpfiles.d/energy.conf",
     "the energy counters, to every program of the members of the group energy; in force again after each start",
     SIDE_CHANNEL, GT_NO_CAPABILITY},
    {0},
};

/* ---- Samples of the counters --------------------------------------------------------------------------------------- */

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

int gt_energy_sample_between(struct gt_energy_sample **ret, const struct gt_energy_sample *earlier,
                             const struct gt_energy_sample *later, struct gt_error *error)
{
    bool is_alike = isnan(earlier->seconds) && isnan(later->seconds) && earlier->zones.count == later->zones.count;
    for (int i = 0; i < earlier->zones.count && is_alike; i++)
        is_alike = !strcmp(earlier->zones.zone[i].name, later->zones.zone[i].name);
    if (!is_alike)
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
