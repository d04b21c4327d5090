#include "sample/sampler.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/file.h"
#include "collect/cgroup/cgroup.h"
#include "collect/host/host.h"
#include "collect/process/process.h"

/* A look waits so long for a reading of smaps_rollup that it begins. */
static const int64_t LOOK_PATIENCE_NS = GT_SECOND / 100;

/* Seconds that the start of a job may wait for a driver, and its end. */
static const double EARLY_PATIENCE = 0.5, LAST_PATIENCE = 0.7;

static int open_driver(struct gt_sampler *sampler, struct gt_sampler_source *source, double seconds,
                       struct gt_error *error)
{
    int status = source->driver
                     ? 0
                     : gt_driver_open(&source->driver, source->type, &sampler->collect, &sampler->snapshot, error);
    if (status < 0)
        return status == -ENOMEM
                   ? status
                   : gt_unavailable(&source->availability, GT_BROKEN, NULL, "cannot start a thread for the driver");
    return gt_driver_opened(&source->driver, seconds, &source->state, &sampler->snapshot, &source->availability, error);
}

static int open_source(struct gt_sampler *sampler, size_t number, double seconds, struct gt_error *error)
{
    struct gt_sampler_source *source = &sampler->source[number];
    int status = source->type->calls_driver ? open_driver(sampler, source, seconds, error)
                                            : gt_collector_open(source->type, &source->state, &sampler->collect,
                                                                &sampler->snapshot, &source->availability, error);
    if (status == -EINPROGRESS) {
        sampler->is_opening = true;
        return gt_unavailable(&source->availability, GT_ABSENT, NULL, "its driver is being opened");
    }
    source->is_settled = true;
    if (source->state)
        sampler->ready[sampler->ready_count++] = (uint8_t)number;
    return status;
}

/* Collectors of GPUs are opened one after the other: each adds its devices, and leaves out those of the ones before. */
static int open_collectors(struct gt_sampler *sampler, double seconds, struct gt_error *error)
{
    int status = 0;
    sampler->is_opening = false;
    for (size_t i = 0; i < sampler->source_count && status >= 0; i++)
        if (!sampler->source[i].is_settled && !(sampler->is_opening && sampler->source[i].type->brand))
            status = open_source(sampler, i, seconds, error);
    return status;
}

static void give_up_opening(struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->source_count; i++) {
        struct gt_sampler_source *source = &sampler->source[i];
        if (source->is_settled)
            continue;
        source->is_settled = true;
        if (source->driver)
            gt_unavailable(&source->availability, GT_BROKEN, NULL, GT_SILENT_DRIVER " until the end");
        gt_driver_close(source->driver);
        source->driver = NULL;
    }
    sampler->is_opening = false;
}

static size_t count_settled(const struct gt_sampler *sampler)
{
    size_t count = 0;
    for (size_t i = 0; i < sampler->source_count; i++)
        count += sampler->source[i].is_settled;
    return count;
}

int gt_sampler_open_late(struct gt_sampler *sampler, struct gt_error *error)
{
    size_t before = count_settled(sampler);
    if (!sampler->is_opening)
        return 0;
    int status = open_collectors(sampler, sampler->snapshot.is_last ? LAST_PATIENCE : 0, error);
    if (sampler->snapshot.is_last)
        give_up_opening(sampler);
    return status < 0 ? status : count_settled(sampler) > before;
}

static int list_collectors(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    sampler->collect = (struct gt_collect_options){
        .root = &sampler->root,
        .clock = &sampler->clock,
        .topology = &sampler->topology,
        .pid = options->pid,
        .gpu_brand = options->gpu_brand,
        .library = options->libraries,
        .period = options->period,
        .cgroup = options->cgroup,
        .power_meter = options->power_meter,
        .power_model = options->power_model,
        .cpu_tdp = options->cpu_tdp,
    };
    sampler->source = calloc(gt_collector_type_count, sizeof *sampler->source);
    if (!sampler->source)
        return gt_error_system(error, ENOMEM, "sampler");
    sampler->source_count = gt_collector_type_count;
    for (size_t i = 0; i < sampler->source_count; i++) {
        struct gt_sampler_source *source = &sampler->source[i];
        source->type = gt_collector_types[i];
        source->availability = (struct gt_availability){.state = GT_ABSENT, .refresh = NAN};
        snprintf(source->availability.source, sizeof source->availability.source, "%s", source->type->help);
    }
    return 0;
}

