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

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/number.h"
#include "collect/process/memory.h"
#include "gpu_tracker.h"
#include "store/store.h"

struct process {
    pid_t pid;
    uint64_t start;
    double cpu_time, cpu_begin;  /* its own, seconds: at the last reading, and when the window began */
    double joules, joules_begin; /* of the processors: the same */
    double pss, uss; /* bytes at the end of the window; NaN: it has no memory any more, or may not be read */
    double rss_sum;  /* bytes, over the readings of the window */
    bool is_here;    /* at the last reading */
};

/* The mean over the readings of a window that had a value. */
struct mean {
    double sum;
    unsigned count;
};

/* A process on a GPU. */
struct user {
    int device;
    pid_t pid;
    bool is_ours;
    struct mean memory, use; /* bytes, ratio of SM time */
};

struct gpu {
    double joules_begin, job_begin; /* when the window began; NaN: not measured then */
    struct mean watts, use, memory;
};

enum { TEMPERATURES = 128 };

struct gt_power_log {
    const struct gt_sampler *sampler;
    const struct gt_combiner *combiner;
    const struct gt_experiment_options *options;
    void *context;   /* for what is handed over */
    int fd;          /* of power_metrics.json; -1: records are handed over */
    char path[4200]; /* of it */
    bool has_records;
    int64_t read_ns; /* the latest reading that was taken into the window */
    int64_t least_ns;
    int64_t begin_ns, now_ns, now_real_ns; /* of the window; of the last reading */
    double seconds;                        /* length of the window */
    double at_begin[GT_METRIC_COUNT];      /* counters of the machine when the window began */
    double job_cpu_begin, job_joules_begin;
    double job_cpu;               /* CPU seconds of the job in the window */
    double late_cpu, late_joules; /* the parts of the job in the window that were seen late */
    pid_t late_pid;               /* is charged with them: the tracked process, or the oldest that is left */
    struct process *process;
    size_t process_count, process_capacity;
    unsigned memory_count; /* readings of the window at which any process had memory */
    struct gpu *gpu;       /* one for each device of the snapshot */
    struct user *user;
    size_t user_count, user_capacity;
    struct gt_temperature temperature[TEMPERATURES]; /* when the window ended */
    size_t temperature_count;
};

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static struct process *place_of(struct gt_power_log *log, const struct gt_process *process)
{
    for (size_t i = 0; i < log->process_count; i++)
        if (log->process[i].pid == process->pid && log->process[i].start == process->start)
            return &log->process[i];
    struct process *place = GT_GROW(log, process);
    if (place)
        *place = (struct process){.pid = process->pid, .start = process->start, .pss = NAN, .uss = NAN};
    return place;
}

/* Sums for the mean over the readings of the window at which any process had memory. */
static void note_memory(struct gt_power_log *log)
{
    bool is_any = false;
    for (size_t i = 0; i < log->process_count; i++) {
        const struct gt_process *process = gt_tree_find(&log->sampler->tree, log->process[i].pid);
        if (process && !process->is_zombie && process->value[GT_RSS] > 0) {
            log->process[i].rss_sum += process->value[GT_RSS];
            is_any = true;
        }
    }
    log->memory_count += is_any;
}

static int read_processes(struct gt_power_log *log)
{
    const struct gt_tree *tree = &log->sampler->tree;
    for (size_t i = 0; i < log->process_count; i++)
        log->process[i].is_here = false;
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_process *process = tree->process[i];
        struct process *place = place_of(log, process);
        if (!place)
            return -ENOMEM;
        place->is_here = true;
        place->cpu_time = process->value[GT_CPU_TIME] - process->baseline.own_base;
        place->joules = gt_combined_joules(log->combiner, process, GT_ENERGY_CPU);
    }
    note_memory(log);
    return 0;
}

/* PSS, or resident memory where another user's may not be asked for it. */
static void read_memory(const struct gt_power_log *log, struct process *place)
{
    const struct gt_process *process = gt_tree_find(&log->sampler->tree, place->pid);
    struct gt_smaps smaps;
    place->pss = place->uss = NAN;
    if (!process || process->is_zombie)
        return;
    int status = gt_smaps_read(&log->sampler->root, place->pid, place->start, &smaps);
    if (status >= 0) {
        place->pss = smaps.pss;
        place->uss = smaps.private_bytes;
    } else if (status != -ESRCH) {
        place->pss = process->value[GT_RSS];
    }
}

