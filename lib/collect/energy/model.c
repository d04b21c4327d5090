#include "collect/energy/model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/os/file.h"
#include "base/json.h"
#include "base/number.h"
#include "collect/collector.h"
#include "collect/host/host.h"

enum { MOST_BYTES = 16384 };

static const double MOST_WATTS = 1e5;

static char *strip(char *text)
{
    static const char blanks[] = " \t\r";
    text += strspn(text, blanks);
    for (size_t length = strlen(text); length && strchr(blanks, text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

static bool is_watts(double watts)
{
    return watts >= 0 && watts <= MOST_WATTS;
}

/* What a file says goes into messages and reports: on one line. */
static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
}

/* Keep the points sorted. False: there is one at that ratio, or there are too many. */
static bool add_point(struct gt_model *model, double ratio, double watts)
{
    int at = model->count;
    if (model->count == GT_MODEL_POINTS || !(ratio >= 0 && ratio <= 1) || !is_watts(watts))
        return false;
    for (int i = 0; i < model->count; i++)
        if (model->ratio[i] == ratio)
            return false;
    for (; at > 0 && model->ratio[at - 1] > ratio; at--) {
        model->ratio[at] = model->ratio[at - 1];
        model->watts[at] = model->watts[at - 1];
    }
    model->ratio[at] = ratio;
    model->watts[at] = watts;
    model->count++;
    return true;
}

/* By its power over TDP at some ratios of busy cores. */
static bool add_tdp(struct gt_model *model, double tdp)
{
    return tdp > 0 && add_point(model, 0, 0.12 * tdp) && add_point(model, 0.1, 0.32 * tdp) &&
           add_point(model, 0.5, 0.75 * tdp) && add_point(model, 1, 1.02 * tdp);
}

static bool set_number(struct gt_model *model, const char *key, double number)
{
    if (!is_watts(number))
        return false;
    if (!strcmp(key, "idle_watts"))
        return add_point(model, 0, number);
    if (!strcmp(key, "max_watts"))
        return add_point(model, 1, number);
    if (!strcmp(key, "tdp_watts"))
        return add_tdp(model, number);
    if (strcmp(key, "dram_watts") || !isnan(model->dram_watts))
        return false;
    model->dram_watts = number;
    return true;
}

static bool take(struct gt_model *model, const char *key, char *value)
{
    double number, watts;
    if (!strcmp(key, "name")) {
        snprintf(model->name, sizeof model->name, "%s", value);
        return true;
    }
    if (!strcmp(key, "point")) {
        char *second = value + strcspn(value, " \t");
        if (!*second)
            return false;
        *second++ = '\0';
        return gt_number_double(value, &number) == 0 && gt_number_double(strip(second), &watts) == 0 &&
               add_point(model, number, watts);
    }
    return gt_number_double(value, &number) == 0 && set_number(model, key, number);
}

static int parse_lines(struct gt_model *model, const char *path, char *text, struct gt_error *error)
{
    int number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "#")] = '\0';
        clean(line);
        char *key = strip(line), *equals = strchr(key, '=');
        if (!*key)
            continue;
        if (!equals)
            return gt_error_set(error, EINVAL, "%s: line %d: \"%.60s\" is not KEY = VALUE", path, number, key);
        *equals = '\0';
        if (!take(model, strip(key), strip(equals + 1)))
            return gt_error_set(error, EINVAL,
                                "%s: line %d: \"%.40s\" is not a setting of a power model, or its value "
                                "is wrong",
                                path, number, key);
    }
    return 0;
}

/* "points": [[RATIO, WATTS], ...] */
static bool take_points(struct gt_model *model, const json_t *points)
{
    size_t i;
    json_t *point;
    if (!json_is_array(points))
        return false;
    json_array_foreach (points, i, point) {
        const json_t *ratio = json_array_get(point, 0), *watts = json_array_get(point, 1);
        if (json_array_size(point) != 2 || !json_is_number(ratio) || !json_is_number(watts) ||
            !add_point(model, json_number_value(ratio), json_number_value(watts)))
            return false;
    }
    return true;
}

static int parse_json(struct gt_model *model, const char *path, const char *text, size_t length, struct gt_error *error)
{
    json_error_t problem;
    const char *key;
    json_t *value, *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    int status = 0;
    if (!object) {
        clean(problem.text); /* it repeats a piece of the file */
        return gt_error_set(error, EINVAL, "%s: line %d: %s", path, problem.line, problem.text);
    }
    gt_json_foreach_member (object, key, value) {
        char shown[41];
        bool is_name = !strcmp(key, "name") && json_is_string(value);
        if (is_name)
            snprintf(model->name, sizeof model->name, "%s", json_string_value(value));
        bool is_taken = is_name || (!strcmp(key, "points")
                                        ? take_points(model, value)
                                        : json_is_number(value) && set_number(model, key, json_number_value(value)));
        snprintf(shown, sizeof shown, "%s", key);
        clean(shown);
        if (status == 0 && !is_taken)
            status = gt_error_set(error, EINVAL, "%s: \"%s\" is not a setting of a power model, or its value is wrong",
                                  path, shown);
    }
    json_decref(object);
    return status;
}

int gt_model_parse(struct gt_model *ret, const char *path, char *text, size_t length, struct gt_error *error)
{
    *ret = (struct gt_model){.dram_watts = NAN};
    bool is_json = text[strspn(text, " \t\r\n")] == '{';
    int status = is_json ? parse_json(ret, path, text, length, error) : parse_lines(ret, path, text, error);
    if (status < 0)
        return status;
    clean(ret->name);
    if (ret->count < 2 || ret->ratio[0] > 0 || ret->ratio[ret->count - 1] < 1)
        return gt_error_set(error, EINVAL, "%s: a power model needs idle_watts and max_watts, or tdp_watts", path);
    return 0;
}

