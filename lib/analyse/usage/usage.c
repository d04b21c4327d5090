#include <errno.h>

#include "aggregate/rate.h"
#include "analyse/usage/course.h"
#include "analyse/usage/usage_parts.h"
#include "schema/unit.h"

static const struct {
    enum gt_scope scope;
    const char *key, *title;
} scopes[] = {
    {GT_SCOPE_SYSTEM, "system", "System"},
    {GT_SCOPE_MAIN, "main", "Main"},
    {GT_SCOPE_DESCENDANTS, "descendants", "Descendants"},
    {GT_SCOPE_COMBINED, "combined", "Combined"},
};

enum { SCOPES = sizeof scopes / sizeof *scopes };

static double largest(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    return usage->summary->of[scope][metric].max;
}

/* Foreign recordings have samples alone. */
double gt_usage_peak(const struct gt_usage *usage, enum gt_scope scope)
{
    double peak = usage->outcome->value[scope][GT_RAM_PEAK];
    return isnan(peak) ? largest(usage, scope, GT_RAM) : peak;
}

static void add_rss(const struct gt_usage *usage, struct gt_node *section, enum gt_scope scope)
{
    double total = gt_usage_peak(usage, scope);
    /* A job of one process has what that has, at the same moment. */
    bool is_lone = scope == GT_SCOPE_COMBINED && usage->outcome->value[scope][GT_PROCESSES_PEAK] == 1;
    enum gt_scope from = is_lone ? GT_SCOPE_MAIN : scope;
    double alone = usage->outcome->peak[from].private_bytes;
    double at_peak = isnan(alone) ? usage->summary->shared_at_peak[from] : total - alone;
    double shared = isnan(at_peak) ? NAN : fmin(fmax(at_peak, 0), total);
    gt_report_number(section, "total_rss", "Total RSS", total / usage->ram_unit, NULL);
    gt_report_number(section, "private_rss", "Private RSS", (total - shared) / usage->ram_unit, NULL);
    gt_report_number(section, "shared_rss", "Shared RSS", shared / usage->ram_unit, NULL);
}

static void add_max_ram(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_node *section = gt_report_section(root, "max_ram", "Max RAM");
    gt_report_text(section, "unit", "Unit", usage->machine->ram_unit);
    gt_report_number(section, "system_capacity", "System capacity", usage->machine->ram_capacity / usage->ram_unit,
                     NULL);
    gt_report_number(section, "system", "System", largest(usage, GT_SCOPE_SYSTEM, GT_RAM) / usage->ram_unit, NULL);
    for (int i = 1; i < SCOPES; i++)
        add_rss(usage, gt_report_section(section, scopes[i].key, scopes[i].title), scopes[i].scope);
}

/* The original has 0.0 for everything about GPUs on a machine without one. */
static void add_gpu_number(const struct gt_usage *usage, struct gt_node *section, const char *key, const char *title,
                           double value)
{
    bool is_absent = usage->machine->gpu_count == 0 && !(value > 0);
    struct gt_node *number = gt_report_number(section, key, title, is_absent ? NAN : value, NULL);
    gt_node_flags(number, is_absent ? GT_ORIGINAL_ZERO : 0);
}

static void add_max_gpu_ram(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_node *section = gt_report_section(root, "max_gpu_ram", "Max GPU RAM");
    gt_report_text(section, "unit", "Unit", usage->machine->gpu_ram_unit);
    add_gpu_number(usage, section, "system_capacity", "System capacity",
                   usage->machine->gpu_ram_capacity / usage->gpu_ram_unit);
    for (int i = 0; i < SCOPES; i++)
        add_gpu_number(usage, section, scopes[i].key, scopes[i].title,
                       largest(usage, scopes[i].scope, GT_GPU_RAM) / usage->gpu_ram_unit);
}

/* A job may use more than is expected of it; its expected hardware is then in full use. */
static double hardware_percent(double use, int units)
{
    double percent = use * 100 / (units > 0 ? units : 1);
    return percent > 100 ? 100 : percent;
}

static void add_percentages(struct gt_node *section, double max, double mean, int units)
{
    gt_report_number(section, "max_sum_percent", "Max sum percent", max * 100, NULL);
    gt_report_number(section, "max_hardware_percent", "Max hardware percent", hardware_percent(max, units), NULL);
    gt_report_number(section, "mean_sum_percent", "Mean sum percent", mean * 100, NULL);
    gt_report_number(section, "mean_hardware_percent", "Mean hardware percent", hardware_percent(mean, units), NULL);
}

bool gt_usage_is_told(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    bool in_ticks = scope == GT_SCOPE_SYSTEM && metric == GT_CPU_TIME;
    return !in_ticks || usage->outcome->elapsed * 1e9 >= GT_RATE_TICKS_NS;
}

