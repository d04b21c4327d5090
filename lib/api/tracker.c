#include "api/tracker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/group.h"
#include "base/grow.h"
#include "collect/gpu/device.h"
#include "collect/process/own_peak.h"

static double cpu_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double gt_tracker_own_cpu(const struct gt_tracker *tracker)
{
    return tracker->is_dedicated ? cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - tracker->own_cpu_base
                                 : tracker->own_cpu_spent;
}

/* ---- Telling the caller ------------------------------------------------------------------------------------------ */

/* The trackers whose callbacks this thread is in, the innermost first. */
struct delivery {
    const struct gt_tracker *tracker;
    bool closes; /* the callback closed it */
    struct delivery *outer;
};
static _Thread_local struct delivery *deliveries;

/* Kept until the lock is free: the callback may call any function. */
static void warn(struct gt_tracker *tracker, const char *sentence)
{
    char *text = tracker->options.warn ? strdup(sentence) : NULL;
    char **complaint = text ? GT_GROW(tracker, complaint) : NULL;
    if (complaint)
        *complaint = text;
    else
        free(text);
}

static void release(struct gt_tracker *tracker);

int gt_tracker_unlock(struct gt_tracker *tracker)
{
    struct delivery delivery = {.tracker = tracker, .outer = deliveries};
    char **text = tracker->complaint;
    size_t count = tracker->complaint_count;
    tracker->complaint = NULL;
    tracker->complaint_count = tracker->complaint_capacity = 0;
    pthread_mutex_unlock(&tracker->mutex);
    deliveries = &delivery;
    for (size_t i = 0; i < count; i++) {
        if (!delivery.closes)
            tracker->options.warn(tracker->options.context, text[i]);
        free(text[i]);
    }
    deliveries = delivery.outer;
    free(text);
    if (!delivery.closes)
        return 0;
    gt_tracker_stop(tracker, NULL);
    if (tracker->has_thread) /* this one is it */
        pthread_detach(tracker->thread);
    release(tracker);
    return -ECANCELED;
}

static int64_t now_of(const struct gt_tracker *tracker)
{
    return gt_clock_monotonic(&tracker->sampler.clock);
}

static void release(struct gt_tracker *tracker)
{
    if (tracker->store)
        gt_store_close(tracker->store, NULL, NULL);
    if (tracker->pidfd >= 0)
        close(tracker->pidfd);
    if (tracker->stop_fd >= 0)
        close(tracker->stop_fd);
    for (size_t i = 0; i < tracker->complaint_count; i++)
        free(tracker->complaint[i]);
    free(tracker->complaint);
    if (tracker->own_window > 0)
        gt_own_peak_end(tracker->own_window);
    gt_sampler_close(&tracker->sampler);
    gt_combine_release(&tracker->combiner);
    gt_energy_curve_release(&tracker->energy);
    gt_outcome_release(&tracker->outcome);
    free(tracker->machine.gpu);
    gt_tracker_options_release(&tracker->options);
    pthread_mutex_destroy(&tracker->mutex);
    gt_summary_release(&tracker->summary);
    free(tracker);
}

static void warn_of_sources(struct gt_tracker *tracker)
{
    bool has_gpu = tracker->sampler.frame.device_count > 0;
    char sentence[600];
    for (size_t i = 0; i < tracker->sampler.source_count; i++)
        if (gt_sampler_complaint(&tracker->sampler, i, sentence, sizeof sentence))
            warn(tracker, sentence);
    if (tracker->options.mark && !tracker->sampler.finder.slurm)
        warn(tracker, "Slurm keeps no control groups of this job here: tasks that srun starts would not be found");
    if (!has_gpu)
        warn(tracker, "No GPU was found: GPU figures are not measured");
}

static int open_parts(struct gt_tracker *tracker, pid_t pid, struct gt_error *error)
{
    const struct gt_tracker_options *options = &tracker->options;
    struct gt_sampler_options sampler = {
        .pid = pid,
        .slurm_job = options->mark ? getenv("SLURM_JOB_ID") : NULL,
        .mark = options->mark,
        .launched = options->launched,
        .detail = options->detail,
        .machine_root = options->machine_root,
        .gpu_brand = options->gpu_brand,
        .memory = options->memory,
        .libraries = options->libraries,
        .cgroup = gt_group_cgroup(options->group),
        .period = options->sleep_time,
        .power_meter = options->power_meter,
        .power_model = options->power_model,
        .cpu_tdp = options->cpu_tdp,
    };
    int status = gt_sampler_open(&tracker->sampler, &sampler, error);
    if (status >= 0)
        status = gt_device_select(&tracker->sampler.frame, options->gpu_uuids, error);
    if (status >= 0 && options->tracking_file)
        status = gt_tracker_path(options, pid, tracker->path, sizeof tracker->path, error);
    if (status >= 0)
        status = gt_tracker_describe(tracker, error);
    return status;
}

