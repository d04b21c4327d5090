/* Recording experiments. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/experiment_record.h"
#include "gpu_tracker.h"
#include "api/own.h"
#include "store/experiment_record.h"

struct gt_experiment_recorder {
    struct gt_power power;
    struct gt_experiment_folder folder; /* fd -1: none */
    int64_t period_ns, record_ns;
    int64_t begin_ns, due_ns;
    bool has_ended;
    int (*record)(void *context, const char *metrics);
    void *context;
};

static int check(const struct gt_experiment_options *options, struct gt_error *error)
{
    if (options->pid_count == 0)
        return gt_error_set(error, EINVAL, "an experiment needs at least one process");
    for (size_t i = 0; i < options->pid_count; i++)
        if (options->pids[i] < 1)
            return gt_error_set(error, EINVAL, "%d is not the number of a process", (int)options->pids[i]);
    if (!(options->period == 0 || options->period >= 0.001) || options->period > 1e9)
        return gt_error_set(error, EINVAL, "period must be at least 0.001 seconds");
    if (!(options->measurement_period >= 0) || options->measurement_period > 1e9)
        return gt_error_set(error, EINVAL, "measurement_period must be a number of seconds");
    return 0;
}

int gt_experiment_begin(struct gt_experiment_recorder **ret, const struct gt_experiment_options *given,
                        struct gt_error *error)
{
    GT_OWN(struct gt_experiment_options, own, given);
    const struct gt_experiment_options *options = &own;
    double period = options->period == 0 ? 1 : options->period;
    double record = options->measurement_period == 0 ? 2 : options->measurement_period;
    const struct gt_power_settings settings = {
        .pids = options->pids,
        .count = options->pid_count,
        .everyone = options->everyone != 0,
        .period = period,
        .machine_root = options->machine_root,
        .libraries = options->libraries,
    };
    int status = check(options, error);
    if (status < 0)
        return status;
    struct gt_experiment_recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return gt_error_system(error, ENOMEM, "experiment");
    recorder->folder.fd = -1;
    recorder->record = options->record;
    recorder->context = options->context;
    recorder->period_ns = (int64_t)(period * 1e9);
    recorder->record_ns = (int64_t)(record * 1e9);
    status = gt_power_begin(&recorder->power, &settings, error);
    if (status >= 0 && options->folder)
        status = gt_experiment_folder_open(&recorder->folder, options->folder, options->description, error);
    if (status < 0) {
        gt_experiment_close(recorder);
        return status;
    }
    recorder->begin_ns = recorder->power.begin_ns;
    recorder->due_ns = recorder->begin_ns + recorder->period_ns;
    *ret = recorder;
    return 0;
}

int64_t gt_experiment_due(const struct gt_experiment_recorder *recorder)
{
    return recorder->due_ns;
}

static bool is_recording(const struct gt_experiment_recorder *recorder)
{
    return recorder->folder.fd >= 0 || recorder->record;
}

static int metrics_text(const struct gt_power *power, struct gt_buffer *text, struct gt_error *error)
{
    struct gt_json json;
    gt_json_init(&json, text, 0);
    gt_experiment_write_metrics(&json, power);
    if (!text->failed)
        return 0;
    gt_buffer_release(text);
    return gt_error_system(error, ENOMEM, "experiment");
}

static int hand_over(const struct gt_experiment_recorder *recorder, struct gt_error *error)
{
    struct gt_buffer text = {0};
    int status = metrics_text(&recorder->power, &text, error);
    if (status < 0)
        return status;
    status = recorder->record(recorder->context, text.data);
    gt_buffer_release(&text);
    return status < 0 ? gt_error_system(error, -status, "a record was not taken") : 0;
}

static int write_record(struct gt_experiment_recorder *recorder, struct gt_error *error)
{
    int status = 0;
    gt_power_conclude(&recorder->power);
    if (recorder->folder.fd >= 0)
        status = gt_experiment_folder_write(&recorder->folder, &recorder->power, error);
    if (status >= 0 && recorder->record)
        status = hand_over(recorder, error);
    if (status >= 0)
        gt_power_next(&recorder->power); /* else the next record tells of this time, too */
    return status;
}