/* Where all processes have ended, the mean of what they had before. */
static void use_mean_memory(struct gt_power_log *log)
{
    for (size_t i = 0; i < log->process_count; i++)
        if (!isnan(log->process[i].pss))
            return;
    for (size_t i = 0; i < log->process_count; i++)
        log->process[i].pss = log->memory_count ? log->process[i].rss_sum / log->memory_count : NAN;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

static void add(struct mean *mean, double value)
{
    if (isnan(value))
        return;
    mean->sum += value;
    mean->count++;
}

static double mean_of(struct mean mean)
{
    return mean.count ? mean.sum / mean.count : NAN;
}

static bool is_board(const struct gt_power_log *log, size_t device)
{
    return log->sampler->snapshot.device[device].parent < 0;
}

static struct user *user_of(struct gt_power_log *log, int device, pid_t pid)
{
    for (size_t i = 0; i < log->user_count; i++)
        if (log->user[i].device == device && log->user[i].pid == pid)
            return &log->user[i];
    struct user *user = GT_GROW(log, user);
    if (user)
        *user = (struct user){.device = device, .pid = pid};
    return user;
}

/* Processes on a slice are on its board. */
static int read_gpus(struct gt_power_log *log)
{
    const struct gt_snapshot *snapshot = &log->sampler->snapshot;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        add(&log->gpu[i].watts, snapshot->device[i].value[GT_GPU_POWER]);
        add(&log->gpu[i].use, snapshot->device[i].value[GT_GPU_UTILIZATION]);
        add(&log->gpu[i].memory, snapshot->device[i].value[GT_GPU_RAM]);
    }
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        int parent = snapshot->device[share->device].parent;
        struct user *user = user_of(log, parent < 0 ? share->device : parent, share->pid);
        if (!user)
            return -ENOMEM;
        user->is_ours |= log->options->all_gpu_users || gt_tree_find(&log->sampler->tree, share->pid) != NULL;
        add(&user->memory, share->value[GT_GPU_RAM]);
        add(&user->use, share->value[GT_GPU_UTILIZATION]);
    }
    return 0;
}

static double gpu_watts(const struct gt_power_log *log, size_t device)
{
    const struct gt_energy *energy = gt_attribution_gpu(&log->combiner->attribution, device);
    double watts = energy ? (energy->total - log->gpu[device].joules_begin) / log->seconds : NAN;
    return isnan(watts) ? mean_of(log->gpu[device].watts) : watts;
}

