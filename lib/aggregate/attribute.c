#include "aggregate/attribute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const gt_idle_names[GT_IDLE_POLICIES] = {"share", "exclude", "all"};

int gt_idle_find(const char *name)
{
    for (int i = 0; i < GT_IDLE_POLICIES; i++)
        if (!strcmp(gt_idle_names[i], name))
            return i;
    return -EINVAL;
}

const char *gt_energy_method(enum gt_energy_device device)
{
    static const char *const methods[GT_ENERGY_DEVICES] = {
        [GT_ENERGY_CPU] = "energy x CPU time of the job / busy CPU time of the machine",
        [GT_ENERGY_DRAM] = "energy x memory of the job / memory in use",
        [GT_ENERGY_GPU] = "each GPU: all when only the job uses it, else by share of SM time",
    };
    return methods[device];
}

/* Busy time is counted in ticks of 10 ms for each core: shorter stretches tell little. */
static const int64_t STRETCH_NS = GT_SECOND / 10;

double gt_energy_share_seconds(enum gt_energy_device device)
{
    return device == GT_ENERGY_CPU ? (double)STRETCH_NS / 1e9 : 0;
}

/* A machine busier than that is not idle; a window shorter than that has too few ticks of either kind. */
static const double IDLE_BUSY_RATIO = 0.02, IDLE_SECONDS = 0.05;

void gt_attribution_init(struct gt_attribution *attribution, enum gt_idle policy, int core_count, int64_t now_ns)
{
    *attribution = (struct gt_attribution){.policy = policy, .core_count = core_count};
    attribution->anchor[0].at_ns = attribution->anchor[1].at_ns = attribution->cpu_at_ns = now_ns;
    attribution->cpu_idle_watts = NAN;
    attribution->memory_ratio = NAN;
}

void gt_attribution_release(struct gt_attribution *attribution)
{
    free(attribution->gpu);
    free(attribution->share_joules);
    attribution->gpu = NULL;
    attribution->share_joules = NULL;
}

/* Joules since the last reading. A counter never goes back. */
static double advance(struct gt_energy *energy, double joules)
{
    double growth = fmax(0, joules - energy->total);
    energy->total += growth;
    energy->is_measured = true;
    return growth;
}

static double least(double a, double b)
{
    return isnan(a) || b < a ? b : a;
}

/* Divide a window's joules, of which `idle` is idle energy, when the job has `ratio` of the active part. */
static double divide(struct gt_energy *energy, enum gt_idle policy, double joules, double idle, double ratio,
                     bool takes_idle)
{
    double to_job = (joules - idle) * ratio;
    energy->other += joules - idle - to_job;
    if (policy == GT_IDLE_ALL && takes_idle)
        to_job += idle;
    else
        energy->idle += idle;
    energy->job += to_job;
    return to_job;
}

/* ---- CPU --------------------------------------------------------------------------------------------------------- */

/* The next stretch begins here. CPU time of the job above the machine's busy time became known late (ticks, children waited
 * for): the next stretch is charged with it. */
static void move_anchors(struct gt_attribution *attribution, const struct gt_cpu_use *use)
{
    struct gt_cpu_use *anchor = attribution->anchor;
    if (use->at_ns - anchor[1].at_ns < STRETCH_NS)
        return;
    double surplus = fmax(0, (use->job - anchor[1].job) - (use->busy - anchor[1].busy));
    anchor[0] = anchor[1];
    anchor[1] = *use;
    anchor[1].job -= surplus;
}

static double idle_energy(const struct gt_attribution *attribution, double joules, double watts, double seconds)
{
    if (attribution->policy == GT_IDLE_SHARE || isnan(watts))
        return 0;
    return fmin(joules, watts * seconds);
}

