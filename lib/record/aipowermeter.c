#include "record/aipowermeter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/number.h"
#include "collect/process/memory.h"
#include "collect/process/placement.h"
#include "store/store.h"

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
        for (int k = 0; tree->process[i]->placement && k < GT_PACKAGES; k++)
            place->used_on[k] += tree->process[i]->placement->recent[k];
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

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* Seconds in which a counter counted what it has in the window; NaN: it had nothing new, though it is not yet to be taken for
 * still. */
static double counted_seconds(const struct gt_experiment_window *window, const struct gt_experiment_counter *counter)
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
    const struct gt_snapshot *snapshot = &window->sampler->snapshot;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (gt_metrics[id].unit == GT_JOULES)
            read_counter(&window->counter[id], snapshot->system[id], snapshot->read_ns[id]);
    int64_t late = window->counter[GT_CPU_ENERGY].moved_ns - snapshot->monotonic_ns;
    window->now_ns = snapshot->monotonic_ns + (late > 0 ? late : 0);
    window->now_real_ns = snapshot->real_ns + (late > 0 ? late : 0);
    for (size_t i = 0; i < snapshot->device_count; i++)
        read_counter(&window->gpu[i].counter, snapshot->device[i].value[GT_GPU_ENERGY],
                     snapshot->device[i].read_ns ? snapshot->device[i].read_ns : snapshot->monotonic_ns);
}

static void add(struct gt_experiment_mean *mean, double value)
{
    if (isnan(value))
        return;
    mean->sum += value;
    mean->count++;
}

static double mean_of(struct gt_experiment_mean mean)
{
    return mean.count ? mean.sum / mean.count : NAN;
}

static bool is_board(const struct gt_experiment_window *window, size_t device)
{
    return window->sampler->snapshot.device[device].parent < 0;
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
    const struct gt_snapshot *snapshot = &window->sampler->snapshot;
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        int parent = snapshot->device[share->device].parent;
        struct gt_experiment_user *user = user_of(window, parent < 0 ? share->device : parent, share->pid);
        if (!user)
            return -ENOMEM;
        user->is_ours |= window->all_gpu_users || gt_tree_find(&window->sampler->tree, share->pid) != NULL;
        add(&user->memory, share->value[GT_GPU_RAM]);
        add(&user->use, share->value[GT_GPU_UTILIZATION]);
    }
    return 0;
}

static int read_gpus(struct gt_experiment_window *window)
{
    const struct gt_snapshot *snapshot = &window->sampler->snapshot;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        struct gt_experiment_gpu *gpu = &window->gpu[i];
        add(&gpu->watts, snapshot->device[i].value[GT_GPU_POWER]);
        add(&gpu->use, snapshot->device[i].value[GT_GPU_UTILIZATION]);
        add(&gpu->memory, snapshot->device[i].value[GT_GPU_RAM]);
    }
    return read_users(window);
}

static double gpu_watts(const struct gt_experiment_window *window, size_t device)
{
    const struct gt_experiment_gpu *gpu = &window->gpu[device];
    const struct gt_energy *energy = gt_attribution_gpu(window->attribution, device);
    double watts = energy ? (energy->total - gpu->joules_at_begin) / counted_seconds(window, &gpu->counter) : NAN;
    return isnan(watts) ? mean_of(gpu->watts) : watts;
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
        double use = user->use.count ? mean_of(user->use) : 0;
        all += use;
        ours += user->is_ours ? use : 0;
        users++;
        others += !user->is_ours;
    }
    if (others == users) /* none of ours: no part */
        return 0;
    return !others ? 1 : all > 0 ? ours / all : NAN;
}

static double gpu_job_watts(const struct gt_experiment_window *window, size_t device)
{
    const struct gt_experiment_gpu *gpu = &window->gpu[device];
    const struct gt_energy *energy = gt_attribution_gpu(window->attribution, device);
    bool is_counted = energy && !isnan(gpu->joules_at_begin) && !window->all_gpu_users;
    double watts = is_counted ? (energy->job - gpu->job_at_begin) / counted_seconds(window, &gpu->counter) : NAN;
    return isnan(watts) ? gpu_watts(window, device) * ratio_by_use(window, device) : watts;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static double job_cpu(const struct gt_experiment_window *window)
{
    double values[GT_METRIC_COUNT];
    gt_values_clear(values);
    gt_account_totals(&window->sampler->account, &window->sampler->tree, values);
    return values[GT_CPU_TIME];
}

/* Counters begin at 0 with the recording; where one has no reading now, the next window covers the gap. */
static void begin_at(double at_begin[GT_METRIC_COUNT], const double now[GT_METRIC_COUNT])
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        at_begin[id] = isnan(now[id]) ? at_begin[id] : now[id];
}

