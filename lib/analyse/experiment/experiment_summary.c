/* The summary of an experiment, under AIPowerMeter's names: joules for power, means and maxima for the rest. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/experiment/experiment.h"
#include "base/buffer.h"
#include "base/json.h"
#include "report/report.h"
#include "store/aipowermeter.h"

enum figure { TOTAL, AVERAGE, MAXIMUM };

static const struct row {
    enum gt_experiment_group group;
    const char *key, *title, *curve;
    enum figure figure;
    const char *unit;
    bool is_per_device;
} rows[] = {
    {GT_EXPERIMENT_CPU, "total_psys_power", "Platform", "psys_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "total_intel_power", "Processor packages", "intel_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "rel_intel_power", "Processor packages, this experiment", "rel_intel_power", TOTAL, "joules",
     false},
    {GT_EXPERIMENT_CPU, "total_dram_power", "Memory", "total_dram_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "total_cpu_power", "Cores", "total_cpu_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "rel_dram_power", "Memory, this experiment", "per_process_dram_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "rel_cpu_power", "Cores, this experiment", "per_process_cpu_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_CPU, "cpu_time", "CPU time", "absolute_cpu_time_per_pid", TOTAL, "seconds", false},
    {GT_EXPERIMENT_CPU, "mem_use_abs", "Average RAM", "per_process_mem_use_abs", AVERAGE, "bytes", false},
    {GT_EXPERIMENT_CPU, "mem_use_uss", "Average RAM, unshared", "per_process_mem_use_uss", AVERAGE, "bytes", false},
    {GT_EXPERIMENT_GPU, "abs_nvidia_power", "GPUs", "nvidia_power", TOTAL, "joules", false},
    {GT_EXPERIMENT_GPU, "rel_nvidia_power", "GPUs, this experiment", "nvidia_attributable_power", TOTAL, "joules",
     false},
    {GT_EXPERIMENT_GPU, "nvidia_memory", "Average GPU RAM", "nvidia_memory", AVERAGE, "bytes", false},
    {GT_EXPERIMENT_GPU, "nvidia_use_rate", "Average GPU utilization", "nvidia_use_rate", AVERAGE, "percent", false},
    {GT_EXPERIMENT_GPU, "nvidia_mem_use_abs", "Max GPU RAM", "nvidia_mem_use", MAXIMUM, "bytes", true},
    {GT_EXPERIMENT_GPU, "nvidia_average_sm", "Average SM use", "nvidia_sm_use", AVERAGE, "", true},
    {GT_EXPERIMENT_GPU, "per_gpu_attributable_power", "Each GPU, this experiment", "per_gpu_attributable_power", TOTAL,
     "joules", true},
};

static double pick(const struct gt_experiment_figures *figures, enum figure figure)
{
    return figure == TOTAL ? figures->total : figure == AVERAGE ? figures->average : figures->maximum;
}

static void add_row(struct gt_node *section, const struct gt_experiment *experiment, const struct row *row,
                    double start, double end)
{
    struct gt_experiment_figures figures;
    struct gt_node *devices = NULL;
    double value = NAN;
    for (size_t i = 0; i < experiment->count; i++) {
        const struct gt_experiment_line *line = &experiment->line[i];
        if (strcmp(line->name, row->curve) != 0)
            continue;
        gt_experiment_figures(experiment, i, start, end, &figures);
        value = pick(&figures, row->figure);
        if (row->is_per_device && line->device) {
            devices = devices ? devices : gt_report_section(section, row->key, row->title);
            gt_report_number(devices, line->device, line->device, value, row->unit);
        }
    }
    if (!devices)
        gt_report_number(section, row->key, row->title, value, row->unit);
}

static bool has_group(const struct gt_experiment *experiment, enum gt_experiment_group group)
{
    for (size_t i = 0; i < experiment->count; i++)
        if (experiment->line[i].group == group)
            return true;
    return false;
}

static void add_group(struct gt_node *root, const struct gt_experiment *experiment, enum gt_experiment_group group,
                      double start, double end)
{
    if (!has_group(experiment, group))
        return;
    bool is_cpu = group == GT_EXPERIMENT_CPU;
    struct gt_node *section = gt_report_section(root, is_cpu ? "cpu" : "gpu", is_cpu ? "CPU" : "GPU");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].group == group)
            add_row(section, experiment, &rows[i], start, end);
}

static void add_meter(struct gt_node *root, const struct gt_experiment *experiment, double start, double end)
{
    struct gt_node *section = NULL;
    struct gt_experiment_figures figures;
    for (size_t i = 0; i < experiment->count; i++) {
        if (experiment->line[i].group != GT_EXPERIMENT_METER)
            continue;
        section = section ? section : gt_report_section(root, "wattmeter", "Power meter");
        gt_experiment_figures(experiment, i, start, end, &figures);
        gt_report_number(section, experiment->line[i].name, experiment->line[i].name, figures.total, "joules");
    }
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

int gt_experiment_set_model(struct gt_experiment *experiment, const char *json, struct gt_error *error)
{
    struct gt_json_trouble trouble = {0};
    struct gt_json_value *model = gt_json_parse_text(json, GT_JSON_NULS, &trouble);
    if (!gt_json_is_object(model)) {
        gt_json_free(model);
        return gt_error_set(error, EINVAL, "the model's summary is no JSON object%s%s", *trouble.text ? ": " : "",
                            trouble.text);
    }
    char *text = gt_json_dump(model);
    gt_json_free(model);
    if (!text)
        return gt_error_system(error, ENOMEM, "the model's summary");
    free(experiment->model);
    experiment->model = text;
    return 0;
}

static void add_model(struct gt_node *root, const struct gt_experiment *experiment)
{
    static const struct {
        const char *key, *title, *unit;
    } counts[] = {
        {"total_params", "Parameters", ""},
        {"trainable_params", "Trainable parameters", ""},
        {"total_mult_adds", "Multiplications and additions of a forward pass", ""},
    };
    struct gt_json_value *model = experiment->model ? gt_json_parse_text(experiment->model, GT_JSON_NULS, NULL) : NULL;
    struct gt_node *section = NULL;
    for (size_t i = 0; model && i < sizeof counts / sizeof *counts; i++) {
        const struct gt_json_value *count = gt_json_member(model, counts[i].key);
        if (!gt_json_is_number(count))
            continue;
        section = section ? section : gt_report_section(root, "model", "Model");
        gt_report_count(section, counts[i].key, counts[i].title, gt_json_number_of(count), counts[i].unit);
    }
    gt_json_free(model);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Local time, as AIPowerMeter tells it, with the zone. */
