#include "store/aipowermeter_window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "collect/process/placement.h"
#include "collect/process/memory.h"

/* ---- processes --------------------------------------------------------------------------------------------------- */

static struct gt_experiment_process *place_of(struct gt_experiment_window *window, const struct gt_process *process)
{
    for (size_t i = 0; i < window->process_count; i++)
        if (window->process[i].pid == process->pid && window->process[i].start == process->start)
            return &window->process[i];
    struct gt_experiment_process *place = GT_GROW(window, process);
    if (!place)
        return NULL;
    /* One that is older than the recording has used CPU time that is not the recording's. */
    bool is_older = process->start < window->sampler->account.start_tick;
    *place = (struct gt_experiment_process){.pid = process->pid,
                                            .start = process->start,
                                            .at_begin = is_older ? process->value[GT_CPU_TIME] : 0,
                                            .pss = NAN,
                                            .uss = NAN};
    return place;
}

static void note_packages(struct gt_experiment_process *place, const struct gt_placement *placement)
{
    for (int i = 0; placement && i < GT_PACKAGES; i++)
        place->used_on[i] += placement->recent[i];
}

/* Sums for the mean over the readings of the window at which any process had memory. */
static void note_memory(struct gt_experiment_window *window)
{
    bool is_any = false;
    for (size_t i = 0; i < window->process_count; i++) {
        const struct gt_process *process = gt_tree_find(&window->sampler->tree, window->process[i].pid);
        if (process && !process->is_zombie && process->value[GT_RSS] > 0) {
            window->process[i].rss_sum += process->value[GT_RSS];
            is_any = true;
        }
    }
    window->memory_count += is_any;
}

static int read_processes(struct gt_experiment_window *window)
{
    const struct gt_tree *tree = &window->sampler->tree;
    for (size_t i = 0; i < window->process_count; i++)
        window->process[i].is_here = false;
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_experiment_process *place = place_of(window, tree->process[i]);
        if (!place)
            return -ENOMEM;
        place->is_here = true;
        place->cpu_time = tree->process[i]->value[GT_CPU_TIME];
        note_packages(place, tree->process[i]->placement);
    }
    note_memory(window);
    return 0;
}

/* PSS, or resident memory where another user's may not be asked for it. */
static void read_memory(const struct gt_experiment_window *window, struct gt_experiment_process *place)
{
    const struct gt_process *process = gt_tree_find(&window->sampler->tree, place->pid);
    struct gt_smaps smaps;
    place->pss = place->uss = NAN;
    if (!process || process->is_zombie)
        return;
    int status = gt_smaps_read(&window->sampler->root, place->pid, place->start, &smaps);
    if (status >= 0) {
        place->pss = smaps.pss;
        place->uss = smaps.private_bytes;
    } else if (status != -ESRCH) {
        place->pss = process->value[GT_RSS];
    }
}

/* Where all processes have ended, the mean of what they had before. */
static void use_mean_memory(struct gt_experiment_window *window)
{
    for (size_t i = 0; i < window->process_count; i++)
        if (!isnan(window->process[i].pss))
            return;
    for (size_t i = 0; i < window->process_count; i++)
        window->process[i].pss = window->memory_count ? window->process[i].rss_sum / window->memory_count : NAN;
}