void gt_experiment_window_next(struct gt_experiment_window *window)
{
    const struct gt_snapshot *snapshot = &window->sampler->snapshot;
    window->begin_ns = window->now_ns;
    window->begin_real_ns = window->now_real_ns;
    begin_at(window->at_begin, snapshot->system);
    for (size_t i = 0; i < snapshot->package_count; i++)
        begin_at(window->package_at_begin[i], snapshot->package[i].value);
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        begin_counter(&window->counter[id], window->now_ns);
    window->job_at_begin = job_cpu(window);
    size_t kept = 0;
    for (size_t i = 0; i < window->process_count; i++) {
        if (!window->process[i].is_here)
            continue;
        struct gt_experiment_process *place = &window->process[kept++];
        *place = window->process[i];
        place->at_begin = place->cpu_time;
        place->rss_sum = 0;
        memset(place->used_on, 0, sizeof place->used_on);
    }
    window->process_count = kept;
    window->memory_count = 0;
    note_memory(window);
    for (size_t i = 0; i < snapshot->device_count; i++) {
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
    size_t devices = sampler->snapshot.device_count;
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

void gt_experiment_window_conclude(struct gt_experiment_window *window)
{
    double seen = 0;
    window->seconds = (double)(window->now_ns - window->begin_ns) / 1e9;
    window->end_real_ns = window->now_real_ns;
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
    window->temperature_count = gt_temperatures_read(&window->sampler->root, window->temperature,
                                                     GT_EXPERIMENT_TEMPERATURES);
}

/* What a counter of the machine grew by in the window; NaN: not measured. */
static double grown(const struct gt_experiment_window *window, enum gt_metric_id id)
{
    return window->sampler->snapshot.system[id] - window->at_begin[id];
}

double gt_experiment_watts(const struct gt_experiment_window *window, enum gt_metric_id energy)
{
    return window->seconds > 0 ? grown(window, energy) / counted_seconds(window, &window->counter[energy]) : NAN;
}

/* The machine counts in clock ticks, processes in nanoseconds: in short windows the job may seem to have used more. */
static double cpu_ratio(const struct gt_experiment_window *window, double seconds)
{
    double all = grown(window, GT_CPU_TIME), busy = fmax(all, window->job_cpu);
    return isnan(all) ? NAN : busy > 0 ? seconds / busy : 0;
}

/* CPU seconds that the processes used on each package, and on all of them. */
static double used_on(const struct gt_experiment_window *window, double used[GT_PACKAGES])
{
    double all = 0;
    for (size_t i = 0; i < window->sampler->snapshot.package_count; i++) {
        used[i] = 0;
        for (size_t k = 0; k < window->process_count; k++)
            used[i] += window->process[k].used_on[i];
        all += used[i];
    }
    return all;
}

/* A process that was seen on no package was on them as the others were. */
double gt_experiment_process_watts(const struct gt_experiment_window *window,
                                   const struct gt_experiment_process *process, double seconds,
                                   enum gt_metric_id energy)
{
    const struct gt_snapshot *snapshot = &window->sampler->snapshot;
    double used[GT_PACKAGES], all = used_on(window, used), late = all > 0 ? window->job_cpu / all : 1;
    double own = 0, watts = 0, counted = counted_seconds(window, &window->counter[energy]);
    if (!snapshot->package_count || isnan(grown(window, energy)))
        return cpu_ratio(window, seconds) * gt_experiment_watts(window, energy);
    for (size_t i = 0; i < snapshot->package_count; i++)
        own += process->used_on[i];
    for (size_t i = 0; i < snapshot->package_count && window->seconds > 0; i++) {
        const double *now = snapshot->package[i].value, *before = window->package_at_begin[i];
        double busy = fmax(now[GT_CPU_TIME] - before[GT_CPU_TIME], used[i] * fmax(1, late));
        double drawn = isnan(now[energy]) ? 0 : now[energy] - before[energy];
        double part = own > 0   ? process->used_on[i] / own
                      : all > 0 ? used[i] / all
                                : 1.0 / (double)snapshot->package_count;
        if (busy > 0)
            watts += drawn / counted * part * seconds / busy;
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

/* ---- A record, as JSON. Names and nesting are AIPowerMeter's, of its newer versions and of its older ones. ----------------- */

static void number(struct gt_json *json, const char *key, double value)
{
    if (isnan(value))
        return;
    gt_json_key(json, key);
    gt_json_double(json, value);
}

static void numbered(struct gt_json *json, int64_t index, double value)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)index);
    number(json, key, value);
}

static void begin(struct gt_json *json, const char *key)
{
    gt_json_key(json, key);
    gt_json_object_begin(json);
}

enum process_value { CPU_USE, CPU_SECONDS, PSS, USS, MEMORY_RATIO, PACKAGE_WATTS, CORE_WATTS, DRAM_WATTS };

static double process_value(const struct gt_experiment_window *window, const struct gt_experiment_process *process,
                            enum process_value which)
{
    double seconds = process->cpu_used + (process->pid == window->late_pid ? window->late : 0);
    double used = window->sampler->snapshot.system[GT_RAM];
    double ratio = used > 0 && !isnan(process->pss) ? fmin(1, process->pss / used) : NAN;
    switch (which) {
    case CPU_USE: return cpu_ratio(window, seconds);
    case CPU_SECONDS: return seconds;
    case PSS: return process->pss;
    case USS: return process->uss;
    case MEMORY_RATIO: return ratio;
    case PACKAGE_WATTS: return gt_experiment_process_watts(window, process, seconds, GT_CPU_ENERGY);
    case CORE_WATTS: return gt_experiment_process_watts(window, process, seconds, GT_CORE_ENERGY);
    case DRAM_WATTS: return ratio * gt_experiment_watts(window, GT_DRAM_ENERGY);
    }
    return NAN;
}

static void cpu(struct gt_json *json, const struct gt_experiment_window *window)
{
    static const struct {
        const char *key;
        enum process_value value;
        enum gt_metric_id of; /* it is left out where this was not measured; GT_METRIC_COUNT: it is always there */
    } each[] = {
        {"per_process_cpu_uses", CPU_USE, GT_METRIC_COUNT},
        {"absolute_cpu_time_per_pid", CPU_SECONDS, GT_METRIC_COUNT},
        {"per_process_mem_use_abs", PSS, GT_METRIC_COUNT},
        {"per_process_mem_use_percent", MEMORY_RATIO, GT_METRIC_COUNT},
        {"per_process_mem_use_uss", USS, GT_METRIC_COUNT},
        {"rel_intel_power", PACKAGE_WATTS, GT_CPU_ENERGY},
        {"per_process_cpu_power", CORE_WATTS, GT_CORE_ENERGY},
        {"per_process_dram_power", DRAM_WATTS, GT_DRAM_ENERGY},
    };
    begin(json, "cpu");
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        if (each[i].of != GT_METRIC_COUNT && isnan(grown(window, each[i].of)))
            continue;
        begin(json, each[i].key);
        for (size_t k = 0; k < window->process_count; k++)
            numbered(json, window->process[k].pid, process_value(window, &window->process[k], each[i].value));
        gt_json_object_end(json);
    }
    number(json, "total_mem_use", window->sampler->snapshot.system[GT_RAM]);
    number(json, "intel_power", gt_experiment_watts(window, GT_CPU_ENERGY));
    number(json, "psys_power", gt_experiment_watts(window, GT_PLATFORM_ENERGY));
    number(json, "total_cpu_power", gt_experiment_watts(window, GT_CORE_ENERGY));
    number(json, "uncore_power", gt_experiment_watts(window, GT_UNCORE_ENERGY));
    number(json, "total_dram_power", gt_experiment_watts(window, GT_DRAM_ENERGY));
    gt_json_object_end(json);
}

