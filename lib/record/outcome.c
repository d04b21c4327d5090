#include "record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/clock.h"

/* Counters and peaks as they stand now: the last row was taken earlier, and children have been waited for since. */
static void final_values(struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    struct gt_row row[GT_FIXED_ROWS];
    struct gt_energy_reading energy;
    gt_account_totals(&recorder->sampler.account, &recorder->sampler.tree, recorder->combiner.job);
    gt_combine_fixed(&recorder->combiner, &recorder->sampler, row, &energy);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++) /* a bound may have become unknown */
            if (gt_metrics[id].kind != GT_GAUGE && (!isnan(row[scope].value[id]) || id == GT_RAM_PEAK_BOUND))
                outcome->value[scope][id] = row[scope].value[id];
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        gt_attribution_show_counter(&recorder->combiner.attribution, i, &outcome->counter[i]);
}

static void final_peak_fields(const struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    const struct gt_job_peak *job = &recorder->sampler.finder.peak;
    static const int which[GT_FIXED_ROWS] = {
        [GT_SCOPE_DESCENDANTS] = GT_PEAK_DESCENDANTS, [GT_SCOPE_COMBINED] = GT_PEAK_COMBINED};
    double *whole = &outcome->value[GT_SCOPE_COMBINED][GT_RAM_PEAK],
           *part = &outcome->value[GT_SCOPE_DESCENDANTS][GT_RAM_PEAK];
    *part = *part > *whole ? *whole : *part; /* each is estimated by itself */
    for (int scope = GT_SCOPE_DESCENDANTS; scope <= GT_SCOPE_COMBINED; scope++) {
        const struct gt_scope_peak peak = gt_job_peak_best(job, which[scope]);
        double total = outcome->value[scope][GT_RAM_PEAK]; /* of one process alone where that is more */
        outcome->peak[scope].private_bytes = fmin(peak.private_bytes + fmax(0, total - peak.best), total);
    }
    outcome->peak_missing_hwm = (double)job->unknown;
}

/* Where nobody waits for processes their ends are known of each alone: together they have used no less than each by itself. */
static void count_all_cpu(const struct gt_sampler *sampler, struct gt_outcome *outcome)
{
    double *combined = &outcome->value[GT_SCOPE_COMBINED][GT_CPU_TIME],
           more = gt_process_records_cpu(&outcome->records) - *combined;
    if (more > 0) {
        *combined += more;
        outcome->value[GT_SCOPE_DESCENDANTS][GT_CPU_TIME] += more;
    } else if (gt_job_finder_hears_all(&sampler->finder) && !sampler->tree.has_left_out &&
               !outcome->processes_not_listed) {
        /* Exit records lack what a process ran last and what the kernel needed to take it down; the job's total has both. */
        gt_process_records_share_ends(&outcome->records, sampler->tree.main, -more);
    }
}

static int final_records(const struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    const struct gt_process_history *history = recorder->sampler.history;
    if (!history)
        return 0;
    outcome->processes_not_listed = gt_process_history_left_out(history);
    outcome->has_detail = recorder->options.tracker->detail;
    int status = gt_process_history_records(history, &outcome->records);
    gt_process_records_end(&outcome->records, outcome->elapsed);
    count_all_cpu(&recorder->sampler, outcome);
    return status;
}

/* As gt_energy_run_error: its counter is behind by its refresh, at up to twice the mean power, and that of RAPL may count whole joules. */
static double platform_error(const struct gt_recorder *recorder, const struct gt_outcome *outcome)
{
    static const double STEP = 1;
    const struct gt_sampler_source *source = gt_provenance_source(recorder, GT_PLATFORM_ENERGY);
    double joules = outcome->value[GT_SCOPE_SYSTEM][GT_PLATFORM_ENERGY];
    double refresh = source && source->state ? source->availability.refresh : NAN;
    double error = 2 * refresh * joules / outcome->elapsed + STEP + recorder->sampler.platform_doubt;
    return refresh > 0 && isfinite(error) ? error : NAN;
}

