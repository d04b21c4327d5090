#include "collect/cgroup/cgroup.h"
#include "record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/coverage.h"
#include "base/os/clock.h"
#include "collect/gpu/gpu.h"
#include "collect/process/memory.h"
#include "collect/process/process.h"
#include "record/machine.h"
#include "store/type.h"

static const int64_t LONGEST_PATIENCE_NS = 50000000;

static double cpu_seconds(clockid_t clock)
{
    return (double)gt_clock_ns(clock) / 1e9;
}

static void warn_caller(const struct gt_recorder *recorder, const char *sentence)
{
    gt_warn(recorder->options.warn, recorder->options.context, "%s", sentence);
}

int64_t gt_recorder_now(const struct gt_recorder *recorder)
{
    return gt_clock_monotonic(&recorder->sampler.clock);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

int gt_recorder_path(const struct gt_tracker_options *options, pid_t pid, char *ret, size_t size,
                     struct gt_error *error)
{
    if (!options->experiment)
        return gt_store_path(ret, size, options->tracking_file, pid, error);
    int length = snprintf(ret, size, "%s/", options->tracking_file);
    return length < 0 || (size_t)length >= size ? gt_error_system(error, ENAMETOOLONG, "%s", options->tracking_file)
                                                : 0;
}

/* Returns how many processes are listed by name: other recordings than SQLite would need a file beside them for it. */
static size_t names_of(const struct gt_tracker_options *options)
{
    const struct gt_store_type *type = options->tracking_file ? gt_store_type_of(options->tracking_file, NULL) : NULL;
    return options->detail ? GT_PROCESS_HISTORY_MOST : type && type->is_database ? GT_PROCESS_HISTORY_FEW : 0;
}

static int open_parts(struct gt_recorder *recorder, pid_t pid, struct gt_error *error)
{
    const struct gt_tracker_options *options = recorder->options.tracker;
    struct gt_sampler_options sampler = {
        .pid = pid,
        .slurm_job = options->mark ? getenv("SLURM_JOB_ID") : NULL,
        .mark = options->mark,
        .launched = options->launched,
        .aside = options->aside,
        .names = names_of(options),
        .machine_root = options->machine_root,
        .gpu_brand = options->gpu_brand,
        .memory = options->memory,
        .libraries = options->libraries,
        .clock = recorder->options.clock,
        .cgroup = recorder->options.cgroup,
        .period = options->sleep_time,
        .power_meter = options->power_meter,
        .power_model = options->power_model,
        .cpu_tdp = options->cpu_tdp,
        .starts_early = !options->gpu_uuids && !options->experiment,
    };
    int status = gt_sampler_open(&recorder->sampler, &sampler, error);
    if (status >= 0)
        status = gt_device_select(&recorder->sampler.snapshot, options->gpu_uuids, error);
    if (status >= 0 && options->tracking_file)
        status = gt_recorder_path(options, pid, recorder->path, sizeof recorder->path, error);
    return status < 0 ? status : gt_recorder_describe(recorder, error);
}

static void set_refresh(struct gt_recorder *recorder)
{
    double refresh[GT_ENERGY_DEVICES];
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        refresh[i] = recorder->machine.energy_source[i].refresh;
    gt_attribution_refresh(&recorder->combiner.attribution, refresh);
}

static void begin(struct gt_recorder *recorder)
{
    const struct gt_tracker_options *options = recorder->options.tracker;
    int64_t quarter = (int64_t)(options->sleep_time * 1e9) / 4;
    recorder->patience_ns = quarter < LONGEST_PATIENCE_NS ? quarter : LONGEST_PATIENCE_NS;
    recorder->start_ns = gt_recorder_now(recorder);
    gt_process_history_begin(recorder->sampler.history, recorder->start_ns);
    recorder->machine.start_real_ns = recorder->start_ns + recorder->sampler.epoch_ns;
    gt_allocation_read(&recorder->machine, &recorder->sampler.root, recorder->kernel.groups);
    if (recorder->options.cgroup) {
        gt_place_take_group(&recorder->machine, gt_cgroup_place(recorder->options.cgroup), recorder->kernel.groups);
        recorder->kernel.lines_hash = 0;
    }
    gt_kernel_watch_begin(&recorder->kernel, &recorder->sampler.root);
    gt_summary_init(&recorder->summary);
    gt_energy_curve_follow(&recorder->energy, &recorder->machine, 0);
    gt_combine_init(&recorder->combiner, &(struct gt_combine_options){
                                             .detail = options->detail || options->experiment,
                                             .core_count = recorder->machine.core_count,
                                             .period = options->sleep_time,
                                             .idle = (enum gt_idle_policy)gt_idle_policy_find(options->idle),
                                             .start_ns = recorder->start_ns,
                                         });
    set_refresh(recorder);
}

/* Each once; a driver may be opened late. */
static void warn_of_collectors(struct gt_recorder *recorder)
{
    const struct gt_tracker_options *options = recorder->options.tracker;
    char sentence[600];
    for (size_t i = 0; i < recorder->sampler.source_count; i++) {
        bool is_told = recorder->told_sources >> i & 1;
        if (is_told || !gt_sampler_complaint(&recorder->sampler, i, sentence, sizeof sentence))
            continue;
        recorder->told_sources |= UINT64_C(1) << i;
        warn_caller(recorder, sentence);
    }
    bool expects_gpu = options->gpu_brand || options->gpu_uuids;
    if (expects_gpu && !recorder->sampler.snapshot.device_count && !recorder->sampler.is_opening)
        warn_caller(recorder, "No GPU was found: GPU figures are not measured");
}

static int open_late(struct gt_recorder *recorder, struct gt_error *error)
{
    int status = gt_sampler_open_late(&recorder->sampler, error);
    if (status <= 0)
        return status;
    status = gt_recorder_describe_gpus(recorder);
    set_refresh(recorder);
    warn_of_collectors(recorder);
    return status < 0 ? gt_error_system(error, -status, "tracker") : 0;
}

int gt_recorder_open(struct gt_recorder *recorder, pid_t pid, bool is_own, const struct gt_recorder_options *options,
                     struct gt_error *error)
{
    memset(recorder, 0, sizeof *recorder); /* a literal would be a copy on the stack */
    recorder->options = *options;
    recorder->exit_status = -1;
    recorder->is_dedicated = !is_own;
    recorder->sampler.root.fd = -1;
    if (is_own && !options->tracker->keep_high_water_mark)
        recorder->own_window = gt_own_peak_begin(); /* where that is refused its peak is the largest look */
    int status = open_parts(recorder, pid, error);
    if (status < 0) {
        gt_recorder_close(recorder);
        return status;
    }
    begin(recorder);
    warn_of_collectors(recorder);
    bool is_one_of_many = recorder->machine.world > 1; /* of which srun, or another, has started this one */
    if (recorder->options.tracker->mark && !recorder->sampler.finder.slurm && !is_one_of_many)
        warn_caller(recorder,
                    "Slurm has no control groups of this job on this node, so processes that srun starts are not "
                    "measured here: write gpu-tracker run after srun instead");
    return 0;
}

void gt_recorder_close(struct gt_recorder *recorder)
{
    gt_store_close(recorder->store, NULL, NULL);
    gt_power_log_close(recorder->power_log, NULL);
    if (recorder->own_window > 0)
        gt_own_peak_end(recorder->own_window);
    gt_sampler_close(&recorder->sampler);
    gt_kernel_watch_release(&recorder->kernel);
    gt_combine_release(&recorder->combiner);
    gt_energy_curve_release(&recorder->energy);
    gt_summary_release(&recorder->summary);
    free(recorder->batch.bytes);
    gt_sample_copy_release(&recorder->summed);
    gt_outcome_release(&recorder->outcome);
    free(recorder->machine.gpu);
    memset(recorder, 0, sizeof *recorder);
    recorder->sampler.root.fd = -1;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static void note_end(struct gt_recorder *recorder)
{
    const struct gt_tree *tree = &recorder->sampler.tree;
    int64_t main_end_ns = recorder->sampler.snapshot.main_end_ns;
    bool main_lives = tree->count && tree->process[0]->is_main && !tree->process[0]->is_zombie;
    if (!main_lives && !recorder->end_ns)
        recorder->end_ns = main_end_ns ? main_end_ns : gt_recorder_now(recorder);
}

static bool any_lives(const struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->process[i]->is_zombie)
            return true;
    return false;
}

static int open_recording(struct gt_recorder *recorder, struct gt_error *error)
{
    const struct gt_tracker_options *options = recorder->options.tracker;
    struct gt_store_options store = {.path = recorder->path,
                                     .overwrite = options->overwrite,
                                     .detail = options->detail,
                                     .names = names_of(options) > 0};
    if (recorder->store || recorder->power_log || (!options->tracking_file && !options->experiment))
        return 0;
    if (!options->experiment)
        return gt_store_open(&recorder->store, &store, &recorder->machine, error);
    return gt_power_log_open(&recorder->power_log, recorder->path, options, &recorder->machine, &recorder->sampler,
                             &recorder->combiner, error);
}

/* Their memory lies cold after each rest, and is fetched once for all samples of a batch. */
int gt_recorder_sum_up(struct gt_recorder *recorder)
{
    int status;
    while ((status = gt_sample_batch_take(&recorder->batch, &recorder->summed)) > 0)
        if (gt_summary_add(&recorder->summary, &recorder->summed.sample) < 0)
            return -ENOMEM;
    return status;
}

/* The file names all GPUs: as long as they are not known, samples wait. */
static void hand_over(struct gt_recorder *recorder)
{
    if (recorder->sampler.is_opening || !recorder->batch.count)
        return;
    if (!recorder->store_failure.code && open_recording(recorder, &recorder->store_failure) < 0)
        gt_warn(recorder->options.warn, recorder->options.context, "nothing is recorded: %s",
                recorder->store_failure.text); /* the job is measured all the same */
    if (recorder->store)
        gt_store_send(recorder->store, &recorder->batch);
    gt_sample_batch_clear(&recorder->batch);
    if (recorder->power_log && !recorder->store_failure.code &&
        gt_power_log_read(recorder->power_log, false, &recorder->store_failure) < 0)
        gt_warn(recorder->options.warn, recorder->options.context, "The recording has stopped: %s",
                recorder->store_failure.text);
}

/* The first is not to wait: it makes the file. Those of experiments are written with readings of their moment. */
static int take_sample(struct gt_recorder *recorder)
{
    const struct gt_tracker_options *options = recorder->options.tracker;
    const struct gt_sample *sample = &recorder->sample;
    bool is_first = !recorder->summary.samples && !recorder->batch.count;
    int status = gt_sample_batch_add(&recorder->batch, sample);
    if (status >= 0 &&
        (is_first || options->experiment ||
         gt_sample_batch_is_due(&recorder->batch, sample->monotonic_ns, (int64_t)(options->sleep_time * 1e9)))) {
        status = gt_recorder_sum_up(recorder);
        hand_over(recorder);
    }
    const char *trouble = recorder->store ? gt_store_trouble(recorder->store) : NULL;
    if (trouble)
        warn_caller(recorder, trouble);
    return status;
}

static void say_away(const char *name, const struct gt_gap *gap, char *sentence, size_t size)
{
    char text[140];
    gt_gap_describe(gap, text, sizeof text);
    snprintf(sentence, size, "Energy of the %s is known for a part of the run only, not %s", name, text);
}

/* What counted on unread is made up for by the next reading. */
static void say_back(const char *name, double began, int64_t now_ns, const struct gt_coverage *coverage,
                     const struct gt_gap *gap, char *sentence, size_t size)
{
    char text[140];
    struct gt_gap away = {.began = began, .ended = (double)(now_ns - coverage->start_ns) / 1e9, .times = 1};
    gt_gap_describe(isnan(gap->began) ? &away : gap, text, sizeof text);
    if (isnan(gap->began))
        snprintf(sentence, size,
                 "Energy of the %s is known for the whole run again: its counter went on while it was away %s", name,
                 text);
    else
        snprintf(sentence, size, "Energy of the %s is known again, for %.3g %% of the time up to now: not %s", name,
                 100 * (1 - gt_coverage_missing(coverage, now_ns) / ((double)(now_ns - coverage->start_ns) / 1e9)),
                 text);
}

bool gt_gap_watch_look(struct gt_gap_watch *watch, const char *name, const struct gt_coverage *coverage,
                       const struct gt_gap *gap, int64_t now_ns, bool is_end, char *sentence, size_t size)
{
    bool is_first = !watch->is_told && (gt_coverage_is_broken(coverage, now_ns) || (is_end && gap->times > 0));
    bool is_back = watch->is_away && !gt_coverage_is_away(coverage, now_ns);
    bool is_more = is_end && watch->is_told && gap->times > watch->times;
    if (is_back)
        say_back(name, watch->began, now_ns, coverage, gap, sentence, size);
    else if (is_first || is_more)
        say_away(name, gap, sentence, size);
    else
        return false;
    watch->began = is_first ? gap->began : watch->began;
    watch->is_told = true;
    watch->is_away = gt_coverage_is_away(coverage, now_ns);
    watch->times = gap->times;
    return true;
}

/* Figures of these devices will be partial, or at the end are. */
static void warn_of_gaps(struct gt_recorder *recorder, bool is_end)
{
    static const char *const names[GT_ENERGY_DEVICES] = {"CPU packages", "DRAM", "GPUs"};
    const struct gt_attribution *attribution = &recorder->combiner.attribution;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        const struct gt_coverage *coverage = gt_attribution_coverage(attribution, i);
        char sentence[250];
        struct gt_gap gap;
        gt_attribution_gap(attribution, i, &gap);
        if (attribution->energy[i].is_measured &&
            gt_gap_watch_look(&recorder->gap_watch[i], names[i], coverage, &gap, attribution->now_ns, is_end, sentence,
                              sizeof sentence))
            warn_caller(recorder, sentence);
    }
}