/* Sum over the users of a GPU, or over the job's processes among them. 0: there are none, NaN: all values are missing. */
static double sum_over_users(const struct gt_experiment_window *window, size_t device, bool only_ours,
                             bool wants_memory)
{
    double sum = NAN;
    size_t users = 0;
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
        if (user->device != (int)device || (only_ours && !user->is_ours))
            continue;
        users++;
        gt_add_known(&sum, mean_of(wants_memory ? user->memory : user->use));
    }
    return users ? sum : 0;
}

enum gpu_value { WATTS, JOB_WATTS, MEMORY, USE_PERCENT, JOB_USE, JOB_MEMORY, JOB_RATIO };

static double gpu_value(const struct gt_experiment_window *window, size_t device, enum gpu_value which)
{
    double ours = sum_over_users(window, device, true, false), all = sum_over_users(window, device, false, false);
    switch (which) {
    case WATTS: return gpu_watts(window, device);
    case JOB_WATTS: return gpu_job_watts(window, device);
    case MEMORY: return mean_of(window->gpu[device].memory);
    case USE_PERCENT: return mean_of(window->gpu[device].use) * 100;
    case JOB_USE: return ours;
    case JOB_MEMORY: return sum_over_users(window, device, true, true);
    case JOB_RATIO: return all > 0 ? (isnan(ours) ? 0 : ours) / all : ours;
    }
    return NAN;
}

