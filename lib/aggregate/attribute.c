#include "aggregate/attribute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

const char *const gt_idle_policy_names[GT_IDLE_POLICIES] = {"share", "exclude", "all"};

/* A shorter time has too few ticks, and too few steps of the counter. */
static const double IDLE_SECONDS = 0.05, IDLE_REFRESHES = 5;

int gt_idle_policy_find(const char *name)
{
    for (int i = 0; i < GT_IDLE_POLICIES; i++)
        if (!strcmp(gt_idle_policy_names[i], name))
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

void gt_attribution_init(struct gt_attribution *attribution, enum gt_idle_policy policy, int core_count, int64_t now_ns)
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
        if (!isnan(attribution->coverage[i].joules))
            continue;
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

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

struct gt_gpu_use {
    int64_t read_ns; /* of the latest reading, */
    int64_t at_ns;   /* and of the latest that had a figure */
    struct gt_energy energy;
    struct gt_coverage coverage;
    double ratio;   /* the job's part when it was last in use, NaN: never, or not known */
    uint64_t users; /* which processes were on it at the last reading; 0: none */
    struct gt_idle_power idle;
};

/* These are on a GPU now. */
struct users {
    size_t job, other;
    double job_sm, other_sm; /* shares of SM time */
    uint64_t set;            /* differs between different sets of processes; 0: none */
};

static void begin(struct gt_gpu_use *gpu, const struct gt_attribution *attribution)
{
    *gpu = (struct gt_gpu_use){
        .at_ns = attribution->start_ns, .coverage = attribution->coverage[GT_ENERGY_GPU], .ratio = NAN};
    gt_idle_power_init(&gpu->idle, attribution->start_ns);
}

static int make_room(struct gt_attribution *attribution, const struct gt_frame *frame)
{
    while (attribution->gpu_count < frame->device_count) {
        struct gt_gpu_use *gpu = GT_GROW_BY_ONE(attribution->gpu, attribution->gpu_count);
        if (!gpu)
            return -ENOMEM;
        begin(gpu, attribution);
        attribution->gpu_count++;
    }
    return GT_GROW_TO(attribution->share_joules, attribution->share_capacity, frame->share_count);
}

/* A slice has no energy counter of its own: its users are users of the board. */
static bool is_on(const struct gt_frame *frame, const struct gt_share *share, int board)
{
    int parent = frame->device[share->device].parent;
    return (parent < 0 ? share->device : parent) == board;
}

static double sm_of(const struct gt_share *share)
{
    return share->value[GT_GPU_UTILIZATION] > 0 ? share->value[GT_GPU_UTILIZATION] : 0;
}

static struct users find_users(const struct gt_frame *frame, const struct gt_tree *tree, int board)
{
    struct users users = {0};
    for (size_t i = 0; i < frame->share_count; i++) {
        const struct gt_share *share = &frame->share[i];
        if (!is_on(frame, share, board))
            continue;
        users.set += ((uint64_t)share->pid + 1) * UINT64_C(0x9E3779B97F4A7C15); /* in any order */
        bool is_ours = gt_tree_find(tree, share->pid) != NULL;
        *(is_ours ? &users.job : &users.other) += 1;
        *(is_ours ? &users.job_sm : &users.other_sm) += sm_of(share);
    }
    return users;
}

/* The job's part of the active energy; NaN: cannot be told. */
static double ratio_of(const struct users *users)
{
    if (!users->other || !users->job)
        return users->other ? 0 : 1;
    double sum = users->job_sm + users->other_sm;
    return sum > 0 ? users->job_sm / sum : NAN;
}

static void share_out(struct gt_attribution *attribution, const struct gt_frame *frame, const struct gt_tree *tree,
                      int board, const struct users *users, double joules)
{
    for (size_t i = 0; i < frame->share_count; i++) {
        const struct gt_share *share = &frame->share[i];
        if (is_on(frame, share, board) && gt_tree_find(tree, share->pid))
            attribution->share_joules[i] = joules *
                                           (users->job_sm > 0 ? sm_of(share) / users->job_sm : 1 / (double)users->job);
    }
}

static void divide(struct gt_energy *energy, double idle, double active, double ratio, bool job_takes_idle)
{
    *(job_takes_idle ? &energy->job : &energy->idle) += idle;
    energy->idle_job += job_takes_idle ? idle : 0;
    energy->job += active * ratio;
    energy->other += active * (1 - ratio);
}

/* One window of one GPU: returns the joules charged to the job. */
static double attribute_window(const struct gt_attribution *attribution, struct gt_gpu_use *gpu,
                               const struct gt_device *device, const struct users *users, double joules, double seconds)
{
    double before = gpu->energy.job, utilization = device->value[GT_GPU_UTILIZATION];
    bool in_use = users->job + users->other > 0;
    bool was_in_use = gpu->users != 0;
    double now = ratio_of(users), ratio = in_use ? now : was_in_use ? gpu->ratio : NAN;
    if (in_use && was_in_use && users->set != gpu->users && !isnan(now) && !isnan(gpu->ratio))
        ratio = (gpu->ratio + now) / 2;
    bool is_idle = utilization > 0 ? false : !in_use && !was_in_use;
    gt_idle_power_see(&gpu->idle, gpu->at_ns, gpu->energy.total, 0, is_idle, attribution->idle_seconds[GT_ENERGY_GPU],
                      0);
    gpu->users = users->set;
    if (in_use)
        gpu->ratio = now;
    double taken = gt_idle_power_take(&gpu->idle, joules, seconds);
    if (is_idle) {
        divide(&gpu->energy, joules, 0, 0, attribution->policy == GT_IDLE_ALL);
    } else if (isnan(ratio)) {
        *(utilization == 0 ? &gpu->energy.idle : &gpu->energy.unattributed) += joules;
    } else {
        double idle = attribution->policy == GT_IDLE_SHARE ? 0 : taken;
        divide(&gpu->energy, idle, joules - idle, ratio, attribution->policy == GT_IDLE_ALL && ratio > 0);
    }
    return gpu->energy.job - before;
}

/* Between two readings of the counter: a process may come and go. */
static void note_users(struct gt_gpu_use *gpu, const struct users *users)
{
    if (!users->set)
        return;
    gpu->users = users->set;
    gpu->ratio = ratio_of(users);
}

static void attribute_device(struct gt_attribution *attribution, const struct gt_frame *frame,
                             const struct gt_tree *tree, int board)
{
    const struct gt_device *device = &frame->device[board];
    struct gt_gpu_use *gpu = &attribution->gpu[board];
    double joules = device->value[GT_GPU_ENERGY];
    /* A slow driver answers in a later frame than it was asked in. */
    int64_t now_ns = device->read_ns && device->read_ns < frame->monotonic_ns ? device->read_ns : frame->monotonic_ns;
    bool is_resting = device->is_resting || device->value[GT_GPU_POWER] == 0;
    struct users users = find_users(frame, tree, board);
    gpu->coverage.is_silent |= device->is_silent;
    if (device->is_old) {
        note_users(gpu, &users);
        return;
    }
    if (now_ns > gpu->read_ns)
        gt_coverage_add(&gpu->coverage, gpu->read_ns = now_ns, joules, device->doubt, is_resting);
    /* What was drawn after the end is not the job's. */
    int64_t until_ns = frame->end_ns && frame->end_ns < now_ns ? frame->end_ns : now_ns;
    if (isnan(joules) || until_ns <= gpu->at_ns)
        return;
    double seconds = (double)(until_ns - gpu->at_ns) / 1e9, part = seconds * 1e9 / (double)(now_ns - gpu->at_ns);
    double growth = part * fmax(0, joules - gpu->energy.total);
    gpu->energy.total += growth;
    gpu->energy.is_measured = true;
    gpu->at_ns = until_ns;
    double to_job = attribute_window(attribution, gpu, device, &users, growth, seconds);
    share_out(attribution, frame, tree, board, &users, to_job);
}

const struct gt_energy *gt_attribution_gpu(const struct gt_attribution *attribution, size_t device)
{
    return device < attribution->gpu_count ? &attribution->gpu[device].energy : NULL;
}

/* The coverage of its counter; NULL before its first reading. */
static const struct gt_coverage *attribution_gpu_coverage(const struct gt_attribution *attribution, size_t device)
{
    return device < attribution->gpu_count ? &attribution->gpu[device].coverage : NULL;
}

int gt_attribute_gpus(struct gt_attribution *attribution, const struct gt_frame *frame, const struct gt_tree *tree)
{
    if (make_room(attribution, frame) < 0)
        return -ENOMEM;
    struct gt_energy sum = {0};
    for (size_t i = 0; i < frame->share_count; i++)
        attribution->share_joules[i] = 0;
    for (size_t i = 0; i < frame->device_count; i++) {
        if (frame->device[i].parent >= 0 || !frame->device[i].selected)
            continue;
        attribute_device(attribution, frame, tree, (int)i);
        const struct gt_energy *one = &attribution->gpu[i].energy;
        sum.is_measured |= one->is_measured;
        sum.total += one->total;
        sum.job += one->job;
        sum.other += one->other;
        sum.idle += one->idle;
        sum.idle_job += one->idle_job;
        sum.unattributed += one->unattributed;
    }
    attribution->energy[GT_ENERGY_GPU] = sum;
    return 0;
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
        const struct gt_coverage *one = attribution_gpu_coverage(attribution, i);
        if (gt_attribution_gpu(attribution, i)->is_measured &&
            (worst == &attribution->coverage[device] ||
             gt_coverage_missing(one, attribution->now_ns) > gt_coverage_missing(worst, attribution->now_ns)))
            worst = one;
    }
    return worst;
}

