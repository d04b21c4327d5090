/* An experiment is read from the files of a folder, or from a tracking file.
 *
 * power_metrics.json has a JSON value a line: records and marks of the end of a segment. results_exp.json has
 * figures of the program under measurement. omegawatt.csv is an external meter's: a line of its own first, then the
 * header, #timestamp (seconds), #frame_is_ok, and a column of watts for each of its channels; a last line that was
 * cut off is left out, and so are frames that the meter calls bad. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/experiment/experiment.h"
#include "base/os/clock.h"
#include "base/csv.h"
#include "base/os/file.h"
#include "base/json.h"
#include "base/number.h"
#include "store/store.h"

enum { LONGEST = 64 << 20 }; /* a line, or a value */

static const char segment_end[] = "END OF RECORDING SEGMENT";

/* ---- power_metrics.json ------------------------------------------------------------------------------------------ */

struct record {
    struct gt_experiment *experiment;
    double date, window;
};

static int keep(const struct record *record, enum gt_experiment_group group, const char *name, const char *device,
                double value)
{
    return gt_experiment_add(record->experiment, group, name, device, (struct gt_experiment_point){record->date, value},
                             record->window);
}

/* {pid: number}: NaN when none is known. */
static double sum_of(const json_t *object)
{
    const char *key;
    json_t *value;
    double sum = NAN;
    gt_json_foreach_member (object, key, value) {
        if (json_is_number(value))
            sum = (isnan(sum) ? 0 : sum) + json_number_value(value);
    }
    return sum;
}

/* Some versions write lists of one number. */
static double figure_of(const json_t *value)
{
    if (json_is_object(value))
        return sum_of(value);
    return gt_json_number_or_nan(json_is_array(value) && json_array_size(value) == 1 ? json_array_get(value, 0)
                                                                                     : value);
}

/* psys_power is -1 where there is no such counter. */
static int take_cpu(const struct record *record, const json_t *metrics)
{
    const char *name;
    json_t *value;
    int status = 0;
    gt_json_foreach_member (metrics, name, value) {
        double figure = figure_of(value);
        bool is_missing = !strcmp(name, "psys_power") && figure < 0;
        if (status == 0 && !is_missing)
            status = keep(record, GT_EXPERIMENT_CPU, name, NULL, figure);
    }
    return status;
}

/* {chip: [[label, current, ...], ...]}: a curve for each sensor. */
static int take_temperatures(const struct record *record, const json_t *chips)
{
    const char *chip;
    json_t *sensors, *sensor;
    size_t number;
    int status = 0;
    gt_json_foreach_member (chips, chip, sensors) {
        json_array_foreach (sensors, number, sensor) {
            const char *label = json_string_value(json_array_get(sensor, 0));
            char device[128];
            if (label && *label)
                snprintf(device, sizeof device, "%s: %s", chip, label);
            else
                snprintf(device, sizeof device, "%s: %zu", chip, number + 1);
            if (status == 0)
                status = keep(record, GT_EXPERIMENT_CPU, "temperature", device,
                              gt_json_number_or_nan(json_array_get(sensor, 1)));
        }
    }
    return status;
}

static int take_gpu(const struct record *record, const json_t *metrics)
{
    const char *name, *card;
    json_t *value, *of_card;
    int status = 0;
    gt_json_foreach_member (metrics, name, value) {
        if (!strcmp(name, "time")) /* of the reading: no figure */
            continue;
        if (!json_is_object(value)) {
            status = status < 0 ? status : keep(record, GT_EXPERIMENT_GPU, name, NULL, figure_of(value));
            continue;
        }
        gt_json_foreach_member (value, card, of_card) {
            if (status == 0)
                status = keep(record, GT_EXPERIMENT_GPU, name, card, figure_of(of_card));
        }
    }
    return status;
}

static int take_record(struct gt_experiment *experiment, const json_t *value)
{
    const json_t *metrics = json_object_get(value, "metrics");
    struct record record = {experiment, gt_date_read(json_string_value(json_object_get(value, "date"))),
                            gt_json_number_or_nan(json_object_get(value, "window"))};
    if (!json_is_object(metrics) || isnan(record.date)) {
        experiment->bad_rows++;
        return 0;
    }
    int status = take_cpu(&record, json_object_get(metrics, "cpu"));
    if (status == 0)
        status = take_temperatures(&record, json_object_get(metrics, "temperature"));
    return status < 0 ? status : take_gpu(&record, json_object_get(metrics, "gpu"));
}

