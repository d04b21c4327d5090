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

double gt_usage_peak_bound(const struct gt_usage *usage)
{
    double bound = usage->outcome->value[GT_SCOPE_COMBINED][GT_RAM_PEAK_BOUND];
    return fmax(gt_usage_peak(usage), bound); /* fmax passes over NaN */
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

double gt_usage_cores_given(const struct gt_usage *usage)
{
    double given = usage->machine->limit[GT_LIMIT_CORES].value;
    return given > 0 ? given : usage->machine->core_count;
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

/* Each figure of the report rests on a metric, and follows from it in a way that is told here. A plain table. */
static const struct {
    const char *key;
    enum gt_scope scope;
    enum gt_metric_id metric;
    const char *method;
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
    {"max_ram.system", GT_SCOPE_SYSTEM, GT_RAM, LARGEST},
    {"max_ram.main.total_rss", GT_SCOPE_MAIN, GT_RAM_PEAK, PEAK},
    {"max_ram.main.private_rss", GT_SCOPE_MAIN, GT_RAM_SHARED, PRIVATE},
    {"max_ram.main.shared_rss", GT_SCOPE_MAIN, GT_RAM_SHARED, SHARED},
    {"max_ram.descendants.total_rss", GT_SCOPE_DESCENDANTS, GT_RAM_PEAK, PEAK},
    {"max_ram.descendants.private_rss", GT_SCOPE_DESCENDANTS, GT_RAM_PRIVATE, AT_PEAK},
    {"max_ram.descendants.shared_rss", GT_SCOPE_DESCENDANTS, GT_RAM_SHARED, AT_PEAK},
    {"max_ram.combined.total_rss", GT_SCOPE_COMBINED, GT_RAM_PEAK, PEAK},
    {"max_ram.combined.private_rss", GT_SCOPE_COMBINED, GT_RAM_PRIVATE, AT_PEAK},
    {"max_ram.combined.shared_rss", GT_SCOPE_COMBINED, GT_RAM_SHARED, AT_PEAK},
    {"max_gpu_ram.system", GT_SCOPE_SYSTEM, GT_GPU_RAM, LARGEST},
    {"max_gpu_ram.main", GT_SCOPE_MAIN, GT_GPU_RAM, LARGEST},
    {"max_gpu_ram.descendants", GT_SCOPE_DESCENDANTS, GT_GPU_RAM, LARGEST},
    {"max_gpu_ram.combined", GT_SCOPE_COMBINED, GT_GPU_RAM, LARGEST},
    {"cpu_utilization.system.max_sum_percent", GT_SCOPE_SYSTEM, GT_CPU_UTILIZATION, MAX_CPU},
    {"cpu_utilization.system.mean_sum_percent", GT_SCOPE_SYSTEM, GT_CPU_TIME, MEAN_CPU},
    {"cpu_utilization.main.max_sum_percent", GT_SCOPE_MAIN, GT_CPU_UTILIZATION, MAX_CPU},
    {"cpu_utilization.main.mean_sum_percent", GT_SCOPE_MAIN, GT_CPU_TIME, MEAN_CPU},
    {"cpu_utilization.descendants.max_sum_percent", GT_SCOPE_DESCENDANTS, GT_CPU_UTILIZATION, MAX_CPU},
    {"cpu_utilization.descendants.mean_sum_percent", GT_SCOPE_DESCENDANTS, GT_CPU_TIME, MEAN_CPU},
    {"cpu_utilization.combined.max_sum_percent", GT_SCOPE_COMBINED, GT_CPU_UTILIZATION, MAX_CPU},
    {"cpu_utilization.combined.mean_sum_percent", GT_SCOPE_COMBINED, GT_CPU_TIME, MEAN_CPU},
    {"cpu_utilization.main_n_threads", GT_SCOPE_MAIN, GT_THREADS_PEAK, MOST},
    {"cpu_utilization.descendants_n_threads", GT_SCOPE_DESCENDANTS, GT_THREADS_PEAK, MOST},
    {"cpu_utilization.combined_n_threads", GT_SCOPE_COMBINED, GT_THREADS_PEAK, MOST},
    {"gpu_utilization.gpu_percentages.max_sum_percent", GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION, LARGEST},
    {"gpu_utilization.gpu_percentages.mean_sum_percent", GT_SCOPE_SYSTEM, GT_GPU_UTILIZATION, "mean of the samples"},
    {"processes.max", GT_SCOPE_COMBINED, GT_PROCESSES_PEAK, MOST},
    {"processes.started", GT_SCOPE_COMBINED, GT_PROCESSES_STARTED, FINAL},
    {"memory_peak.main.upper", GT_SCOPE_MAIN, GT_RAM_PEAK_BOUND, FINAL},
    {"memory_peak.descendants.upper", GT_SCOPE_DESCENDANTS, GT_RAM_PEAK_BOUND, FINAL},
    {"memory_peak.combined.upper", GT_SCOPE_COMBINED, GT_RAM_PEAK_BOUND, FINAL},
    {"memory_peak.rss_sum", GT_SCOPE_COMBINED, GT_RSS, LARGEST},
    {"memory_peak.control_group", GT_SCOPE_COMBINED, GT_CGROUP_RAM_PEAK, FINAL},
    {"gpu_memory_peak.main.at_least", GT_SCOPE_MAIN, GT_GPU_RAM_PEAK, FINAL},
    {"gpu_memory_peak.descendants.at_least", GT_SCOPE_DESCENDANTS, GT_GPU_RAM_PEAK, FINAL},
    {"gpu_memory_peak.combined.at_least", GT_SCOPE_COMBINED, GT_GPU_RAM_PEAK, FINAL},
    {"gpu_memory_peak.main.at_most", GT_SCOPE_MAIN, GT_GPU_RAM_PEAK_BOUND, FINAL},
    {"gpu_memory_peak.descendants.at_most", GT_SCOPE_DESCENDANTS, GT_GPU_RAM_PEAK_BOUND, FINAL},
    {"gpu_memory_peak.combined.at_most", GT_SCOPE_COMBINED, GT_GPU_RAM_PEAK_BOUND, FINAL},
    {"cpu_time.main", GT_SCOPE_MAIN, GT_CPU_TIME, FINAL},
    {"cpu_time.descendants", GT_SCOPE_DESCENDANTS, GT_CPU_TIME, FINAL},
    {"cpu_time.combined", GT_SCOPE_COMBINED, GT_CPU_TIME, FINAL},
    {"swap.system", GT_SCOPE_SYSTEM, GT_SWAP, LARGEST},
    {"swap.combined", GT_SCOPE_COMBINED, GT_SWAP, LARGEST},
    {"page_faults.minor", GT_SCOPE_COMBINED, GT_MINOR_FAULTS, FINAL},
    {"page_faults.major", GT_SCOPE_COMBINED, GT_MAJOR_FAULTS, FINAL},
    {"context_switches.voluntary", GT_SCOPE_COMBINED, GT_VOLUNTARY_SWITCHES, FINAL},
    {"context_switches.involuntary", GT_SCOPE_COMBINED, GT_INVOLUNTARY_SWITCHES, FINAL},
    {"input_output.read", GT_SCOPE_COMBINED, GT_READ_BYTES, FINAL},
    {"input_output.written", GT_SCOPE_COMBINED, GT_WRITTEN_BYTES, FINAL},
    {"input_output.read_characters", GT_SCOPE_COMBINED, GT_READ_CHARACTERS, FINAL},
    {"input_output.written_characters", GT_SCOPE_COMBINED, GT_WRITTEN_CHARACTERS, FINAL},
    {"network_namespace.received", GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_RECEIVED, FINAL},
    {"network_namespace.sent", GT_SCOPE_SYSTEM, GT_NETWORK_NAMESPACE_SENT, FINAL},
    {"job_network.received", GT_SCOPE_COMBINED, GT_JOB_NETWORK_RECEIVED, FINAL},
    {"job_network.sent", GT_SCOPE_COMBINED, GT_JOB_NETWORK_SENT, FINAL},
    {"pressure.cpu", GT_SCOPE_SYSTEM, GT_PRESSURE_CPU, FINAL},
    {"pressure.memory", GT_SCOPE_SYSTEM, GT_PRESSURE_MEMORY, FINAL},
    {"pressure.memory_full", GT_SCOPE_SYSTEM, GT_PRESSURE_MEMORY_FULL, FINAL},
    {"pressure.io", GT_SCOPE_SYSTEM, GT_PRESSURE_IO, FINAL},
    {"pressure.io_full", GT_SCOPE_SYSTEM, GT_PRESSURE_IO_FULL, FINAL},
    {"energy.cpu.total", GT_SCOPE_SYSTEM, GT_CPU_ENERGY, FINAL},
    {"energy.cpu.job", GT_SCOPE_COMBINED, GT_CPU_ENERGY, FINAL},
    {"energy.cpu.other", GT_SCOPE_SYSTEM, GT_CPU_ENERGY_OTHER, FINAL},
    {"energy.cpu.idle", GT_SCOPE_SYSTEM, GT_CPU_ENERGY_IDLE, FINAL},
    {"energy.cpu.unattributed", GT_SCOPE_SYSTEM, GT_CPU_ENERGY_UNATTRIBUTED, FINAL},
    {"energy.dram.total", GT_SCOPE_SYSTEM, GT_DRAM_ENERGY, FINAL},
    {"energy.dram.job", GT_SCOPE_COMBINED, GT_DRAM_ENERGY, FINAL},
    {"energy.dram.other", GT_SCOPE_SYSTEM, GT_DRAM_ENERGY_OTHER, FINAL},
    {"energy.dram.unattributed", GT_SCOPE_SYSTEM, GT_DRAM_ENERGY_UNATTRIBUTED, FINAL},
    {"energy.gpu.total", GT_SCOPE_SYSTEM, GT_GPU_ENERGY, FINAL},
    {"energy.gpu.job", GT_SCOPE_COMBINED, GT_GPU_ENERGY, FINAL},
    {"energy.gpu.other", GT_SCOPE_SYSTEM, GT_GPU_ENERGY_OTHER, FINAL},
    {"energy.gpu.idle", GT_SCOPE_SYSTEM, GT_GPU_ENERGY_IDLE, FINAL},
    {"energy.gpu.unattributed", GT_SCOPE_SYSTEM, GT_GPU_ENERGY_UNATTRIBUTED, FINAL},
    {"energy.job", GT_SCOPE_COMBINED, GT_ENERGY, FINAL},
    {"energy.platform", GT_SCOPE_SYSTEM, GT_PLATFORM_ENERGY, FINAL},
    {"energy.wall", GT_SCOPE_SYSTEM, GT_WALL_ENERGY, FINAL},
    {"gpu_totals.energy", GT_SCOPE_SYSTEM, GT_GPU_ENERGY, FINAL},
    {"gpu_totals.max_power", GT_SCOPE_SYSTEM, GT_GPU_POWER_PEAK, LARGEST},
    {"gpu_totals.max_temperature", GT_SCOPE_SYSTEM, GT_GPU_TEMPERATURE, LARGEST},
    {"gpu_totals.xids", GT_SCOPE_SYSTEM, GT_GPU_XIDS, FINAL},
    {"gpu_totals.ecc_uncorrected", GT_SCOPE_SYSTEM, GT_GPU_ECC_UNCORRECTED, FINAL},
    {"gpu_totals.lost", GT_SCOPE_SYSTEM, GT_GPU_LOST, FINAL},
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
