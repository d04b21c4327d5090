#include "sample/sampler.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "collect/cgroup/cgroup.h"
#include "collect/topology.h"
#include "collect/process/pid_namespace.h"
#include "collect/process/process.h"

static int open_source(struct gt_sampler *sampler, const struct gt_collector_type *type,
                       const struct gt_collect_options *options, struct gt_error *error)
{
    struct gt_sampler_source *source = &sampler->source[sampler->source_count++];
    source->type = type;
    int status = type->open(&source->state, options, &sampler->frame, &source->availability, error);
    if (source->state)
        sampler->ready[sampler->ready_count++] = (uint8_t)(sampler->source_count - 1);
    return status;
}

static int open_collectors(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    struct gt_collect_options collect = {
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
    for (size_t i = 0; i < gt_collector_type_count; i++) {
        int status = open_source(sampler, gt_collector_types[i], &collect, error);
        if (status < 0)
            return status;
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
        status = open_collectors(sampler, options, error);
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

static int open_roster(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    int status = gt_roster_new(&sampler->roster, &sampler->root, options->names, options->launched, error);
    sampler->account.roster = sampler->roster;
    if (status >= 0 && sampler->finder.membership)
        gt_membership_listen(sampler->finder.membership, sampler->roster);
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

static int open_sources(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error)
{
    int status = gt_sampler_probe(sampler, options, error);
    if (status < 0)
        return status;
    if ((status = check_processes(sampler, error)) < 0) {
        gt_sampler_close(sampler);
        return status;
    }
    gt_account_init(&sampler->account, options->launched ? 0 : now_in_ticks());
    status = gt_walker_open(&sampler->walker, &sampler->root, &sampler->clock, options->memory,
                            &sampler->walker_availability, error);
    if (status >= 0)
        status = gt_job_finder_open(&sampler->finder, &sampler->root, error);
    if (status >= 0 && options->names)
        status = open_roster(sampler, options, error);
    if (status >= 0)
        status = gt_job_finder_slurm(&sampler->finder, &sampler->root, options->slurm_job, options->mark, error);
    if (status < 0)
        gt_sampler_close(sampler);
    return status;
}

/* VmHWM in bytes; 0 where it is not shown. */
static double mark_of(const struct gt_sampler *sampler, pid_t pid)
{
    char text[4096];
    if (gt_root_read_process(&sampler->root, pid, "status", text, sizeof text) <= 0)
        return 0;
    const char *line = strstr(text, "\nVmHWM:");
    return line ? strtod(line + strlen("\nVmHWM:"), NULL) * 1024 : 0;
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
    if (status >= 0 && sampler->roster && gt_roster_read(sampler->roster, &sampler->tree, now) < 0)
        status = gt_error_system(error, ENOMEM, "names of the processes");
    const struct gt_events *events = sampler->finder.events;
    bool has_records = events &&
                       gt_events_fd(events, GT_EVENTS_RECORDS) >= 0; /* which tell the mark of the program alone */
    if (status >= 0 && options->launched && !has_records)
        sampler->account.main_mark_held = mark_of(sampler, options->pid);
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
    static const struct gt_scope_memory unknown = {
        .ram = NAN, .private_bytes = NAN, .anonymous = NAN, .shared_bytes = NAN, .rss = NAN};
    struct gt_sampler_options machine = *options;
    machine.pid = 0;
    machine.cgroup = NULL;
    int status = gt_sampler_probe(sampler, &machine, error);
    if (status < 0)
        return status;
    if ((status = check_processes(sampler, error)) < 0) {
        gt_sampler_close(sampler);
        return status;
    }
    gt_account_init(&sampler->account, now_in_ticks());
    sampler->tree = (struct gt_tree){.root = &sampler->root};
    for (int scope = 0; scope <= GT_SCOPE_COMBINED; scope++)
        sampler->memory.scope[scope] = unknown;
    return 0;
}

void gt_sampler_close(struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->source_count; i++)
        if (sampler->source[i].state)
            sampler->source[i].type->close(sampler->source[i].state);
    free(sampler->source);
    free(sampler->frame.device);
    free(sampler->frame.share);
    free(sampler->frame.mark);
    free(sampler->frame.past);
    gt_packages_release(&sampler->frame, &sampler->topology);
    gt_walker_close(sampler->walker);
    gt_group_memory_close(&sampler->group_memory);
    gt_rank_finder_close(&sampler->ranks);
    gt_tree_close(&sampler->tree);
    gt_job_finder_close(&sampler->finder);
    gt_roster_free(sampler->roster);
    gt_root_close(&sampler->root);
    *sampler = (struct gt_sampler){.root.fd = -1};
}

static bool is_given_elsewhere(const struct gt_sampler *sampler, enum gt_metric_id metric)
{
    for (size_t i = 0; i < sampler->source_count; i++)
        for (size_t k = 0; sampler->source[i].state && k < sampler->source[i].type->metric_count; k++)
            if (sampler->source[i].type->metrics[k] == metric)
                return true;
    return false;
}

bool gt_sampler_complaint(const struct gt_sampler *sampler, size_t number, char *sentence, size_t size)
{
    const struct gt_sampler_source *source = &sampler->source[number];
    const struct gt_availability *availability = &source->availability;
    bool is_missed = !source->type->metric_count;
    if (availability->state != GT_DENIED && availability->state != GT_BROKEN)
        return false;
    for (size_t i = 0; i < source->type->metric_count; i++)
        is_missed |= !is_given_elsewhere(sampler, source->type->metrics[i]);
    snprintf(sentence, size, "%s: %s%s%s", availability->source, availability->reason,
             availability->remedy[0] ? "; try: " : "", availability->remedy);
    return is_missed;
}

/* Samplers of other trackers, which may be descendants. */
static void leave_samplers_out(struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->tree.count && sampler->walker; i++) {
        struct gt_process *process = sampler->tree.process[i];
        if (!process->is_main && gt_process_is_sampler(process)) {
            gt_job_finder_leave_out(&sampler->finder, &sampler->tree, process);
            i--;
        }
    }
}

/* Who forked it may have ended: then it has what it began with from whoever that one had it from. */
static void inherit(struct gt_sampler *sampler, struct gt_process *process)
{
    struct gt_process *origin = process;
    for (size_t step = 0; step < sampler->tree.count && !origin->is_main; step++) {
        origin = gt_job_finder_origin(&sampler->finder, &sampler->tree, origin);
        if (!origin || !process->is_forked || gt_process_inherit(process, origin, &sampler->root) == 0 ||
            !origin->is_forked)
            return; /* or it was forked by a program that nobody else has */
    }
}

static void admit_new(struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->tree.count; i++) {
        struct gt_process *process = sampler->tree.process[i];
        if (process->is_admitted)
            continue;
        process->is_admitted = true;
        process->met_ns = gt_clock_monotonic(&sampler->clock);
        if (gt_process_read(process, &sampler->root) == 0)
            gt_process_read_first(process);
        inherit(sampler, process);
        gt_account_admit(&sampler->account, process);
    }
    leave_samplers_out(sampler);
}

static int discover(struct gt_sampler *sampler, struct gt_error *error)
{
    int status = gt_job_finder_look(&sampler->finder, &sampler->tree, &sampler->account,
                                    gt_clock_monotonic(&sampler->clock), error);
    if (status >= 0)
        admit_new(sampler);
    return status;
}

int gt_sampler_drain(struct gt_sampler *sampler, struct gt_error *error)
{
    return gt_job_finder_drain(&sampler->finder, &sampler->tree, &sampler->account, error);
}

uint64_t gt_sampler_born(const struct gt_sampler *sampler)
{
    return sampler->finder.born;
}

/* Collectors are asked one after the other, and some take long. */
static void note_time(struct gt_frame *frame, const struct gt_collector_type *type, int64_t now_ns)
{
    for (size_t k = 0; k < type->metric_count; k++)
        if (!frame->owner[type->metrics[k]] || frame->owner[type->metrics[k]] == type)
            frame->read_ns[type->metrics[k]] = now_ns;
}

static int collect(struct gt_sampler *sampler, struct gt_error *error)
{
    struct gt_frame *frame = &sampler->frame;
    frame->process = sampler->tree.process;
    frame->process_count = sampler->tree.count;
    frame->share_count = frame->mark_count = 0;
    gt_values_clear(frame->system);
    gt_values_clear(frame->job);
    memset(frame->doubt, 0, sizeof frame->doubt);
    for (size_t i = 0; i < frame->device_count; i++) {
        gt_values_clear(frame->device[i].value);
        frame->device[i].is_resting = frame->device[i].is_old = false;
        frame->device[i].doubt = 0;
        frame->device[i].read_ns = 0;
    }
    gt_packages_clear(frame);
    if (frame->is_last && sampler->roster && gt_roster_past(sampler->roster, frame) < 0)
        return gt_error_system(error, ENOMEM, "processes that have ended");
    frame->monotonic_ns = gt_clock_monotonic(&sampler->clock);
    frame->real_ns = frame->monotonic_ns + sampler->epoch_ns;
    for (size_t i = 0; i < sampler->ready_count; i++) {
        const struct gt_sampler_source *source = &sampler->source[sampler->ready[i]];
        struct gt_error trouble;
        int64_t begin_ns = gt_clock_monotonic(&sampler->clock);
        trouble.code = 0;
        trouble.text[0] = '\0';
        int status = source->type->collect(source->state, frame, &trouble);
        if (status == -ENOMEM)
            return gt_error_set(error, ENOMEM, "%s", trouble.text[0] ? trouble.text : "no memory");
        if (status < 0 && !sampler->trouble.code)
            sampler->trouble = trouble;
        note_time(frame, source->type, (begin_ns + gt_clock_monotonic(&sampler->clock)) / 2);
    }
    sampler->platform_doubt += fabs(frame->doubt[GT_PLATFORM_ENERGY]);
    frame->read_seconds = (double)(gt_clock_monotonic(&sampler->clock) - frame->monotonic_ns) / 1e9;
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
    }
    leave_samplers_out(sampler);
}