/* Without an energy counter the SM shares tell, as attribution does with one. */
static double ratio_by_use(const struct gt_power_log *log, size_t device)
{
    double ours = 0, all = 0;
    size_t users = 0, others = 0;
    for (size_t i = 0; i < log->user_count; i++) {
        const struct user *user = &log->user[i];
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

static double gpu_job_watts(const struct gt_power_log *log, size_t device)
{
    const struct gt_energy *energy = gt_attribution_gpu(&log->combiner->attribution, device);
    bool is_counted = energy && !log->options->all_gpu_users;
    double watts = is_counted ? (energy->job - log->gpu[device].job_begin) / log->seconds : NAN;
    return isnan(watts) ? gpu_watts(log, device) * ratio_by_use(log, device) : watts;
}

/* ---- Windows ----------------------------------------------------------------------------------------------------- */

/* The next window begins with the last reading. Counters begin at 0 with the recording; where one has no reading now, the next window
 * covers the gap. */
static void begin_window(struct gt_power_log *log)
{
    const struct gt_snapshot *snapshot = &log->sampler->snapshot;
    size_t kept = 0;
    log->begin_ns = log->now_ns;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        log->at_begin[id] = isnan(snapshot->system[id]) ? log->at_begin[id] : snapshot->system[id];
    log->job_cpu_begin = log->combiner->job[GT_CPU_TIME];
    log->job_joules_begin = log->combiner->attribution.energy[GT_ENERGY_CPU].job;
    for (size_t i = 0; i < log->process_count; i++) {
        struct process *process = &log->process[kept];
        if (!log->process[i].is_here)
            continue;
        *process = log->process[i];
        process->cpu_begin = process->cpu_time;
        process->joules_begin = process->joules;
        process->rss_sum = 0;
        kept++;
    }
    log->process_count = kept;
    log->memory_count = 0;
    note_memory(log);
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const struct gt_energy *energy = gt_attribution_gpu(&log->combiner->attribution, i);
        bool is_measured = energy && energy->is_measured;
        log->gpu[i] = (struct gpu){.joules_begin = is_measured ? energy->total : NAN,
                                   .job_begin = is_measured ? energy->job : NAN};
    }
    log->user_count = 0;
}

/* What is read before the processors' counter takes a while, more or less: up to a quarter of a window. */
static int take_reading(struct gt_power_log *log)
{
    const struct gt_snapshot *snapshot = &log->sampler->snapshot;
    int64_t late = isnan(snapshot->system[GT_CPU_ENERGY]) ? 0
                                                          : snapshot->read_ns[GT_CPU_ENERGY] - snapshot->monotonic_ns;
    log->read_ns = snapshot->monotonic_ns;
    log->now_ns = snapshot->monotonic_ns + (late > 0 ? late : 0);
    log->now_real_ns = snapshot->real_ns + (late > 0 ? late : 0);
    return read_processes(log) < 0 || read_gpus(log) < 0 ? -ENOMEM : 0;
}

/* Work out the window that ends with the last reading. */
static void conclude(struct gt_power_log *log)
{
    double cpu = 0, joules = 0;
    log->seconds = (double)(log->now_ns - log->begin_ns) / 1e9;
    log->late_pid = log->process_count ? log->process[0].pid : 0;
    for (size_t i = 0; i < log->process_count; i++) {
        struct process *process = &log->process[i];
        cpu += isnan(process->cpu_time) ? 0 : process->cpu_time - process->cpu_begin;
        joules += process->joules - process->joules_begin;
        read_memory(log, process);
        if (process->pid == log->sampler->tree.main)
            log->late_pid = process->pid;
    }
    use_mean_memory(log);
    log->job_cpu = fmax(0, log->combiner->job[GT_CPU_TIME] - log->job_cpu_begin);
    log->late_cpu = fmax(0, log->job_cpu - cpu);
    log->late_joules = log->combiner->attribution.energy[GT_ENERGY_CPU].job - log->job_joules_begin - joules;
    log->late_joules = fmax(0, log->late_joules);
    log->temperature_count = gt_temperatures_read(&log->sampler->root, log->temperature, TEMPERATURES);
}

/* What a counter of the machine grew by in the window; NaN: not measured. */
static double grown(const struct gt_power_log *log, enum gt_metric_id id)
{
    return log->sampler->snapshot.system[id] - log->at_begin[id];
}

static double watts_of(const struct gt_power_log *log, enum gt_metric_id energy)
{
    return log->seconds > 0 ? grown(log, energy) / log->seconds : NAN;
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

static double process_value(const struct gt_power_log *log, const struct process *process, enum process_value which)
{
    bool has_late = process->pid == log->late_pid;
    double seconds = fmax(0, process->cpu_time - process->cpu_begin) + (has_late ? log->late_cpu : 0);
    double joules = process->joules - process->joules_begin + (has_late ? log->late_joules : 0);
    double used = log->sampler->snapshot.system[GT_RAM], all = grown(log, GT_CPU_TIME);
    double ratio = used > 0 && !isnan(process->pss) ? fmin(1, process->pss / used) : NAN;
    /* The machine counts in clock ticks, processes in nanoseconds: in short windows the job may seem to have used more. */
    double busy = fmax(all, log->job_cpu);
    switch (which) {
    case CPU_USE: return isnan(all) ? NAN : busy > 0 ? seconds / busy : 0;
    case CPU_SECONDS: return seconds;
    case PSS: return process->pss;
    case USS: return process->uss;
    case MEMORY_RATIO: return ratio;
    case PACKAGE_WATTS: return joules / log->seconds;
    case CORE_WATTS:
        return grown(log, GT_CPU_ENERGY) > 0 ? joules / grown(log, GT_CPU_ENERGY) * watts_of(log, GT_CORE_ENERGY) : 0;
    case DRAM_WATTS: return ratio * watts_of(log, GT_DRAM_ENERGY);
    }
    return NAN;
}

static void cpu(struct gt_json *json, const struct gt_power_log *log)
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
        if (each[i].of != GT_METRIC_COUNT && isnan(grown(log, each[i].of)))
            continue;
        begin(json, each[i].key);
        for (size_t k = 0; k < log->process_count; k++)
            numbered(json, log->process[k].pid, process_value(log, &log->process[k], each[i].value));
        gt_json_object_end(json);
    }
    number(json, "total_mem_use", log->sampler->snapshot.system[GT_RAM]);
    number(json, "intel_power", watts_of(log, GT_CPU_ENERGY));
    number(json, "psys_power", watts_of(log, GT_PLATFORM_ENERGY));
    number(json, "total_cpu_power", watts_of(log, GT_CORE_ENERGY));
    number(json, "uncore_power", watts_of(log, GT_UNCORE_ENERGY));
    number(json, "total_dram_power", watts_of(log, GT_DRAM_ENERGY));
    gt_json_object_end(json);
}