int gt_experiment_tick(struct gt_experiment_recorder *recorder, struct gt_error *error)
{
    if (recorder->has_ended)
        return 0;
    int lives = gt_power_read(&recorder->power, error);
    if (lives < 0)
        return lives;
    int64_t now = recorder->power.sampler.frame.monotonic_ns;
    while (recorder->due_ns <= now)
        recorder->due_ns += recorder->period_ns;
    recorder->has_ended = lives == 0;
    /* A reading that comes a little early would double the window. */
    bool is_full = now - recorder->power.begin_ns >= recorder->record_ns - recorder->period_ns / 8;
    if (!is_recording(recorder) || !(is_full || recorder->has_ended))
        return lives;
    int status = write_record(recorder, error);
    return status < 0 ? status : lives;
}

int gt_experiment_end(struct gt_experiment_recorder *recorder, struct gt_error *error)
{
    int status = 0;
    if (!recorder->has_ended && is_recording(recorder)) {
        status = gt_power_read(&recorder->power, error);
        if (status >= 0 && recorder->power.sampler.frame.monotonic_ns > recorder->power.begin_ns)
            status = write_record(recorder, error);
        recorder->has_ended = true;
    }
    int closed = gt_experiment_folder_close(&recorder->folder, error);
    return status < 0 ? status : closed;
}

int gt_experiment_metrics(struct gt_experiment_recorder *recorder, char **ret, struct gt_error *error)
{
    struct gt_buffer text = {0};
    int status = gt_power_read(&recorder->power, error);
    if (status < 0)
        return status;
    gt_power_conclude(&recorder->power);
    status = metrics_text(&recorder->power, &text, error);
    if (status < 0)
        return status;
    gt_power_next(&recorder->power);
    *ret = text.data;
    return 0;
}

void gt_experiment_close(struct gt_experiment_recorder *recorder)
{
    if (!recorder)
        return;
    gt_experiment_folder_close(&recorder->folder, NULL);
    gt_power_release(&recorder->power);
    free(recorder);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static bool fills(const struct gt_collector_type *type, enum gt_metric_id metric)
{
    for (size_t i = 0; i < type->metric_count; i++)
        if (type->metrics[i] == metric)
            return true;
    return false;
}

/* A sentence for each source of the metric that is here; 1 when one of them is ready. */
static int describe(const struct gt_sampler *sampler, enum gt_metric_id metric, struct gt_buffer *text)
{
    int ready = 0;
    for (size_t i = 0; i < sampler->source_count; i++) {
        const struct gt_availability *found = &sampler->source[i].availability;
        if (!fills(sampler->source[i].type, metric))
            continue;
        bool is_ready = found->state == GT_READY;
        ready |= is_ready;
        if (text->length)
            gt_buffer_text(text, "; ");
        gt_buffer_printf(text, "%s%s%s", found->source, found->reason[0] ? ": " : "", found->reason);
        if (!is_ready && found->remedy[0])
            gt_buffer_printf(text, " (%s)", found->remedy);
    }
    return ready;
}

int gt_experiment_source(const char *device, const struct gt_experiment_options *options, char **ret,
                         struct gt_error *error)
{
    GT_OWN(struct gt_experiment_options, own, options);
    const struct gt_sampler_options settings = {.machine_root = own.machine_root, .libraries = own.libraries};
    struct gt_sampler sampler;
    struct gt_buffer text = {0};
    bool is_cpu = !strcmp(device, "cpu");
    if (!is_cpu && strcmp(device, "gpu") != 0)
        return gt_error_set(error, EINVAL, "\"%s\" is neither \"cpu\" nor \"gpu\"", device);
    int status = gt_sampler_probe(&sampler, &settings, error);
    if (status < 0)
        return status;
    status = describe(&sampler, is_cpu ? GT_CPU_ENERGY : GT_GPU_POWER, &text);
    gt_sampler_close(&sampler);
    if (text.failed || !text.data) {
        gt_buffer_release(&text);
        return gt_error_system(error, ENOMEM, "experiment");
    }
    *ret = text.data;
    return status;
}
