#include "collect/energy/power.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "collect/collector.h"

/* A reading that fails is made up for by those around it, if they are not further apart. */
static const double LONGEST_GAP = 5;

double gt_power_integrate(struct gt_power_integral *integral, int64_t now_ns, double watts)
{
    double seconds = (double)(now_ns - integral->last_ns) / 1e9;
    if (isnan(watts)) {
        integral->is_missing = true;
        return NAN;
    }
    if (!isnan(integral->watts) && integral->is_missing && seconds > LONGEST_GAP)
        integral->doubt = INFINITY;
    else if (!isnan(integral->watts))
        integral->joules += (integral->watts + watts) / 2 * seconds;
    integral->watts = watts;
    integral->last_ns = now_ns;
    integral->is_missing = false;
    return integral->joules;
}

double gt_power_doubt(struct gt_power_integral *integral)
{
    double doubt = integral->doubt;
    integral->doubt = 0;
    return doubt;
}

double gt_energy_counter_read(struct gt_energy_counter *counter, double joules)
{
    if (isnan(joules))
        return NAN;
    if (joules > counter->last)
        counter->total += joules - counter->last;
    counter->resets += joules < counter->last;
    counter->last = joules;
    return counter->total;
}

double gt_energy_counter_doubt(struct gt_energy_counter *counter)
{
    bool is_new = counter->resets > counter->reported;
    counter->reported = counter->resets;
    return is_new ? INFINITY : 0;
}

/* ---- Sensors of the machine --------------------------------------------------------------------------------------- */

/* The collector "hwmon": sensors of processors and of the whole machine that count energy, or of which the power is added up.
 *
 * Sources: Documentation/hwmon of the kernel: sysfs-interface (microjoules, microwatts), acpi_power_meter, amd_energy, ibmaem,
 * ibmpowernv; drivers/hwmon/acpi_power_meter.c, whose files are in hwmonN/device up to Linux 6.14 and in hwmonN after it, name
 * included; NVIDIA's Grace performance tuning guide for the meters of Grace, told apart by power1_oem_info. A module holds a Grace
 * socket and its GPU, a Grace socket its CPU and what it needs: the three are never added up. */

extern const struct gt_collector_type gt_collector_hwmon;

static const char directory[] = "sys/class/hwmon";

/* The driver and the beginning of its label say what a sensor measures. The first that fits counts. */
static const struct kind {
    const char *driver, *label;
    enum gt_metric_id metric; /* GT_METRIC_COUNT: a part of something else */
} kinds[] = {
    {"amd_energy", "Esocket", GT_CPU_ENERGY},
    {"amd_energy", "", GT_METRIC_COUNT},
    {"power_meter", "Module Power Socket", GT_PLATFORM_ENERGY},
    {"power_meter", "Grace Power Socket", GT_CPU_ENERGY},
    {"power_meter", "CPU Power Socket", GT_CORE_ENERGY},
    {"power_meter", "SysIO Power Socket", GT_METRIC_COUNT},
    {"power_meter", "", GT_PLATFORM_ENERGY},
    {"ibmaem", "", GT_PLATFORM_ENERGY},
    {"ibmpowernv", "System", GT_PLATFORM_ENERGY},
    {"ibmpowernv", "", GT_METRIC_COUNT},
    /* of GPUs, and of tiles of one */
    {"amdgpu", "", GT_METRIC_COUNT},
    {"i915", "", GT_METRIC_COUNT},
    {"i915_gt0", "", GT_METRIC_COUNT},
    {"i915_gt1", "", GT_METRIC_COUNT},
    {"xe", "", GT_METRIC_COUNT},
    {"nouveau", "", GT_METRIC_COUNT},
};
static const enum gt_metric_id metrics[] = {GT_CPU_ENERGY, GT_CORE_ENERGY, GT_PLATFORM_ENERGY};
enum { METRICS = sizeof metrics / sizeof *metrics, MOST_SENSORS = 64 };

/* Meters that do not answer say all ones: more than any machine draws is no reading. */
static const double MOST_WATTS = 1e5;
/* Between the moment that is taken for a reading's and the reading itself we may not have run. */
static const double LATE_SECONDS = 5;

struct sensor {
    int fd;
    bool is_power;
    bool is_labelled;
    enum gt_metric_id metric;
    struct gt_energy_counter counter;
    int64_t last_ns; /* of the counter's last reading */
    struct gt_power_integral integral;
};

