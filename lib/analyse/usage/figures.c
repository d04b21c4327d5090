#include "analyse/usage/usage.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/combine.h"
#include "analyse/display.h"

/* Foreign recordings have samples alone. */
double gt_usage_scope_peak(const struct gt_usage *usage, enum gt_scope scope)
{
    double peak = usage->outcome->value[scope][GT_RAM_PEAK];
    return isnan(peak) ? usage->summary->of[scope][GT_RAM].max : peak;
}

double gt_usage_peak(const struct gt_usage *usage)
{
    return gt_usage_scope_peak(usage, GT_SCOPE_COMBINED);
}

double gt_usage_unmapped(const struct gt_usage *usage)
{
    return fmax(fmax(0, usage->summary->of[GT_SCOPE_COMBINED][GT_RAM_UNMAPPED].max),
                usage->outcome->value[GT_SCOPE_COMBINED][GT_RAM_UNMAPPED]);
}

/* Returns false for the machine's CPU time over less than some clock ticks. */
static bool is_told(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    bool in_ticks = scope == GT_SCOPE_SYSTEM && metric == GT_CPU_TIME;
    return !in_ticks || usage->outcome->elapsed * 1e9 >= GT_RATE_TICKS_NS;
}

/* No more than all cores: time may be charged a moment late. */
double gt_usage_cores(const struct gt_usage *usage, enum gt_scope scope)
{
    int cores = usage->machine->core_count;
    double exact = usage->outcome->value[scope][GT_CPU_TIME] / usage->outcome->elapsed;
    if (!isfinite(exact) || !is_told(usage, scope, GT_CPU_TIME))
        return gt_summary_mean(usage->summary, scope, GT_CPU_UTILIZATION);
    return cores > 0 && exact > cores ? cores : exact;
}

static double last_value(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    double final = usage->outcome->value[scope][metric];
    return isnan(final) ? usage->summary->of[scope][metric].last : final;
}

bool gt_usage_energy_is_unknown(const struct gt_usage *usage, enum gt_metric_id metric)
{
    enum gt_energy_device device = gt_energy_device_of(metric);
    bool any_known = false, any_unknown = false;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        double missing = last_value(usage, GT_SCOPE_SYSTEM, gt_energy_missing_metrics[i]);
        bool is_unknown = missing > 0 && missing >= usage->outcome->elapsed;
        if ((metric == GT_ENERGY || i == (int)device) && !isnan(missing))
            *(is_unknown ? &any_unknown : &any_known) = true;
    }
    return any_unknown && !any_known;
}

double gt_usage_final(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    return gt_metrics[metric].unit == GT_JOULES && gt_usage_energy_is_unknown(usage, metric)
               ? NAN
               : last_value(usage, scope, metric);
}

double gt_usage_share(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    return gt_usage_final(usage, scope, metric) / usage->outcome->elapsed;
}

double gt_usage_group_peak(const struct gt_usage *usage)
{
    return fmax(usage->summary->of[GT_SCOPE_COMBINED][GT_CGROUP_RAM_PEAK].max,
                usage->outcome->value[GT_SCOPE_COMBINED][GT_CGROUP_RAM_PEAK]);
}

static void take_last(double values[GT_METRIC_COUNT], const struct gt_usage *usage, enum gt_scope scope)
{
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        values[metric] = gt_usage_final(usage, scope, (enum gt_metric_id)metric);
}

void gt_usage_energy(const struct gt_usage *usage, struct gt_energy_reading *ret)
{
    double system[GT_METRIC_COUNT], job[GT_METRIC_COUNT];
    take_last(system, usage, GT_SCOPE_SYSTEM);
    take_last(job, usage, GT_SCOPE_COMBINED);
    gt_energy_reading_take(ret, system, job);
}

/* ---- Provenance ---- */

/* Each figure of the report rests on a metric, and follows from it by the method named here. Those with a title are of sections that
 * gt_usage_section adds. A plain table. */