/* A reading between two samples keeps peaks and energy up to date. */
static int keep(struct gt_recorder *recorder, struct gt_error *error)
{
    int status = gt_combine_keep(&recorder->combiner, &recorder->sampler);
    warn_of_gaps(recorder, false);
    return status < 0 ? gt_error_system(error, -status, "sample") : 0;
}

static int write_sample(struct gt_recorder *recorder, struct gt_error *error)
{
    struct gt_sample *sample = &recorder->sample;
    int status = gt_combine(&recorder->combiner, &recorder->sampler, sample);
    if (status >= 0 && recorder->sampler.history)
        status = gt_process_history_changes(recorder->sampler.history, &sample->record, &sample->record_count);
    if (status < 0)
        return gt_error_system(error, -status, "sample");
    gt_combine_hide_old(&recorder->combiner, sample);
    warn_of_gaps(recorder, false);
    status = gt_energy_curve_add(&recorder->energy, (double)(sample->monotonic_ns - recorder->start_ns) / 1e9,
                                 &sample->energy);
    if (status >= 0)
        status = take_sample(recorder);
    return status < 0 ? gt_error_system(error, -status, "sample") : 0;
}

static void tell_trouble(struct gt_recorder *recorder)
{
    if (recorder->sampler.trouble.code)
        warn_caller(recorder, recorder->sampler.trouble.text);
    recorder->sampler.trouble = (struct gt_error){0};
}