int gt_sampler_probe(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    *sampler = (struct gt_sampler){.root.fd = -1};
    sampler->clock = options->clock ? *options->clock : gt_clock_system;
    sampler->epoch_ns = gt_clock_real(&sampler->clock) - gt_clock_monotonic(&sampler->clock);
    int status = gt_root_open(&sampler->root, options->machine_root, error);
    if (status >= 0)
        status = list_collectors(sampler, options, error);
    if (status >= 0)
        status = open_collectors(sampler, options->starts_early ? EARLY_PATIENCE : GT_DRIVER_PATIENCE, error);
    if (status < 0)
        gt_sampler_close(sampler);
    return status;
}

/* Clock ticks since boot, the unit of a process's start time. */
static uint64_t now_in_ticks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK) +
           (uint64_t)t.tv_nsec * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000000u;
}

static int open_history(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    int status = gt_process_history_new(&sampler->history, &sampler->root, options->names, options->launched, error);
    sampler->account.history = sampler->history;
    sampler->finder.members.history = sampler->history;
    return status;
}

/* Descriptors for the processes and the recording, which all else may not take. */
enum { RESERVED = 10 };

/* Their collector has found out whether /proc shows the processes that this one knows. */
static int check_processes(const struct gt_sampler *sampler, struct gt_error *error)
{
    for (size_t i = 0; i < sampler->source_count; i++)
        if (!strcmp(sampler->source[i].type->name, "proc") && !sampler->source[i].state)
            return gt_pid_namespace_check(&sampler->root, error);
    return 0;
}

static int open_memory(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    bool has_group = options->cgroup && gt_cgroup_source(options->cgroup, GT_CGROUP_FIGURE_MEMORY);
    int method = gt_memory_method_find(options->memory, error);
    if (method < 0)
        return method;
    if (method == GT_MEMORY_GROUP && !has_group)
        method = GT_MEMORY_FAULTS;
    return gt_job_memory_open(&sampler->memory, &sampler->root, &sampler->clock, (enum gt_memory_method)method, error);
}

static int open_sources(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    int status = gt_sampler_probe(sampler, options, error);
    if (status < 0)
        return status;
    status = check_processes(sampler, error);
    gt_account_init(&sampler->account, options->launched ? 0 : now_in_ticks());
    if (status >= 0)
        status = open_memory(sampler, options, error);
    if (status >= 0)
        status = gt_job_finder_open(&sampler->finder, &sampler->root, error);
    if (status >= 0 && options->names)
        status = open_history(sampler, options, error);
    if (status >= 0)
        status = gt_job_finder_slurm(&sampler->finder, &sampler->root, options->slurm_job, options->mark, error);
    if (status < 0)
        gt_sampler_close(sampler);
    return status;
}

/* VmHWM in bytes; 0 where it is not shown. */
static double hwm_of(const struct gt_sampler *sampler, pid_t pid)
{
    char text[4096];
    bool is_read = gt_root_read_process(&sampler->root, pid, "status", text, sizeof text) > 0;
    double kilobytes = is_read ? gt_process_number(text, "\nVmHWM:") : NAN;
    return isnan(kilobytes) ? 0 : kilobytes * 1024;
}

int gt_sampler_open(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    struct gt_reserve reserve = {.count = 0};
    gt_reserve_release(&reserve, gt_reserve_take(&reserve, 2 * RESERVED) / 2);
    int status = open_sources(sampler, options, error);
    struct gt_reserve more;
    bool is_short = !gt_reserve_take(&more, 1);
    gt_reserve_release(&more, 0);
    gt_reserve_release(&reserve, 0);
    if (status < 0)
        return status;
    if (is_short)
        gt_error_set(&sampler->trouble, EMFILE,
                     "descriptors are short (ulimit -n): what could not be opened is not measured");
    sampler->cgroup = options->cgroup;
    int64_t now = gt_clock_monotonic(&sampler->clock);
    status = gt_tree_open(&sampler->tree, &sampler->root, options->pid, options->launched, error);
    if (status >= 0 && options->aside)
        gt_tree_keep_out(&sampler->tree, options->aside);
    if (status >= 0 && sampler->history && gt_process_history_read(sampler->history, &sampler->tree, now) < 0)
        status = gt_error_system(error, ENOMEM, "names of the processes");
    const struct gt_events *events = sampler->finder.events;
    bool has_records = events &&
                       gt_events_fd(events, GT_EVENTS_RECORDS) >= 0; /* which tell the mark of the program alone */
    if (status >= 0 && options->launched && !has_records)
        sampler->account.main_hwm_held = hwm_of(sampler, options->pid);
    if (status >= 0 && options->launched)
        status = gt_job_finder_look(&sampler->finder, &sampler->tree, &sampler->account,
                                    gt_clock_monotonic(&sampler->clock), error);
    if (status < 0)
        gt_sampler_close(sampler);
    return status;
}

