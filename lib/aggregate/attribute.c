#include "aggregate/attribute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/attribute_cpu.h"

const char *const gt_idle_names[GT_IDLE_POLICIES] = {"share", "exclude", "all"};

/* A shorter time has too few ticks, and too few steps of the counter. */
static const double IDLE_SECONDS = 0.05, IDLE_REFRESHES = 5;

int gt_idle_find(const char *name)
{
    for (int i = 0; i < GT_IDLE_POLICIES; i++)
        if (!strcmp(gt_idle_names[i], name))
            return i;
    return -EINVAL;
}

const char *gt_energy_method(enum gt_energy_device device, bool by_package)
{
    static const char *const methods[GT_ENERGY_DEVICES] = {
        [GT_ENERGY_CPU] = "energy x CPU time of the job / busy CPU time of the machine",
        [GT_ENERGY_DRAM] = "energy x memory of the job / memory in use",
        [GT_ENERGY_GPU] = "each GPU: all when only the job uses it, else by share of SM time",
    };
    if (device == GT_ENERGY_CPU && by_package)
        return "each package: energy x CPU time of the job on it / busy CPU time of the package; CPU time counts where "
               "threads may run, else where they last ran";
    return methods[device];
}

double gt_energy_share_seconds(enum gt_energy_device device)
{
    return device == GT_ENERGY_CPU ? (double)gt_cpu_stretch_ns / 1e9 : 0;
}

void gt_attribution_init(struct gt_attribution *attribution, enum gt_idle policy, int core_count, int64_t now_ns)
{
    *attribution = (struct gt_attribution){.policy = policy, .core_count = core_count, .start_ns = now_ns};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        gt_coverage_init(&attribution->coverage[i], now_ns, 0);
        attribution->idle_seconds[i] = IDLE_SECONDS;
    }
    attribution->now_ns = now_ns;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        attribution->job_power[i].at_ns = now_ns;
    gt_cpu_share_init(&attribution->cpu, now_ns);
    attribution->memory_ratio = NAN;
    attribution->placement_error = NAN;
}

void gt_attribution_refresh(struct gt_attribution *attribution, const double refresh[GT_ENERGY_DEVICES])
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        gt_coverage_init(&attribution->coverage[i], attribution->start_ns, refresh[i]);
        if (refresh[i] > 0)
            attribution->idle_seconds[i] = fmax(IDLE_SECONDS, IDLE_REFRESHES * refresh[i]);
    }
}

void gt_attribution_release(struct gt_attribution *attribution)
{
    free(attribution->gpu);
    free(attribution->share_joules);
    free(attribution->package);
    attribution->gpu = NULL;
    attribution->share_joules = NULL;
    attribution->package = NULL;
    attribution->package_count = 0;
}

double gt_energy_advance(struct gt_energy *energy, double joules)
{
    double growth = fmax(0, joules - energy->total);
    energy->total += growth;
    energy->is_measured = true;
    return growth;
}