static int read_all(struct gt_recorder *recorder, bool is_sample, struct gt_error *error)
{
    int status = open_late(recorder, error);
    if (status >= 0)
        status = gt_sampler_read(&recorder->sampler, recorder->patience_ns, error);
    if (status < 0)
        return status;
    tell_trouble(recorder);
    note_end(recorder);
    gt_kernel_watch_look(&recorder->kernel, &recorder->sampler.tree);
    bool lives = any_lives(&recorder->sampler.tree);
    status = is_sample && lives ? write_sample(recorder, error) : keep(recorder, error);
    return status < 0 ? status : lives;
}

int gt_recorder_read(struct gt_recorder *recorder, bool is_sample, struct gt_error *error)
{
    double began = recorder->is_dedicated ? 0 : cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    int64_t began_ns = gt_recorder_now(recorder);
    int status = read_all(recorder, is_sample, error);
    recorder->slowest_sample = fmax(recorder->slowest_sample, (double)(gt_recorder_now(recorder) - began_ns) / 1e9);
    if (!recorder->is_dedicated)
        recorder->own_cpu_spent += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - began;
    return status;
}

int gt_recorder_look(struct gt_recorder *recorder, int64_t *cpu_ns, struct gt_error *error)
{
    double began = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    int status = gt_sampler_look(&recorder->sampler, error);
    if (status >= 0) {
        gt_combine_look(&recorder->combiner, &recorder->sampler);
        gt_kernel_watch_look(&recorder->kernel, &recorder->sampler.tree);
        note_end(recorder);
        status = any_lives(&recorder->sampler.tree);
    }
    double used = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - began;
    if (!recorder->is_dedicated)
        recorder->own_cpu_spent += used;
    *cpu_ns = (int64_t)(used * 1e9);
    return status;
}