/* Sum over the users of a GPU, or over the job's processes among them. 0: there are none, NaN: all values are missing. */
static double sum_over_users(const struct gt_power_log *log, size_t device, bool only_ours, bool wants_memory)
{
    double sum = NAN;
    size_t users = 0;
    for (size_t i = 0; i < log->user_count; i++) {
        const struct user *user = &log->user[i];
        if (user->device != (int)device || (only_ours && !user->is_ours))
            continue;
        users++;
        gt_add_known(&sum, mean_of(wants_memory ? user->memory : user->use));
    }
    return users ? sum : 0;
}

enum gpu_value { WATTS, JOB_WATTS, MEMORY, USE_PERCENT, JOB_USE, JOB_MEMORY, JOB_RATIO };

static double gpu_value(const struct gt_power_log *log, size_t device, enum gpu_value which)
{
    double ours = sum_over_users(log, device, true, false), all = sum_over_users(log, device, false, false);
    switch (which) {
    case WATTS: return gpu_watts(log, device);
    case JOB_WATTS: return gpu_job_watts(log, device);
    case MEMORY: return mean_of(log->gpu[device].memory);
    case USE_PERCENT: return mean_of(log->gpu[device].use) * 100;
    case JOB_USE: return ours;
    case JOB_MEMORY: return sum_over_users(log, device, true, true);
    case JOB_RATIO: return all > 0 ? (isnan(ours) ? 0 : ours) / all : ours;
    }
    return NAN;
}

/* Over the boards that have a value. */
static struct mean over_gpus(const struct gt_power_log *log, enum gpu_value which)
{
    struct mean all = {0};
    for (size_t i = 0; i < log->sampler->snapshot.device_count; i++)
        if (is_board(log, i))
            add(&all, gpu_value(log, i, which));
    return all;
}

static double sum_over_gpus(const struct gt_power_log *log, enum gpu_value which)
{
    struct mean all = over_gpus(log, which);
    return all.count ? all.sum : NAN;
}