/* GPUs that were never read have no part in it. */
static struct gpu_gaps {
    size_t measured, missing; /* GPUs */
    double seconds;           /* of all that are missing */
} gpu_gaps(const struct gt_attribution *attribution)
{
    struct gpu_gaps gaps = {0};
    for (size_t i = 0; i < attribution->gpu_count; i++) {
        double seconds = gt_coverage_missing(attribution_gpu_coverage(attribution, i), attribution->now_ns);
        if (!gt_attribution_gpu(attribution, i)->is_measured)
            continue;
        gaps.measured++;
        gaps.missing += seconds > 0;
        gaps.seconds += seconds;
    }
    return gaps;
}

void gt_attribution_gap(const struct gt_attribution *attribution, enum gt_energy_device device, struct gt_gap *ret)
{
    const struct gt_coverage *worst = gt_attribution_coverage(attribution, device);
    gt_coverage_gap(worst, attribution->now_ns, ret);
    struct gpu_gaps gaps = device == GT_ENERGY_GPU ? gpu_gaps(attribution) : (struct gpu_gaps){0};
    ret->gpus = (double)gaps.missing;
    for (size_t i = 0; gaps.missing < gaps.measured && i < attribution->gpu_count; i++)
        if (worst == attribution_gpu_coverage(attribution, i))
            ret->gpu = (double)i + 1;
}