static void drop_ended(struct gt_experiment_window *window)
{
    size_t kept = 0;
    for (size_t i = 0; i < window->process_count; i++)
        if (window->process[i].is_here)
            window->process[kept++] = window->process[i];
    window->process_count = kept;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Seconds in which a counter counted what it has in the window; NaN: it had nothing new, though it is not yet to be taken for
 * still. */
static double seconds_of(const struct gt_experiment_window *window, const struct gt_experiment_counter *counter)
{
    static const double patience = 1;
    double seconds = (double)(counter->moved_ns - counter->begin_ns) / 1e9;
    double still = (double)(window->now_ns - counter->moved_ns) / 1e9;
    return seconds > 0 ? seconds : still > patience ? window->seconds : NAN;
}

static void read_counter(struct gt_experiment_counter *counter, double joules, int64_t read_ns)
{
    if (isnan(joules) || joules <= counter->joules)
        return;
    counter->joules = joules;
    counter->moved_ns = read_ns;
}

/* One that has shown nothing yet has counted since shortly before. */
static void begin_counter(struct gt_experiment_counter *counter, int64_t now_ns)
{
    if (!(counter->joules > 0))
        counter->moved_ns = now_ns;
    counter->begin_ns = counter->moved_ns;
}

static void read_counters(struct gt_experiment_window *window)
{
    const struct gt_frame *frame = &window->sampler->frame;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (gt_metrics[id].unit == GT_JOULES)
            read_counter(&window->counter[id], frame->system[id], frame->read_ns[id]);
    int64_t late = window->counter[GT_CPU_ENERGY].moved_ns - frame->monotonic_ns;
    window->now_ns = frame->monotonic_ns + (late > 0 ? late : 0);
    window->now_real_ns = frame->real_ns + (late > 0 ? late : 0);
    for (size_t i = 0; i < frame->device_count; i++)
        read_counter(&window->gpu[i].counter, frame->device[i].value[GT_GPU_ENERGY],
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

bool gt_experiment_is_board(const struct gt_experiment_window *window, size_t device)
{
    return window->sampler->frame.device[device].parent < 0;
}

static struct gt_experiment_user *user_of(struct gt_experiment_window *window, int device, pid_t pid)
{
    for (size_t i = 0; i < window->user_count; i++)
        if (window->user[i].device == device && window->user[i].pid == pid)
            return &window->user[i];
    struct gt_experiment_user *user = GT_GROW(window, user);
    if (user)
        *user = (struct gt_experiment_user){.device = device, .pid = pid};
    return user;
}

/* Processes on a slice are on its board. */
static int read_users(struct gt_experiment_window *window)
{
    const struct gt_frame *frame = &window->sampler->frame;
    for (size_t i = 0; i < frame->share_count; i++) {
        const struct gt_share *share = &frame->share[i];
        int parent = frame->device[share->device].parent;
        struct gt_experiment_user *user = user_of(window, parent < 0 ? share->device : parent, share->pid);
        if (!user)
            return -ENOMEM;
        user->is_ours |= window->all_gpu_users || gt_tree_find(&window->sampler->tree, share->pid) != NULL;
        add_mean(share->value[GT_GPU_RAM], &user->memory, &user->memory_count);
        add_mean(share->value[GT_GPU_UTILIZATION], &user->use, &user->use_count);
    }
    return 0;
}

static int read_gpus(struct gt_experiment_window *window)
{
    const struct gt_frame *frame = &window->sampler->frame;
    for (size_t i = 0; i < frame->device_count; i++) {
        struct gt_experiment_gpu *gpu = &window->gpu[i];
        add_mean(frame->device[i].value[GT_GPU_POWER], &gpu->watt_sum, &gpu->watt_count);
        add_mean(frame->device[i].value[GT_GPU_UTILIZATION], &gpu->use_sum, &gpu->use_count);
        add_mean(frame->device[i].value[GT_GPU_RAM], &gpu->memory_sum, &gpu->memory_count);
    }
    return read_users(window);
}

double gt_experiment_gpu_watts(const struct gt_experiment_window *window, size_t device)
{
    const struct gt_experiment_gpu *gpu = &window->gpu[device];
    double watts = gpu->joules / seconds_of(window, &gpu->counter);
    return isnan(watts) ? mean(gpu->watt_sum, gpu->watt_count) : watts;
}

/* Without an energy counter the SM shares tell, as attribution does with one. */
static double ratio_by_use(const struct gt_experiment_window *window, size_t device)
{
    double ours = 0, all = 0;
    size_t users = 0, others = 0;
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
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

double gt_experiment_gpu_job_watts(const struct gt_experiment_window *window, size_t device)
{
    const struct gt_experiment_gpu *gpu = &window->gpu[device];
    bool is_counted = !isnan(gpu->joules) && !window->all_gpu_users;
    double watts = is_counted ? gpu->job_joules / seconds_of(window, &gpu->counter) : NAN;
    return isnan(watts) ? gt_experiment_gpu_watts(window, device) * ratio_by_use(window, device) : watts;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static double job_cpu(const struct gt_experiment_window *window)
{
    double values[GT_METRIC_COUNT];
    gt_values_clear(values);
    gt_account_totals(&window->sampler->account, &window->sampler->tree, values);
    return values[GT_CPU_TIME];
}

static void begin_packages(struct gt_experiment_window *window)
{
    const struct gt_frame *frame = &window->sampler->frame;
    for (size_t i = 0; i < frame->package_count; i++)
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            if (!isnan(frame->package[i].value[id]))
                window->package[i].at_begin[id] = frame->package[i].value[id];
    for (size_t i = 0; i < window->process_count; i++)
        memset(window->process[i].used_on, 0, sizeof window->process[i].used_on);
}

static void conclude_packages(struct gt_experiment_window *window)
{
    const struct gt_frame *frame = &window->sampler->frame;
    for (size_t i = 0; i < frame->package_count; i++) {
        struct gt_experiment_package *package = &window->package[i];
        package->used = 0;
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            package->grown[id] = frame->package[i].value[id] - package->at_begin[id];
        for (size_t k = 0; k < window->process_count; k++)
            package->used += window->process[k].used_on[i];
    }
}

void gt_experiment_window_next(struct gt_experiment_window *window)
{
    const struct gt_frame *frame = &window->sampler->frame;
    begin_packages(window);
    window->begin_ns = window->now_ns;
    window->begin_real_ns = window->now_real_ns;
    /* Counters begin at 0 with the recording; where one has no reading now, the next window covers the gap. */
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!isnan(frame->system[id]))
            window->at_begin[id] = frame->system[id];
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        begin_counter(&window->counter[id], window->now_ns);
    window->job_at_begin = job_cpu(window);
    for (size_t i = 0; i < window->process_count; i++) {
        window->process[i].at_begin = window->process[i].cpu_time;
        window->process[i].rss_sum = 0;
    }
    drop_ended(window);
    window->memory_count = 0;
    note_memory(window);
    for (size_t i = 0; i < frame->device_count; i++) {
        const struct gt_energy *energy = gt_attribution_gpu(window->attribution, i);
        bool is_measured = energy && energy->is_measured;
        struct gt_experiment_counter counter = window->gpu[i].counter;
        counter.begin_ns = counter.moved_ns;
        window->gpu[i] = (struct gt_experiment_gpu){.counter = counter,
                                                    .joules_at_begin = is_measured ? energy->total : NAN,
                                                    .job_at_begin = is_measured ? energy->job : NAN};
    }
    window->user_count = 0;
}

int gt_experiment_window_begin(struct gt_experiment_window *window, const struct gt_sampler *sampler,
                               const struct gt_attribution *attribution, bool all_gpu_users)
{
    size_t devices = sampler->frame.device_count;
    *window = (struct gt_experiment_window){
        .sampler = sampler, .attribution = attribution, .all_gpu_users = all_gpu_users};
    window->gpu = calloc(devices + 1, sizeof *window->gpu);
    for (size_t i = 0; window->gpu && i < devices; i++) /* one that shows 0 is read */
        window->gpu[i].counter.joules = -1;
    int status = window->gpu ? gt_experiment_window_read(window) : -ENOMEM;
    if (status == 0)
        gt_experiment_window_next(window);
    return status;
}

int gt_experiment_window_read(struct gt_experiment_window *window)
{
    read_counters(window);
    return read_processes(window) < 0 || read_gpus(window) < 0 ? -ENOMEM : 0;
}

static void conclude_gpus(struct gt_experiment_window *window)
{
    for (size_t i = 0; i < window->sampler->frame.device_count; i++) {
        const struct gt_energy *energy = gt_attribution_gpu(window->attribution, i);
        struct gt_experiment_gpu *gpu = &window->gpu[i];
        gpu->joules = energy ? energy->total - gpu->joules_at_begin : NAN;
        gpu->job_joules = energy ? energy->job - gpu->job_at_begin : NAN;
    }
}

void gt_experiment_window_conclude(struct gt_experiment_window *window)
{
    const struct gt_frame *frame = &window->sampler->frame;
    double seen = 0;
    window->seconds = (double)(window->now_ns - window->begin_ns) / 1e9;
    window->end_real_ns = window->now_real_ns;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        window->grown[id] = frame->system[id] - window->at_begin[id];
    for (size_t i = 0; i < window->process_count; i++) {
        struct gt_experiment_process *place = &window->process[i];
        place->cpu_used = fmax(0, place->cpu_time - place->at_begin);
        seen += isnan(place->cpu_used) ? 0 : place->cpu_used;
        read_memory(window, place);
    }
    use_mean_memory(window);
    window->job_cpu = fmax(0, job_cpu(window) - window->job_at_begin);
    window->late_pid = window->process_count ? window->process[0].pid : 0;
    for (size_t i = 0; i < window->process_count; i++)
        if (window->process[i].pid == window->sampler->tree.main)
            window->late_pid = window->sampler->tree.main;
    window->late = fmax(0, window->job_cpu - seen);
    conclude_packages(window);
    conclude_gpus(window);
    window->temperature_count = gt_temperatures_read(&window->sampler->root, window->temperature,
                                                     GT_EXPERIMENT_TEMPERATURES);
}

double gt_experiment_watts(const struct gt_experiment_window *window, enum gt_metric_id energy)
{
    return window->seconds > 0 ? window->grown[energy] / seconds_of(window, &window->counter[energy]) : NAN;
}

/* The machine counts in clock ticks, processes in nanoseconds: in short windows the job may seem to have used more. */
double gt_experiment_cpu_ratio(const struct gt_experiment_window *window, double seconds)
{
    double busy = fmax(window->grown[GT_CPU_TIME], window->job_cpu);
    return isnan(window->grown[GT_CPU_TIME]) ? NAN : busy > 0 ? seconds / busy : 0;
}

static double used_on_all(const struct gt_experiment_window *window)
{
    double sum = 0;
    for (size_t i = 0; i < window->sampler->frame.package_count; i++)
        sum += window->package[i].used;
    return sum;
}

/* The part of a process's CPU time that was on a package; of one that was seen on none, as the others'. */
static double part_on(const struct gt_experiment_window *window, const struct gt_experiment_process *process,
                      size_t package)
{
    double own = 0, all = used_on_all(window);
    for (size_t i = 0; i < window->sampler->frame.package_count; i++)
        own += process->used_on[i];
    if (own > 0)
        return process->used_on[package] / own;
    return all > 0 ? window->package[package].used / all : 1.0 / (double)window->sampler->frame.package_count;
}

double gt_experiment_process_watts(const struct gt_experiment_window *window,
                                   const struct gt_experiment_process *process, double seconds,
                                   enum gt_metric_id energy)
{
    size_t count = window->sampler->frame.package_count;
    double watts = 0, all = used_on_all(window), late = all > 0 ? window->job_cpu / all : 1;
    if (!count || isnan(window->grown[energy]))
        return gt_experiment_cpu_ratio(window, seconds) * gt_experiment_watts(window, energy);
    for (size_t i = 0; i < count; i++) {
        const struct gt_experiment_package *package = &window->package[i];
        double busy = fmax(package->grown[GT_CPU_TIME], package->used * fmax(1, late));
        double drawn = isnan(package->grown[energy]) ? 0 : package->grown[energy];
        if (busy > 0 && window->seconds > 0)
            watts += drawn / seconds_of(window, &window->counter[energy]) * part_on(window, process, i) * seconds /
                     busy;
    }
    return watts;
}

void gt_experiment_window_release(struct gt_experiment_window *window)
{
    free(window->process);
    free(window->gpu);
    free(window->user);
    *window = (struct gt_experiment_window){0};
}
