/* The figures that an energy relay gives: read by the collectors that read energy and nothing else. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "api/program.h"
#include "collect/collector.h"
#include "collect/energy/energy_relay.h"
#include "collect/host/host.h"

/* No finer than this, in time and in energy: docs/energy.md says why. */
static const double PERIOD_S = 0.1, QUANTUM_J = 0.1;
/* Most counters are refreshed every millisecond, some much later. */
static const long MOVES_NS = 30000000;
enum { FIRST_LOOKS = 20 };

struct source {
    const struct gt_collector_type *type;
    void *state;
};

struct gt_energy_relay {
    struct gt_root root;
    struct gt_clock clock;
    struct gt_snapshot snapshot;
    struct gt_topology topology;
    struct source *source;
    size_t count;
    struct gt_relay_answer answer;
    int64_t read_ns; /* 0: never */
    char text[GT_RELAY_MESSAGE];
    size_t length;
};

static int open_sources(struct gt_energy_relay *relay, struct gt_error *error)
{
    struct gt_collect_options options = {
        .root = &relay->root, .clock = &relay->clock, .topology = &relay->topology, .period = PERIOD_S};
    char why[300] = "";
    relay->source = calloc(gt_collector_type_count, sizeof *relay->source);
    if (!relay->source)
        return gt_error_system(error, ENOMEM, "energy relay");
    for (size_t i = 0; i < gt_collector_type_count; i++) {
        struct source source = {.type = gt_collector_types[i]};
        struct gt_availability availability;
        if (!gt_collector_is_of_energy(source.type))
            continue;
        int status = gt_collector_open(source.type, &source.state, &options, &relay->snapshot, &availability, error);
        if (status < 0)
            return status;
        if (source.state)
            relay->source[relay->count++] = source;
        else if (!why[0])
            snprintf(why, sizeof why, ": %s", availability.reason);
    }
    return relay->count ? 0 : gt_error_set(error, ENXIO, "no energy counter can be read here%s", why);
}

static void read_all(struct gt_energy_relay *relay)
{
    relay->snapshot.monotonic_ns = gt_clock_monotonic(&relay->clock);
    relay->snapshot.real_ns = gt_clock_real(&relay->clock);
    gt_values_clear(relay->snapshot.system);
    gt_values_clear(relay->snapshot.job);
    memset(relay->snapshot.doubt, 0, sizeof relay->snapshot.doubt);
    for (size_t i = 0; i < relay->count; i++)
        relay->source[i].type->collect(relay->source[i].state, &relay->snapshot, NULL);
}

/* Returns true where every figure that a source claimed is there. */
static bool has_all(const struct gt_energy_relay *relay)
{
    bool all = true;
    for (int k = 0; k < GT_RELAY_FIGURES; k++)
        all &= !relay->snapshot.owner[gt_relay_metrics[k]] || relay->snapshot.system[gt_relay_metrics[k]] >= 0;
    return all;
}

/* Waits until each counter has moved, which gives its first value: the first client gets one. */
static void wait_for_figures(struct gt_energy_relay *relay)
{
    read_all(relay);
    for (int look = 0; look < FIRST_LOOKS && !has_all(relay); look++) {
        nanosleep(&(struct timespec){.tv_nsec = MOVES_NS}, NULL);
        read_all(relay);
    }
}

int gt_energy_relay_open(struct gt_energy_relay **ret, const char *machine_root, struct gt_error *error)
{
    struct gt_energy_relay *relay = calloc(1, sizeof *relay);
    if (!relay)
        return gt_error_system(error, ENOMEM, "energy relay");
    relay->root.fd = -1;
    relay->clock = gt_clock_system;
    int status = gt_root_open(&relay->root, machine_root, error);
    if (status >= 0)
        status = open_sources(relay, error);
    if (status >= 0)
        wait_for_figures(relay);
    relay->answer = (struct gt_relay_answer){.period = PERIOD_S, .quantum = QUANTUM_J};
    if (status >= 0 && getrandom(&relay->answer.instance, sizeof relay->answer.instance, 0) < 0)
        status = gt_error_system(error, errno, "energy relay");
    if (status < 0) {
        gt_energy_relay_close(relay);
        return status;
    }
    *ret = relay;
    return 0;
}

void gt_energy_relay_close(struct gt_energy_relay *relay)
{
    if (!relay)
        return;
    for (size_t i = 0; i < relay->count; i++)
        gt_collector_close(relay->source[i].type, relay->source[i].state);
    free(relay->source);
    free(relay->snapshot.device);
    gt_packages_release(&relay->snapshot, &relay->topology);
    gt_root_close(&relay->root);
    free(relay);
}

static void refresh(struct gt_energy_relay *relay)
{
    int64_t now = gt_clock_monotonic(&relay->clock);
    if (relay->read_ns && (double)(now - relay->read_ns) < PERIOD_S * 1e9)
        return;
    relay->read_ns = now;
    read_all(relay);
    for (int k = 0; k < GT_RELAY_FIGURES; k++) {
        relay->answer.instance += isinf(relay->snapshot.doubt[gt_relay_metrics[k]]) != 0; /* clients count anew */
        double joules = relay->snapshot.system[gt_relay_metrics[k]];
        relay->answer.has[k] = joules >= 0;
        relay->answer.count[k] = joules >= 0 ? (uint64_t)(joules / QUANTUM_J) : 0;
    }
    relay->length = gt_relay_write(relay->text, &relay->answer);
}

int gt_energy_relay_answer(struct gt_energy_relay *relay, const char *request, size_t length, const char **ret,
                           size_t *ret_length)
{
    if (length != strlen(GT_RELAY_REQUEST) || memcmp(request, GT_RELAY_REQUEST, length))
        return -EINVAL;
    refresh(relay);
    *ret = relay->text;
    *ret_length = relay->length;
    return 0;
}