static void per_gpu_and_process(struct gt_json *json, const struct gt_power_log *log, const char *key,
                                bool wants_memory)
{
    char card_key[24];
    int card = 0;
    begin(json, key);
    for (size_t i = 0; i < log->sampler->snapshot.device_count; i++) {
        if (!is_board(log, i))
            continue;
        snprintf(card_key, sizeof card_key, "%d", card++);
        begin(json, card_key);
        for (size_t k = 0; k < log->user_count; k++) {
            const struct user *user = &log->user[k];
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
static void gpu(struct gt_json *json, const struct gt_power_log *log)
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
    double watts = sum_over_gpus(log, WATTS), job_watts = sum_over_gpus(log, JOB_WATTS);
    begin(json, "gpu");
    number(json, "nvidia_power", watts);
    gt_json_key(json, "nvidia_draw_absolute");
    gt_json_double(json, watts);
    number(json, "nvidia_attributable_power", job_watts);
    number(json, "nvidia_memory", sum_over_gpus(log, MEMORY));
    number(json, "nvidia_use_rate", mean_of(over_gpus(log, USE_PERCENT)));
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        int64_t card = 0;
        begin(json, each[i].key);
        for (size_t k = 0; k < log->sampler->snapshot.device_count; k++)
            if (is_board(log, k))
                numbered(json, card++, gpu_value(log, k, each[i].value));
        if (each[i].value == JOB_WATTS) {
            gt_json_key(json, "all");
            gt_json_double(json, job_watts);
        }
        gt_json_object_end(json);
    }
    per_gpu_and_process(json, log, "per_gpu_attributable_mem_use", true);
    per_gpu_and_process(json, log, "per_gpu_per_pid_utilization_absolute", false);
    number(json, "time", (double)log->now_real_ns / 1e9);
    gt_json_object_end(json);
}

/* {chip: [[label, current, high, critical], ...]} */
static void temperatures(struct gt_json *json, const struct gt_power_log *log)
{
    begin(json, "temperature");
    for (size_t i = 0; i < log->temperature_count; i++) {
        const struct gt_temperature *sensor = &log->temperature[i];
        size_t first = 0;
        while (strcmp(log->temperature[first].chip, sensor->chip) != 0)
            first++;
        if (first < i)
            continue; /* written with the first of its kind */
        gt_json_key(json, sensor->chip);
        gt_json_array_begin(json);
        for (size_t k = i; k < log->temperature_count; k++) {
            if (strcmp(log->temperature[k].chip, sensor->chip) != 0)
                continue;
            gt_json_array_begin(json);
            gt_json_text(json, log->temperature[k].label);
            gt_json_double(json, log->temperature[k].current);
            gt_json_double(json, log->temperature[k].high);
            gt_json_double(json, log->temperature[k].critical);
            gt_json_array_end(json);
        }
        gt_json_array_end(json);
    }
    gt_json_object_end(json);
}

/* {"temperature": {...}, "cpu": {...}, "gpu": {...}} of the window. Figures that were not measured are left out. */
static void write_metrics(struct gt_json *json, const struct gt_power_log *log)
{
    gt_json_object_begin(json);
    temperatures(json, log);
    cpu(json, log);
    if (log->sampler->snapshot.device_count)
        gpu(json, log);
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
    conclude(log);
    gt_json_init(&json, &text, 0);
    if (log->options->record) {
        write_metrics(&json, log);
        int status = text.failed ? text.failed : log->options->record(log->context, text.data);
        gt_buffer_release(&text);
        return status < 0 ? gt_error_system(error, -status, "a record was not taken") : 0;
    }
    gt_experiment_date_text(date, sizeof date, log->now_real_ns, true);
    gt_json_object_begin(&json);
    gt_json_key(&json, "date");
    gt_json_text(&json, date);
    gt_json_key(&json, "window");
    gt_json_double(&json, log->seconds);
    gt_json_key(&json, "metrics");
    write_metrics(&json, log);
    gt_json_object_end(&json);
    gt_buffer_char(&text, '\n');
    int status = text.failed ? gt_error_system(error, ENOMEM, "%s", log->path) : append(log, &text, error);
    gt_buffer_release(&text);
    return status;
}

static int open_log(struct gt_power_log *log, const char *folder, const struct gt_machine *machine,
                    struct gt_error *error)
{
    log->gpu = calloc(log->sampler->snapshot.device_count + 1, sizeof *log->gpu);
    if (!log->gpu || take_reading(log) < 0)
        return gt_error_system(error, ENOMEM, "%s", folder);
    begin_window(log);
    return log->options->record ? 0 : open_folder(log, folder, machine->command, error);
}

int gt_power_log_open(struct gt_power_log **ret, const char *folder, const struct gt_tracker_options *options,
                      const struct gt_machine *machine, const struct gt_sampler *sampler,
                      const struct gt_combiner *combiner, struct gt_error *error)
{
    struct gt_power_log *log = *ret = calloc(1, sizeof *log);
    if (!log)
        return gt_error_system(error, ENOMEM, "%s", folder);
    log->sampler = sampler;
    log->combiner = combiner;
    log->options = options->experiment;
    log->context = options->context;
    log->fd = -1;
    /* A reading that comes a little early would double the window. */
    log->least_ns = (int64_t)((log->options->measurement_period - machine->period / 8) * 1e9);
    int status = open_log(log, folder, machine, error);
    if (status < 0) {
        gt_power_log_close(log, NULL);
        *ret = NULL;
    }
    return status;
}

int gt_power_log_read(struct gt_power_log *log, bool is_end, struct gt_error *error)
{
    if (log->sampler->snapshot.monotonic_ns > log->read_ns && take_reading(log) < 0)
        return gt_error_system(error, ENOMEM, "experiment");
    if (is_end ? log->read_ns <= log->begin_ns : log->read_ns - log->begin_ns < log->least_ns)
        return 0;
    int status = write_record(log, error);
    if (!status)
        begin_window(log);
    return status;
}

int gt_power_log_close(struct gt_power_log *log, struct gt_error *error)
{
    if (!log)
        return 0;
    int status = log->has_records ? gt_file_write_all(log->fd, SEGMENT_END, sizeof SEGMENT_END - 1) : 0;
    if (status < 0)
        gt_error_system(error, -status, "%s", log->path);
    gt_close_fd(log->fd);
    free(log->process);
    free(log->gpu);
    free(log->user);
    free(log);
    return status;
}