int gt_sampler_open_machine(struct gt_sampler *sampler, const struct gt_sampler_options *options,
                            struct gt_error *error)
{
    struct gt_sampler_options machine = *options;
    machine.pid = 0;
    machine.cgroup = NULL;
    int status = gt_sampler_probe(sampler, &machine, error);
    if (status < 0)
        return status;
    gt_account_init(&sampler->account, now_in_ticks());
    sampler->tree = (struct gt_tree){.root = &sampler->root};
    status = check_processes(sampler, error);
    if (status < 0)
        gt_sampler_close(sampler);
    return status;
}

void gt_sampler_close(struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->source_count; i++)
        if (sampler->source[i].driver)
            gt_driver_close(sampler->source[i].driver);
        else
            gt_collector_close(sampler->source[i].type, sampler->source[i].state);
    free(sampler->source);
    free(sampler->snapshot.device);
    free(sampler->snapshot.share);
    free(sampler->snapshot.hwm);
    free(sampler->snapshot.past);
    gt_packages_release(&sampler->snapshot, &sampler->topology);
    gt_job_memory_close(sampler->memory);
    gt_group_memory_close(&sampler->group_memory);
    gt_rank_finder_close(&sampler->ranks);
    gt_tree_close(&sampler->tree);
    gt_job_finder_close(&sampler->finder);
    gt_process_history_free(sampler->history);
    gt_root_close(&sampler->root);
    *sampler = (struct gt_sampler){.root.fd = -1};
}

static bool is_given_elsewhere(const struct gt_sampler *sampler, enum gt_metric_id metric)
{
    for (size_t i = 0; i < sampler->source_count; i++)
        if (sampler->source[i].state && gt_collector_fills(sampler->source[i].type, metric))
            return true;
    return false;
}

bool gt_sampler_complaint(const struct gt_sampler *sampler, size_t number, char *sentence, size_t size)
{
    const struct gt_sampler_source *source = &sampler->source[number];
    const struct gt_availability *availability = &source->availability;
    bool is_missed = !source->type->metric_count && !source->type->origin_count;
    if (availability->state != GT_DENIED && availability->state != GT_BROKEN)
        return false;
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        is_missed |= gt_collector_fills(source->type, id) && !is_given_elsewhere(sampler, id);
    snprintf(sentence, size, "%s: %s%s%s", availability->source, availability->reason,
             availability->remedy[0] ? "; try: " : "", availability->remedy);
    return is_missed;
}

/* Samplers of other trackers, which may be descendants. */
static void leave_samplers_out(struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->tree.count && sampler->memory; i++) {
        struct gt_process *process = sampler->tree.process[i];
        if (!process->is_main && gt_process_is_sampler(process)) {
            gt_job_finder_leave_out(&sampler->finder, &sampler->tree, process);
            i--;
        }
    }
}

/* A process is taken in after the one that forked it, of whose memory it has a part. */
static int meet(struct gt_sampler *sampler, struct gt_process *process)
{
    struct gt_process *parent = gt_job_finder_origin(&sampler->finder, &sampler->tree, process);
    parent = parent == process || process->is_main ? NULL : parent;
    int status = 0;
    if (process->memory)
        return 0;
    if (parent && parent->start <= process->start && !parent->memory && parent->is_admitted)
        status = meet(sampler, parent);
    return status < 0 ? status : gt_job_memory_meet(sampler->memory, process, parent);
}

/* A parent that ended before it was found has left the process to another one, as stat shows. */
static void read_first(const struct gt_tree *tree, struct gt_process *process)
{
    if (gt_tree_find(tree, process->parent))
        gt_process_read_first(process);
    else
        gt_process_read_slowly(process);
}