static int take_line(struct gt_experiment *experiment, const char *line, size_t length)
{
    json_t *value = json_loadb(line, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    int status = 0;
    if (json_is_string(value) && !strcmp(json_string_value(value), segment_end))
        experiment->segment++;
    else if (json_is_object(value))
        status = take_record(experiment, value);
    else
        experiment->bad_rows += strspn(line, " \t\r\n") < length;
    json_decref(value);
    return status;
}

/* *ret stays NULL where there is none. */
static int open_optional(FILE **ret, const char *path, struct gt_error *error)
{
    int fd = gt_given_file_open_optional(path, error);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    *ret = fdopen(fd, "r");
    if (*ret)
        return 0;
    close(fd);
    return gt_error_system(error, ENOMEM, "%s", path);
}

int gt_experiment_read_power(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    FILE *file = NULL;
    struct gt_buffer line = {0};
    size_t lines = 0, records = 0;
    int status = open_optional(&file, path, error), got = 0;
    if (!file)
        return status;
    while (status == 0 && (got = gt_file_line(file, &line, LONGEST)) > 0) {
        status = take_line(experiment, line.data, line.length);
        lines++;
    }
    records = lines - (size_t)experiment->bad_rows;
    status = status < 0 ? status : got;
    fclose(file);
    gt_buffer_release(&line);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return lines && !records ? gt_error_set(error, EBADMSG, "%s: not one line is a record of AIPowerMeter", path) : 0;
}

/* ---- results_exp.json -------------------------------------------------------------------------------------------- */

static int take_result(struct gt_experiment *experiment, const json_t *result, double date)
{
    struct record record = {experiment, date, NAN};
    const char *name;
    json_t *value;
    int status = 0;
    experiment->bad_rows += isnan(date);
    gt_json_foreach_member (result, name, value) {
        if (status == 0)
            status = keep(&record, GT_EXPERIMENT_RESULTS, name, NULL, gt_json_number_or_nan(value));
    }
    return status;
}

static double date_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? gt_date_read(text) : NAN;
}

/* [{"end_training_epoch": date, "accuracy": 0.9}, ...], an object of such objects, or lines {"date": date,
 * "metrics": {...}}. */
static int take_results(struct gt_experiment *experiment, const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    int status = 0;
    if (json_object_get(value, "metrics"))
        return take_result(experiment, json_object_get(value, "metrics"), date_in(value, "date"));
    json_array_foreach (value, i, item) {
        status = status < 0 ? status : take_result(experiment, item, date_in(item, "end_training_epoch"));
    }
    gt_json_foreach_member (value, key, item) {
        status = status < 0 ? status : take_result(experiment, item, date_in(item, "end_training_epoch"));
    }
    return status;
}

static bool has_more(FILE *file)
{
    int c;
    while ((c = fgetc(file)) == ' ' || (c >= '\t' && c <= '\r'))
        continue;
    ungetc(c, file);
    return c != EOF;
}

