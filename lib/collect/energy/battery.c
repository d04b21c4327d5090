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

#include "collect/availability.h"
#include "collect/energy/power.h"

extern const struct gt_collector_type gt_collector_battery;

static const char directory[] = "sys/class/power_supply";
static const enum gt_metric_id metrics[] = {GT_PLATFORM_ENERGY};

enum { MOST_BATTERIES = 8 };

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
    char text[32], *end;
    if (!read_word(state, name, file, text, sizeof text))
        return NAN;
    double value = fabs(strtod(text, &end)) / 1e6;
    return end == text ? NAN : value;
}

static double watts_of(const struct state *state, const char *name)
{
    double watts = read_number(state, name, "power_now");
    if (isnan(watts))
        watts = read_number(state, name, "current_now") * read_number(state, name, "voltage_now");
    return watts;
}

/* Of several batteries some machines empty one after the other: what counts is that one is emptied and none is filled. */
static double draw(const struct state *state)
{
    double sum = NAN;
    for (int i = 0; i < state->count; i++) {
        char status[32] = "";
        read_word(state, state->name[i], "status", status, sizeof status);
        if (!strcmp(status, "Charging"))
            return NAN;
        if (strcmp(status, "Discharging") != 0)
            continue;
        double watts = watts_of(state, state->name[i]);
        sum = isnan(sum) ? watts : sum + watts;
    }
    return sum;
}

/* Batteries of mice and headsets have the scope "Device". */
static void look_at(struct state *state, const char *name)
{
    char type[32] = "", scope[32] = "";
    read_word(state, name, "type", type, sizeof type);
    read_word(state, name, "scope", scope, sizeof scope);
    if (!strcmp(type, "Battery") && strcmp(scope, "Device") != 0)
        strcpy(state->name[state->count++], name); /* the caller has seen that it fits */
}

static void find_batteries(struct state *state)
{
    int fd = gt_root_open_directory(state->root, directory);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing && fd >= 0)
        close(fd);
    for (struct dirent *entry; listing && state->count < MOST_BATTERIES && (entry = readdir(listing));)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < sizeof state->name[0])
            look_at(state, entry->d_name);
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
    if (!state->count)
        gt_unavailable(availability, GT_ABSENT, NULL, "there is no battery");
    else if (isnan(draw(state)))
        gt_unavailable(availability, GT_ABSENT, NULL,
                       "the machine runs on mains, of which its battery tells nothing, or the battery tells no power");
    else if (!gt_frame_claim(frame, GT_PLATFORM_ENERGY, &gt_collector_battery))
        gt_unavailable(availability, GT_ABSENT, NULL, "the platform's energy is counted by another source");
    if (availability->state != GT_READY) {
        free(state);
        return 0;
    }
    gt_power_integrate(&state->integral, gt_clock_monotonic(state->clock), draw(state));
    *ret = state;
    return 0;
}

static int battery_collect(void *opaque, struct gt_frame *frame, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    double watts = state->was_on_mains ? NAN : draw(state);
    state->was_on_mains |= isnan(watts);
    frame->system[GT_PLATFORM_ENERGY] = gt_power_integrate(&state->integral, gt_clock_monotonic(state->clock), watts);
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
    snprintf(text, size, "the machine did not run on its battery all the time");
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