static int admit_new(struct gt_sampler *sampler)
{
    int status = 0;
    for (size_t i = 0; i < sampler->tree.count; i++) {
        struct gt_process *process = sampler->tree.process[i];
        if (process->is_admitted)
            continue;
        process->is_admitted = true;
        process->met_ns = gt_clock_monotonic(&sampler->clock);
        if (gt_process_read(process, &sampler->root) == 0)
            read_first(&sampler->tree, process);
        gt_account_admit(&sampler->account, process);
    }
    for (size_t i = 0; i < sampler->tree.count && sampler->memory && status >= 0; i++)
        status = meet(sampler, sampler->tree.process[i]);
    leave_samplers_out(sampler);
    return status;
}

static int discover(struct gt_sampler *sampler, struct gt_error *error)
{
    int status = gt_job_finder_look(&sampler->finder, &sampler->tree, &sampler->account,
                                    gt_clock_monotonic(&sampler->clock), error);
    if (status >= 0 && admit_new(sampler) < 0)
        return gt_error_system(error, ENOMEM, "memory of the processes");
    return status;
}

/* Collectors are asked one after the other, and some take long. */
static void note_time(struct gt_snapshot *snapshot, const struct gt_collector_type *type, int64_t now_ns)
{
    for (size_t k = 0; k < type->metric_count; k++)
        if (!snapshot->owner[type->metrics[k]] || snapshot->owner[type->metrics[k]] == type)
            snapshot->read_ns[type->metrics[k]] = now_ns;
}

/* Nothing asks its collector again, not even for a description. */
static void leave_driver(struct gt_sampler_source *source)
{
    source->state = NULL;
    gt_unavailable(&source->availability, GT_BROKEN, NULL, GT_SILENT_DRIVER " at the end");
}

static int collect(struct gt_sampler *sampler, struct gt_error *error)
{
    struct gt_snapshot *snapshot = &sampler->snapshot;
    snapshot->process = sampler->tree.process;
    snapshot->process_count = sampler->tree.count;
    snapshot->share_count = snapshot->hwm_count = 0;
    gt_values_clear(snapshot->system);
    gt_values_clear(snapshot->job);
    memset(snapshot->doubt, 0, sizeof snapshot->doubt);
    for (size_t i = 0; i < snapshot->device_count; i++) {
        gt_values_clear(snapshot->device[i].value);
        snapshot->device[i].is_resting = snapshot->device[i].is_old = snapshot->device[i].is_silent = false;
        snapshot->device[i].doubt = 0;
        snapshot->device[i].read_ns = 0;
    }
    gt_packages_clear(snapshot);
    if (snapshot->is_last && sampler->history && gt_process_history_past(sampler->history, snapshot) < 0)
        return gt_error_system(error, ENOMEM, "processes that have ended");
    snapshot->monotonic_ns = gt_clock_monotonic(&sampler->clock);
    snapshot->real_ns = snapshot->monotonic_ns + sampler->epoch_ns;
    gt_snapshot_see_end(snapshot, &sampler->root);
    for (size_t i = 0; i < sampler->ready_count; i++) {
        struct gt_sampler_source *source = &sampler->source[sampler->ready[i]];
        struct gt_error trouble;
        int64_t begin_ns = gt_clock_monotonic(&sampler->clock);
        trouble.code = 0;
        trouble.text[0] = '\0';
        int status = source->driver ? gt_driver_collect(source->driver, snapshot, &trouble)
                                    : source->type->collect(source->state, snapshot, &trouble);
        if (status == -ENOMEM)
            return gt_error_set(error, ENOMEM, "%s", trouble.text[0] ? trouble.text : "no memory");
        if (status == -ETIMEDOUT && snapshot->is_last)
            leave_driver(source);
        if (status < 0 && trouble.text[0] && !sampler->trouble.code)
            sampler->trouble = trouble;
        note_time(snapshot, source->type, (begin_ns + gt_clock_monotonic(&sampler->clock)) / 2);
    }
    sampler->platform_doubt += fabs(snapshot->doubt[GT_PLATFORM_ENERGY]);
    snapshot->read_seconds = (double)(gt_clock_monotonic(&sampler->clock) - snapshot->monotonic_ns) / 1e9;
    return 0;
}

