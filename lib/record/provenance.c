#include "record/provenance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/combine.h"

const struct gt_sampler_source *gt_provenance_source(const struct gt_recorder *recorder, enum gt_metric_id id)
{
    const struct gt_sampler_source *found = NULL;
    const struct gt_collector_type *owner = recorder->sampler.frame.owner[id];
    for (size_t i = 0; i < recorder->sampler.source_count; i++) {
        const struct gt_sampler_source *source = &recorder->sampler.source[i];
        if (owner && source->type == owner)
            return source;
        if (gt_collector_fills(source->type, id) && (!found || (!found->state && source->state)))
            found = source;
    }
    return found;
}

static void describe_missing(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    const struct gt_sampler_source *source = gt_provenance_source(recorder, gt_energy_whole(entry->metric));
    const char *why_no_packages = recorder->sampler.topology.why_no_packages;
    entry->exactness = GT_MISSING;
    if (entry->metric == GT_CPU_ENERGY_PLACEMENT_ERROR && source && source->state)
        snprintf(entry->note, sizeof entry->note, "%s",
                 *why_no_packages ? why_no_packages : "there are no several packages with counters of their own");
    else if (source && !source->state)
        snprintf(entry->note, sizeof entry->note, "%s",
                 source->availability.reason[0] ? source->availability.reason : "not on this machine");
    else if (source && source->type->explain)
        source->type->explain(source->state, gt_energy_whole(entry->metric), entry->note, sizeof entry->note);
    if (!entry->note[0])
        snprintf(entry->note, sizeof entry->note, "%s",
                 recorder->summary.samples ? "not measured in this run" : "the run ended before the first sample");
}

/* `source` NULL keeps what was said. */
static void restate(struct gt_provenance *entry, enum gt_exactness exactness, const char *source, const char *note)
{
    entry->exactness = exactness;
    if (source)
        snprintf(entry->source, sizeof entry->source, "%s", source);
    snprintf(entry->note, sizeof entry->note, "%s", note);
}

/* The origin that a collector has in its table, of figures of the machine or of others. */
static const struct gt_origin *told_origin(const struct gt_recorder *recorder, enum gt_metric_id metric,
                                           bool is_of_machine)
{
    for (size_t i = 0; i < recorder->sampler.source_count; i++) {
        const struct gt_collector_type *type = recorder->sampler.source[i].type;
        for (size_t k = 0; type->is_of_machine == is_of_machine && k < type->origin_count; k++)
            if (type->origins[k].metric == metric)
                return &type->origins[k];
    }
    return NULL;
}

static const struct gt_origin *find_origin(const struct gt_recorder *recorder, enum gt_scope scope,
                                           enum gt_metric_id metric)
{
    const struct gt_origin *origin = scope == GT_SCOPE_SYSTEM ? told_origin(recorder, metric, true) : NULL;
    if (!origin)
        origin = gt_combined_origin(metric);
    return origin ? origin : told_origin(recorder, metric, false);
}

static void describe_measured(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    const struct gt_origin *origin = find_origin(recorder, entry->scope, entry->metric);
    const struct gt_sampler_source *source = gt_provenance_source(recorder, gt_energy_whole(entry->metric));
    if (origin) {
        restate(entry, origin->exactness, origin->source, origin->note);
        return;
    }
    bool is_counter = gt_metrics[entry->metric].kind == GT_COUNTER;
    restate(entry, is_counter ? GT_EXACT : GT_SAMPLED, source ? source->availability.source : "", "");
    if (source && source->state && source->type->describe)
        source->type->describe(source->state, entry->note, sizeof entry->note);
}

/* The main process's peak is exact when the kernel told of it at its end, or while it lives. */
static void refine_main_peak(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    if (recorder->sampler.account.main_peak > 0)
        restate(entry, GT_EXACT, "wait4, exit record or the process's own mark",
                "high-water mark of the kernel, of the time of tracking");
    else if (recorder->sampler.account.main_about > 0)
        restate(entry, GT_ESTIMATED, "wait4", "at most this: what the process had before its program began is in it");
    else if (!recorder->combiner.has_main_mark)
        restate(entry, GT_SAMPLED, "/proc/PID/statm",
                "the largest look: the high-water mark, ram_peak_bound, is from before tracking began");
    else if (recorder->end_ns)
        restate(entry, GT_SAMPLED, "/proc/PID/status VmHWM",
                "high-water mark of the kernel at the last look; wait4 mixes it with that of waited-for children");
}

