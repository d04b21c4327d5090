/* Folders as AIPowerMeter records into; their paths end in "/". A line of power_metrics.json tells of a window of time,
 * more than samples do, so that the store looks at the tracker's readings themselves, on the tracker's thread.
 *
 * Names and nesting are AIPowerMeter's, of its newer versions and of its older ones, which have other names for some figures. */
#include "store/aipowermeter_window.h"

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
#include "base/json.h"
#include "store/type.h"

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

/* ---- processors -------------------------------------------------------------------------------------------------- */

typedef double process_figure(const struct gt_experiment_window *window, const struct gt_experiment_process *process);

static double seconds_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return process->cpu_used + (process->pid == window->late_pid ? window->late : 0);
}

static double cpu_use_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return gt_experiment_cpu_ratio(window, seconds_of(window, process));
}

static double intel_power_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return gt_experiment_process_watts(window, process, seconds_of(window, process), GT_CPU_ENERGY);
}

static double core_power_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return gt_experiment_process_watts(window, process, seconds_of(window, process), GT_CORE_ENERGY);
}

static double pss_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    (void)window;
    return process->pss;
}

static double uss_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    (void)window;
    return process->uss;
}

static double memory_ratio_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    double used = window->sampler->frame.system[GT_RAM];
    return used > 0 && !isnan(process->pss) ? fmin(1, process->pss / used) : NAN;
}

static double dram_power_of(const struct gt_experiment_window *window, const struct gt_experiment_process *process)
{
    return isnan(process->pss) ? NAN : memory_ratio_of(window, process) * gt_experiment_watts(window, GT_DRAM_ENERGY);
}

static void each_process(struct gt_json *json, const struct gt_experiment_window *window, const char *key,
                         process_figure *figure)
{
    begin(json, key);
    for (size_t i = 0; i < window->process_count; i++)
        numbered(json, window->process[i].pid, figure(window, &window->process[i]));
    gt_json_object_end(json);
}

static void cpu(struct gt_json *json, const struct gt_experiment_window *window)
{
    begin(json, "cpu");
    each_process(json, window, "per_process_cpu_uses", cpu_use_of);
    each_process(json, window, "absolute_cpu_time_per_pid", seconds_of);
    each_process(json, window, "per_process_mem_use_abs", pss_of);
    each_process(json, window, "per_process_mem_use_percent", memory_ratio_of);
    each_process(json, window, "per_process_mem_use_uss", uss_of);
    number(json, "total_mem_use", window->sampler->frame.system[GT_RAM]);
    number(json, "intel_power", gt_experiment_watts(window, GT_CPU_ENERGY));
    number(json, "psys_power", gt_experiment_watts(window, GT_PLATFORM_ENERGY));
    number(json, "total_cpu_power", gt_experiment_watts(window, GT_CORE_ENERGY));
    number(json, "uncore_power", gt_experiment_watts(window, GT_UNCORE_ENERGY));
    number(json, "total_dram_power", gt_experiment_watts(window, GT_DRAM_ENERGY));
    if (!isnan(window->grown[GT_CPU_ENERGY]))
        each_process(json, window, "rel_intel_power", intel_power_of);
    if (!isnan(window->grown[GT_CORE_ENERGY]))
        each_process(json, window, "per_process_cpu_power", core_power_of);
    if (!isnan(window->grown[GT_DRAM_ENERGY]))
        each_process(json, window, "per_process_dram_power", dram_power_of);
    gt_json_object_end(json);
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

typedef double gpu_figure(const struct gt_experiment_window *window, size_t device);

static double mean(double sum, unsigned count)
{
    return count ? sum / count : NAN;
}

static double memory_of(const struct gt_experiment_window *window, size_t device)
{
    return mean(window->gpu[device].memory_sum, window->gpu[device].memory_count);
}

static double use_of(const struct gt_experiment_window *window, size_t device)
{
    return mean(window->gpu[device].use_sum, window->gpu[device].use_count);
}

/* Sum over the users of a GPU, or those of them that are ours; NaN when nothing is known of any of them. */
static double use_by(const struct gt_experiment_window *window, size_t device, bool only_ours)
{
    double sum = NAN;
    size_t users = 0;
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
        if (user->device != (int)device || (only_ours && !user->is_ours))
            continue;
        users++;
        if (user->use_count)
            sum = (isnan(sum) ? 0 : sum) + user->use / user->use_count;
    }
    return users ? sum : 0;
}

