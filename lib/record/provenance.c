#include "record/provenance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct origin {
    enum gt_exactness exactness;
    const char *source;
    const char *note;
};

/* Figures of processes and of the host; those of GPUs name their driver. */
static const struct origin origins[GT_METRIC_COUNT] = {
    [GT_RAM] = {GT_SAMPLED, "/proc/PID/statm",
                "resident set sizes, less what the last walk found to be counted more than once"},
    [GT_RAM_PRIVATE] = {GT_SAMPLED, "walk over the processes' pages", "at the time of the last walk"},
    [GT_RAM_SHARED] = {GT_SAMPLED, "walk over the processes' pages", "at the time of the last walk"},
    [GT_RSS] = {GT_SAMPLED, "/proc/PID/statm", ""},
    [GT_RAM_PEAK] = {GT_EXACT, "/proc/PID/status VmHWM, wait4", "high-water mark of the kernel"},
    [GT_RAM_PEAK_BOUND] = {GT_DERIVED, "/proc/PID/status VmHWM, exit records",
                           "sum of the high-water marks of processes alive together"},
    [GT_SWAP] = {GT_SAMPLED, "/proc/PID/status VmSwap", ""},
    [GT_CGROUP_RAM] = {GT_SAMPLED, "control group", "page cache included"},
    [GT_CGROUP_RAM_PEAK] = {GT_EXACT, "control group", "page cache included"},
    [GT_CPU_TIME] = {GT_EXACT, "CPU clocks of the processes, wait4", "children that were waited for included"},
    [GT_CPU_UTILIZATION] = {GT_DERIVED, "CPU clocks of the processes", "CPU time of an interval over its length"},
    [GT_THREADS] = {GT_SAMPLED, "/proc/PID/task", ""},
    [GT_PROCESSES] = {GT_SAMPLED, "/proc/PID/task/TID/children", ""},
    [GT_THREADS_PEAK] = {GT_SAMPLED, "/proc/PID/task", "largest sample"},
    [GT_PROCESSES_PEAK] = {GT_SAMPLED, "/proc/PID/task/TID/children", "largest sample"},
    [GT_PROCESSES_STARTED] = {GT_SAMPLED, "/proc/PID/task/TID/children",
                              "processes seen; those that came and went between two looks are missing"},
    [GT_MINOR_FAULTS] = {GT_EXACT, "/proc/PID/stat, wait4", ""},
    [GT_MAJOR_FAULTS] = {GT_EXACT, "/proc/PID/stat, wait4", ""},
    [GT_VOLUNTARY_SWITCHES] = {GT_EXACT, "/proc/PID/task/TID/status, wait4", ""},
    [GT_INVOLUNTARY_SWITCHES] = {GT_EXACT, "/proc/PID/task/TID/status, wait4", ""},
    [GT_READ_BYTES] = {GT_EXACT, "/proc/PID/io, wait4", ""},
    [GT_WRITTEN_BYTES] = {GT_EXACT, "/proc/PID/io, wait4", ""},
    [GT_READ_CHARACTERS] = {GT_SAMPLED, "/proc/PID/io", "up to the last reading of each process"},
    [GT_WRITTEN_CHARACTERS] = {GT_SAMPLED, "/proc/PID/io", "up to the last reading of each process"},
    [GT_NETWORK_NAMESPACE_RECEIVED] =
        {GT_EXACT, "/proc/PID/net/dev",
         "of the whole network namespace, not of the job alone; rows read it once a second"},
    [GT_NETWORK_NAMESPACE_SENT] = {GT_EXACT, "/proc/PID/net/dev",
                                   "of the whole network namespace, not of the job alone; rows read it once a second"},
    [GT_PRESSURE_CPU] = {GT_EXACT, "/proc/pressure/cpu", "of the whole machine; rows read it once a second"},
    [GT_PRESSURE_MEMORY] = {GT_EXACT, "/proc/pressure/memory", "of the whole machine; rows read it once a second"},
    [GT_PRESSURE_MEMORY_FULL] = {GT_EXACT, "/proc/pressure/memory", "of the whole machine; rows read it once a second"},
    [GT_PRESSURE_IO] = {GT_EXACT, "/proc/pressure/io", "of the whole machine; rows read it once a second"},
    [GT_PRESSURE_IO_FULL] = {GT_EXACT, "/proc/pressure/io", "of the whole machine; rows read it once a second"},
};

