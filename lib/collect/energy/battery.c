/* The collector "battery": what the machine draws while it runs on its batteries.
 *
 * Source: Documentation/ABI/testing/sysfs-class-power in the kernel's sources: microwatts, microamperes, microvolts. On mains the
 * battery tells nothing of the machine's draw; energy drawn then is not known, and so is the sum from there on. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "collect/collector.h"
#include "collect/energy/power.h"

extern const struct gt_collector_type gt_collector_battery;

static const char directory[] = "sys/class/power_supply";
static const enum gt_metric_id metrics[] = {GT_PLATFORM_ENERGY};

enum { MOST_BATTERIES = 8 };

/* What no battery gives is no reading. */
static const double MOST_WATTS = 1e4;

struct state {
    const struct gt_root *root;
    const struct gt_clock *clock;
    char name[MOST_BATTERIES][32];
    int count;
    bool was_on_mains;
    struct gt_power_integral integral;
};

static bool read_word(const struct state *state, const char *name, const char *file, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%.31s/%s", directory, name, file);
    if (gt_root_read(state->root, path, text, size) <= 0)
        return false;
    text[strcspn(text, "\n")] = '\0';
    return true;
}

/* Some drivers give what flows out of the battery a negative sign. */
static double read_number(const struct state *state, const char *name, const char *file)
{
    char text[32];
    int64_t value;
    bool is_number = read_word(state, name, file, text, sizeof text) && gt_number_i64(text, &value) == 0;
    return is_number ? fabs((double)value) / 1e6 : NAN;
}

/* Of several batteries some machines empty one after the other: what counts is that one is emptied and none is filled. */
static double draw(const struct state *state, bool *is_on_mains)
{
    double sum = 0; /* NaN as soon as a part is missing */
    *is_on_mains = true;
    for (int i = 0; i < state->count; i++) {
        char status[32] = "";
        bool is_told = read_word(state, state->name[i], "status", status, sizeof status) && *status;
        if (!strcmp(status, "Charging")) {
            *is_on_mains = true;
            return NAN;
        }
        if (is_told && strcmp(status, "Discharging") != 0)
            continue;
        *is_on_mains = false;
        double watts = read_number(state, state->name[i], "power_now");
        if (isnan(watts))
            watts = read_number(state, state->name[i], "current_now") *
                    read_number(state, state->name[i], "voltage_now");
        sum += is_told && watts <= MOST_WATTS ? watts : NAN;
    }
    return *is_on_mains ? NAN : sum;
}

/* Batteries of mice and headsets have the scope "Device". */
static void find_batteries(struct state *state)
{
    DIR *listing = gt_root_list(state->root, directory);
    for (struct dirent *entry; listing && state->count < MOST_BATTERIES && (entry = readdir(listing));) {
        char type[32] = "", scope[32] = "";
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof state->name[0])
            continue;
        read_word(state, entry->d_name, "type", type, sizeof type);
        read_word(state, entry->d_name, "scope", scope, sizeof scope);
        if (!strcmp(type, "Battery") && strcmp(scope, "Device") != 0)
            strcpy(state->name[state->count++], entry->d_name);
    }
    if (listing)
        closedir(listing);
}

static int battery_open(void **ret, const struct gt_collect_options *options, struct gt_frame *frame,
                        struct gt_availability *availability, struct gt_error *error)
{
    *ret = NULL;
    *availability = (struct gt_availability){.source = "/sys/class/power_supply", .refresh = NAN};
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return gt_error_system(error, ENOMEM, "battery collector");
    *state = (struct state){.root = options->root, .clock = options->clock, .integral.watts = NAN};
    find_batteries(state);
    bool is_on_mains;
    double watts = draw(state, &is_on_mains);
    if (!state->count)
        gt_unavailable(availability, GT_ABSENT, NULL, "no battery");
    else if (isnan(watts))
        gt_unavailable(availability, GT_ABSENT, NULL,
                       "the machine runs on mains, of which its battery tells nothing, or the battery tells no power");
    else if (!gt_frame_claim(frame, GT_PLATFORM_ENERGY, &gt_collector_battery))
        gt_unavailable(availability, GT_ABSENT, NULL, "the platform's energy is counted by another source");
    if (availability->state != GT_READY) {
        free(state);
        return 0;
    }
    gt_power_integrate(&state->integral, gt_clock_monotonic(state->clock), watts);
    *ret = state;
    return 0;
}

static int battery_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    bool is_on_mains;
    double watts = draw(state, &is_on_mains);
    state->was_on_mains |= is_on_mains;
    frame->system[GT_PLATFORM_ENERGY] = gt_power_integrate(&state->integral, gt_clock_monotonic(state->clock),
                                                           state->was_on_mains ? NAN : watts);
    frame->doubt[GT_PLATFORM_ENERGY] = gt_power_doubt(&state->integral);
    return 0;
}

static void battery_describe(const void *opaque, char *text, size_t size)
{
    (void)opaque;
    snprintf(text, size, "power of the discharging battery added up over time; batteries measure every few seconds");
}

static void battery_explain(const void *opaque, enum gt_metric_id metric, char *text, size_t size)
{
    (void)opaque, (void)metric;
    snprintf(text, size, "the machine did not run on its battery all the time, or its battery reported no power");
}

const struct gt_collector_type gt_collector_battery = {
    .name = "battery",
    .help = "energy drawn by a machine that runs on its batteries",
    .metrics = metrics,
    .metric_count = 1,
    .claims = true,
    .open = battery_open,
    .collect = battery_collect,
    .close = free,
    .describe = battery_describe,
    .explain = battery_explain,
};