void gt_recorder_poll(struct gt_recorder *recorder)
{
    double began = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    if (gt_sampler_poll(&recorder->sampler))
        gt_combine_look(&recorder->combiner, &recorder->sampler);
    if (!recorder->is_dedicated)
        recorder->own_cpu_spent += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - began;
}

/* ---- What the caller knows and asks ------------------------------------------------------------------------------ */

void gt_recorder_reaped(struct gt_recorder *recorder, pid_t pid, int wait_status, const struct rusage *usage)
{
    if (pid == recorder->machine.pid) {
        recorder->ending = WIFSIGNALED(wait_status) ? GT_ENDED_BY_SIGNAL : GT_ENDED_BY_ITSELF;
        recorder->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    }
    struct gt_sampler *sampler = &recorder->sampler;
    gt_job_finder_drain(&sampler->finder, &sampler->tree, &sampler->account, NULL); /* who has ended before it */
    if (!gt_tree_was_left_out(&sampler->tree, pid))
        gt_account_reaped(&sampler->account, &sampler->tree, &sampler->finder.peak, pid, usage);
    gt_process_history_reaped(recorder->sampler.history, pid, gt_recorder_now(recorder));
    note_end(recorder);
    struct gt_snapshot *snapshot = &recorder->sampler.snapshot;
    if (recorder->sampler.tree.count)
        return;
    if (!snapshot->is_over)
        snapshot->end_ns = gt_recorder_now(recorder);
    snapshot->is_over = true;
    recorder->end_ns = snapshot->end_ns;
}