/* The number was this process's when the tree was read if it still lives: else it may have been used again. */
static int check_identity(struct gt_tracker *tracker, pid_t pid, struct gt_error *error)
{
    struct pollfd ended = {tracker->pidfd, POLLIN, 0};
    if (tracker->pidfd < 0)
        return 0;
    if (!tracker->sampler.root.is_machine) {
        close(tracker->pidfd);
        tracker->pidfd = -1;
        return 0;
    }
    if (tracker->options.launched || poll(&ended, 1, 0) <= 0)
        return 0;
    return gt_error_set(error, ESRCH, "process %d has ended", (int)pid);
}

static void begin(struct gt_tracker *tracker)
{
    tracker->start_ns = now_of(tracker);
    gt_schedule_start(&tracker->schedule, tracker->start_ns, (int64_t)(tracker->options.sleep_time * 1e9));
    gt_schedule_listen(&tracker->schedule, gt_job_finder_fd(&tracker->sampler.finder) >= 0, tracker->start_ns);
    gt_roster_begin(tracker->sampler.roster, tracker->start_ns);
    tracker->machine.start_real_ns = gt_clock_real(&tracker->sampler.clock);
    gt_summary_init(&tracker->summary);
    gt_energy_curve_follow(&tracker->energy, &tracker->machine, 0);
    const struct gt_energy_source *source = tracker->machine.energy_source;
    gt_combine_init(&tracker->combiner, &(struct gt_combine_options){
                                            .refresh = {source[GT_ENERGY_CPU].refresh, source[GT_ENERGY_DRAM].refresh,
                                                        source[GT_ENERGY_GPU].refresh},
                                            .detail = tracker->options.detail,
                                            .core_count = tracker->machine.core_count,
                                            .period = tracker->options.sleep_time,
                                            .idle = (enum gt_idle)gt_idle_find(tracker->options.idle),
                                            .start_ns = tracker->start_ns,
                                        });
}

int gt_tracker_open(struct gt_tracker **ret, pid_t pid, const struct gt_tracker_options *options,
                    struct gt_error *error)
{
    int status = gt_tracker_check(options, error);
    if (status < 0)
        return status;
    struct gt_tracker *tracker = calloc(1, sizeof *tracker);
    if (!tracker)
        return gt_error_system(error, ENOMEM, "tracker");
    pthread_mutex_init(&tracker->mutex, NULL);
    tracker->pidfd = tracker->stop_fd = -1;
    tracker->exit_status = -1;
    tracker->sampler.root.fd = -1;
    tracker->is_dedicated = pid != 0 && pid != getpid();
    pid = pid ? pid : getpid();
    status = gt_tracker_options_copy(&tracker->options, options, error);
    if (status >= 0 && !tracker->is_dedicated && !tracker->options.keep_high_water_mark)
        tracker->own_window = gt_own_peak_begin();         /* where that is refused its peak is the largest look */
    tracker->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* before the tree is read */
    if (status >= 0)
        status = open_parts(tracker, pid, error);
    if (status >= 0)
        status = check_identity(tracker, pid, error);
    if (status < 0) {
        release(tracker);
        return status;
    }
    begin(tracker);
    *ret = tracker;
    pthread_mutex_lock(&tracker->mutex);
    warn_of_sources(tracker);
    return gt_tracker_unlock(tracker);
}

int gt_tracker_add(struct gt_tracker *tracker, pid_t pid, struct gt_error *error)
{
    int status = gt_tree_add(&tracker->sampler.tree, pid);
    if (status < 0)
        return gt_error_system(error, -status, "process %d", (int)pid);
    if (status == 0 && !gt_tree_find(&tracker->sampler.tree, pid))
        return gt_error_set(error, ESRCH, "process %d does not exist", (int)pid);
    return 0;
}

void gt_tracker_close(struct gt_tracker *tracker)
{
    if (!tracker)
        return;
    for (struct delivery *delivery = deliveries; delivery; delivery = delivery->outer)
        if (delivery->tracker == tracker) { /* its callback asks for it: it goes when that returns */
            delivery->closes = tracker->stop = true;
            return;
        }
    gt_tracker_stop(tracker, NULL);
    release(tracker);
}