static double job_use_of(const struct gt_experiment_window *window, size_t device)
{
    return use_by(window, device, true);
}

/* Bytes of ours on a GPU; 0: nobody of ours is on it, NaN: not told. */
static double job_memory_of(const struct gt_experiment_window *window, size_t device)
{
    double sum = NAN;
    size_t users = 0;
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
        if (user->device != (int)device || !user->is_ours)
            continue;
        users++;
        if (user->memory_count)
            sum = (isnan(sum) ? 0 : sum) + mean(user->memory, user->memory_count);
    }
    return users ? sum : 0;
}

static double job_ratio_of(const struct gt_experiment_window *window, size_t device)
{
    double ours = use_by(window, device, true), all = use_by(window, device, false);
    return all > 0 ? (isnan(ours) ? 0 : ours) / all : ours;
}

/* GPUs are numbered as boards, in the drivers' order. */
static void each_gpu(struct gt_json *json, const struct gt_experiment_window *window, gpu_figure *figure)
{
    int64_t card = 0;
    for (size_t i = 0; i < window->sampler->frame.device_count; i++)
        if (gt_experiment_is_board(window, i))
            numbered(json, card++, figure(window, i));
}

static void per_gpu(struct gt_json *json, const struct gt_experiment_window *window, const char *key,
                    gpu_figure *figure)
{
    begin(json, key);
    each_gpu(json, window, figure);
    gt_json_object_end(json);
}

/* NaN when none of them is known. */
static double sum_over_gpus(const struct gt_experiment_window *window, gpu_figure *figure, size_t *known)
{
    double sum = NAN;
    *known = 0;
    for (size_t i = 0; i < window->sampler->frame.device_count; i++) {
        double value = gt_experiment_is_board(window, i) ? figure(window, i) : NAN;
        if (isnan(value))
            continue;
        sum = (isnan(sum) ? 0 : sum) + value;
        ++*known;
    }
    return sum;
}

static void users_of(struct gt_json *json, const struct gt_experiment_window *window, size_t device, bool wants_memory)
{
    for (size_t i = 0; i < window->user_count; i++) {
        const struct gt_experiment_user *user = &window->user[i];
        if (user->device != (int)device || (wants_memory && !user->is_ours))
            continue;
        numbered(json, user->pid,
                 wants_memory ? mean(user->memory, user->memory_count) : mean(user->use, user->use_count));
    }
}

static void per_gpu_and_process(struct gt_json *json, const struct gt_experiment_window *window, const char *key,
                                bool wants_memory)
{
    char card_key[24];
    int card = 0;
    begin(json, key);
    for (size_t i = 0; i < window->sampler->frame.device_count; i++) {
        if (!gt_experiment_is_board(window, i))
            continue;
        snprintf(card_key, sizeof card_key, "%d", card++);
        begin(json, card_key);
        users_of(json, window, i, wants_memory);
        gt_json_object_end(json);
    }
    gt_json_object_end(json);
}