int gt_recorder_outcome(struct gt_recorder *recorder, struct gt_outcome *ret, struct gt_error *error)
{
    int64_t now = gt_clock_monotonic(&recorder->sampler.clock);
    if (gt_recorder_sum_up(recorder) < 0)
        return gt_error_system(error, ENOMEM, "tracker");
    gt_outcome_release(ret);
    gt_summary_outcome(&recorder->summary, ret);
    ret->elapsed = (double)((recorder->end_ns ? recorder->end_ns : now) - recorder->start_ns) / 1e9;
    ret->exit_status = recorder->exit_status;
    ret->ending = recorder->ending;
    ret->missed = recorder->missed;
    ret->slowest_sample = recorder->slowest_sample;
    ret->own_cpu_time = recorder->is_dedicated ? (double)gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9
                                               : recorder->own_cpu_spent;
    gt_kernel_watch_read(&recorder->kernel, &recorder->sampler.tree, &ret->events);
    final_values(recorder, ret);
    ret->platform_error = platform_error(recorder, ret);
    ret->package_count = recorder->combiner.attribution.package_count;
    for (size_t i = 0; i < ret->package_count; i++)
        gt_attribution_show_package(&recorder->combiner.attribution, &recorder->sampler.snapshot, i, &ret->package[i]);
    final_peak_fields(recorder, ret);
    double unmapped = fmax(recorder->sampler.unmapped, gt_job_peak_unmapped(&recorder->sampler.finder.peak));
    double *largest = &ret->value[GT_SCOPE_COMBINED][GT_RAM_UNMAPPED]; /* of the samples */
    *largest = unmapped > 0 ? fmax(*largest, unmapped) : *largest;
    if (final_records(recorder, ret) < 0 ||
        gt_rank_finder_list(&recorder->sampler.ranks, &recorder->sampler.snapshot, &ret->rank, &ret->rank_count) < 0)
        return gt_error_system(error, ENOMEM, "tracker");
    return 0;
}

/* ---- Provenance: how each value came about, and why a missing one is missing ----------------------------------------- */

const struct gt_sampler_source *gt_provenance_source(const struct gt_recorder *recorder, enum gt_metric_id id)
{
    const struct gt_sampler_source *found = NULL;
    const struct gt_collector_type *owner = recorder->sampler.snapshot.owner[id];
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
    else if (source && source->type->missing)
        snprintf(entry->note, sizeof entry->note, "%s", source->type->missing);
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

static void describe_measured(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    const struct gt_origin *origin = entry->scope == GT_SCOPE_SYSTEM ? told_origin(recorder, entry->metric, true)
                                                                     : NULL;
    if (!origin)
        origin = gt_combined_origin(entry->metric);
    if (!origin)
        origin = told_origin(recorder, entry->metric, false);
    const struct gt_sampler_source *source = gt_provenance_source(recorder, gt_energy_whole(entry->metric));
    if (origin) {
        restate(entry, origin->exactness, origin->source, origin->note);
        return;
    }
    bool is_counter = gt_metrics[entry->metric].kind == GT_COUNTER;
    restate(entry, is_counter ? GT_EXACT : GT_SAMPLED, source ? source->availability.source : "", "");
    if (source && source->state && source->type->describe)
        source->type->describe(source->state, entry->note, sizeof entry->note);
    else if (source && source->state && source->type->method)
        snprintf(entry->note, sizeof entry->note, "%s", source->type->method);
}

/* The main process's peak is exact when the kernel told of it at its end, or while it lives. */
static void refine_main_peak(const struct gt_recorder *recorder, struct gt_provenance *entry)
{
    if (recorder->sampler.account.main_peak > 0)
        restate(entry, GT_EXACT, "wait4, exit record or the process's own mark",
                "high-water mark of the kernel, of the time of tracking");
    else if (recorder->sampler.account.main_about > 0)
        restate(entry, GT_ESTIMATED, "wait4", "at most this: what the process had before its program began is in it");
    else if (!recorder->combiner.has_main_hwm)
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
    enum gt_memory_method method = gt_job_memory_figures(recorder->sampler.memory)->method;
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
    bool has_lost = finder->members.counts.has_lost_forks;
    if (!finder->events)
        return;
    restate(entry, has_lost ? GT_SAMPLED : GT_EXACT, finder->availability[GT_EVENTS_FORKS].source,
            has_lost ? "some events were lost" : "every fork and exit was heard of");
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
        restate(entry, GT_SAMPLED, gt_memory_method_source(gt_job_memory_figures(recorder->sampler.memory)->method),
                "");
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

static int fill_provenance(const struct gt_recorder *recorder, struct gt_outcome *outcome)
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

int gt_recorder_explain(const struct gt_recorder *recorder, struct gt_outcome *outcome, struct gt_error *error)
{
    int status = outcome->provenance ? 0 : fill_provenance(recorder, outcome);
    return status < 0 ? gt_error_system(error, ENOMEM, "tracker") : 0;
}