/* Before their memory is read: page faults that come later would be taken for pages that were copied. */
static void look_at_forks(struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->tree.count; i++) {
        struct gt_process *process = sampler->tree.process[i];
        if (process->is_forked && !process->is_main && !process->is_gone)
            gt_process_look_at_fork(process, gt_tree_find(&sampler->tree, process->parent), &sampler->root,
                                    gt_clock_monotonic(&sampler->clock));
        gt_job_memory_read_faults(sampler->memory, process);
    }
    leave_samplers_out(sampler);
}

/* A fork that is about to execute a program has its parent's memory. */
static void note_hwm(struct gt_sampler *sampler, const struct gt_process *process)
{
    bool is_copy = process->is_forked && !process->is_main && !process->is_worker;
    if (process->peak != GT_PEAK_NONE && !process->is_zombie && !is_copy)
        gt_job_peak_seen(&sampler->finder.peak, process->peak, process->value[GT_RSS], process->hwm,
                         process->hwm_before > 0);
}

static void open_group_memory(struct gt_sampler *sampler)
{
    static const enum gt_cgroup_hierarchy hierarchies[] = {GT_CGROUP_MEMORY, GT_CGROUP_UNIFIED};
    const char *own = "";
    for (size_t i = 0; sampler->cgroup && i < 2 && !*own; i++)
        own = gt_cgroup_place(sampler->cgroup)->path[hierarchies[i]];
    gt_group_memory_open(&sampler->group_memory, &sampler->root, sampler->tree.main, own);
}

/* A process that was not asked for its group yet began in that of its parent, which one that was found by other ways may not have had. */
static bool may_be_elsewhere(const struct gt_sampler *sampler, const struct gt_process *process)
{
    bool is_forked_here = process->is_main || gt_tree_find(&sampler->tree, process->parent);
    if (!(process->value[GT_RSS] > 0)) /* the kernel shows the top group for one that has ended */
        return false;
    return process->made.was_asked ? process->made.is_elsewhere : !is_forked_here;
}

/* The group counts nothing but the job while no process is in another one, and no sampler of another tracker is in it. */
static void look_at_group(struct gt_sampler *sampler)
{
    sampler->is_elsewhere = false;
    for (size_t i = 0; i < sampler->tree.count; i++) {
        const struct gt_process *process = sampler->tree.process[i];
        bool is_elsewhere = may_be_elsewhere(sampler, process);
        sampler->is_elsewhere |= is_elsewhere;
        sampler->has_left_group |= is_elsewhere && process->made.was_asked;
    }
    if (!sampler->group_memory.is_open)
        open_group_memory(sampler);
    sampler->group_memory.is_own &= !sampler->tree.has_left_out;
}

static struct gt_group_reading read_group(const struct gt_sampler *sampler)
{
    return sampler->is_elsewhere ? (struct gt_group_reading){NAN, NAN, NAN, NAN, NAN}
                                 : gt_group_memory_read(&sampler->group_memory);
}

/* Take in the memory of a scope at a reading. An estimate between samples waits until it is confirmed. */
static void note_scope(struct gt_sampler *sampler, int which, enum gt_scope scope, bool is_sample)
{
    struct gt_job_peak *peak = &sampler->finder.peak;
    const struct gt_memory_figures *now = gt_job_memory_figures(sampler->memory);
    if (now->is_confirmed)
        gt_job_peak_confirm(peak, which, fmax(0, now->excess[scope]), now->scope[scope].guess);
    gt_job_peak_reading(peak, which, &now->scope[scope], is_sample || now->is_confirmed);
}

/* Take in what the whole job had at a reading of its group. */
static void note_job(struct gt_sampler *sampler, const struct gt_group_reading *group, bool is_sample)
{
    struct gt_job_peak *peak = &sampler->finder.peak;
    const struct gt_memory_figures *now = gt_job_memory_figures(sampler->memory);
    bool is_whole = sampler->group_memory.is_own && !sampler->has_left_group && group->peak > 0;
    if (sampler->group_memory.is_own)
        sampler->unmapped = fmax(sampler->unmapped, group->shmem - group->mapped);
    peak->group = is_whole ? group->peak + now->uncharged : 0;
    note_scope(sampler, GT_PEAK_COMBINED, GT_SCOPE_COMBINED, is_sample);
    gt_job_peak_between(peak, now->between, now->scope[GT_SCOPE_COMBINED].guess, now->is_confirmed);
}