static void add_date(struct gt_node *root, const char *key, const char *title, double date)
{
    char text[64];
    gt_experiment_date_text(text, sizeof text, isnan(date) ? 0 : (int64_t)nearbyint(date * 1e6) * 1000, true);
    gt_report_text(root, key, title, isnan(date) ? NULL : text);
}

double gt_experiment_total_power(const struct gt_experiment *experiment, double start, double end)
{
    static const char *const names[] = {"intel_power", "nvidia_power"};
    struct gt_experiment_figures figures;
    double sum = NAN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct gt_experiment_line *line = gt_experiment_find(experiment, names[i], NULL);
        if (!line)
            continue;
        gt_experiment_figures(experiment, (size_t)(line - experiment->line), start, end, &figures);
        if (!isnan(figures.total))
            sum = (isnan(sum) ? 0 : sum) + figures.total;
    }
    return sum;
}

static bool is_listed(const struct gt_experiment *experiment, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (!strcmp(experiment->line[i].name, experiment->line[index].name))
            return true;
    return false;
}

int gt_experiment_listing(const struct gt_experiment *experiment, char **ret, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_experiment_curve curve;
    for (enum gt_experiment_group group = 0; group < GT_EXPERIMENT_GROUPS; group++) {
        size_t count = 0;
        gt_buffer_printf(&text, "%s\n", gt_experiment_group_name(group));
        for (size_t i = 0; gt_experiment_curve(experiment, i, &curve) == 0; i++)
            if (experiment->line[i].group == group && !is_listed(experiment, i))
                gt_buffer_printf(&text, "%s%s", count++ ? ", " : "  ", curve.name);
        gt_buffer_text(&text, count ? "\n" : "  not available\n");
    }
    if (text.failed) {
        gt_buffer_release(&text);
        return gt_error_system(error, ENOMEM, "experiment");
    }
    *ret = text.data;
    return 0;
}

int gt_experiment_summary(const struct gt_experiment *experiment, double start, double end, struct gt_report **ret,
                          struct gt_error *error)
{
    struct gt_report *report;
    struct gt_experiment_figures span;
    int status = gt_report_new(&report, "experiment", error);
    if (status < 0)
        return status;
    gt_experiment_span(experiment, start, end, &span);
    struct gt_node *root = gt_report_section(gt_report_root(report), "experiment", "Experiment");
    gt_report_number(root, "duration", "Duration", span.duration, "seconds");
    add_date(root, "start", "Start", span.start);
    add_date(root, "end", "End", span.end);
    add_model(root, experiment);
    add_group(root, experiment, GT_EXPERIMENT_CPU, start, end);
    add_group(root, experiment, GT_EXPERIMENT_GPU, start, end);
    add_meter(root, experiment, start, end);
    if (gt_report_failed(report)) {
        gt_report_free(report);
        return gt_error_system(error, ENOMEM, "experiment");
    }
    *ret = report;
    return 0;
}