/* Notes what a process says of the job's peak. */
static void note_process(struct gt_sampler *sampler, const struct gt_process *process, double own, bool is_pending)
{
    if (process->peak == GT_PEAK_NONE || process->is_zombie)
        return;
    gt_job_peak_seen(&sampler->finder.peak, process->peak,
                     &(struct gt_peak_look){.rss = process->value[GT_RSS],
                                            .file_bytes = process->file_bytes,
                                            .own = own,
                                            .began_with = process->heritage.bytes,
                                            .mark = process->mark,
                                            .is_old = process->mark_before > 0,
                                            .is_pending = is_pending});
}

static bool is_of_job(const void *job, pid_t pid)
{
    const struct gt_sampler *sampler = job;
    return gt_tree_find(&sampler->tree, pid);
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
    return process->made.was_asked ? process->made.is_elsewhere : !is_forked_here;
}

/* Returns what the control group tells of memory that processes inherited and copied, as nothing else does; NaN where nobody shares, and
 * where the group does not have the whole job: a process went to another one. Samplers that are no part of the job may be in it. */
static struct gt_group_anonymous read_anonymous(struct gt_sampler *sampler)
{
    static const double MUCH = 0.02;
    struct gt_group_anonymous anonymous = {NAN, NAN};
    bool has_forked = false;
    double sum = 0, largest = 0;
    for (size_t i = 0; i < sampler->tree.count; i++) {
        const struct gt_process *process = sampler->tree.process[i];
        double rss = process->value[GT_RSS];
        if (may_be_elsewhere(sampler, process))
            return anonymous;
        has_forked |= process->is_forked && !process->is_main;
        sum += rss > 0 ? rss : 0;
        largest = fmax(largest, rss);
    }
    if (!has_forked || sum - largest < MUCH * sum)
        return anonymous;
    if (!sampler->group_memory.is_open)
        open_group_memory(sampler);
    sampler->group_memory.is_own &= !sampler->tree.has_left_out;
    anonymous = gt_group_memory_read(&sampler->group_memory, is_of_job, sampler, gt_clock_monotonic(&sampler->clock));
    sampler->has_group_memory |= !isnan(anonymous.least);
    return anonymous;
}