/* After the processes were read: who has gone, what they have together, the peak. */
static int settle(struct gt_sampler *sampler, int64_t patience_ns, bool is_sample, struct gt_error *error)
{
    if (gt_rank_finder_look(&sampler->ranks, &sampler->root, &sampler->tree) < 0)
        return gt_error_system(error, ENOMEM, "ranks of the processes");
    if (sampler->history &&
        gt_process_history_read(sampler->history, &sampler->tree, gt_clock_monotonic(&sampler->clock)) < 0)
        return gt_error_system(error, ENOMEM, "names of the processes");
    gt_account_settle(&sampler->account, &sampler->tree);
    gt_job_finder_account(&sampler->finder, &sampler->tree, &sampler->account);
    gt_account_keep(&sampler->account, &sampler->tree);
    sampler->snapshot.process = sampler->tree.process;
    sampler->snapshot.process_count = sampler->tree.count;
    sampler->settled = sampler->tree.started;
    look_at_group(sampler);
    struct gt_group_reading group = read_group(sampler);
    sampler->snapshot.job[GT_RAM_UNMAPPED] = NAN;
    if (sampler->group_memory.is_own)
        sampler->snapshot.job[GT_RAM_UNMAPPED] = fmax(0, group.shmem - group.mapped);
    gt_job_memory_update(sampler->memory, &sampler->snapshot, &group, sampler->group_memory.is_own, patience_ns);
    note_job(sampler, &group, is_sample);
    note_scope(sampler, GT_PEAK_DESCENDANTS, GT_SCOPE_DESCENDANTS, is_sample);
    for (size_t i = 0; i < sampler->tree.count; i++)
        note_hwm(sampler, sampler->tree.process[i]);
    return 0;
}

bool gt_sampler_poll(struct gt_sampler *sampler)
{
    if (!sampler->group_memory.is_own)
        return false;
    struct gt_group_reading group = read_group(sampler);
    gt_job_memory_poll(sampler->memory, &group);
    note_job(sampler, &group, false);
    return true;
}

int gt_sampler_read(struct gt_sampler *sampler, int64_t patience_ns, struct gt_error *error)
{
    int status = discover(sampler, error);
    if (status >= 0)
        look_at_forks(sampler);
    if (status >= 0)
        status = collect(sampler, error);
    return status < 0 ? status : settle(sampler, patience_ns, true, error);
}

/* No process has begun, ended or run since all were read, so that nothing they have can have changed. */
static bool is_at_rest(const struct gt_sampler *sampler)
{
    bool is_at_rest = sampler->settled == sampler->tree.started && !gt_job_memory_is_due(sampler->memory);
    for (size_t i = 0; i < sampler->tree.count && is_at_rest; i++) {
        const struct gt_process *process = sampler->tree.process[i];
        bool is_young = process->is_forked && !process->is_main && !process->is_worker;
        is_at_rest = !is_young && !process->is_gone && gt_process_is_at_rest(process);
    }
    return is_at_rest;
}

int gt_sampler_look(struct gt_sampler *sampler, struct gt_error *error)
{
    int status = discover(sampler, error);
    if (status < 0 || is_at_rest(sampler))
        return status < 0 ? status : 0;
    look_at_forks(sampler);
    for (size_t i = 0; i < sampler->tree.count; i++)
        gt_process_read(sampler->tree.process[i], &sampler->root);
    sampler->snapshot.process = sampler->tree.process;
    sampler->snapshot.process_count = sampler->tree.count;
    return settle(sampler, LOOK_PATIENCE_NS, false, error);
}

void gt_sampler_read_last(struct gt_sampler *sampler)
{
    sampler->snapshot.is_last = true;
    gt_sampler_poll(sampler);
    for (int scope = 0; scope < GT_PEAK_SCOPES; scope++)
        gt_job_peak_confirm(&sampler->finder.peak, scope, 0, NAN);
    for (size_t i = 0; i < sampler->source_count; i++) {
        struct gt_sampler_source *source = &sampler->source[i];
        if (source->state && source->type->lags && !source->driver)
            source->type->collect(source->state, &sampler->snapshot, NULL);
    }
}

int gt_sampler_read_machine(struct gt_sampler *sampler, struct gt_all_processes *processes, struct gt_error *error)
{
    int status = 0;
    if (processes)
        status = gt_all_processes_find(processes, &sampler->tree, gt_clock_monotonic(&sampler->clock));
    if (status < 0)
        return gt_error_system(error, -status, "the processes cannot be listed");
    admit_new(sampler); /* of a machine no memory is summed up */
    return collect(sampler, error);
}