double gt_energy_divide(struct gt_energy *energy, enum gt_idle policy, double joules, double idle, double ratio,
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

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

void gt_attribute_memory(struct gt_attribution *attribution, double joules, double job_bytes, double used_bytes)
{
    struct gt_energy *energy = &attribution->energy[GT_ENERGY_DRAM];
    attribution->memory_joules = 0;
    if (isnan(joules))
        return;
    double growth = gt_energy_advance(energy, joules), before = attribution->memory_ratio;
    double now = used_bytes > 0 && job_bytes >= 0 ? fmin(1, job_bytes / used_bytes) : NAN;
    double ratio = isnan(now) ? before : isnan(before) ? now : (before + now) / 2;
    if (isnan(ratio))
        energy->unattributed += growth;
    else
        attribution->memory_joules = gt_energy_divide(energy, GT_IDLE_SHARE, growth, 0, ratio, false);
    attribution->memory_ratio = isnan(now) ? before : now;
}

/* Shorter times tell more about clocks than about power. */
static const double LEAST_SECONDS = 0.01;

/* ---- Coverage ---------------------------------------------------------------------------------------------------- */

/* As of the reading before: its joules were not yet there when that was looked at. */
static void note_job_power(struct gt_job_power *power, double joules, int64_t now_ns)
{
    double seconds = (double)(now_ns - power->at_ns) / 1e9;
    if (!(joules > power->joules) || seconds < LEAST_SECONDS)
        return;
    power->most_watts = fmax(power->most_watts, (joules - power->joules) / seconds);
    power->joules = joules;
    power->at_ns = now_ns;
}

void gt_attribution_cover(struct gt_attribution *attribution, const struct gt_frame *frame)
{
    if (frame->monotonic_ns <= attribution->now_ns)
        return;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        note_job_power(&attribution->job_power[i], attribution->energy[i].job, attribution->now_ns);
    attribution->now_ns = frame->monotonic_ns;
    for (int i = 0; i < GT_ENERGY_GPU; i++)
        gt_coverage_add(&attribution->coverage[i], frame->monotonic_ns, frame->system[gt_energy_metrics[i]],
                        frame->doubt[gt_energy_metrics[i]], false);
}

const struct gt_coverage *gt_attribution_coverage(const struct gt_attribution *attribution,
                                                  enum gt_energy_device device)
{
    const struct gt_coverage *worst = &attribution->coverage[device];
    for (size_t i = 0; device == GT_ENERGY_GPU && i < attribution->gpu_count; i++) {
        const struct gt_coverage *one = gt_attribution_gpu_coverage(attribution, i);
        if (gt_attribution_gpu(attribution, i)->is_measured &&
            (worst == &attribution->coverage[device] ||
             gt_coverage_missing(one, attribution->now_ns) > gt_coverage_missing(worst, attribution->now_ns)))
            worst = one;
    }
    return worst;
}

void gt_attribution_show_counter(const struct gt_attribution *attribution, enum gt_energy_device device,
                                 struct gt_counter_fields *ret)
{
    const struct gt_coverage *worst = gt_attribution_coverage(attribution, device);
    struct gt_job_power job = attribution->job_power[device];
    note_job_power(&job, attribution->energy[device].job, attribution->now_ns);
    *ret = (struct gt_counter_fields){worst->most_watts, job.most_watts, worst->doubt, NAN, GT_GAP_NONE};
    if (!attribution->energy[device].is_measured)
        return;
    for (size_t i = 0; device == GT_ENERGY_GPU && i < attribution->gpu_count; i++) {
        const struct gt_coverage *one = gt_attribution_gpu_coverage(attribution, i);
        ret->most_watts += one == worst ? 0 : one->most_watts;
        ret->doubt += one == worst ? 0 : one->doubt;
    }
    ret->gap_cause = gt_coverage_gap(worst, attribution->now_ns, &ret->gap_began);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static double share_error(const struct gt_attribution *attribution)
{
    double variance = attribution->cpu.variance, leaning = attribution->cpu.leaning;
    for (size_t i = 0; i < attribution->package_count; i++) {
        variance += attribution->package[i].cpu.variance;
        leaning += attribution->package[i].cpu.leaning;
    }
    return leaning + 2 * sqrt(variance);
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

static double missing(const struct gt_attribution *attribution, enum gt_energy_device device)
{
    return gt_coverage_missing(gt_attribution_coverage(attribution, device), attribution->now_ns);
}

void gt_attribution_read(const struct gt_attribution *attribution, struct gt_energy_reading *ret)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        bool is_measured = attribution->energy[i].is_measured;
        ret->device[i] = is_measured ? attribution->energy[i] : (struct gt_energy){false, NAN, NAN, NAN, NAN, NAN};
        ret->missing[i] = is_measured ? missing(attribution, i) : NAN;
    }
    ret->share_error = attribution->energy[GT_ENERGY_CPU].is_measured ? share_error(attribution) : NAN;
    ret->placement_error = attribution->placement_error;
}