/* Older versions of AIPowerMeter stop when the names they know are not there, so these are null where not measured. */
static void gpu(struct gt_json *json, const struct gt_experiment_window *window)
{
    size_t known, used;
    double watts = sum_over_gpus(window, gt_experiment_gpu_watts, &known);
    double job_watts = sum_over_gpus(window, gt_experiment_gpu_job_watts, &known);
    double use = sum_over_gpus(window, use_of, &used);
    begin(json, "gpu");
    number(json, "nvidia_power", watts);
    gt_json_key(json, "nvidia_draw_absolute");
    gt_json_double(json, watts);
    number(json, "nvidia_attributable_power", job_watts);
    number(json, "nvidia_memory", sum_over_gpus(window, memory_of, &known));
    number(json, "nvidia_use_rate", use / (double)used * 100);
    per_gpu(json, window, "per_gpu_nvidia_power", gt_experiment_gpu_watts);
    per_gpu(json, window, "per_gpu_power_draw", gt_experiment_gpu_watts);
    per_gpu(json, window, "per_gpu_nvidia_memory", memory_of);
    begin(json, "per_gpu_nvidia_use_rate");
    int64_t card = 0;
    for (size_t i = 0; i < window->sampler->frame.device_count; i++)
        if (gt_experiment_is_board(window, i))
            numbered(json, card++, use_of(window, i) * 100);
    gt_json_object_end(json);
    begin(json, "per_gpu_attributable_power");
    each_gpu(json, window, gt_experiment_gpu_job_watts);
    gt_json_key(json, "all");
    gt_json_double(json, job_watts);
    gt_json_object_end(json);
    per_gpu_and_process(json, window, "per_gpu_attributable_mem_use", true);
    per_gpu_and_process(json, window, "per_gpu_per_pid_utilization_absolute", false);
    per_gpu(json, window, "per_gpu_absolute_percent_usage", job_use_of);
    per_gpu(json, window, "nvidia_mem_use", job_memory_of);
    per_gpu(json, window, "nvidia_sm_use", job_use_of);
    per_gpu(json, window, "per_gpu_estimated_attributable_utilization", job_ratio_of);
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
static void experiment_write_metrics(struct gt_json *json, const struct gt_experiment_window *window)
{
    gt_json_object_begin(json);
    temperatures(json, window);
    cpu(json, window);
    if (window->sampler->frame.device_count)
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

static int make_folders(const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return *part && mkdir(part, 0777) < 0 && errno != EEXIST ? -errno : 0;
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

struct experiment {
    struct gt_experiment_window window;
    int fd;          /* of power_metrics.json, or -1: records are handed over */
    char path[4200]; /* of it */
    bool has_records;
    int64_t read_ns; /* the latest reading that was taken into the window */
    int64_t record_ns;
    int (*record)(void *context, const char *metrics);
    void *context;
};

static int open_folder(struct experiment *experiment, const char *folder, const char *description,
                       struct gt_error *error)
{
    if (snprintf(experiment->path, sizeof experiment->path, "%spower_metrics.json", folder) >= PATH_MAX)
        return gt_error_set(error, ENAMETOOLONG, "the name of the folder is too long");
    int status = make_folders(folder);
    if (status < 0)
        return gt_error_system(error, -status, "%s", folder);
    status = write_metadata(folder, description, error);
    if (status < 0)
        return status;
    experiment->fd = open(experiment->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    status = experiment->fd < 0 ? -errno : mend(experiment->fd);
    return status < 0 ? gt_error_system(error, -status, "%s", experiment->path) : 0;
}

static void release(struct experiment *experiment)
{
    if (experiment->fd >= 0)
        close(experiment->fd);
    gt_experiment_window_release(&experiment->window);
    free(experiment);
}

static int64_t reading_of(const struct experiment *experiment)
{
    return experiment->window.sampler->frame.monotonic_ns;
}

static int create(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error)
{
    const struct gt_store_readings *from = options->readings;
    struct experiment *experiment = from ? calloc(1, sizeof *experiment) : NULL;
    if (!experiment)
        return gt_error_set(error, from ? ENOMEM : ENOTSUP, "%s: only a tracker records into a folder", options->path);
    experiment->fd = -1;
    experiment->record = from->experiment.record;
    experiment->context = from->context;
    /* A reading that comes a little early would double the window. */
    experiment->record_ns = (int64_t)((from->experiment.measurement_period - machine->period / 8) * 1e9);
    int status = gt_experiment_window_begin(&experiment->window, from->sampler, from->attribution,
                                            from->experiment.all_gpu_users);
    experiment->read_ns = status < 0 ? 0 : reading_of(experiment);
    if (status < 0)
        gt_error_system(error, ENOMEM, "%s", options->path);
    else if (!from->experiment.record)
        status = open_folder(experiment, options->path, machine->command, error);
    if (status < 0)
        release(experiment);
    else
        *ret = experiment;
    return status;
}

/* A line is written whole, or not at all. */
static int append(struct experiment *experiment, const struct gt_buffer *line, struct gt_error *error)
{
    off_t before = lseek(experiment->fd, 0, SEEK_END);
    int status = gt_file_write_all(experiment->fd, line->data, line->length);
    if (status < 0 && ftruncate(experiment->fd, before) < 0)
        return gt_error_system(error, errno, "%s ends in half a line", experiment->path);
    experiment->has_records |= status == 0;
    return status < 0 ? gt_error_system(error, -status, "%s", experiment->path) : 0;
}

static int write_line(struct experiment *experiment, struct gt_error *error)
{
    char date[64];
    struct gt_buffer line = {0};
    struct gt_json json;
    gt_experiment_date_text(date, sizeof date, experiment->window.end_real_ns, true);
    gt_json_init(&json, &line, 0);
    gt_json_object_begin(&json);
    gt_json_key(&json, "date");
    gt_json_text(&json, date);
    gt_json_key(&json, "window");
    gt_json_double(&json, experiment->window.seconds);
    gt_json_key(&json, "metrics");
    experiment_write_metrics(&json, &experiment->window);
    gt_json_object_end(&json);
    gt_buffer_char(&line, '\n');
    int status = line.failed ? gt_error_system(error, ENOMEM, "%s", experiment->path)
                             : append(experiment, &line, error);
    gt_buffer_release(&line);
    return status;
}

static int hand_over(struct experiment *experiment, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_json json;
    gt_json_init(&json, &text, 0);
    experiment_write_metrics(&json, &experiment->window);
    int status = text.failed ? -ENOMEM : experiment->record(experiment->context, text.data);
    gt_buffer_release(&text);
    return status < 0 ? gt_error_system(error, -status, "a record was not taken") : 0;
}

/* After an error the next record tells of this time, too. */
static int write_record(struct experiment *experiment, struct gt_error *error)
{
    gt_experiment_window_conclude(&experiment->window);
    int status = experiment->record ? hand_over(experiment, error) : write_line(experiment, error);
    if (status == 0)
        gt_experiment_window_next(&experiment->window);
    return status;
}

static int take_reading(struct experiment *experiment, struct gt_error *error)
{
    if (reading_of(experiment) <= experiment->read_ns)
        return 0;
    experiment->read_ns = reading_of(experiment);
    return gt_experiment_window_read(&experiment->window) < 0 ? gt_error_system(error, ENOMEM, "experiment") : 0;
}

static int write_sample(void *state, const struct gt_sample *sample, struct gt_error *error)
{
    struct experiment *experiment = state;
    (void)sample; /* is of the reading */
    int status = take_reading(experiment, error);
    if (status < 0 || experiment->read_ns - experiment->window.begin_ns < experiment->record_ns)
        return status;
    return write_record(experiment, error);
}

/* Each record is in the page cache when it is written. */
static int flush(void *state, struct gt_error *error)
{
    (void)state;
    (void)error;
    return 0;
}

static int finish(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error)
{
    struct experiment *experiment = state;
    int status = outcome && whole ? take_reading(experiment, error) : 0;
    if (outcome && whole && status == 0 && experiment->read_ns > experiment->window.begin_ns)
        status = write_record(experiment, error);
    if (experiment->has_records) {
        int ended = gt_file_write_all(experiment->fd, SEGMENT_END, sizeof SEGMENT_END - 1);
        if (ended < 0)
            status = gt_error_system(error, -ended, "%s", experiment->path);
    }
    release(experiment);
    return status;
}

const struct gt_store_type gt_store_aipowermeter = {
    .suffix = "/",
    .help = "A folder as AIPowerMeter's",
    .is_direct = true,
    .create = create,
    .write = write_sample,
    .flush = flush,
    .finish = finish,
    .unread = "is a folder of experiments: gpu_tracker.power reads them",
};