void gt_attribution_show_counter(const struct gt_attribution *attribution, enum gt_energy_device device,
                                 struct gt_counter_fields *ret)
{
    const struct gt_coverage *worst = gt_attribution_coverage(attribution, device);
    struct gt_job_power job = attribution->job_power[device];
    note_job_power(&job, attribution->energy[device].job, attribution->now_ns);
    *ret = (struct gt_counter_fields){worst->most_watts, job.most_watts, worst->doubt, {.began = NAN, .ended = NAN}};
    if (!attribution->energy[device].is_measured)
        return;
    for (size_t i = 0; device == GT_ENERGY_GPU && i < attribution->gpu_count; i++) {
        const struct gt_coverage *one = attribution_gpu_coverage(attribution, i);
        ret->most_watts += one == worst ? 0 : one->most_watts;
        ret->doubt += one == worst ? 0 : one->doubt;
    }
    gt_attribution_gap(attribution, device, &ret->gap);
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

/* Seconds; of several GPUs the mean. */
static double missing(const struct gt_attribution *attribution, enum gt_energy_device device)
{
    struct gpu_gaps gaps = device == GT_ENERGY_GPU ? gpu_gaps(attribution) : (struct gpu_gaps){0};
    if (gaps.measured)
        return gaps.seconds / (double)gaps.measured;
    return gt_coverage_missing(gt_attribution_coverage(attribution, device), attribution->now_ns);
}

void gt_attribution_read(const struct gt_attribution *attribution, struct gt_energy_reading *ret)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        bool is_measured = attribution->energy[i].is_measured;
        ret->device[i] = is_measured ? attribution->energy[i] : (struct gt_energy){false, NAN, NAN, NAN, NAN, NAN, NAN};
        ret->missing[i] = is_measured ? missing(attribution, i) : NAN;
        if (attribution->policy != GT_IDLE_ALL) /* under the others none is charged to the job alone */
            ret->device[i].idle_job = NAN;
    }
    ret->share_error = attribution->energy[GT_ENERGY_CPU].is_measured ? share_error(attribution) : NAN;
    ret->placement_error = attribution->placement_error;
}