/* No more than all cores: time may be charged a moment late. */
static double mean_cpu(const struct gt_usage *usage, enum gt_scope scope)
{
    int cores = usage->machine->core_count;
    double exact = usage->outcome->value[scope][GT_CPU_TIME] / usage->outcome->elapsed;
    if (!isfinite(exact) || !gt_usage_is_told(usage, scope, GT_CPU_TIME))
        return gt_summary_mean(usage->summary, scope, GT_CPU_UTILIZATION);
    return cores > 0 && exact > cores ? cores : exact;
}

static double most_threads(const struct gt_usage *usage, enum gt_scope scope)
{
    double peak = usage->outcome->value[scope][GT_THREADS_PEAK];
    return isnan(peak) ? largest(usage, scope, GT_THREADS) : peak;
}

static void add_cpu(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_machine *machine = usage->machine;
    struct gt_node *section = gt_report_section(root, "cpu_utilization", "CPU utilization");
    gt_report_integer(section, "system_core_count", "System core count", machine->core_count, NULL);
    gt_report_integer(section, "n_expected_cores", "Number of expected cores", machine->expected_cores, NULL);
    for (int i = 0; i < SCOPES; i++) {
        double mean = mean_cpu(usage, scopes[i].scope);
        double max = fmax(largest(usage, scopes[i].scope, GT_CPU_UTILIZATION), mean);
        int cores = scopes[i].scope == GT_SCOPE_SYSTEM ? machine->core_count : machine->expected_cores;
        add_percentages(gt_report_section(section, scopes[i].key, scopes[i].title), max, mean, cores);
    }
    gt_report_count(section, "main_n_threads", "Main number of threads", most_threads(usage, GT_SCOPE_MAIN), NULL);
    gt_report_count(section, "descendants_n_threads", "Descendants number of threads",
                    most_threads(usage, GT_SCOPE_DESCENDANTS), NULL);
    gt_report_count(section, "combined_n_threads", "Combined number of threads", most_threads(usage, GT_SCOPE_COMBINED),
                    NULL);
}

static void add_gpu(const struct gt_usage *usage, struct gt_node *root)
{
    const struct gt_machine *machine = usage->machine;
    struct gt_node *section = gt_report_section(root, "gpu_utilization", "GPU utilization");
    gt_report_integer(section, "system_gpu_count", "System GPU count", machine->gpu_count, NULL);
    gt_report_integer(section, "n_expected_gpus", "Number of expected GPUs", machine->expected_gpus, NULL);
    double max = largest(usage, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION);
    double mean = gt_summary_mean(usage->summary, GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION);
    struct gt_node *percentages = gt_report_section(section, "gpu_percentages", "GPU percentages");
    add_gpu_number(usage, percentages, "max_sum_percent", "Max sum percent", max * 100);
    add_gpu_number(usage, percentages, "max_hardware_percent", "Max hardware percent",
                   hardware_percent(max, machine->expected_gpus));
    add_gpu_number(usage, percentages, "mean_sum_percent", "Mean sum percent", mean * 100);
    add_gpu_number(usage, percentages, "mean_hardware_percent", "Mean hardware percent",
                   hardware_percent(mean, machine->expected_gpus));
}

static void add_compute_time(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_node *section = gt_report_section(root, "compute_time", "Compute time");
    gt_report_text(section, "unit", "Unit", usage->machine->time_unit);
    gt_report_number(section, "time", "Time", usage->outcome->elapsed / usage->time_unit, NULL);
}

void gt_usage_original(const struct gt_usage *usage, struct gt_node *root)
{
    add_max_ram(usage, root);
    add_max_gpu_ram(usage, root);
    add_cpu(usage, root);
    add_gpu(usage, root);
    add_compute_time(usage, root);
}

int gt_usage_report(struct gt_report **ret, const struct gt_machine *machine, const struct gt_summary *summary,
                    const struct gt_outcome *outcome, struct gt_error *error)
{
    struct gt_usage usage = {.machine = machine, .summary = summary, .outcome = outcome};
    int status = gt_unit_memory(machine->ram_unit, &usage.ram_unit, error);
    if (!status)
        status = gt_unit_memory(machine->gpu_ram_unit, &usage.gpu_ram_unit, error);
    if (!status)
        status = gt_unit_time(machine->time_unit, &usage.time_unit, error);
    if (status < 0)
        return status;
    struct gt_report *report;
    status = gt_report_new(&report, "resource_usage", error);
    if (status < 0)
        return status;
    gt_course_add(&(struct gt_course){.history = &summary->history, .machine = machine}, gt_report_root(report));
    gt_usage_original(&usage, gt_report_root(report));
    gt_usage_further(&usage, gt_report_root(report));
    status = gt_usage_processes(&usage, gt_report_root(report));
    gt_usage_provenance(&usage, gt_report_root(report));
    if (status < 0 || gt_report_failed(report)) {
        gt_report_free(report);
        return gt_error_system(error, ENOMEM, "tracking report");
    }
    *ret = report;
    return 0;
}