static int read_file(struct gt_model *model, const char *path, struct gt_error *error)
{
    struct gt_buffer text = {.ceiling = MOST_BYTES};
    struct gt_error problem = {0};
    int status = gt_given_file_read(path, &text, &problem);
    if (status == -EFBIG || (status == 0 && memchr(text.data, 0, text.length)))
        status = gt_error_set(error, EINVAL, "%s: this is not a power model", path);
    else if (status < 0)
        status = gt_error_set(error, -status, "%s", problem.text);
    else
        status = gt_model_parse(model, path, text.data, text.length, error);
    gt_buffer_release(&text);
    return status;
}

int gt_model_read(struct gt_model *ret, const char *path, double tdp, struct gt_error *error)
{
    *ret = (struct gt_model){.dram_watts = NAN};
    if (path) {
        int status = read_file(ret, path, error);
        if (status >= 0 && !*ret->name)
            snprintf(ret->name, sizeof ret->name, "%.63s", gt_file_name(path));
        return status;
    }
    if (!is_watts(tdp) || tdp <= 0)
        return gt_error_set(error, EINVAL, "the TDP must be a number of watts above 0");
    add_tdp(ret, tdp);
    snprintf(ret->name, sizeof ret->name, "TDP of %g W", tdp);
    return 0;
}

double gt_model_watts(const struct gt_model *model, double ratio)
{
    int i = 1;
    double at = fmin(fmax(ratio, 0), 1);
    while (i + 1 < model->count && model->ratio[i] < at)
        i++;
    double part = (at - model->ratio[i - 1]) / (model->ratio[i] - model->ratio[i - 1]);
    return model->watts[i - 1] + part * (model->watts[i] - model->watts[i - 1]);
}

/* The collector "estimate": energy of the processors by a model of the user's, where no counter has it. Nothing is estimated
 * unless a model was given. */

extern const struct gt_collector_type gt_collector_estimate;

static const enum gt_metric_id metrics[] = {GT_CPU_ENERGY, GT_DRAM_ENERGY};

/* CPU time of the machine comes in ticks of 10 ms: a ratio over fewer than some of them is noise. */
static const int64_t STRETCH_NS = GT_SECOND / 10;

struct state {
    struct gt_model model;
    const struct gt_clock *clock;
    int cores;
    int64_t since_ns, open_ns;
    double busy; /* seconds of CPU time at since_ns */
    double cpu_joules;
};

static int estimate_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                         struct gt_availability *availability, struct gt_error *error)
{
    struct state *state = opaque;
    if (!options->power_model && !(options->cpu_tdp > 0))
        return gt_unavailable(availability, GT_ABSENT, NULL, "no model was given (--power-model, --cpu-tdp)");
    int status = gt_model_read(&state->model, options->power_model, options->cpu_tdp, error);
    state->clock = options->clock;
    state->cores = gt_capacity_cores(options->root);
    state->since_ns = state->open_ns = gt_clock_monotonic(options->clock);
    bool is_used = status >= 0 && state->cores > 0 &&
                   gt_snapshot_claim(snapshot, GT_CPU_ENERGY, &gt_collector_estimate);
    if (status >= 0 && state->cores > 0 && !isnan(state->model.dram_watts))
        is_used |= gt_snapshot_claim(snapshot, GT_DRAM_ENERGY, &gt_collector_estimate);
    if (is_used)
        snprintf(availability->source, sizeof availability->source, GT_ESTIMATED_SOURCE " by use of the CPU: %s",
                 state->model.name);
    else if (status >= 0)
        gt_unavailable(availability, GT_ABSENT, NULL,
                       "a counter has the energy of the processors: the model is not used");
    return status;
}

static int estimate_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    double busy = snapshot->system[GT_CPU_TIME];
    int64_t now_ns = gt_clock_monotonic(state->clock), elapsed_ns = now_ns - state->since_ns;
    if (!isnan(busy) && (elapsed_ns >= STRETCH_NS || (snapshot->is_last && elapsed_ns > 0))) {
        double seconds = (double)elapsed_ns / 1e9;
        state->cpu_joules += gt_model_watts(&state->model, (busy - state->busy) / (seconds * state->cores)) * seconds;
        state->busy = busy;
        state->since_ns = now_ns;
    }
    if (snapshot->owner[GT_CPU_ENERGY] == &gt_collector_estimate && state->since_ns > state->open_ns)
        snapshot->system[GT_CPU_ENERGY] = state->cpu_joules;
    if (snapshot->owner[GT_DRAM_ENERGY] == &gt_collector_estimate)
        snapshot->system[GT_DRAM_ENERGY] = state->model.dram_watts * (double)(now_ns - state->open_ns) / 1e9;
    return 0;
}

const struct gt_collector_type gt_collector_estimate = {
    .name = "estimate",
    .help = "energy of the processors by a model that the user gave",
    .metrics = metrics,
    .metric_count = sizeof metrics / sizeof *metrics,
    .source = GT_ESTIMATED_SOURCE " by a model",
    .refresh = 0.1,
    .state_size = sizeof(struct state),
    .claims = true,
    .is_estimate = true,
    .open = estimate_open,
    .collect = estimate_collect,
    .method = "estimated, not measured: power by the share of cores that were busy",
};