/* What is known of a share in energy, besides the source of the device's counter. */
static const char *energy_note(enum gt_scope scope, enum gt_metric_id metric, bool by_package)
{
    bool is_share = scope == GT_SCOPE_COMBINED;
    switch (metric) {
    case GT_CPU_ENERGY: return is_share ? gt_energy_method(GT_ENERGY_CPU, by_package) : NULL;
    case GT_DRAM_ENERGY: return is_share ? gt_energy_method(GT_ENERGY_DRAM, false) : NULL;
    case GT_GPU_ENERGY: return is_share ? gt_energy_method(GT_ENERGY_GPU, false) : NULL;
    case GT_CPU_ENERGY_PLACEMENT_ERROR:
        return "if the CPU time of threads that moved between packages had all been where it costs most, or least";
    case GT_CPU_ENERGY_SHARE_ERROR:
        return "two deviations of busy time counted in ticks; and, beside others, what changes of load and power together may come to";
    case GT_ENERGY: return "sum of the shares of the devices that were measured";
    case GT_CPU_ENERGY_OTHER: return "the rest of the active energy";
    case GT_DRAM_ENERGY_OTHER: return "the rest of the memory in use";
    case GT_GPU_ENERGY_OTHER: return "share of processes outside the job that can be seen from here";
    case GT_CPU_ENERGY_IDLE:
    case GT_GPU_ENERGY_IDLE:
        return "time without a user; with another policy than share, the lowest power seen while idle";
    case GT_CPU_ENERGY_MISSING:
    case GT_DRAM_ENERGY_MISSING:
    case GT_GPU_ENERGY_MISSING: return "while the counter could not be read, stood still or was set back";
    case GT_CPU_ENERGY_UNATTRIBUTED:
    case GT_DRAM_ENERGY_UNATTRIBUTED:
    case GT_GPU_ENERGY_UNATTRIBUTED: return "drawn while it was not known who used the device";
    default: return NULL;
    }
}

/* Parts of a device's energy come from the source of the whole. */
static enum gt_metric_id whole_of(enum gt_metric_id metric)
{
    switch (metric) {
    case GT_CPU_ENERGY_OTHER:
    case GT_CPU_ENERGY_IDLE:
    case GT_CPU_ENERGY_PLACEMENT_ERROR:
    case GT_CPU_ENERGY_SHARE_ERROR:
    case GT_CPU_ENERGY_MISSING:
    case GT_CPU_ENERGY_UNATTRIBUTED: return GT_CPU_ENERGY;
    case GT_DRAM_ENERGY_OTHER:
    case GT_DRAM_ENERGY_MISSING:
    case GT_DRAM_ENERGY_UNATTRIBUTED: return GT_DRAM_ENERGY;
    case GT_GPU_ENERGY_OTHER:
    case GT_GPU_ENERGY_IDLE:
    case GT_GPU_ENERGY_MISSING:
    case GT_GPU_ENERGY_UNATTRIBUTED: return GT_GPU_ENERGY;
    case GT_ENERGY: return GT_CPU_ENERGY;
    default: return metric;
    }
}

static const struct origin system_origins[GT_METRIC_COUNT] = {
    [GT_RAM] = {GT_SAMPLED, "/proc/meminfo", "memory in use on the whole machine"},
    [GT_SWAP] = {GT_SAMPLED, "/proc/meminfo", ""},
    [GT_CPU_TIME] = {GT_EXACT, "/proc/stat", "in steps of a clock tick"},
    [GT_CPU_UTILIZATION] = {GT_DERIVED, "/proc/stat", "busy time of an interval over its length"},
};

static bool fills(const struct gt_collector_type *type, enum gt_metric_id id)
{
    for (size_t i = 0; i < type->metric_count; i++)
        if (type->metrics[i] == id)
            return true;
    return false;
}

const struct gt_sampler_source *gt_provenance_source(const struct gt_recorder *recorder, enum gt_metric_id id)
{
    const struct gt_sampler_source *found = NULL;
    const struct gt_collector_type *owner = recorder->sampler.frame.owner[id];
    for (size_t i = 0; i < recorder->sampler.source_count; i++) {
        const struct gt_sampler_source *source = &recorder->sampler.source[i];
        if (owner && source->type == owner)
            return source;
        if (fills(source->type, id) && (!found || (!found->state && source->state)))
            found = source;
    }
    return found;
}

static void describe_missing(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    const struct gt_sampler_source *source = gt_provenance_source(recorder, whole_of(entry->metric));
    const char *why_no_packages = recorder->sampler.frame.why_no_packages;
    entry->exactness = GT_MISSING;
    if (entry->metric == GT_CPU_ENERGY_PLACEMENT_ERROR && source && source->state)
        snprintf(entry->note, sizeof entry->note, "%s",
                 *why_no_packages ? why_no_packages : "there are no several packages with counters of their own");
    else if (source && !source->state)
        snprintf(entry->note, sizeof entry->note, "%s",
                 source->availability.reason[0] ? source->availability.reason : "not on this machine");
    else if (source && source->type->explain)
        source->type->explain(source->state, whole_of(entry->metric), entry->note, sizeof entry->note);
    if (!entry->note[0])
        snprintf(entry->note, sizeof entry->note, "%s",
                 recorder->summary.samples ? "not measured in this run" : "the run ended before the first sample");
}