/* ---- Sampling ---------------------------------------------------------------------------------------------------- */

static void note_end(struct gt_tracker *tracker)
{
    const struct gt_tree *tree = &tracker->sampler.tree;
    bool main_lives = tree->count && tree->process[0]->is_main && !tree->process[0]->is_zombie;
    if (!main_lives && !tracker->end_ns)
        tracker->end_ns = now_of(tracker);
}

static bool any_lives(const struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->process[i]->is_zombie)
            return true;
    return false;
}

static int open_store(struct gt_tracker *tracker, struct gt_error *error)
{
    const struct gt_tracker_options *options = &tracker->options;
    struct gt_store_readings readings = {
        .sampler = &tracker->sampler,
        .attribution = &tracker->combiner.attribution,
        .seconds = options->measurement_period,
        .everyone = options->all_gpu_users != 0,
        .record = options->record,
        .context = options->context,
    };
    struct gt_store_options store = {
        .path = tracker->path, .overwrite = options->overwrite, .detail = options->detail, .readings = &readings};
    if ((!options->tracking_file && !options->record) || tracker->store)
        return 0;
    return gt_store_open(&tracker->store, &store, &tracker->machine, error);
}

static int store_sample(struct gt_tracker *tracker, struct gt_error *error)
{
    if (!tracker->store && !tracker->store_failure.code && open_store(tracker, &tracker->store_failure) < 0)
        warn(tracker, tracker->store_failure.text); /* the job is measured all the same */
    if (!tracker->store)
        return 0;
    int status = gt_store_write(tracker->store, &tracker->sample, error);
    const char *trouble = status >= 0 ? gt_store_trouble(tracker->store) : NULL;
    if (trouble && strcmp(trouble, tracker->store_trouble) != 0) {
        snprintf(tracker->store_trouble, sizeof tracker->store_trouble, "%s", trouble);
        warn(tracker, trouble);
    }
    return status;
}

/* Once for each device: its figures will be partial, or at the end are. */
static void warn_of_gaps(struct gt_tracker *tracker, bool is_end)
{
    static const char *const names[GT_ENERGY_DEVICES] = {"CPU packages", "DRAM", "GPUs"};
    const struct gt_attribution *attribution = &tracker->combiner.attribution;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const struct gt_coverage *coverage = gt_attribution_coverage(attribution, i);
        char gap[80], sentence[200];
        double began;
        bool is_broken = gt_coverage_is_broken(coverage, attribution->now_ns) ||
                         (is_end && gt_coverage_missing(coverage, attribution->now_ns) > 0);
        if (tracker->gap_warned[i] || !attribution->energy[i].is_measured || !is_broken)
            continue;
        tracker->gap_warned[i] = true;
        enum gt_gap_cause cause = gt_coverage_gap(coverage, attribution->now_ns, &began);
        gt_gap_describe(began, cause, gap, sizeof gap);
        snprintf(sentence, sizeof sentence, "Energy of the %s is known for a part of the run only: %s", names[i], gap);
        warn(tracker, sentence);
    }
}

static int read_once(struct gt_tracker *tracker, bool record, struct gt_error *error)
{
    int64_t period = tracker->schedule.period_ns, patience = period / 4 < 50000000 ? period / 4 : 50000000;
    int status = gt_sampler_read(&tracker->sampler, patience, error);
    if (status < 0)
        return status;
    if (tracker->sampler.trouble.code) {
        warn(tracker, tracker->sampler.trouble.text);
        tracker->sampler.trouble = (struct gt_error){0};
    }
    note_end(tracker);
    bool lives = any_lives(&tracker->sampler.tree);
    if (!record || !lives) {
        status = gt_combine_keep(&tracker->combiner, &tracker->sampler);
        warn_of_gaps(tracker, false);
        return status < 0 ? gt_error_system(error, -status, "sample") : lives;
    }
    status = gt_combine(&tracker->combiner, &tracker->sampler, &tracker->sample);
    if (status >= 0 && tracker->sampler.roster)
        status = gt_roster_changes(tracker->sampler.roster, &tracker->sample.life, &tracker->sample.life_count);
    if (status < 0)
        return gt_error_system(error, -status, "sample");
    warn_of_gaps(tracker, false);
    gt_summary_add(&tracker->summary, &tracker->sample);
    status = gt_energy_curve_add(&tracker->energy, (double)(tracker->sample.monotonic_ns - tracker->start_ns) / 1e9,
                                 &tracker->sample.energy);
    if (status < 0)
        return gt_error_system(error, -status, "sample");
    status = store_sample(tracker, error);
    return status < 0 ? status : lives;
}