/* Over the boards that have a value. */
static struct gt_experiment_mean over_gpus(const struct gt_experiment_window *window, enum gpu_value which)
{
    struct gt_experiment_mean all = {0};
    for (size_t i = 0; i < window->sampler->snapshot.device_count; i++)
        if (is_board(window, i))
            add(&all, gpu_value(window, i, which));
    return all;
}

static double sum_over_gpus(const struct gt_experiment_window *window, enum gpu_value which)
{
    struct gt_experiment_mean all = over_gpus(window, which);
    return all.count ? all.sum : NAN;
}

static void per_gpu_and_process(struct gt_json *json, const struct gt_experiment_window *window, const char *key,
                                bool wants_memory)
{
    char card_key[24];
    int card = 0;
    begin(json, key);
    for (size_t i = 0; i < window->sampler->snapshot.device_count; i++) {
        if (!is_board(window, i))
            continue;
        snprintf(card_key, sizeof card_key, "%d", card++);
        begin(json, card_key);
        for (size_t k = 0; k < window->user_count; k++) {
            const struct gt_experiment_user *user = &window->user[k];
            if (user->device != (int)i || (wants_memory && !user->is_ours))
                continue;
            numbered(json, user->pid, mean_of(wants_memory ? user->memory : user->use));
        }
        gt_json_object_end(json);
    }
    gt_json_object_end(json);
}

/* GPUs are numbered as boards, in the drivers' order. Older versions of AIPowerMeter stop when the names they know are not there, so two
 * sums are null where not measured. */
static void gpu(struct gt_json *json, const struct gt_experiment_window *window)
{
    static const struct {
        const char *key;
        enum gpu_value value;
    } each[] = {
        {"per_gpu_nvidia_power", WATTS},
        {"per_gpu_power_draw", WATTS},
        {"per_gpu_nvidia_memory", MEMORY},
        {"per_gpu_nvidia_use_rate", USE_PERCENT},
        {"nvidia_mem_use", JOB_MEMORY},
        {"nvidia_sm_use", JOB_USE},
        {"per_gpu_absolute_percent_usage", JOB_USE},
        {"per_gpu_estimated_attributable_utilization", JOB_RATIO},
        {"per_gpu_attributable_power", JOB_WATTS},
    };
    double watts = sum_over_gpus(window, WATTS), job_watts = sum_over_gpus(window, JOB_WATTS);
    begin(json, "gpu");
    number(json, "nvidia_power", watts);
    gt_json_key(json, "nvidia_draw_absolute");
    gt_json_double(json, watts);
    number(json, "nvidia_attributable_power", job_watts);
    number(json, "nvidia_memory", sum_over_gpus(window, MEMORY));
    number(json, "nvidia_use_rate", mean_of(over_gpus(window, USE_PERCENT)));
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        int64_t card = 0;
        begin(json, each[i].key);
        for (size_t k = 0; k < window->sampler->snapshot.device_count; k++)
            if (is_board(window, k))
                numbered(json, card++, gpu_value(window, k, each[i].value));
        if (each[i].value == JOB_WATTS) {
            gt_json_key(json, "all");
            gt_json_double(json, job_watts);
        }
        gt_json_object_end(json);
    }
    per_gpu_and_process(json, window, "per_gpu_attributable_mem_use", true);
    per_gpu_and_process(json, window, "per_gpu_per_pid_utilization_absolute", false);
    number(json, "time", (double)window->end_real_ns / 1e9);
    gt_json_object_end(json);
}

