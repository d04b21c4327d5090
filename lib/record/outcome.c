#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregate/local_ranks.h"
#include "base/clock.h"
#include "record/recorder.h"
#include "record/provenance.h"

void gt_outcome_release(struct gt_outcome *outcome)
{
    free(outcome->provenance);
    free(outcome->rank);
    gt_lives_release(&outcome->lives);
    *outcome = (struct gt_outcome){0};
}

/* See gt_sampler_read_last. */
static void final_late_metrics(const struct gt_sampler *sampler, struct gt_outcome *outcome)
{
    for (size_t i = 0; i < sampler->source_count; i++) {
        const struct gt_sampler_source *source = &sampler->source[i];
        for (size_t k = 0; source->state && source->type->lags && k < source->type->metric_count; k++) {
            enum gt_metric_id id = source->type->metrics[k];
            if (!isnan(sampler->frame.system[id]))
                outcome->value[GT_SCOPE_SYSTEM][id] = sampler->frame.system[id];
            if (!isnan(sampler->frame.job[id]))
                outcome->value[GT_SCOPE_COMBINED][id] = sampler->frame.job[id];
        }
    }
}

/* Counters as they stand now: the last row was taken earlier, and children have been waited for since. */
static void final_counters(struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    double job[GT_METRIC_COUNT];
    struct gt_energy_reading energy;
    gt_values_clear(job);
    gt_account_totals(&recorder->sampler.account, &recorder->sampler.tree, job);
    for (int k = 0; k < GT_ACCOUNTED; k++)
        outcome->value[GT_SCOPE_COMBINED][gt_accounted[k]] = job[gt_accounted[k]];
    double main = recorder->sampler.account.main_own_cpu;
    outcome->value[GT_SCOPE_MAIN][GT_CPU_TIME] = main;
    outcome->value[GT_SCOPE_DESCENDANTS][GT_CPU_TIME] = fmax(0, job[GT_CPU_TIME] - main);
    gt_attribution_read(&recorder->combiner.attribution, &energy);
    gt_energy_reading_show(&energy, outcome->value[GT_SCOPE_SYSTEM], outcome->value[GT_SCOPE_COMBINED]);
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        gt_attribution_show_counter(&recorder->combiner.attribution, i, &outcome->counter[i]);
    static const enum gt_metric_id whole[] = {GT_CPU_TIME, GT_PLATFORM_ENERGY, GT_WALL_ENERGY};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!isnan(recorder->sampler.frame.system[whole[i]]))
            outcome->value[GT_SCOPE_SYSTEM][whole[i]] = recorder->sampler.frame.system[whole[i]];
    for (int id = GT_GPU_ECC_CORRECTED; id <= GT_GPU_LOST; id++) { /* what ended a job comes at its end */
        double now = gt_combined_gpus(&recorder->sampler.frame, id);
        if (!isnan(now) && gt_metrics[id].kind != GT_GAUGE)
            outcome->value[GT_SCOPE_SYSTEM][id] = now;
    }
    outcome->value[GT_SCOPE_COMBINED][GT_PROCESSES_STARTED] = gt_sampler_started(&recorder->sampler);
    final_late_metrics(&recorder->sampler, outcome);
}

static void final_packages(const struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    const struct gt_attribution *attribution = &recorder->combiner.attribution;
    outcome->package_count = attribution->package_count;
    for (size_t i = 0; i < attribution->package_count; i++)
        gt_attribution_show_package(attribution, &recorder->sampler.frame, i, &outcome->package[i]);
}

static void final_peaks(struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            if (gt_metrics[id].kind == GT_PEAK &&
                (id == GT_RAM_PEAK_BOUND || !isnan(recorder->combiner.peak[scope][id])))
                outcome->value[scope][id] = recorder->combiner.peak[scope][id]; /* a bound may have become unknown */
}

/* Samples lack what was between them. */
static void final_unmapped(const struct gt_sampler *sampler, struct gt_outcome *outcome)
{
    double *unmapped = &outcome->value[GT_SCOPE_COMBINED][GT_RAM_UNMAPPED];
    double between = fmax(sampler->unmapped, gt_job_peak_unmapped(&sampler->finder.peak));
    if (between > 0)
        *unmapped = fmax(*unmapped, between);
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
    outcome->peak_untold = (double)job->unknown;
}

/* Exit records lack what a process ran last and what the kernel needed to take it down; the job's total has both. */
static bool lacks_ends_alone(const struct gt_sampler *sampler, const struct gt_outcome *outcome)
{
    return gt_job_finder_hears_all(&sampler->finder) && !sampler->tree.has_left_out && !outcome->processes_not_listed;
}

/* Where nobody waits for processes their ends are known of each alone: together they have used no less than each by itself. */
static void count_all_cpu(const struct gt_sampler *sampler, struct gt_outcome *outcome)
{
    double *combined = &outcome->value[GT_SCOPE_COMBINED][GT_CPU_TIME],
           more = gt_lives_cpu(&outcome->lives) - *combined;
    if (more > 0) {
        *combined += more;
        outcome->value[GT_SCOPE_DESCENDANTS][GT_CPU_TIME] += more;
    } else if (lacks_ends_alone(sampler, outcome)) {
        gt_lives_share_ends(&outcome->lives, sampler->tree.main, -more);
    }
}

static int final_lives(const struct gt_recorder *recorder, struct gt_outcome *outcome)
{
    const struct gt_roster *roster = recorder->sampler.roster;
    if (!roster)
        return 0;
    outcome->processes_not_listed = gt_roster_left_out(roster);
    outcome->has_detail = recorder->options.tracker->detail;
    int status = gt_roster_lives(roster, &outcome->lives);
    gt_lives_end(&outcome->lives, outcome->elapsed);
    count_all_cpu(&recorder->sampler, outcome);
    return status;
}

/* The CPU time that tracking has cost this process, seconds. */
static double own_cpu(const struct gt_recorder *recorder)
{
    return recorder->is_dedicated ? (double)gt_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9 : recorder->own_cpu_spent;
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
    ret->own_cpu_time = own_cpu(recorder);
    gt_kernel_watch_read(&recorder->kernel, &recorder->sampler.tree, &ret->events);
    final_counters(recorder, ret);
    ret->platform_error = platform_error(recorder, ret);
    final_packages(recorder, ret);
    final_peaks(recorder, ret);
    final_peak_fields(recorder, ret);
    final_unmapped(&recorder->sampler, ret);
    if (final_lives(recorder, ret) < 0 || gt_local_ranks_list(&recorder->sampler, &ret->rank, &ret->rank_count) < 0)
        return gt_error_system(error, ENOMEM, "tracker");
    return 0;
}

int gt_recorder_explain(const struct gt_recorder *recorder, struct gt_outcome *outcome, struct gt_error *error)
{
    int status = outcome->provenance ? 0 : gt_provenance_fill(recorder, outcome);
    return status < 0 ? gt_error_system(error, ENOMEM, "tracker") : 0;
}