static const struct figure {
    const char *key, *title; /* "swap.system"; title NULL: code of its own adds it */
    enum gt_scope scope;
    enum gt_metric_id metric;
    const char *method; /* NULL: its provenance is not reported */
} figures[] = {
#define LARGEST "largest sample"
#define FINAL "value at the end"
#define PEAK "the high-water mark of a process, or the largest look at several"
#define MOST "the largest number at one time"
#define SHARED "value in the largest sample of RAM"
#define PRIVATE "total less shared"
#define AT_PEAK "its part of the peak"
#define MEAN_CPU "CPU time over elapsed time"
#define MAX_CPU "largest interval between two samples, at least the mean"
#define SYSTEM(key, title, metric, method)          \
    {                                               \
        key, title, GT_SCOPE_SYSTEM, metric, method \
    }
#define JOB(key, title, metric, method)               \
    {                                                 \
        key, title, GT_SCOPE_COMBINED, metric, method \
    }
#define PARTS(begin, end, metric, method)                                               \
    {begin "main" end, "Main", GT_SCOPE_MAIN, metric, method},                          \
        {begin "descendants" end, "Descendants", GT_SCOPE_DESCENDANTS, metric, method}, \
    {                                                                                   \
        begin "combined" end, "Combined", GT_SCOPE_COMBINED, metric, method             \
    }
#define RSS(name, scope, metric, private, shared)                         \
    {"max_ram." name ".total_rss", NULL, scope, GT_RAM_PEAK, PEAK},       \
        {"max_ram." name ".private_rss", NULL, scope, metric, private},   \
    {                                                                     \
        "max_ram." name ".shared_rss", NULL, scope, GT_RAM_SHARED, shared \
    }
#define CPU(name, scope)                                                                    \
    {"cpu_utilization." name ".max_sum_percent", NULL, scope, GT_CPU_UTILIZATION, MAX_CPU}, \
    {                                                                                       \
        "cpu_utilization." name ".mean_sum_percent", NULL, scope, GT_CPU_TIME, MEAN_CPU     \
    }
#define ENERGY(name, device)                                            \
    SYSTEM("energy." name ".total", NULL, GT_##device##_ENERGY, FINAL), \
        JOB("energy." name ".job", NULL, GT_##device##_ENERGY, FINAL),  \
        SYSTEM("energy." name ".other", NULL, GT_##device##_ENERGY_OTHER, FINAL)
    SYSTEM("max_ram.system", NULL, GT_RAM, LARGEST),
    RSS("main", GT_SCOPE_MAIN, GT_RAM_SHARED, PRIVATE, SHARED),
    RSS("descendants", GT_SCOPE_DESCENDANTS, GT_RAM_PRIVATE, AT_PEAK, AT_PEAK),
    RSS("combined", GT_SCOPE_COMBINED, GT_RAM_PRIVATE, AT_PEAK, AT_PEAK),
    SYSTEM("max_gpu_ram.system", NULL, GT_GPU_RAM, LARGEST),
    PARTS("max_gpu_ram.", "", GT_GPU_RAM, LARGEST),
    CPU("system", GT_SCOPE_SYSTEM),
    CPU("main", GT_SCOPE_MAIN),
    CPU("descendants", GT_SCOPE_DESCENDANTS),
    CPU("combined", GT_SCOPE_COMBINED),
    PARTS("cpu_utilization.", "_n_threads", GT_THREADS_PEAK, MOST),
    SYSTEM("gpu_utilization.gpu_percentages.max_sum_percent", NULL, GT_GPU_UTILIZATION, LARGEST),
    SYSTEM("gpu_utilization.gpu_percentages.mean_sum_percent", NULL, GT_GPU_UTILIZATION, "mean of the samples"),
    JOB("processes.max", NULL, GT_PROCESSES_PEAK, MOST),
    JOB("processes.started", NULL, GT_PROCESSES_STARTED, FINAL),
    PARTS("memory_peak.", ".upper", GT_RAM_PEAK_BOUND, FINAL),
    JOB("memory_peak.rss_sum", NULL, GT_RSS, LARGEST),
    JOB("memory_peak.control_group", NULL, GT_CGROUP_RAM_PEAK, FINAL),
    PARTS("gpu_memory_peak.", ".at_least", GT_GPU_RAM_PEAK, FINAL),
    PARTS("gpu_memory_peak.", ".at_most", GT_GPU_RAM_PEAK_BOUND, FINAL),
    PARTS("cpu_time.", "", GT_CPU_TIME, FINAL),
    SYSTEM("swap.system", "System", GT_SWAP, LARGEST),
    JOB("swap.combined", "Combined", GT_SWAP, LARGEST),
    JOB("page_faults.minor", "Minor", GT_MINOR_FAULTS, FINAL),
    JOB("page_faults.major", "Major", GT_MAJOR_FAULTS, FINAL),
    JOB("context_switches.voluntary", "Voluntary", GT_VOLUNTARY_SWITCHES, FINAL),
    JOB("context_switches.involuntary", "Involuntary", GT_INVOLUNTARY_SWITCHES, FINAL),
    JOB("input_output.read", "Read from storage", GT_READ_BYTES, FINAL),
    JOB("input_output.written", "Written to storage", GT_WRITTEN_BYTES, FINAL),
    JOB("input_output.read_characters", "Read by system calls", GT_READ_CHARACTERS, FINAL),
    JOB("input_output.written_characters", "Written by system calls", GT_WRITTEN_CHARACTERS, FINAL),
    SYSTEM("network_namespace.received", "Received", GT_NETWORK_NAMESPACE_RECEIVED, FINAL),
    SYSTEM("network_namespace.sent", "Sent", GT_NETWORK_NAMESPACE_SENT, FINAL),
    JOB("job_network.received", "Received", GT_JOB_NETWORK_RECEIVED, FINAL),
    JOB("job_network.sent", "Sent", GT_JOB_NETWORK_SENT, FINAL),
    SYSTEM("pressure.cpu", "Waiting for a CPU", GT_PRESSURE_CPU, FINAL),
    SYSTEM("pressure.memory", "Waiting for memory", GT_PRESSURE_MEMORY, FINAL),
    SYSTEM("pressure.memory_full", "All waiting for memory", GT_PRESSURE_MEMORY_FULL, FINAL),
    SYSTEM("pressure.io", "Waiting for storage", GT_PRESSURE_IO, FINAL),
    SYSTEM("pressure.io_full", "All waiting for storage", GT_PRESSURE_IO_FULL, FINAL),
    ENERGY("cpu", CPU),
    SYSTEM("energy.cpu.idle", NULL, GT_CPU_ENERGY_IDLE, FINAL),
    SYSTEM("energy.cpu.unattributed", NULL, GT_CPU_ENERGY_UNATTRIBUTED, FINAL),
    ENERGY("dram", DRAM),
    SYSTEM("energy.dram.unattributed", NULL, GT_DRAM_ENERGY_UNATTRIBUTED, FINAL),
    ENERGY("gpu", GPU),
    SYSTEM("energy.gpu.idle", NULL, GT_GPU_ENERGY_IDLE, FINAL),
    SYSTEM("energy.gpu.unattributed", NULL, GT_GPU_ENERGY_UNATTRIBUTED, FINAL),
    JOB("energy.job", NULL, GT_ENERGY, FINAL),
    SYSTEM("energy.platform", NULL, GT_PLATFORM_ENERGY, FINAL),
    SYSTEM("energy.wall", NULL, GT_WALL_ENERGY, FINAL),
    SYSTEM("gpu_totals.energy", "Energy", GT_GPU_ENERGY, FINAL),
    SYSTEM("gpu_totals.max_power", "Max power", GT_GPU_POWER_PEAK, LARGEST),
    SYSTEM("gpu_totals.max_temperature", "Max temperature", GT_GPU_TEMPERATURE, LARGEST),
    SYSTEM("gpu_totals.xids", "Errors reported (XID)", GT_GPU_XIDS, FINAL),
    SYSTEM("gpu_totals.xid", "Highest XID", GT_GPU_XID, NULL),
    SYSTEM("gpu_totals.ecc_uncorrected", "Memory errors not corrected (ECC)", GT_GPU_ECC_UNCORRECTED, FINAL),
    SYSTEM("gpu_totals.lost", "GPUs lost", GT_GPU_LOST, FINAL),
};

enum { FIGURES = sizeof figures / sizeof *figures };

static const struct gt_provenance *find(const struct gt_outcome *outcome, enum gt_scope scope, enum gt_metric_id metric)
{
    for (size_t i = 0; i < outcome->provenance_count; i++)
        if (outcome->provenance[i].scope == scope && outcome->provenance[i].metric == metric)
            return &outcome->provenance[i];
    return NULL;
}

enum gt_exactness gt_usage_exactness(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    const struct gt_provenance *provenance = find(usage->outcome, scope, metric);
    return provenance ? provenance->exactness : GT_MISSING;
}

static bool was_measured(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    bool in_samples = usage->summary->of[scope][metric].count > 0;
    return is_told(usage, scope, metric) && (in_samples || !isnan(usage->outcome->value[scope][metric]));
}

/* A peak rests on the samples alone where the kernel keeps no high-water mark. */
static enum gt_metric_id metric_behind(const struct gt_usage *usage, int figure)
{
    enum gt_metric_id metric = figures[figure].metric;
    if (was_measured(usage, figures[figure].scope, metric))
        return metric;
    switch (metric) {
    case GT_RAM_PEAK: return GT_RAM;
    case GT_THREADS_PEAK: return GT_THREADS;
    case GT_PROCESSES_PEAK: return GT_PROCESSES;
    case GT_CPU_TIME: return GT_CPU_UTILIZATION;
    case GT_CPU_UTILIZATION: return GT_CPU_TIME;
    default: return metric;
    }
}

static void metric_name(char *text, size_t size, enum gt_scope scope, enum gt_metric_id metric)
{
    snprintf(text, size, "%s_%s", gt_scope_name(scope), gt_metrics[metric].name);
}

static const char *method_behind(int figure, enum gt_metric_id metric)
{
    if (metric == figures[figure].metric)
        return figures[figure].method;
    if (metric == GT_CPU_UTILIZATION)
        return "mean of the samples";
    return metric == GT_CPU_TIME ? MEAN_CPU : LARGEST;
}

static void add_provenance(const struct gt_usage *usage, struct gt_table *table, int figure, enum gt_metric_id metric)
{
    const struct gt_provenance *provenance = find(usage->outcome, figures[figure].scope, metric);
    char name[80];
    metric_name(name, sizeof name, figures[figure].scope, metric);
    GT_CELLS(table, figures[figure].key, name, provenance ? gt_exactness_name(provenance->exactness) : NULL,
             provenance ? provenance->source : "recording", method_behind(figure, metric),
             provenance && *provenance->note ? provenance->note : NULL);
}

const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric)
{
    const struct gt_provenance *provenance = find(usage->outcome, scope, metric);
    if (!is_told(usage, scope, GT_CPU_TIME) && (metric == GT_CPU_TIME || metric == GT_CPU_UTILIZATION))
        return "the run was shorter than some clock ticks, in which /proc/stat counts";
    if (provenance && *provenance->note)
        return provenance->note;
    if (usage->machine->gpu_count == 0 && !strncmp(gt_metrics[metric].name, "gpu_", 4))
        return "no GPU";
    return usage->outcome->provenance_count ? "no source has it here" : "not in the recording";
}

struct gt_node *gt_usage_section(const struct gt_usage *usage, struct gt_node *root, const char *key, const char *title)
{
    struct gt_node *section = gt_report_section(root, key, title);
    size_t length = strlen(key);
    bool any = false;
    for (const struct figure *figure = figures; figure < figures + FIGURES; figure++) {
        if (strncmp(figure->key, key, length) != 0 || figure->key[length] != '.')
            continue;
        enum gt_unit unit = gt_metrics[figure->metric].unit;
        double value = gt_metrics[figure->metric].kind == GT_COUNTER
                           ? gt_usage_final(usage, figure->scope, figure->metric)
                           : fmax(usage->outcome->value[figure->scope][figure->metric],
                                  usage->summary->of[figure->scope][figure->metric].max);
        bool is_whole = unit == GT_COUNT || unit == GT_BYTES;
        (is_whole ? gt_report_count : gt_report_number)(section, figure->key + length + 1, figure->title, value,
                                                        unit == GT_COUNT ? NULL : gt_unit_name(unit));
        any |= !isnan(value);
    }
    if (!any)
        gt_node_flags(section, GT_ONLY_DATA);
    return section;
}

static struct gt_table *add_table(struct gt_node *root, const char *key, const char *title, const char *columns)
{
    struct gt_table *table = gt_report_table(root, key, title);
    gt_table_flags(table, GT_ONLY_DATA | GT_KEYED);
    gt_display_columns(table, columns);
    return table;
}

void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root)
{
    struct gt_table *provenance = add_table(root, "provenance", "Provenance",
                                            "text:figure text:metric text:exactness text:source text:method text:note");
    struct gt_table *missing = add_table(root, "missing", "Not measured", "text:figure text:metric text:reason");
    for (int figure = 0; figure < FIGURES; figure++) {
        enum gt_scope scope = figures[figure].scope;
        enum gt_metric_id metric = metric_behind(usage, figure);
        if (!figures[figure].method)
            continue;
        if (was_measured(usage, scope, metric)) {
            add_provenance(usage, provenance, figure, metric);
            continue;
        }
        char name[80];
        metric_name(name, sizeof name, scope, figures[figure].metric);
        GT_CELLS(missing, figures[figure].key, name, gt_usage_reason_missing(usage, scope, figures[figure].metric));
    }
    bool is_whole = usage->outcome->complete;
    if (!isnan(usage->outcome->elapsed))
        GT_CELLS(provenance, "compute_time.time", (const char *)NULL,
                 gt_exactness_name(is_whole ? GT_EXACT : GT_SAMPLED), "monotonic clock",
                 is_whole ? "from the start of tracking to the end of the job" : "first to last sample",
                 (const char *)NULL);
}