struct state {
    const struct gt_clock *clock;
    struct sensor sensor[MOST_SENSORS];
    int count;
    double interval;  /* seconds over which a meter takes its average, NaN: unknown */
    bool has_several; /* meters without a label, which may contain each other */
    bool is_denied;
    char unknown[64]; /* a sensor of which it is not known what it is about */
};

/* A counter that went on by more than any machine draws has not counted: it begins anew from there. */
static double read_sensor(struct sensor *sensor, int64_t now_ns)
{
    unsigned long long number;
    double value = gt_root_reread_u64(sensor->fd, &number) < 0 ? NAN : (double)number / 1e6;
    double most = MOST_WATTS * ((double)(now_ns - sensor->last_ns) / 1e9 + LATE_SECONDS);
    if (sensor->is_power)
        return gt_power_integrate(&sensor->integral, now_ns, value < MOST_WATTS ? value : NAN);
    if (isnan(value))
        return NAN;
    if (value - sensor->counter.last > most) {
        sensor->counter.last = value;
        sensor->counter.resets++;
    }
    sensor->last_ns = now_ns;
    double joules = gt_energy_counter_read(&sensor->counter, value);
    return joules > 0 ? joules : NAN; /* a counter that does not move measures nothing */
}

/* NaN where a part is missing; the others are read all the same. */
static double total(struct state *state, enum gt_metric_id metric, int64_t now_ns, double *ret_doubt)
{
    double sum = 0;
    int count = 0;
    *ret_doubt = 0;
    for (int i = 0; i < state->count; i++) {
        struct sensor *sensor = &state->sensor[i];
        if (sensor->metric != metric)
            continue;
        count++;
        sum += read_sensor(sensor, now_ns);
        *ret_doubt += gt_energy_counter_doubt(&sensor->counter) + gt_power_doubt(&sensor->integral);
    }
    return count ? sum : NAN;
}

static ssize_t read_text(const struct gt_root *root, const char *entry, const char *file, char *text, size_t size)
{
    return gt_root_read_line(root, text, size, "%s/%.40s/%s", directory, entry, file);
}

/* 0, or the negative errno of opening the file. */
static int add_sensor(struct state *state, const struct gt_root *root, const char *entry, const char *file,
                      const char *driver, const char *label)
{
    const struct kind *kind = kinds, *end = kinds + sizeof kinds / sizeof *kinds;
    char path[160];
    while (kind < end && (strcmp(kind->driver, driver) != 0 || strncmp(kind->label, label, strlen(kind->label)) != 0))
        kind++;
    snprintf(path, sizeof path, "%s/%.40s/%s", directory, entry, file);
    int fd = gt_root_open_file(root, path);
    state->is_denied |= fd == -EACCES;
    if (fd < 0)
        return fd;
    if (kind == end)
        snprintf(state->unknown, sizeof state->unknown, "%.20s %.20s", driver, *label ? label : file);
    if (kind == end || kind->metric == GT_METRIC_COUNT || state->count == MOST_SENSORS) {
        close(fd);
        return 0;
    }
    state->sensor[state->count++] = (struct sensor){.fd = fd,
                                                    .is_power = !strncmp(file, "power", strlen("power")),
                                                    .is_labelled = *label != '\0',
                                                    .metric = kind->metric,
                                                    .counter.last = NAN,
                                                    .integral.watts = NAN};
    return 0;
}

/* Finds the sensors of a folder. Returns false where there are none. */
static bool find_in(struct state *state, const struct gt_root *root, const char *entry)
{
    char driver[32], label[64], file[32], text[32];
    if (read_text(root, entry, "name", driver, sizeof driver) <= 0)
        return false;
    for (int i = 1, status = 0; i < 1000 && status == 0; i++) {
        snprintf(file, sizeof file, "energy%d_label", i);
        read_text(root, entry, file, label, sizeof label);
        snprintf(file, sizeof file, "energy%d_input", i);
        status = add_sensor(state, root, entry, file, driver, label);
    }
    if (strcmp(driver, "power_meter") != 0 || /* a battery reports more about itself than the meter does */
        (read_text(root, entry, "power1_is_battery", text, sizeof text) > 0 && !strcmp(text, "1")))
        return true;
    read_text(root, entry, "power1_oem_info", label, sizeof label);
    if (add_sensor(state, root, entry, "power1_average", driver, label) == 0 &&
        read_text(root, entry, "power1_average_interval", text, sizeof text) > 0)
        state->interval = fmax(state->interval, strtod(text, NULL) / 1e3);
    return true;
}