/* After the processes were read: who has gone, what they have together, the peak. */
static int settle(struct gt_sampler *sampler, int64_t patience_ns, struct gt_error *error)
{
    if (gt_rank_finder_look(&sampler->ranks, &sampler->root, &sampler->tree) < 0)
        return gt_error_system(error, ENOMEM, "ranks of the processes");
    if (sampler->roster && gt_roster_read(sampler->roster, &sampler->tree, gt_clock_monotonic(&sampler->clock)) < 0)
        return gt_error_system(error, ENOMEM, "names of the processes");
    gt_account_settle(&sampler->account, &sampler->tree);
    gt_job_finder_account(&sampler->finder, &sampler->tree, &sampler->account);
    gt_account_keep(&sampler->account, &sampler->tree);
    sampler->frame.process = sampler->tree.process;
    sampler->frame.process_count = sampler->tree.count;
    int status = gt_walker_apply(sampler->walker, &sampler->frame, read_anonymous(sampler), patience_ns,
                                 &sampler->memory);
    if (status < 0)
        return gt_error_system(error, -status, "memory of the processes");
    double largest_file = 0, all_files = 0;
    for (size_t i = 0; i < sampler->tree.count; i++) {
        largest_file = fmax(largest_file, sampler->tree.process[i]->file_bytes);
        all_files += fmax(0, sampler->tree.process[i]->file_bytes);
    }
    gt_job_peak_look(&sampler->finder.peak, &sampler->memory.scope[GT_SCOPE_DESCENDANTS],
                     &sampler->memory.scope[GT_SCOPE_COMBINED], largest_file, all_files);
    for (size_t i = 0; i < sampler->tree.count; i++) {
        const struct gt_shared_memory_record *record = gt_walker_record(sampler->walker, i);
        note_process(sampler, sampler->tree.process[i], record->own, record->is_pending);
    }
    return 0;
}