/* A tree's peak is exact where it reaches the upper bound, which is that of one process, or of the control group. */
static void refine_tree_peak(const struct gt_recorder *recorder, const struct gt_outcome *outcome,
                             struct gt_provenance *entry)
{
    static const char *const notes[] = {
        [GT_MEMORY_GROUP] = "the largest reading every 50 ms, or high-water mark of one process or of the group",
        [GT_MEMORY_FAULTS] = "the largest reading every 50 ms or less often, or high-water mark of one process",
        [GT_MEMORY_RSS] = "too large: memory that processes share counts once for each",
    };
    enum gt_memory_method method = gt_job_memory_method(recorder->sampler.memory);
    const double *values = outcome->value[entry->scope];
    if (!(values[GT_RAM_PEAK] >= values[GT_RAM_PEAK_BOUND]))
        restate(entry, method == GT_MEMORY_GROUP ? GT_SAMPLED : GT_ESTIMATED, gt_memory_method_source(method),
                notes[method]);
}

/* Several processes, or one on several GPUs, need not have had their largest at the same time, and some may have been missed. */
static void refine_gpu_peak(const struct gt_outcome *outcome, struct gt_provenance *entry)
{
    const double *values = outcome->value[entry->scope];
    bool is_alone = entry->scope == GT_SCOPE_MAIN || outcome->value[GT_SCOPE_COMBINED][GT_PROCESSES_STARTED] == 1;
    if (!is_alone || !(values[GT_GPU_RAM_PEAK] >= values[GT_GPU_RAM_PEAK_BOUND]))
        restate(entry, GT_SAMPLED, NULL,
                "at least this: the largest sample, or the driver's high-water mark of one process on one GPU");
}

static void refine_counts(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    const struct gt_job_finder *finder = &recorder->sampler.finder;
    if (!finder->events)
        return;
    restate(entry, finder->counts.is_exact ? GT_EXACT : GT_SAMPLED, finder->availability[GT_EVENTS_FORKS].source,
            finder->counts.is_exact ? "every fork and exit was heard of" : "some events were lost");
}

/* The kernel hands what a process used to the one that waits for it, if any. */
static void refine_counter(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    bool is_of_many = entry->scope == GT_SCOPE_DESCENDANTS || entry->scope == GT_SCOPE_COMBINED;
    if (!is_of_many || entry->exactness != GT_EXACT || gt_job_finder_hears_all(&recorder->sampler.finder))
        return;
    for (int k = 0; k < GT_ACCOUNTED; k++)
        if (gt_accounted[k] == entry->metric)
            restate(
                entry, GT_AT_LEAST, NULL,
                "without exit records: processes that no process of the job waited for count up to their last reading");
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
    case GT_GPU_RAM_PEAK: refine_gpu_peak(outcome, entry); break;
    case GT_RAM:
    case GT_RAM_PRIVATE:
    case GT_RAM_SHARED:
    case GT_RAM_PRIVATE_ANONYMOUS:
        restate(entry, GT_SAMPLED, gt_memory_method_source(gt_job_memory_method(recorder->sampler.memory)), "");
        break;
    case GT_THREADS_PEAK:
    case GT_PROCESSES_PEAK:
    case GT_PROCESSES_STARTED: refine_counts(recorder, entry); break;
    default:
        note = gt_energy_note(entry->scope, entry->metric, recorder->machine.cpu_packages > 0);
        if (note)
            restate(entry, GT_DERIVED, NULL, note);
        break;
    }
}

int gt_provenance_fill(const struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    size_t most = (size_t)GT_FIXED_ROWS * GT_METRIC_COUNT;
    outcome->provenance = malloc(most * sizeof *outcome->provenance);
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
            refine_counter(recorder, entry);
            refine(recorder, outcome, entry);
            const struct gt_sampler_source *source = gt_provenance_source(recorder, gt_energy_whole(entry->metric));
            if (source && source->type->is_estimate && gt_metrics[id].unit == GT_JOULES)
                entry->exactness = GT_ESTIMATED;
        }
    return 0;
}
