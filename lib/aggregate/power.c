#include "aggregate/power.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "collect/process/placement.h"
#include "collect/process/smaps.h"

/* ---- processes --------------------------------------------------------------------------------------------------- */

static struct gt_power_process *place_of(struct gt_power *power, const struct gt_process *process)
{
    for (size_t i = 0; i < power->process_count; i++)
        if (power->process[i].pid == process->pid && power->process[i].start == process->start)
            return &power->process[i];
    struct gt_power_process *place = GT_GROW(power, process);
    if (!place)
        return NULL;
    /* One that is older than the recording has used CPU time that is not the recording's. */
    bool is_older = process->start < power->sampler.account.start_tick;
    *place = (struct gt_power_process){.pid = process->pid,
                                       .start = process->start,
                                       .at_begin = is_older ? process->value[GT_CPU_TIME] : 0,
                                       .pss = NAN,
                                       .uss = NAN};
    return place;
}

static void note_packages(struct gt_power_process *place, const struct gt_placement *placement)
{
    for (int i = 0; placement && i < GT_PACKAGES; i++)
        place->used_on[i] += placement->recent[i];
}

static int read_processes(struct gt_power *power)
{
    const struct gt_tree *tree = &power->sampler.tree;
    for (size_t i = 0; i < power->process_count; i++)
        power->process[i].is_here = false;
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_power_process *place = place_of(power, tree->process[i]);
        if (!place)
            return -ENOMEM;
        place->is_here = true;
        place->cpu_time = tree->process[i]->value[GT_CPU_TIME];
        note_packages(place, tree->process[i]->placement);
    }
    return 0;
}

/* PSS, or resident memory where another user's may not be asked for it. */
static void read_memory(const struct gt_power *power, struct gt_power_process *place)
{
    const struct gt_process *process = gt_tree_find(&power->sampler.tree, place->pid);
    struct gt_smaps smaps;
    place->pss = place->uss = NAN;
    if (!process || process->is_zombie)
        return;
    int status = gt_smaps_read(&power->sampler.root, place->pid, place->start, &smaps);
    if (status >= 0) {
        place->pss = smaps.pss;
        place->uss = smaps.private_bytes;
    } else if (status != -ESRCH) {
        place->pss = process->value[GT_RSS];
    }
}