void gt_sampler_settle_machine(struct gt_sampler *sampler)
{
    gt_account_settle(&sampler->account, &sampler->tree);
    sampler->snapshot.process = sampler->tree.process;
    sampler->snapshot.process_count = sampler->tree.count;
}

/* ---- The times of readings --------------------------------------------------------------------------------------- */

enum { LOOK_SHARE = 200 };
static const int64_t SOONEST_NS = GT_SECOND / 500, LOOK_NS = GT_SECOND / 20, SEARCH_NS = GT_SECOND / 10;
static const int64_t SAVED_NS = 10 * GT_SECOND; /* pauses that a quiet time saves for later looks */

void gt_schedule_start(struct gt_schedule *schedule, int64_t now_ns, int64_t period_ns, bool hears)
{
    *schedule = (struct gt_schedule){.period_ns = period_ns,
                                     .sample_ns = now_ns,
                                     .reading_ns = now_ns,
                                     .allowed_ns = now_ns - SAVED_NS,
                                     .hears = hears,
                                     .has_birth = true};
}

void gt_schedule_births(struct gt_schedule *schedule, uint64_t born)
{
    schedule->has_birth |= born > schedule->born;
    schedule->born = born;
}

void gt_schedule_processes(struct gt_schedule *schedule, bool has_several, bool has_group)
{
    schedule->has_several = has_several;
    schedule->has_group = has_group;
}

static int64_t next_look(const struct gt_schedule *schedule)
{
    int64_t next = INT64_MAX;
    if (schedule->has_birth)
        next = 0;
    else if (schedule->has_several && LOOK_NS < schedule->period_ns)
        next = schedule->looked_ns + LOOK_NS;
    else if (!schedule->hears && SEARCH_NS < schedule->period_ns)
        next = schedule->looked_ns + SEARCH_NS;
    return next < schedule->quiet_until_ns ? schedule->quiet_until_ns : next;
}

static int64_t next_poll(const struct gt_schedule *schedule)
{
    bool polls = schedule->has_group && schedule->has_several && LOOK_NS < schedule->period_ns;
    return polls ? schedule->polled_ns + LOOK_NS : INT64_MAX;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t gt_schedule_next(const struct gt_schedule *schedule)
{
    return earlier(earlier(schedule->sample_ns, schedule->reading_ns),
                   earlier(next_look(schedule), next_poll(schedule)));
}

static void take_sample(struct gt_schedule *schedule, int64_t now_ns)
{
    int64_t soonest = now_ns +
                      schedule->period_ns / 4; /* a late sample takes the place of one that would follow at once */
    int64_t ticks = (soonest - schedule->sample_ns) / schedule->period_ns + 1;
    schedule->missed += (uint64_t)(ticks - 1);
    schedule->sample_ns += ticks * schedule->period_ns;
}

enum gt_due gt_schedule_take(struct gt_schedule *schedule, int64_t now_ns)
{
    enum gt_due due = now_ns >= schedule->sample_ns    ? GT_DUE_SAMPLE
                      : now_ns >= schedule->reading_ns ? GT_DUE_READING
                      : now_ns >= next_look(schedule)  ? GT_DUE_LOOK
                      : now_ns >= next_poll(schedule)  ? GT_DUE_POLL
                                                       : GT_DUE_NOTHING;
    if (due >= GT_DUE_POLL)
        schedule->polled_ns = now_ns;
    if (due >= GT_DUE_LOOK) {
        schedule->looked_ns = now_ns;
        schedule->has_birth = false;
    }
    if (due >= GT_DUE_READING)
        schedule->reading_ns = now_ns + GT_SECOND;
    if (due == GT_DUE_SAMPLE)
        take_sample(schedule, now_ns);
    return due;
}

void gt_schedule_looked(struct gt_schedule *schedule, int64_t now_ns, int64_t used_ns)
{
    if (schedule->allowed_ns < now_ns - SAVED_NS)
        schedule->allowed_ns = now_ns - SAVED_NS;
    schedule->allowed_ns += used_ns * LOOK_SHARE;
    schedule->quiet_until_ns = now_ns + SOONEST_NS > schedule->allowed_ns ? now_ns + SOONEST_NS : schedule->allowed_ns;
}