int gt_tracker_sample_locked(struct gt_tracker *tracker, bool record, struct gt_error *error)
{
    double began = tracker->is_dedicated ? 0 : cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    int64_t began_ns = now_of(tracker);
    int status = read_once(tracker, record, error);
    double seconds = (double)(now_of(tracker) - began_ns) / 1e9;
    if (seconds > tracker->slowest_sample)
        tracker->slowest_sample = seconds;
    if (!tracker->is_dedicated)
        tracker->own_cpu_spent += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - began;
    return status;
}

static void note_change(struct gt_tracker *tracker)
{
    static const double CHANGE = 0.01;
    double rss = tracker->sampler.memory.scope[GT_SCOPE_COMBINED].rss;
    if (fabs(rss - tracker->rss) > CHANGE * fmax(rss, tracker->rss))
        gt_schedule_change(&tracker->schedule, now_of(tracker));
    tracker->rss = rss;
}

static void note_births(struct gt_tracker *tracker)
{
    uint64_t born = gt_sampler_born(&tracker->sampler);
    if (born > tracker->born)
        gt_schedule_birth(&tracker->schedule, now_of(tracker));
    tracker->born = born;
}

/* 1, or 0 when nothing of the job lives. */
static int look(struct gt_tracker *tracker, struct gt_error *error)
{
    double began = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    int status = gt_sampler_look(&tracker->sampler, error);
    if (status >= 0) {
        gt_combine_look(&tracker->combiner, &tracker->sampler);
        note_end(tracker);
        status = any_lives(&tracker->sampler.tree);
    }
    double used = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - began;
    if (!tracker->is_dedicated)
        tracker->own_cpu_spent += used;
    gt_schedule_looked(&tracker->schedule, now_of(tracker), (int64_t)(used * 1e9));
    return status;
}

int gt_tracker_tick_locked(struct gt_tracker *tracker, struct gt_error *error)
{
    enum gt_due due = gt_schedule_take(&tracker->schedule, now_of(tracker));
    int status = due == GT_DUE_LOOK ? look(tracker, error)
                                    : gt_tracker_sample_locked(tracker, due == GT_DUE_SAMPLE, error);
    note_births(tracker);
    note_change(tracker);
    return status;
}

int gt_tracker_sample(struct gt_tracker *tracker, struct gt_error *error)
{
    if (tracker->is_finished)
        return gt_error_set(error, EINVAL, "the tracker has finished");
    pthread_mutex_lock(&tracker->mutex);
    int status = gt_tracker_sample_locked(tracker, true, error);
    int unlocked = gt_tracker_unlock(tracker);
    return unlocked < 0 ? unlocked : status;
}

int gt_tracker_tick(struct gt_tracker *tracker, struct gt_error *error)
{
    if (tracker->is_finished)
        return gt_error_set(error, EINVAL, "the tracker has finished");
    pthread_mutex_lock(&tracker->mutex);
    int status = gt_tracker_tick_locked(tracker, error);
    int unlocked = gt_tracker_unlock(tracker);
    return unlocked < 0 ? unlocked : status;
}

int gt_tracker_events_fd(const struct gt_tracker *tracker)
{
    return gt_job_finder_fd(&tracker->sampler.finder);
}

int gt_tracker_drain(struct gt_tracker *tracker, struct gt_error *error)
{
    pthread_mutex_lock(&tracker->mutex);
    int status = gt_sampler_drain(&tracker->sampler, error);
    note_births(tracker);
    pthread_mutex_unlock(&tracker->mutex);
    return status;
}

int64_t gt_tracker_due(const struct gt_tracker *tracker)
{
    return gt_schedule_next(&tracker->schedule);
}

int gt_tracker_pidfd(const struct gt_tracker *tracker)
{
    return tracker->pidfd;
}

/* ---- What the caller knows and asks ------------------------------------------------------------------------------ */

void gt_tracker_reaped(struct gt_tracker *tracker, pid_t pid, int wait_status, const struct rusage *usage)
{
    pthread_mutex_lock(&tracker->mutex);
    if (pid == tracker->machine.pid)
        tracker->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    gt_sampler_reaped(&tracker->sampler, pid, usage);
    gt_roster_reaped(tracker->sampler.roster, pid, now_of(tracker));
    note_end(tracker);
    if (!tracker->sampler.tree.count)
        tracker->end_ns = now_of(tracker);
    pthread_mutex_unlock(&tracker->mutex);
}