void gt_recorder_main_peak(struct gt_recorder *recorder, double bytes)
{
    struct gt_sampler *sampler = &recorder->sampler;
    const struct gt_process *main = gt_tree_find(&sampler->tree, sampler->tree.main);
    if (!(bytes > 0) || recorder->is_finished)
        return;
    sampler->account.main_peak = fmax(sampler->account.main_peak, bytes);
    if (main && main->peak != GT_PEAK_NONE)
        gt_job_peak_tell(&sampler->finder.peak, main->peak, bytes, false);
    gt_combine_look(&recorder->combiner, &recorder->sampler);
}

double gt_recorder_value(const struct gt_recorder *recorder, enum gt_scope scope, enum gt_metric_id metric)
{
    struct gt_row row[GT_FIXED_ROWS];
    struct gt_energy_reading energy;
    if (recorder->is_finished)
        return recorder->outcome.value[scope][metric];
    double value = recorder->sample.row_count ? recorder->sample.row[scope].value[metric] : NAN;
    if (!isnan(value) || gt_metrics[metric].unit != GT_JOULES)
        return value;
    gt_combine_fixed(&recorder->combiner, &recorder->sampler, row, &energy); /* the source may be slower than samples */
    return row[scope].value[metric];
}

void gt_recorder_take_energy(struct gt_recorder *recorder, struct gt_energy_drawn *ret)
{
    gt_energy_curve_take(&recorder->energy, ret);
}