/* What contains what is only known of labelled meters. */
static void sort_out(struct state *state)
{
    bool has_cpu = false;
    int unlabelled = 0;
    for (int i = 0; i < state->count; i++) {
        has_cpu |= state->sensor[i].metric == GT_CPU_ENERGY;
        unlabelled += state->sensor[i].is_power && !state->sensor[i].is_labelled;
    }
    state->has_several = unlabelled > 1;
    for (int i = 0; i < state->count; i++) {
        struct sensor *sensor = &state->sensor[i];
        if (sensor->metric == GT_CORE_ENERGY && !has_cpu)
            sensor->metric = GT_CPU_ENERGY;
        if (state->has_several && sensor->is_power && !sensor->is_labelled)
            sensor->metric = GT_METRIC_COUNT;
    }
}

static void hwmon_close(void *opaque)
{
    struct state *state = opaque;
    for (int i = 0; i < state->count; i++)
        close(state->sensor[i].fd);
}

static int explain_none(const struct state *state, struct gt_availability *availability)
{
    if (state->is_denied)
        return gt_unavailable(availability, GT_DENIED, gt_remedy_energy,
                              "there are sensors of energy, and this user may not read them");
    if (state->has_several)
        return gt_unavailable(availability, GT_BROKEN, NULL,
                              "there are several ACPI power meters, and they do not tell what each is about");
    if (state->count)
        return gt_unavailable(availability, GT_ABSENT, NULL, "what its sensors tell is counted by another source");
    if (*state->unknown)
        return gt_unavailable(availability, GT_ABSENT, NULL, "it is not known what the sensor \"%s\" is about",
                              state->unknown);
    return gt_unavailable(availability, GT_ABSENT, NULL, "no energy or power sensors");
}

static void find_sensors(struct state *state, const struct gt_root *root)
{
    DIR *listing = gt_root_list(root, directory);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        char below[40];
        if (strncmp(entry->d_name, "hwmon", strlen("hwmon")) != 0 || strlen(entry->d_name) >= 32)
            continue;
        snprintf(below, sizeof below, "%.31s/device", entry->d_name);
        if (!find_in(state, root, entry->d_name))
            find_in(state, root, below);
    }
    if (listing)
        closedir(listing);
}

static int hwmon_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                      struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    bool any = false;
    state->clock = options->clock;
    state->interval = NAN;
    find_sensors(state, options->root);
    sort_out(state);
    for (int i = 0; i < state->count; i++) {
        struct sensor *sensor = &state->sensor[i];
        if (sensor->metric != GT_METRIC_COUNT && gt_snapshot_claim(snapshot, sensor->metric, &gt_collector_hwmon))
            any = true;
        else
            sensor->metric = GT_METRIC_COUNT;
    }
    if (!any)
        return explain_none(state, availability);
    availability->refresh = state->interval;
    double doubt;
    for (int i = 0; i < METRICS; i++)
        total(state, metrics[i], gt_clock_monotonic(state->clock), &doubt);
    return 0;
}

static int hwmon_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    int64_t now_ns = gt_clock_monotonic(state->clock);
    for (int i = 0; i < METRICS; i++)
        if (snapshot->owner[metrics[i]] == &gt_collector_hwmon)
            snapshot->system[metrics[i]] = total(state, metrics[i], now_ns, &snapshot->doubt[metrics[i]]);
    return 0;
}

static void hwmon_describe(const void *opaque, char *text, size_t size)
{
    const struct state *state = opaque;
    bool is_integrated = false;
    for (int i = 0; i < state->count; i++)
        is_integrated |= state->sensor[i].is_power && state->sensor[i].metric != GT_METRIC_COUNT;
    int length = snprintf(text, size, "%s", is_integrated ? "power added up over time" : "");
    if (length && state->interval > 0)
        snprintf(text + length, size - (size_t)length, "; each reading is an average of %g s", state->interval);
}