int gt_experiment_read_results(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    FILE *file = NULL;
    json_error_t trouble = {0};
    int status = open_optional(&file, path, error), values = 0;
    if (!file)
        return status;
    uint32_t segment = experiment->segment;
    experiment->segment = 0; /* the program knows of no segments */
    while (status == 0 && has_more(file)) {
        json_t *value = gt_json_read(file, LONGEST, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &trouble);
        if (!value)
            status = gt_error_set(error, EBADMSG, "%s: value %d is not JSON: %s", path, values + 1, trouble.text);
        else if (take_results(experiment, value) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
        json_decref(value);
        values++;
    }
    experiment->segment = segment;
    fclose(file);
    return status;
}

/* ---- omegawatt.csv ----------------------------------------------------------------------------------------------- */

enum { MOST_CHANNELS = 256 };

struct meter {
    struct gt_csv_reader *reader;
    char *name[MOST_CHANNELS];
    size_t count, time, good; /* which column; good: count when there is none */
};

static int read_header(struct meter *meter, const char *path, struct gt_error *error)
{
    char **fields;
    size_t count;
    for (int line = 0; line < 2; line++) {
        int status = gt_csv_next(meter->reader, &fields, &count, error);
        if (status < 0)
            return status;
        if (status == 0)
            return gt_error_set(error, EBADMSG, "%s has no header in its second line", path);
    }
    if (count > MOST_CHANNELS)
        return gt_error_set(error, EBADMSG, "%s has %zu columns, and at most %d are read", path, count, MOST_CHANNELS);
    meter->time = meter->good = count;
    for (size_t i = 0; i < count; i++) {
        meter->name[i] = strdup(fields[i]);
        if (!meter->name[i])
            return gt_error_system(error, ENOMEM, "%s", path);
        meter->count = i + 1;
        if (!strcmp(fields[i], "#timestamp"))
            meter->time = i;
        if (!strcmp(fields[i], "#frame_is_ok"))
            meter->good = i;
    }
    if (meter->time == count)
        return gt_error_set(error, EBADMSG, "%s has no column \"#timestamp\"", path);
    return 0;
}

static int take_row(struct gt_experiment *experiment, const struct meter *meter, char *const *fields, size_t count)
{
    struct gt_experiment_point point;
    int status = 0;
    if (count != meter->count || gt_number_double(fields[meter->time], &point.date) < 0) {
        experiment->bad_rows++;
        return 0;
    }
    if (meter->good < count && strcasecmp(fields[meter->good], "true") != 0)
        return 0;
    for (size_t i = 0; i < count && status == 0; i++)
        if (i != meter->time && i != meter->good && gt_number_double(fields[i], &point.value) == 0)
            status = gt_experiment_add(experiment, GT_EXPERIMENT_METER, meter->name[i], NULL, point, NAN);
    return status;
}

int gt_experiment_read_meter(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    struct meter meter = {0};
    char **fields;
    size_t count;
    int fd = gt_given_file_open_optional(path, error);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    uint32_t segment = experiment->segment;
    experiment->segment = 0; /* it goes on when recordings pause */
    int status = gt_csv_open(&meter.reader, fd, path, error);
    if (status >= 0)
        status = read_header(&meter, path, error);
    while (status >= 0 && (status = gt_csv_next(meter.reader, &fields, &count, error)) > 0)
        if (gt_csv_is_complete(meter.reader) && (status = take_row(experiment, &meter, fields, count)) < 0)
            gt_error_system(error, -status, "%s", path);
    experiment->segment = segment;
    gt_csv_close(meter.reader);
    close(fd);
    for (size_t i = 0; i < meter.count; i++)
        free(meter.name[i]);
    return status;
}

/* ---- a tracking file: counters by their growth from sample to sample --------------------------------------------- */

enum form {
    WATTS,   /* of a counter of joules */
    SECONDS, /* growth of a counter */
    STATE,   /* as it is */
    PERCENT, /* of a ratio */
};

static const struct figure {
    enum gt_experiment_group group;
    const char *name;
    enum form form;
    enum gt_scope scope;
    enum gt_metric_id metric;
} figures[] = {
    {GT_EXPERIMENT_CPU, "intel_power", WATTS, GT_SCOPE_SYSTEM, GT_CPU_ENERGY},
    {GT_EXPERIMENT_CPU, "rel_intel_power", WATTS, GT_SCOPE_COMBINED, GT_CPU_ENERGY},
    {GT_EXPERIMENT_CPU, "psys_power", WATTS, GT_SCOPE_SYSTEM, GT_PLATFORM_ENERGY},
    {GT_EXPERIMENT_CPU, "total_cpu_power", WATTS, GT_SCOPE_SYSTEM, GT_CORE_ENERGY},
    {GT_EXPERIMENT_CPU, "uncore_power", WATTS, GT_SCOPE_SYSTEM, GT_UNCORE_ENERGY},
    {GT_EXPERIMENT_CPU, "total_dram_power", WATTS, GT_SCOPE_SYSTEM, GT_DRAM_ENERGY},
    {GT_EXPERIMENT_CPU, "per_process_dram_power", WATTS, GT_SCOPE_COMBINED, GT_DRAM_ENERGY},
    {GT_EXPERIMENT_CPU, "absolute_cpu_time_per_pid", SECONDS, GT_SCOPE_COMBINED, GT_CPU_TIME},
    {GT_EXPERIMENT_CPU, "per_process_mem_use_abs", STATE, GT_SCOPE_COMBINED, GT_RAM},
    {GT_EXPERIMENT_CPU, "total_mem_use", STATE, GT_SCOPE_SYSTEM, GT_RAM},
    {GT_EXPERIMENT_GPU, "nvidia_power", WATTS, GT_SCOPE_SYSTEM, GT_GPU_ENERGY},
    {GT_EXPERIMENT_GPU, "nvidia_attributable_power", WATTS, GT_SCOPE_COMBINED, GT_GPU_ENERGY},
    {GT_EXPERIMENT_GPU, "nvidia_memory", STATE, GT_SCOPE_SYSTEM, GT_GPU_RAM},
    {GT_EXPERIMENT_GPU, "nvidia_mem_use", STATE, GT_SCOPE_COMBINED, GT_GPU_RAM},
    {GT_EXPERIMENT_GPU, "nvidia_use_rate", PERCENT, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION},
};
enum { FIGURES = sizeof figures / sizeof *figures };

struct moment {
    double date, clock;
    double value[FIGURES], job_cpu, system_cpu;
};

static struct moment moment_of(const struct gt_sample *sample)
{
    struct moment moment = {
        .date = (double)sample->real_ns / 1e9,
        .clock = (double)sample->monotonic_ns / 1e9,
        .job_cpu = sample->row[GT_SCOPE_COMBINED].value[GT_CPU_TIME],
        .system_cpu = sample->row[GT_SCOPE_SYSTEM].value[GT_CPU_TIME],
    };
    for (size_t i = 0; i < FIGURES; i++)
        moment.value[i] = sample->row[figures[i].scope].value[figures[i].metric];
    return moment;
}

struct stretch {
    const struct moment *before, *now;
    const struct gt_energy_curve *energy;
    int gpus;
};

/* Energy that is divided is asked of the curve; other counters are not divided. NaN: not known. */
static double watts_of(size_t i, const struct stretch *stretch)
{
    const struct gt_time_stretch time = {stretch->before->clock, stretch->now->clock};
    double seconds = time.stop - time.start;
    enum gt_energy_device device;
    enum gt_energy_part part;
    if (gt_energy_column(figures[i].scope, figures[i].metric, &device, &part))
        return gt_energy_curve_over(stretch->energy, device, part, &time, 1).joules / seconds;
    return (stretch->now->value[i] - stretch->before->value[i]) / seconds;
}

static double figure_in(size_t i, const struct stretch *stretch)
{
    const struct moment *now = stretch->now;
    switch (figures[i].form) {
    case WATTS: return watts_of(i, stretch);
    case SECONDS: return now->value[i] - stretch->before->value[i];
    case STATE: return now->value[i];
    case PERCENT: break;
    }
    return stretch->gpus ? now->value[i] / stretch->gpus * 100 : NAN;
}

static int take_stretch(struct gt_experiment *experiment, const struct stretch *stretch)
{
    const struct moment *before = stretch->before, *now = stretch->now;
    double seconds = now->clock - before->clock, busy = now->system_cpu - before->system_cpu;
    int status = 0;
    if (!(seconds > 0))
        return 0;
    for (size_t i = 0; i < FIGURES && status == 0; i++)
        status = gt_experiment_add(experiment, figures[i].group, figures[i].name, NULL,
                                   (struct gt_experiment_point){now->date, figure_in(i, stretch)}, seconds);
    if (status == 0 && busy > 0)
        status = gt_experiment_add(
            experiment, GT_EXPERIMENT_CPU, "per_process_cpu_uses", NULL,
            (struct gt_experiment_point){now->date, fmin(1, (now->job_cpu - before->job_cpu) / busy)}, seconds);
    return status;
}

static int take_samples(struct gt_experiment *experiment, struct gt_recording *recording,
                        const struct gt_energy_curve *energy, struct gt_error *error)
{
    int gpus = gt_recording_machine(recording)->expected_gpus, status;
    const struct gt_sample *sample;
    struct moment before = {.clock = NAN};
    while ((status = gt_recording_next(recording, &sample, error)) > 0) {
        struct moment now = moment_of(sample);
        if (take_stretch(experiment, &(struct stretch){&before, &now, energy, gpus}) < 0)
            return gt_error_system(error, ENOMEM, "experiment");
        before = now;
    }
    return status;
}

int gt_experiment_read_recording(struct gt_experiment *experiment, const char *path, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct gt_energy_curve energy;
    int status = gt_recording_energy(&energy, path, true, error);
    if (status >= 0)
        status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = take_samples(experiment, recording, &energy, error);
    gt_recording_close(recording);
    gt_energy_curve_release(&energy);
    return status;
}