size_t gt_recorder_processes(const struct gt_recorder *recorder, pid_t *pids, size_t capacity)
{
    const struct gt_tree *tree = &recorder->sampler.tree;
    size_t count = 0;
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->process[i]->is_zombie)
            continue;
        if (count < capacity)
            pids[count] = tree->process[i]->pid;
        count++;
    }
    return count;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* A job that ended before its first sample has no row; the machine can still be told of. */
static void sample_system_alone(struct gt_recorder *recorder)
{
    struct gt_sample sample;
    if (gt_sampler_read(&recorder->sampler, 0, NULL) < 0 ||
        gt_combine(&recorder->combiner, &recorder->sampler, &sample) < 0)
        return;
    for (int scope = GT_SCOPE_MAIN; scope < GT_FIXED_ROWS; scope++)
        gt_values_clear(sample.row[scope].value);
    gt_summary_add(&recorder->summary, &sample);
    recorder->summary.samples = 0;
}

/* The counters of the machine, too, stand as at the end. */
static void read_last(struct gt_recorder *recorder)
{
    recorder->sampler.snapshot.is_last = true;
    open_late(recorder, NULL);
    gt_recorder_sum_up(recorder);
    if (!recorder->summary.samples)
        sample_system_alone(recorder);
    else
        gt_sampler_read(&recorder->sampler, 0, NULL);
    tell_trouble(recorder);
    note_end(recorder);
    gt_job_finder_last(&recorder->sampler.finder, &recorder->sampler.tree, &recorder->sampler.account);
    if (recorder->own_window > 0) {
        gt_recorder_main_peak(recorder, gt_own_peak_end(recorder->own_window));
        recorder->own_window = 0;
    }
    gt_combine_keep(&recorder->combiner, &recorder->sampler);
    gt_summary_end(&recorder->summary, &recorder->sampler.snapshot);
    warn_of_gaps(recorder, true);
    gt_sampler_read_last(&recorder->sampler);
}

bool gt_recorder_has_recording(const struct gt_recorder *recorder)
{
    return *recorder->path && !recorder->store_failure.code;
}

/* A job that ended before the first sample has a recording, too. */
static int close_recording(struct gt_recorder *recorder, struct gt_error *error)
{
    struct gt_error *failure = &recorder->store_failure;
    hand_over(recorder);
    if (!failure->code)
        open_recording(recorder, failure);
    if (recorder->power_log) {
        if (!failure->code)
            gt_power_log_read(recorder->power_log, true, failure);
        gt_power_log_close(recorder->power_log, failure);
        recorder->power_log = NULL;
    }
    int status = gt_error_copy(error, failure);
    int closed = gt_store_close(recorder->store, &recorder->outcome, error);
    recorder->store = NULL;
    return closed < 0 ? closed : status;
}

int gt_recorder_finish(struct gt_recorder *recorder, struct gt_error *error)
{
    read_last(recorder);
    const struct gt_store_type *type = *recorder->path ? gt_store_type_of(recorder->path, NULL) : NULL;
    int status = gt_recorder_outcome(recorder, &recorder->outcome, error);
    if (status >= 0 && type && type->is_database)
        status = gt_recorder_explain(recorder, &recorder->outcome, error);
    if (status < 0)
        return status;
    recorder->outcome.complete = true;
    recorder->is_finished = true;
    return close_recording(recorder, error);
}

/* ---- Who belongs to the job --------------------------------------------------------------------------------------- */

enum { LONGEST_LINE_OF_ANCESTORS = 1024 };

/* As a subreaper the tracker's process is the ancestor of everything it has launched, and of nothing else. */
bool gt_recorder_contains(const struct gt_recorder *recorder, pid_t pid)
{
    for (int i = 0; i < LONGEST_LINE_OF_ANCESTORS && pid > 0; i++) {
        if (gt_tree_find(&recorder->sampler.tree, pid))
            return true;
        struct gt_process_stat stat;
        pid = gt_process_stat_of(&recorder->sampler.root, pid, &stat) < 0 ? 0 : stat.parent;
        if (recorder->options.tracker->launched && pid == getpid())
            return true;
    }
    return false;
}