const struct gt_collector_type gt_collector_hwmon = {
    .name = "hwmon",
    .help = "energy sensors and power meters of the machine: ACPI, Grace, AMD and IBM processors",
    .metrics = metrics,
    .metric_count = METRICS,
    .source = "/sys/class/hwmon",
    .refresh = NAN,
    .state_size = sizeof(struct state),
    .claims = true,
    .open = hwmon_open,
    .collect = hwmon_collect,
    .close = hwmon_close,
    .describe = hwmon_describe,
    .missing = "no sensor counts it, or one of its sensors gave no reading",
};

/* ---- Batteries ------------------------------------------------------------------------------------------------------- */

/* The collector "battery": what the machine draws while it runs on its batteries.
 *
 * Source: Documentation/ABI/testing/sysfs-class-power in the kernel's sources: microwatts, microamperes, microvolts. On mains the
 * battery tells nothing of the machine's draw; energy drawn then is not known, and so is the sum from there on. */

extern const struct gt_collector_type gt_collector_battery;

static const char battery_directory[] = "sys/class/power_supply";
static const enum gt_metric_id battery_metrics[] = {GT_PLATFORM_ENERGY};

enum { MOST_BATTERIES = 8 };

/* What no battery gives is no reading. */
static const double BATTERY_MOST_WATTS = 1e4;

struct battery {
    const struct gt_root *root;
    const struct gt_clock *clock;
    char name[MOST_BATTERIES][32];
    int count;
    bool was_on_mains;
    struct gt_power_integral integral;
};

static bool read_word(const struct battery *state, const char *name, const char *file, char *text, size_t size)
{
    return gt_root_read_line(state->root, text, size, "%s/%.31s/%s", battery_directory, name, file) > 0;
}

/* Some drivers give what flows out of the battery a negative sign. */
static double read_number(const struct battery *state, const char *name, const char *file)
{
    char text[32];
    int64_t value;
    bool is_number = read_word(state, name, file, text, sizeof text) && gt_number_i64(text, &value) == 0;
    return is_number ? fabs((double)value) / 1e6 : NAN;
}

/* Of several batteries some machines empty one after the other: what counts is that one is emptied and none is filled. */
static double draw(const struct battery *state, bool *is_on_mains)
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
        sum += is_told && watts <= BATTERY_MOST_WATTS ? watts : NAN;
    }
    return *is_on_mains ? NAN : sum;
}

/* Batteries of mice and headsets have the scope "Device". */
static void find_batteries(struct battery *state)
{
    DIR *listing = gt_root_list(state->root, battery_directory);
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

static int battery_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                        struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    struct battery *state = opaque;
    *state = (struct battery){.root = options->root, .clock = options->clock, .integral.watts = NAN};
    find_batteries(state);
    bool is_on_mains;
    double watts = draw(state, &is_on_mains);
    if (!state->count)
        gt_unavailable(availability, GT_ABSENT, NULL, "no battery");
    else if (isnan(watts))
        gt_unavailable(availability, GT_ABSENT, NULL,
                       "the machine runs on mains, of which its battery tells nothing, or the battery tells no power");
    else if (!gt_snapshot_claim(snapshot, GT_PLATFORM_ENERGY, &gt_collector_battery))
        gt_unavailable(availability, GT_ABSENT, NULL, "the platform's energy is counted by another source");
    gt_power_integrate(&state->integral, gt_clock_monotonic(state->clock), watts);
    return 0;
}

static int battery_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct battery *state = opaque;
    bool is_on_mains;
    double watts = draw(state, &is_on_mains);
    state->was_on_mains |= is_on_mains;
    snapshot->system[GT_PLATFORM_ENERGY] = gt_power_integrate(&state->integral, gt_clock_monotonic(state->clock),
                                                              state->was_on_mains ? NAN : watts);
    snapshot->doubt[GT_PLATFORM_ENERGY] = gt_power_doubt(&state->integral);
    return 0;
}

const struct gt_collector_type gt_collector_battery = {
    .name = "battery",
    .help = "energy drawn by a machine that runs on its batteries",
    .metrics = battery_metrics,
    .metric_count = 1,
    .source = "/sys/class/power_supply",
    .refresh = NAN,
    .state_size = sizeof(struct battery),
    .claims = true,
    .open = battery_open,
    .collect = battery_collect,
    .method = "power of the discharging battery added up over time; batteries measure every few seconds",
    .missing = "the machine did not run on its battery all the time, or its battery reported no power",
};