/* {chip: [[label, current, high, critical], ...]} */
static void temperatures(struct gt_json *json, const struct gt_experiment_window *window)
{
    begin(json, "temperature");
    for (size_t i = 0; i < window->temperature_count; i++) {
        const struct gt_temperature *sensor = &window->temperature[i];
        size_t first = 0;
        while (strcmp(window->temperature[first].chip, sensor->chip) != 0)
            first++;
        if (first < i)
            continue; /* written with the first of its kind */
        gt_json_key(json, sensor->chip);
        gt_json_array_begin(json);
        for (size_t k = i; k < window->temperature_count; k++) {
            if (strcmp(window->temperature[k].chip, sensor->chip) != 0)
                continue;
            gt_json_array_begin(json);
            gt_json_text(json, window->temperature[k].label);
            gt_json_double(json, window->temperature[k].current);
            gt_json_double(json, window->temperature[k].high);
            gt_json_double(json, window->temperature[k].critical);
            gt_json_array_end(json);
        }
        gt_json_array_end(json);
    }
    gt_json_object_end(json);
}

/* {"temperature": {...}, "cpu": {...}, "gpu": {...}} of the window. Figures that were not measured are left out. */
static void write_metrics(struct gt_json *json, const struct gt_experiment_window *window)
{
    gt_json_object_begin(json);
    temperatures(json, window);
    cpu(json, window);
    if (window->sampler->snapshot.device_count)
        gpu(json, window);
    gt_json_object_end(json);
}

#define SEGMENT_END "\"END OF RECORDING SEGMENT\"\n"

void gt_experiment_date_text(char *text, size_t size, int64_t real_ns, bool has_zone)
{
    time_t seconds = (time_t)(real_ns / GT_SECOND);
    struct tm local;
    localtime_r(&seconds, &local);
    size_t length = strftime(text, size, "%Y-%m-%d %H:%M:%S", &local);
    length += (size_t)snprintf(text + length, size - length, ".%06d", (int)(real_ns % GT_SECOND / 1000));
    long minutes = local.tm_gmtoff / 60, positive = minutes < 0 ? -minutes : minutes;
    if (has_zone)
        snprintf(text + length, size - length, "%c%02ld:%02ld", minutes < 0 ? '-' : '+', positive / 60, positive % 60);
}

