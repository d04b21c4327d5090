/* The section "energy": a line for each device of which the parts add up to the whole, and what the job's part comes to. */
#include <stdio.h>
#include <string.h>

#include "analyse/usage_parts.h"

enum part { TOTAL, JOB, OTHER, IDLE, UNATTRIBUTED, PARTS };

static const struct {
    const char *key, *title;
    enum gt_scope scope;
} parts[PARTS] = {
    [TOTAL] = {"total", "Device total", GT_SCOPE_SYSTEM},
    [JOB] = {"job", "This tree", GT_SCOPE_COMBINED},
    [OTHER] = {"other", "Other processes", GT_SCOPE_SYSTEM},
    [IDLE] = {"idle", "Idle", GT_SCOPE_SYSTEM},
    [UNATTRIBUTED] = {"unattributed", "Unattributed", GT_SCOPE_SYSTEM},
};

static const struct device {
    const char *key, *title;
    enum gt_metric_id metric[PARTS]; /* GT_METRIC_COUNT: it has no such part */
} devices[] = {
    {"cpu",
     "CPU packages",
     {GT_CPU_ENERGY, GT_CPU_ENERGY, GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE, GT_CPU_ENERGY_UNATTRIBUTED}},
    {"dram",
     "DRAM",
     {GT_DRAM_ENERGY, GT_DRAM_ENERGY, GT_DRAM_ENERGY_OTHER, GT_METRIC_COUNT, GT_DRAM_ENERGY_UNATTRIBUTED}},
    {"gpu",
     "GPUs",
     {GT_GPU_ENERGY, GT_GPU_ENERGY, GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY_IDLE, GT_GPU_ENERGY_UNATTRIBUTED}},
};

enum { DEVICES = sizeof devices / sizeof *devices };

static const double JOULES_PER_KWH = 3.6e6;

static double value_of(const struct gt_usage *usage, const struct device *device, enum part part)
{
    enum gt_metric_id metric = device->metric[part];
    if (metric == GT_METRIC_COUNT)
        return 0;
    double final = usage->outcome->value[parts[part].scope][metric];
    return isnan(final) ? usage->summary->of[parts[part].scope][metric].last : final;
}

/* Recordings of other tools may have a total without parts. */
static bool is_divided(const struct gt_usage *usage, const struct device *device)
{
    for (int part = 0; part < PARTS; part++)
        if (isnan(value_of(usage, device, part)))
            return false;
    return true;
}

static double add_device(const struct gt_usage *usage, struct gt_node *section, const struct device *device)
{
    struct gt_node *line = gt_report_section(section, device->key, device->title);
    bool is_known = is_divided(usage, device);
    for (int part = 0; part < PARTS; part++) {
        double value = is_known || part == TOTAL ? value_of(usage, device, part) : NAN;
        gt_report_number(line, parts[part].key, parts[part].title, value, "joules");
    }
    if (isnan(value_of(usage, device, TOTAL)))
        gt_node_flags(line, GT_ONLY_DATA);
    return is_known ? value_of(usage, device, JOB) : NAN;
}

static void add_cost(const struct gt_usage *usage, struct gt_node *section, double joules)
{
    const struct gt_machine *machine = usage->machine;
    double kwh = joules / JOULES_PER_KWH;
    gt_report_number(section, "job", "This tree in all", joules, "joules");
    if (machine->carbon_intensity > 0)
        gt_report_number(section, "carbon", "CO2 equivalent of this tree", kwh * machine->carbon_intensity, "grams");
    if (machine->price > 0)
        gt_report_number(section, "price", "Price of this tree's energy", kwh * machine->price, NULL);
}

/* "CPU packages: 120.0 J = 80.0 J this tree + 30.0 J other processes + 10.0 J idle + 0.0 J unattributed" */
static void add_conservation(const struct gt_usage *usage, struct gt_node *section)
{
    struct gt_node *lines = gt_report_section(section, "conservation", "Conservation");
    bool any = false;
    for (int i = 0; i < DEVICES; i++) {
        double v[PARTS];
        char text[200];
        for (int part = 0; part < PARTS; part++)
            v[part] = value_of(usage, &devices[i], part);
        if (!is_divided(usage, &devices[i]))
            continue;
        double apart = v[TOTAL] - v[JOB] - v[OTHER] - v[IDLE] - v[UNATTRIBUTED];
        snprintf(text, sizeof text,
                 "%.3f J = %.3f J this tree + %.3f J other processes + %.3f J idle + %.3f J unattributed%s", v[TOTAL],
                 v[JOB], v[OTHER], v[IDLE], v[UNATTRIBUTED],
                 fabs(apart) > 1e-6 * v[TOTAL] + 1e-6 ? " (does not add up)" : "");
        gt_report_text(lines, devices[i].key, devices[i].title, text);
        any = true;
    }
    if (!any)
        gt_node_flags(lines, GT_ONLY_DATA);
}

void gt_usage_energy(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_node *section = gt_report_section(root, "energy", "Energy");
    double job = NAN, platform = usage->outcome->value[GT_SCOPE_SYSTEM][GT_PLATFORM_ENERGY];
    const char *policy = usage->machine->idle_policy;
    for (int i = 0; i < DEVICES; i++) {
        double joules = add_device(usage, section, &devices[i]);
        job = isnan(job) ? joules : isnan(joules) ? job : job + joules;
    }
    if (isnan(platform))
        platform = usage->summary->of[GT_SCOPE_SYSTEM][GT_PLATFORM_ENERGY].last;
    struct gt_node *whole = gt_report_number(section, "platform", "Whole platform, processors included", platform,
                                             "joules");
    gt_node_flags(whole, isnan(platform) ? GT_ONLY_DATA : 0);
    add_cost(usage, section, job);
    gt_report_text(section, "idle_policy", "Idle energy", *policy ? policy : NULL);
    add_conservation(usage, section);
    if (isnan(job) && isnan(platform))
        gt_node_flags(section, GT_ONLY_DATA);
}