static void note_main_peak(struct gt_tracker *tracker, double bytes)
{
    gt_sampler_main_peak(&tracker->sampler, bytes);
    gt_combine_look(&tracker->combiner, &tracker->sampler);
}

void gt_tracker_main_peak(struct gt_tracker *tracker, double bytes)
{
    pthread_mutex_lock(&tracker->mutex);
    if (bytes > 0 && !tracker->is_finished)
        note_main_peak(tracker, bytes);
    pthread_mutex_unlock(&tracker->mutex);
}

double gt_tracker_value(const struct gt_tracker *tracker, enum gt_scope scope, int metric)
{
    struct gt_tracker *locked = (struct gt_tracker *)tracker;
    if (scope >= (enum gt_scope)GT_FIXED_ROWS || metric < 0 || metric >= GT_METRIC_COUNT)
        return NAN;
    pthread_mutex_lock(&locked->mutex);
    double value = tracker->is_finished        ? tracker->outcome.value[scope][metric]
                   : tracker->sample.row_count ? tracker->sample.row[scope].value[metric]
                                               : NAN;
    pthread_mutex_unlock(&locked->mutex);
    return value;
}

void gt_tracker_drawn(struct gt_tracker *tracker, struct gt_drawn *ret)
{
    pthread_mutex_lock(&tracker->mutex);
    gt_energy_curve_drawn(&tracker->energy, ret);
    pthread_mutex_unlock(&tracker->mutex);
}

size_t gt_tracker_processes(const struct gt_tracker *tracker, pid_t *pids, size_t capacity)
{
    struct gt_tracker *locked = (struct gt_tracker *)tracker;
    size_t count = 0;
    pthread_mutex_lock(&locked->mutex);
    for (size_t i = 0; i < tracker->sampler.tree.count; i++) {
        const struct gt_process *process = tracker->sampler.tree.process[i];
        if (process->is_zombie)
            continue;
        if (count < capacity)
            pids[count] = process->pid;
        count++;
    }
    pthread_mutex_unlock(&locked->mutex);
    return count;
}

/* A job that ended before its first sample has no row; the machine can still be told of. */
static void sample_system_alone(struct gt_tracker *tracker)
{
    struct gt_sample sample;
    if (gt_sampler_read(&tracker->sampler, 0, NULL) < 0 ||
        gt_combine(&tracker->combiner, &tracker->sampler, &sample) < 0)
        return;
    for (int scope = GT_SCOPE_MAIN; scope < GT_FIXED_ROWS; scope++)
        gt_values_clear(sample.row[scope].value);
    gt_summary_add(&tracker->summary, &sample);
    tracker->summary.samples = 0;
}

static int finish(struct gt_tracker *tracker, struct gt_error *error)
{
    int status = 0;
    tracker->sampler.frame.is_last = true;
    if (!tracker->summary.samples)
        sample_system_alone(tracker);
    else
        gt_sampler_read(&tracker->sampler, 0, NULL); /* the machine's counters, too, stand as at the end */
    note_end(tracker);
    gt_job_finder_last(&tracker->sampler.finder, &tracker->sampler.tree, &tracker->sampler.account);
    if (tracker->own_window > 0) {
        double peak = gt_own_peak_end(tracker->own_window);
        tracker->own_window = 0;
        if (peak > 0)
            note_main_peak(tracker, peak);
    }
    gt_combine_keep(&tracker->combiner, &tracker->sampler);
    warn_of_gaps(tracker, true);
    gt_sampler_read_last(&tracker->sampler);
    int described = gt_tracker_outcome(tracker, &tracker->outcome, error);
    if (described < 0)
        return described;
    tracker->outcome.complete = true;
    tracker->is_finished = true;
    int opened = tracker->store_failure.code
                     ? gt_error_copy(error, &tracker->store_failure)
                     : open_store(tracker, error); /* a job that ended before the first sample has a recording, too */
    status = opened < 0 ? opened : status;
    if (tracker->store) {
        int closed = gt_store_close(tracker->store, &tracker->outcome, error);
        tracker->store = NULL;
        status = closed < 0 ? closed : status;
    }
    return status;
}

int gt_tracker_finish(struct gt_tracker *tracker, struct gt_error *error)
{
    int status = gt_tracker_stop(tracker, error);
    if (tracker->is_finished)
        return status;
    int finished = finish(tracker, error);
    pthread_mutex_lock(&tracker->mutex);
    int unlocked = gt_tracker_unlock(tracker); /* what there was to say at the end */
    return unlocked < 0 ? unlocked : finished < 0 ? finished : status;
}