static int write_metadata(const char *folder, const char *description, struct gt_error *error)
{
    char path[4200], date[64];
    struct gt_buffer text = {0};
    struct gt_json json;
    snprintf(path, sizeof path, "%smetadata.json", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno == EEXIST ? 0 : gt_error_system(error, errno, "%s", path);
    gt_experiment_date_text(date, sizeof date, gt_clock_real(&gt_clock_system), false);
    gt_json_init(&json, &text, 0);
    gt_json_object_begin(&json);
    gt_json_key(&json, "description");
    gt_json_text(&json, description ? description : "");
    gt_json_key(&json, "date");
    gt_json_text(&json, date);
    gt_json_object_end(&json);
    gt_buffer_char(&text, '\n');
    int status = text.failed ? text.failed : gt_file_write_all(fd, text.data, text.length);
    close(fd);
    gt_buffer_release(&text);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

/* Mends what an earlier recording left: the file is cut back to its last whole line, and its segment ended. */
static int mend(int fd)
{
    char tail[sizeof SEGMENT_END - 1];
    off_t end = lseek(fd, 0, SEEK_END), whole = end;
    char last = 0;
    while (whole > 0 && pread(fd, &last, 1, whole - 1) == 1 && last != '\n')
        whole--;
    if (whole < end && ftruncate(fd, whole) < 0)
        return -errno;
    if (whole == 0)
        return 0;
    ssize_t length = whole < (off_t)sizeof tail ? 0 : pread(fd, tail, sizeof tail, whole - (off_t)sizeof tail);
    bool has_ended = length == (ssize_t)sizeof tail && !memcmp(tail, SEGMENT_END, sizeof tail);
    return has_ended ? 0 : gt_file_write_all(fd, SEGMENT_END, sizeof SEGMENT_END - 1);
}

static int open_folder(struct gt_power_log *log, const char *folder, const char *description, struct gt_error *error)
{
    if (snprintf(log->path, sizeof log->path, "%spower_metrics.json", folder) >= PATH_MAX)
        return gt_error_set(error, ENAMETOOLONG, "the name of the folder is too long");
    int status = gt_store_make_folders(folder, 0777, error);
    if (status >= 0)
        status = write_metadata(folder, description, error);
    if (status < 0)
        return status;
    log->fd = open(log->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    status = log->fd < 0 ? -errno : mend(log->fd);
    return status < 0 ? gt_error_system(error, -status, "%s", log->path) : 0;
}

int gt_power_log_begin(struct gt_power_log *log, const char *folder, const struct gt_machine *machine,
                       struct gt_error *error)
{
    log->fd = -1;
    /* A reading that comes a little early would double the window. */
    log->least_ns = (int64_t)((log->options->measurement_period - machine->period / 8) * 1e9);
    if (gt_experiment_window_begin(&log->window, log->window.sampler, log->window.attribution,
                                   log->options->all_gpu_users) < 0)
        return gt_error_system(error, ENOMEM, "%s", folder);
    log->read_ns = log->window.sampler->snapshot.monotonic_ns;
    return log->options->record ? 0 : open_folder(log, folder, machine->command, error);
}

/* A line is written whole, or not at all. */
static int append(struct gt_power_log *log, const struct gt_buffer *line, struct gt_error *error)
{
    off_t before = lseek(log->fd, 0, SEEK_END);
    int status = gt_file_write_all(log->fd, line->data, line->length);
    if (status < 0 && ftruncate(log->fd, before) < 0)
        return gt_error_system(error, errno, "%s ends in half a line", log->path);
    log->has_records |= status == 0;
    return status < 0 ? gt_error_system(error, -status, "%s", log->path) : 0;
}

static int write_record(struct gt_power_log *log, struct gt_error *error)
{
    char date[64];
    struct gt_buffer text = {0};
    struct gt_json json;
    gt_experiment_window_conclude(&log->window);
    gt_json_init(&json, &text, 0);
    if (log->options->record) {
        write_metrics(&json, &log->window);
        int status = text.failed ? text.failed : log->options->record(log->context, text.data);
        gt_buffer_release(&text);
        return status < 0 ? gt_error_system(error, -status, "a record was not taken") : 0;
    }
    gt_experiment_date_text(date, sizeof date, log->window.end_real_ns, true);
    gt_json_object_begin(&json);
    gt_json_key(&json, "date");
    gt_json_text(&json, date);
    gt_json_key(&json, "window");
    gt_json_double(&json, log->window.seconds);
    gt_json_key(&json, "metrics");
    write_metrics(&json, &log->window);
    gt_json_object_end(&json);
    gt_buffer_char(&text, '\n');
    int status = text.failed ? gt_error_system(error, ENOMEM, "%s", log->path) : append(log, &text, error);
    gt_buffer_release(&text);
    return status;
}

int gt_power_log_read(struct gt_power_log *log, bool is_end, struct gt_error *error)
{
    int64_t now = log->window.sampler->snapshot.monotonic_ns;
    if (now > log->read_ns && gt_experiment_window_read(&log->window) < 0)
        return gt_error_system(error, ENOMEM, "experiment");
    log->read_ns = now > log->read_ns ? now : log->read_ns;
    if (is_end ? log->read_ns <= log->window.begin_ns : log->read_ns - log->window.begin_ns < log->least_ns)
        return 0;
    int status = write_record(log, error);
    if (!status)
        gt_experiment_window_next(&log->window);
    return status;
}

int gt_power_log_end(struct gt_power_log *log, struct gt_error *error)
{
    int status = log->has_records ? gt_file_write_all(log->fd, SEGMENT_END, sizeof SEGMENT_END - 1) : 0;
    if (status < 0)
        gt_error_system(error, -status, "%s", log->path);
    gt_close_fd(log->fd);
    gt_experiment_window_release(&log->window);
    return status;
}