static void drop_ended(struct gt_power *power)
{
    size_t kept = 0;
    for (size_t i = 0; i < power->process_count; i++)
        if (power->process[i].is_here)
            power->process[kept++] = power->process[i];
    power->process_count = kept;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Seconds in which a counter counted what it has in the window; NaN: it had nothing new, though it is not yet to be taken for
 * still. */
static double seconds_of(const struct gt_power *power, const struct gt_power_counter *counter)
{
    static const double patience = 1;
    double seconds = (double)(counter->moved_ns - counter->begin_ns) / 1e9;
    double still = (double)(power->now_ns - counter->moved_ns) / 1e9;
    return seconds > 0 ? seconds : still > patience ? power->seconds : NAN;
}

static void read_counter(struct gt_power_counter *counter, double joules, int64_t read_ns)
{
    if (isnan(joules) || joules <= counter->joules)
        return;
    counter->joules = joules;
    counter->moved_ns = read_ns;
}

/* One that has shown nothing yet has counted since shortly before. */
static void begin_counter(struct gt_power_counter *counter, int64_t now_ns)
{
    if (!(counter->joules > 0))
        counter->moved_ns = now_ns;
    counter->begin_ns = counter->moved_ns;
}

static void read_counters(struct gt_power *power)
{
    struct gt_frame *frame = &power->sampler.frame;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (gt_metrics[id].unit == GT_JOULES)
            read_counter(&power->counter[id], frame->system[id], frame->read_ns[id]);
    int64_t late = power->counter[GT_CPU_ENERGY].moved_ns - frame->monotonic_ns;
    power->now_ns = frame->monotonic_ns + (late > 0 ? late : 0);
    power->now_real_ns = frame->real_ns + (late > 0 ? late : 0);
    for (size_t i = 0; i < frame->device_count; i++)
        read_counter(&power->gpu[i].counter, frame->device[i].value[GT_GPU_ENERGY],
                     frame->device[i].read_ns ? frame->device[i].read_ns : frame->monotonic_ns);
}

static void add_mean(double value, double *sum, unsigned *count)
{
    if (isnan(value))
        return;
    *sum += value;
    ++*count;
}

static double mean(double sum, unsigned count)
{
    return count ? sum / count : NAN;
}

bool gt_power_is_board(const struct gt_power *power, size_t device)
{
    return power->sampler.frame.device[device].parent < 0;
}

static struct gt_power_user *user_of(struct gt_power *power, int device, pid_t pid)
{
    for (size_t i = 0; i < power->user_count; i++)
        if (power->user[i].device == device && power->user[i].pid == pid)
            return &power->user[i];
    struct gt_power_user *user = GT_GROW(power, user);
    if (user)
        *user = (struct gt_power_user){.device = device, .pid = pid};
    return user;
}

/* Processes on a slice are on its board. */
static int read_users(struct gt_power *power)
{
    const struct gt_frame *frame = &power->sampler.frame;
    for (size_t i = 0; i < frame->share_count; i++) {
        const struct gt_share *share = &frame->share[i];
        int parent = frame->device[share->device].parent;
        struct gt_power_user *user = user_of(power, parent < 0 ? share->device : parent, share->pid);
        if (!user)
            return -ENOMEM;
        user->is_ours |= power->everyone || gt_tree_find(&power->sampler.tree, share->pid) != NULL;
        add_mean(share->value[GT_GPU_RAM], &user->memory, &user->memory_count);
        add_mean(share->value[GT_GPU_UTILIZATION], &user->use, &user->use_count);
    }
    return 0;
}

static int read_gpus(struct gt_power *power)
{
    const struct gt_frame *frame = &power->sampler.frame;
    for (size_t i = 0; i < frame->device_count; i++) {
        struct gt_power_gpu *gpu = &power->gpu[i];
        add_mean(frame->device[i].value[GT_GPU_POWER], &gpu->watt_sum, &gpu->watt_count);
        add_mean(frame->device[i].value[GT_GPU_UTILIZATION], &gpu->use_sum, &gpu->use_count);
        add_mean(frame->device[i].value[GT_GPU_RAM], &gpu->memory_sum, &gpu->memory_count);
    }
    int status = gt_attribute_gpus(&power->attribution, frame, &power->sampler.tree);
    return status < 0 ? status : read_users(power);
}

double gt_power_gpu_watts(const struct gt_power *power, size_t device)
{
    const struct gt_power_gpu *gpu = &power->gpu[device];
    double watts = gpu->joules / seconds_of(power, &gpu->counter);
    return isnan(watts) ? mean(gpu->watt_sum, gpu->watt_count) : watts;
}

/* Without an energy counter the SM shares tell, as attribution does with one. */
static double ratio_by_use(const struct gt_power *power, size_t device)
{
    double ours = 0, all = 0;
    size_t users = 0, others = 0;
    for (size_t i = 0; i < power->user_count; i++) {
        const struct gt_power_user *user = &power->user[i];
        if (user->device != (int)device)
            continue;
        double use = user->use_count ? user->use / user->use_count : 0;
        all += use;
        ours += user->is_ours ? use : 0;
        users++;
        others += !user->is_ours;
    }
    if (others == users) /* none of ours: no part */
        return 0;
    return !others ? 1 : all > 0 ? ours / all : NAN;
}

double gt_power_gpu_job_watts(const struct gt_power *power, size_t device)
{
    const struct gt_power_gpu *gpu = &power->gpu[device];
    if (isnan(gpu->joules) || power->everyone)
        return gt_power_gpu_watts(power, device) * ratio_by_use(power, device);
    double watts = gpu->job_joules / seconds_of(power, &gpu->counter);
    return isnan(watts) ? gt_power_gpu_watts(power, device) * ratio_by_use(power, device) : watts;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static double job_cpu(const struct gt_power *power)
{
    double values[GT_METRIC_COUNT];
    gt_values_clear(values);
    gt_account_totals(&power->sampler.account, &power->sampler.tree, values);
    return values[GT_CPU_TIME];
}

static void begin_packages(struct gt_power *power)
{
    const struct gt_frame *frame = &power->sampler.frame;
    for (size_t i = 0; i < frame->package_count; i++)
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            if (!isnan(frame->package[i].value[id]))
                power->package[i].at_begin[id] = frame->package[i].value[id];
    for (size_t i = 0; i < power->process_count; i++)
        memset(power->process[i].used_on, 0, sizeof power->process[i].used_on);
}

static void conclude_packages(struct gt_power *power)
{
    const struct gt_frame *frame = &power->sampler.frame;
    for (size_t i = 0; i < frame->package_count; i++) {
        struct gt_power_package *package = &power->package[i];
        package->used = 0;
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            package->grown[id] = frame->package[i].value[id] - package->at_begin[id];
        for (size_t k = 0; k < power->process_count; k++)
            package->used += power->process[k].used_on[i];
    }
}

void gt_power_next(struct gt_power *power)
{
    const struct gt_frame *frame = &power->sampler.frame;
    begin_packages(power);
    power->begin_ns = power->now_ns;
    power->begin_real_ns = power->now_real_ns;
    /* Counters begin at 0 with the recording; where one has no reading now, the next window covers the gap. */
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!isnan(frame->system[id]))
            power->at_begin[id] = frame->system[id];
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        begin_counter(&power->counter[id], power->now_ns);
    power->job_at_begin = job_cpu(power);
    for (size_t i = 0; i < power->process_count; i++)
        power->process[i].at_begin = power->process[i].cpu_time;
    drop_ended(power);
    for (size_t i = 0; i < frame->device_count; i++) {
        const struct gt_energy *energy = gt_attribution_gpu(&power->attribution, i);
        bool is_measured = energy && energy->is_measured;
        struct gt_power_counter counter = power->gpu[i].counter;
        counter.begin_ns = counter.moved_ns;
        power->gpu[i] = (struct gt_power_gpu){.counter = counter,
                                              .joules_at_begin = is_measured ? energy->total : NAN,
                                              .job_at_begin = is_measured ? energy->job : NAN};
    }
    power->user_count = 0;
}

/* Counters count from when they were opened. */
static void begin_counters(struct gt_power *power)
{
    int64_t now = gt_clock_monotonic(&power->sampler.clock);
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        power->counter[id] = (struct gt_power_counter){.moved_ns = now, .begin_ns = now};
    for (size_t i = 0; power->gpu && i < power->sampler.frame.device_count; i++)
        power->gpu[i].counter = (struct gt_power_counter){-1, now, now};
}

static int open_sampler(struct gt_power *power, const struct gt_power_settings *settings, struct gt_error *error)
{
    const struct gt_sampler_options options = {
        .pid = settings->pids[0],
        .machine_root = settings->machine_root,
        .clock = settings->clock,
        .memory = "rss", /* shared pages are asked for only when a window ends */
        .libraries = settings->libraries,
        .period = settings->period,
    };
    int status = gt_sampler_open(&power->sampler, &options, error);
    for (size_t i = 1; i < settings->count && status >= 0; i++) {
        status = gt_tree_add(&power->sampler.tree, settings->pids[i]);
        if (status < 0)
            gt_error_system(error, -status, "process %d", (int)settings->pids[i]);
        else if (status == 0 && !gt_tree_find(&power->sampler.tree, settings->pids[i]))
            status = gt_error_set(error, ESRCH, "process %d does not exist", (int)settings->pids[i]);
    }
    return status < 0 ? status : 0;
}

int gt_power_begin(struct gt_power *power, const struct gt_power_settings *settings, struct gt_error *error)
{
    *power = (struct gt_power){.first = settings->pids[0], .everyone = settings->everyone};
    int status = open_sampler(power, settings, error);
    if (status < 0)
        return status;
    power->gpu = calloc(power->sampler.frame.device_count + 1, sizeof *power->gpu);
    begin_counters(power);
    gt_attribution_init(&power->attribution, GT_IDLE_SHARE, 1, gt_clock_monotonic(&power->sampler.clock));
    status = power->gpu ? gt_power_read(power, error) : gt_error_system(error, ENOMEM, "experiment");
    if (status < 0)
        gt_power_release(power);
    else
        gt_power_next(power);
    return status < 0 ? status : 0;
}

int gt_power_read(struct gt_power *power, struct gt_error *error)
{
    int status = gt_sampler_read(&power->sampler, 0, error);
    if (status < 0)
        return status;
    read_counters(power);
    if (read_processes(power) < 0 || read_gpus(power) < 0)
        return gt_error_system(error, ENOMEM, "experiment");
    for (size_t i = 0; i < power->sampler.tree.count; i++)
        if (!power->sampler.tree.process[i]->is_zombie)
            return 1;
    return 0;
}

static void conclude_gpus(struct gt_power *power)
{
    for (size_t i = 0; i < power->sampler.frame.device_count; i++) {
        const struct gt_energy *energy = gt_attribution_gpu(&power->attribution, i);
        struct gt_power_gpu *gpu = &power->gpu[i];
        gpu->joules = energy ? energy->total - gpu->joules_at_begin : NAN;
        gpu->job_joules = energy ? energy->job - gpu->job_at_begin : NAN;
    }
}

void gt_power_conclude(struct gt_power *power)
{
    const struct gt_frame *frame = &power->sampler.frame;
    double seen = 0;
    power->seconds = (double)(power->now_ns - power->begin_ns) / 1e9;
    power->end_real_ns = power->now_real_ns;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        power->grown[id] = frame->system[id] - power->at_begin[id];
    for (size_t i = 0; i < power->process_count; i++) {
        struct gt_power_process *place = &power->process[i];
        place->cpu_used = fmax(0, place->cpu_time - place->at_begin);
        seen += isnan(place->cpu_used) ? 0 : place->cpu_used;
        read_memory(power, place);
    }
    power->job_cpu = fmax(0, job_cpu(power) - power->job_at_begin);
    power->heir = power->process_count ? power->process[0].pid : 0;
    for (size_t i = 0; i < power->process_count; i++)
        if (power->process[i].pid == power->first)
            power->heir = power->first;
    power->late = fmax(0, power->job_cpu - seen);
    conclude_packages(power);
    conclude_gpus(power);
    power->temperature_count = gt_temperatures_read(&power->sampler.root, power->temperature, GT_POWER_TEMPERATURES);
}

double gt_power_watts(const struct gt_power *power, enum gt_metric_id energy)
{
    return power->seconds > 0 ? power->grown[energy] / seconds_of(power, &power->counter[energy]) : NAN;
}

/* The machine counts in clock ticks, processes in nanoseconds: in short windows the job may seem to have used more. */
double gt_power_cpu_ratio(const struct gt_power *power, double seconds)
{
    double busy = fmax(power->grown[GT_CPU_TIME], power->job_cpu);
    return isnan(power->grown[GT_CPU_TIME]) ? NAN : busy > 0 ? seconds / busy : 0;
}

static double used_on_all(const struct gt_power *power)
{
    double sum = 0;
    for (size_t i = 0; i < power->sampler.frame.package_count; i++)
        sum += power->package[i].used;
    return sum;
}

/* The part of a process's CPU time that was on a package; of one that was seen on none, as the others'. */
static double part_on(const struct gt_power *power, const struct gt_power_process *process, size_t package)
{
    double own = 0, all = used_on_all(power);
    for (size_t i = 0; i < power->sampler.frame.package_count; i++)
        own += process->used_on[i];
    if (own > 0)
        return process->used_on[package] / own;
    return all > 0 ? power->package[package].used / all : 1.0 / (double)power->sampler.frame.package_count;
}

double gt_power_process_watts(const struct gt_power *power, const struct gt_power_process *process, double seconds,
                              enum gt_metric_id energy)
{
    size_t count = power->sampler.frame.package_count;
    double watts = 0, all = used_on_all(power), late = all > 0 ? power->job_cpu / all : 1;
    if (!count || isnan(power->grown[energy]))
        return gt_power_cpu_ratio(power, seconds) * gt_power_watts(power, energy);
    for (size_t i = 0; i < count; i++) {
        const struct gt_power_package *package = &power->package[i];
        double busy = fmax(package->grown[GT_CPU_TIME], package->used * fmax(1, late));
        double drawn = isnan(package->grown[energy]) ? 0 : package->grown[energy];
        if (busy > 0 && power->seconds > 0)
            watts += drawn / seconds_of(power, &power->counter[energy]) * part_on(power, process, i) * seconds / busy;
    }
    return watts;
}

void gt_power_release(struct gt_power *power)
{
    gt_attribution_release(&power->attribution);
    gt_sampler_close(&power->sampler);
    free(power->process);
    free(power->gpu);
    free(power->user);
    *power = (struct gt_power){.sampler.root.fd = -1};
}