int gt_sampler_read(struct gt_sampler *sampler, int64_t patience_ns, struct gt_error *error)
{
    int status = discover(sampler, error);
    if (status >= 0)
        look_at_forks(sampler);
    if (status >= 0)
        status = collect(sampler, error);
    return status < 0 ? status : settle(sampler, patience_ns, error);
}

int gt_sampler_look(struct gt_sampler *sampler, struct gt_error *error)
{
    int status = discover(sampler, error);
    if (status < 0)
        return status;
    look_at_forks(sampler);
    for (size_t i = 0; i < sampler->tree.count; i++)
        gt_process_read(sampler->tree.process[i], &sampler->root);
    sampler->frame.process = sampler->tree.process;
    sampler->frame.process_count = sampler->tree.count;
    return settle(sampler, 0, error);
}

void gt_sampler_read_last(struct gt_sampler *sampler)
{
    sampler->frame.is_last = true;
    for (size_t i = 0; i < sampler->source_count; i++) {
        struct gt_sampler_source *source = &sampler->source[i];
        if (source->state && source->type->lags)
            source->type->collect(source->state, &sampler->frame, NULL);
    }
}

int gt_sampler_read_machine(struct gt_sampler *sampler, struct gt_all_processes *processes, struct gt_error *error)
{
    int status = 0;
    if (processes)
        status = gt_all_processes_find(processes, &sampler->tree, gt_clock_monotonic(&sampler->clock));
    if (status < 0)
        return gt_error_system(error, -status, "the processes cannot be listed");
    admit_new(sampler);
    return collect(sampler, error);
}

void gt_sampler_settle_machine(struct gt_sampler *sampler)
{
    gt_account_settle(&sampler->account, &sampler->tree);
    sampler->frame.process = sampler->tree.process;
    sampler->frame.process_count = sampler->tree.count;
}

void gt_sampler_reaped(struct gt_sampler *sampler, pid_t pid, const struct rusage *usage)
{
    if (!gt_tree_was_left_out(&sampler->tree, pid))
        gt_account_reaped(&sampler->account, &sampler->tree, &sampler->finder.peak, pid, usage);
}

void gt_sampler_main_peak(struct gt_sampler *sampler, double bytes)
{
    const struct gt_process *main = gt_tree_find(&sampler->tree, sampler->tree.main);
    sampler->account.main_peak = fmax(sampler->account.main_peak, bytes);
    if (main && main->peak != GT_PEAK_NONE)
        gt_job_peak_rise(&sampler->finder.peak, main->peak, bytes);
}

double gt_sampler_started(const struct gt_sampler *sampler)
{
    double counted = (double)sampler->finder.counts.started, seen = (double)sampler->tree.started;
    return counted > 0 ? counted : seen;
}