void gt_attribute_cpu(struct gt_attribution *attribution, double joules, struct gt_cpu_use use)
{
    struct gt_energy *energy = &attribution->energy[GT_ENERGY_CPU];
    const struct gt_cpu_use *since = &attribution->anchor[use.at_ns - attribution->anchor[1].at_ns >= STRETCH_NS];
    attribution->cpu_joules = 0;
    if (isnan(joules) || use.at_ns <= attribution->cpu_at_ns)
        return;
    double growth = advance(energy, joules), seconds = (double)(use.at_ns - attribution->cpu_at_ns) / 1e9;
    double stretch = (double)(use.at_ns - since->at_ns) / 1e9;
    double job = fmax(0, use.job - since->job), busy = fmax(0, use.busy - since->busy);
    attribution->cpu_at_ns = use.at_ns;
    if (isnan(use.busy) || isnan(use.job)) {
        energy->unattributed += growth;
        return;
    }
    job = fmin(job, busy);
    bool is_idle = busy <= IDLE_BUSY_RATIO * stretch * attribution->core_count && seconds >= IDLE_SECONDS;
    if (is_idle)
        attribution->cpu_idle_watts = least(attribution->cpu_idle_watts, growth / seconds);
    double idle = busy > 0 ? idle_energy(attribution, growth, attribution->cpu_idle_watts, seconds) : growth;
    attribution->cpu_joules = divide(energy, attribution->policy, growth, idle, busy > 0 ? job / busy : 0, true);
    attribution->joules_per_cpu_second = job > 0 ? attribution->cpu_joules / (job * seconds / stretch) : 0;
    move_anchors(attribution, &use);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

void gt_attribute_memory(struct gt_attribution *attribution, double joules, double job_bytes, double used_bytes)
{
    struct gt_energy *energy = &attribution->energy[GT_ENERGY_DRAM];
    attribution->memory_joules = 0;
    if (isnan(joules))
        return;
    double growth = advance(energy, joules), before = attribution->memory_ratio;
    double now = used_bytes > 0 && job_bytes >= 0 ? fmin(1, job_bytes / used_bytes) : NAN;
    double ratio = isnan(now) ? before : isnan(before) ? now : (before + now) / 2;
    if (isnan(ratio))
        energy->unattributed += growth;
    else
        attribution->memory_joules = divide(energy, GT_IDLE_SHARE, growth, 0, ratio, false);
    attribution->memory_ratio = isnan(now) ? before : now;
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

/* The total is in the machine's row, the job's part under the same name in the job's. */
static const enum gt_metric_id part_metrics[GT_ENERGY_DEVICES][GT_ENERGY_PARTS] = {
    [GT_ENERGY_CPU] = {GT_CPU_ENERGY, GT_CPU_ENERGY, GT_CPU_ENERGY_OTHER, GT_CPU_ENERGY_IDLE,
                       GT_CPU_ENERGY_UNATTRIBUTED},
    [GT_ENERGY_DRAM] = {GT_DRAM_ENERGY, GT_DRAM_ENERGY, GT_DRAM_ENERGY_OTHER, GT_METRIC_COUNT,
                        GT_DRAM_ENERGY_UNATTRIBUTED},
    [GT_ENERGY_GPU] = {GT_GPU_ENERGY, GT_GPU_ENERGY, GT_GPU_ENERGY_OTHER, GT_GPU_ENERGY_IDLE,
                       GT_GPU_ENERGY_UNATTRIBUTED},
};

double gt_energy_part(enum gt_energy_device device, enum gt_energy_part part, const double *system, const double *job)
{
    enum gt_metric_id metric = part_metrics[device][part];
    if (metric == GT_METRIC_COUNT)
        return 0;
    return part == GT_ENERGY_JOB ? job[metric] : system[metric];
}

void gt_attribution_show(const struct gt_attribution *attribution, double *system, double *job)
{
    double all = NAN;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const struct gt_energy *energy = &attribution->energy[i];
        const enum gt_metric_id *metric = part_metrics[i];
        if (!energy->is_measured)
            continue;
        system[metric[GT_ENERGY_TOTAL]] = energy->total;
        job[metric[GT_ENERGY_JOB]] = energy->job;
        system[metric[GT_ENERGY_OTHER]] = energy->other;
        if (metric[GT_ENERGY_IDLE] != GT_METRIC_COUNT)
            system[metric[GT_ENERGY_IDLE]] = energy->idle;
        system[metric[GT_ENERGY_UNATTRIBUTED]] = energy->unattributed;
        all = (isnan(all) ? 0 : all) + energy->job;
    }
    job[GT_ENERGY] = all;
}