static void describe_measured(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    const struct origin *origin = &origins[entry->metric];
    if (entry->scope == GT_SCOPE_SYSTEM && system_origins[entry->metric].source)
        origin = &system_origins[entry->metric];
    const struct gt_sampler_source *source = gt_provenance_source(recorder, whole_of(entry->metric));
    entry->exactness = origin->source ? origin->exactness : GT_SAMPLED;
    if (gt_metrics[entry->metric].kind == GT_COUNTER && !origin->source)
        entry->exactness = GT_EXACT;
    snprintf(entry->source, sizeof entry->source, "%s",
             origin->source ? origin->source
             : source       ? source->availability.source
                            : "");
    snprintf(entry->note, sizeof entry->note, "%s", origin->note ? origin->note : "");
    if (!origin->note && source && source->state && source->type->describe)
        source->type->describe(source->state, entry->note, sizeof entry->note);
}

/* `source` NULL keeps what was said. */
static void restate(struct gt_provenance *entry, enum gt_exactness exactness, const char *source, const char *note)
{
    entry->exactness = exactness;
    if (source)
        snprintf(entry->source, sizeof entry->source, "%s", source);
    snprintf(entry->note, sizeof entry->note, "%s", note);
}

/* The main process's peak is exact when the kernel told of it at its end, or while it lives. */
static void refine_main_peak(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    if (recorder->sampler.account.main_peak > 0)
        restate(entry, GT_EXACT, "wait4, exit record or the process's own mark",
                "high-water mark of the kernel, of the time of tracking");
    else if (!recorder->combiner.has_main_mark)
        restate(entry, GT_SAMPLED, "/proc/PID/statm",
                "the largest look: the high-water mark, ram_peak_bound, is from before tracking began");
    else if (recorder->end_ns)
        restate(entry, GT_SAMPLED, "/proc/PID/status VmHWM",
                "high-water mark of the kernel at the last look; wait4 mixes it with that of waited-for children");
}

/* A tree's peak is exact only when it is a control group's, or that of one process; otherwise it lies between two bounds. */
static void refine_tree_peak(const struct gt_recorder *recorder, const struct gt_outcome *outcome,
                             struct gt_provenance *entry)
{
    const double *values = outcome->value[entry->scope];
    const struct gt_peak_fields *facts = &outcome->peak[entry->scope];
    if (facts->least >= values[GT_RAM_PEAK_BOUND] && !recorder->sampler.finder.peak.untold)
        return;
    restate(
        entry, GT_SAMPLED, "/proc/PID/statm, walks, high-water marks",
        "best estimate, between the bounds that memory_peak has: the largest look, or a high-water mark with what the "
        "others had");
}

static void refine_peak_bound(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    uint64_t untold = recorder->sampler.finder.peak.untold;
    char note[160];
    if (entry->scope == GT_SCOPE_MAIN || !untold)
        return;
    snprintf(note, sizeof note,
             "sum of the high-water marks of processes alive together; those of %llu that ended unseen are not known",
             (unsigned long long)untold);
    restate(entry, GT_SAMPLED, NULL, note);
}

static void refine_counts(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    const struct gt_job_finder *finder = &recorder->sampler.finder;
    if (!finder->events)
        return;
    restate(entry, finder->counts.is_exact ? GT_EXACT : GT_SAMPLED, finder->availability[GT_EVENTS_FORKS].source,
            finder->counts.is_exact ? "every fork and exit was heard of" : "some events were lost");
}

static void refine(const struct gt_recorder *recorder, const struct gt_outcome *outcome, struct gt_provenance *entry)
{
    const char *note;
    switch (entry->metric) {
    case GT_RAM_PEAK:
        if (entry->scope == GT_SCOPE_MAIN)
            refine_main_peak(recorder, entry);
        else
            refine_tree_peak(recorder, outcome, entry);
        break;
    case GT_RAM_PEAK_BOUND: refine_peak_bound(recorder, entry); break;
    case GT_RAM_PRIVATE:
    case GT_RAM_SHARED:
        snprintf(entry->source, sizeof entry->source, "%s", recorder->sampler.walker_availability.source);
        break;
    case GT_THREADS_PEAK:
    case GT_PROCESSES_PEAK:
    case GT_PROCESSES_STARTED: refine_counts(recorder, entry); break;
    default:
        note = energy_note(entry->scope, entry->metric, recorder->machine.cpu_packages > 0);
        if (note)
            restate(entry, GT_DERIVED, NULL, note);
        break;
    }
}

int gt_provenance_fill(const struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    size_t most = (size_t)GT_FIXED_ROWS * GT_METRIC_COUNT;
    outcome->provenance = calloc(most, sizeof *outcome->provenance);
    if (!outcome->provenance)
        return -ENOMEM;
    outcome->provenance_count = 0;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) {
            if (!gt_metric_has(id, scope))
                continue;
            struct gt_provenance *entry = &outcome->provenance[outcome->provenance_count++];
            *entry = (struct gt_provenance){.scope = scope, .metric = id};
            if (isnan(outcome->value[scope][id])) {
                describe_missing(recorder, entry);
                continue;
            }
            describe_measured(recorder, entry);
            refine(recorder, outcome, entry);
            const struct gt_sampler_source *source = gt_provenance_source(recorder, whole_of(entry->metric));
            if (source && source->type->is_estimate && gt_metrics[id].unit == GT_JOULES)
                entry->exactness = GT_ESTIMATED;
        }
    return 0;
}
