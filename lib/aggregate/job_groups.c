#include "aggregate/job_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "collect/cgroup/control_group.h"
#include "collect/process/placement.h"

enum { NO_GROUP = -1 };
enum { CPU_ENERGY, GPU_ENERGY }; /* in a group's energy */

struct gt_job_groups_member {
    pid_t pid;
    uint64_t start;
    int group;                    /* NO_GROUP: of no Slurm job */
    unsigned looks;               /* readings so far */
    double counted[GT_ACCOUNTED]; /* of what the account has for it and its ended descendants */
};

int gt_job_groups_init(struct gt_job_groups *groups, bool by_slurm, size_t most, int core_count, size_t device_count)
{
    *groups = (struct gt_job_groups){
        .by_slurm = by_slurm, .most = most, .core_count = core_count, .device_count = device_count};
    groups->group = calloc(most + 1, sizeof *groups->group);
    if (!groups->group)
        return -ENOMEM;
    return 0;
}

static void empty(struct gt_job_groups_group *group)
{
    gt_cgroup_close(group->cgroup);
    free(group->gpu);
    *group = (struct gt_job_groups_group){0};
}

void gt_job_groups_release(struct gt_job_groups *groups)
{
    for (size_t i = 0; groups->group && i <= groups->most; i++)
        empty(&groups->group[i]);
    free(groups->group);
    free(groups->member);
    *groups = (struct gt_job_groups){0};
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

/* Finds what the kernel leaves to the first process that is seen of the job. */
static void find_limits(struct gt_job_groups_group *group, const struct gt_root *root, pid_t pid, int cores)
{
    struct gt_limit limit;
    struct gt_control_group watched[GT_CONTROLLERS];
    gt_control_groups_find(root, pid, watched);
    gt_limit_memory(&limit, root, watched);
    group->ram_limit = limit.value;
    gt_limit_cores(&limit, root, watched, pid, cores);
    group->core_limit = limit.value;
}

/* The control group of the whole job, above its steps. All that a job has used counts when it began after the counting. */
static void open_cgroup(struct gt_job_groups_group *group, const struct gt_root *root, pid_t pid, bool is_new)
{
    struct gt_cgroup_place place;
    char part[112];
    group->cgroup_cpu = is_new ? 0 : NAN;
    snprintf(part, sizeof part, "/job_%s", group->job);
    if (gt_cgroup_locate(&place, root, pid, NULL) < 0)
        return;
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
        char *at = strstr(place.path[i], part), *step = strstr(place.path[i], "/step_");
        place.path[i][at ? (size_t)(at - place.path[i]) + strlen(part) : step ? (size_t)(step - place.path[i]) : 0] = 0;
    }
    if (gt_cgroup_open(&group->cgroup, root, &place, NULL) < 0)
        group->cgroup = NULL;
}

/* By what is shown, so that no two groups look alike. */
static int find_group(const struct gt_job_groups *groups, const char *user, const struct gt_identity *identity)
{
    for (size_t i = 0; i < groups->most; i++) {
        const struct gt_job_groups_group *group = &groups->group[i];
        if (group->is_used && !strcmp(group->job, identity->job) &&
            (groups->by_slurm || (!strcmp(group->user, user) && !strcmp(group->command, identity->command))))
            return (int)i;
    }
    return NO_GROUP;
}

/* The group's number; a new one as long as there is room. */
static int group_of(struct gt_job_groups *groups, const struct gt_root *root, pid_t pid,
                    const struct gt_identity *identity)
{
    char user[sizeof groups->group->user];
    gt_user_name(root, identity->uid, user, sizeof user);
    int known = find_group(groups, user, identity);
    if (known >= 0) {
        /* Slurm's own processes in a job are root's; the job is another user's. */
        struct gt_job_groups_group *group = &groups->group[known];
        if (group->is_root && identity->uid != 0)
            snprintf(group->user, sizeof group->user, "%s", user);
        group->is_root = group->is_root && identity->uid == 0;
        return known;
    }
    size_t number = 0;
    while (number < groups->most && groups->group[number].is_used)
        number++;
    struct gt_job_groups_group *group = &groups->group[number];
    if (group->is_used)
        return (int)number;
    *group = (struct gt_job_groups_group){
        .is_used = true, .is_other = number == groups->most, .cgroup_cpu = NAN, .ram_limit = NAN, .core_limit = NAN};
    group->gpu = calloc(groups->device_count ? groups->device_count : 1, sizeof *group->gpu);
    if (!group->gpu || group->is_other)
        return group->gpu ? (int)number : -ENOMEM;
    group->is_root = identity->uid == 0;
    snprintf(group->user, sizeof group->user, "%s", user);
    snprintf(group->job, sizeof group->job, "%s", identity->job);
    if (groups->by_slurm) {
        open_cgroup(group, root, pid, groups->is_begun);
        find_limits(group, root, pid, groups->core_count);
    } else {
        snprintf(group->command, sizeof group->command, "%s", identity->command);
    }
    return (int)number;
}

/* Asked for again after 1, 2, 4, 8, ... readings: a child becomes another program soon after its fork, or never. */
static int classify(struct gt_job_groups *groups, const struct gt_root *root, struct gt_job_groups_member *member)
{
    struct gt_identity identity;
    bool is_settled = member->group == (int)groups->most; /* processes among the others stay there */
    bool is_due = (member->looks & (member->looks - 1)) == 0;
    if (is_settled || !is_due || gt_identity_read(root, member->pid, &identity) < 0)
        return 0;
    if (groups->by_slurm && identity.kind != GT_JOB_SLURM) {
        member->group = NO_GROUP;
        return 0;
    }
    int group = group_of(groups, root, member->pid, &identity);
    if (group < 0)
        return group;
    member->group = group;
    return 0;
}

/* ---- Counters ---------------------------------------------------------------------------------------------------- */

static struct gt_job_groups_group *group_of_member(const struct gt_job_groups *groups,
                                                   const struct gt_job_groups_member *member)
{
    return member->group == NO_GROUP ? NULL : &groups->group[member->group];
}

static void count(struct gt_job_groups *groups, struct gt_job_groups_member *member, const struct gt_process *process)
{
    struct gt_job_groups_group *group = group_of_member(groups, member);
    for (int i = 0; group && process->placement && i < GT_PACKAGES; i++)
        group->placed[i] += process->placement->recent[i];
    for (int k = 0; k < GT_ACCOUNTED; k++) {
        double now = gt_account_used(process, k);
        if (isnan(process->value[gt_accounted[k]]))
            continue;
        if (group) {
            group->is_measured[k] = true;
            group->total[k] += fmax(0, now - member->counted[k]);
        }
        member->counted[k] = fmax(now, member->counted[k]);
    }
}

static int busiest_first(const void *a, const void *b)
{
    const struct gt_process *p = *(struct gt_process *const *)a, *q = *(struct gt_process *const *)b;
    double x = p->value[GT_CPU_TIME], y = q->value[GT_CPU_TIME];
    return x < y ? 1 : x > y ? -1 : GT_ORDER(p->pid, q->pid);
}

/* Begins a member for each process that is new in its slot. */
static int renew_members(struct gt_job_groups *groups, const struct gt_tree *tree)
{
    size_t before = groups->member_capacity;
    if (GT_GROW_TO(groups->member, groups->member_capacity, tree->slots) < 0)
        return -ENOMEM;
    for (size_t i = before; i < groups->member_capacity; i++)
        groups->member[i] = (struct gt_job_groups_member){0};
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_process *process = tree->process[i];
        struct gt_job_groups_member *member = &groups->member[process->slot];
        if (member->pid != process->pid || member->start != process->start)
            *member = (struct gt_job_groups_member){.pid = process->pid, .start = process->start, .group = NO_GROUP};
        member->looks++;
    }
    return 0;
}

/* Those that vanished come first, children before parents: what a child has used is in its parent's account from its end on, and counted
 * already. */
static void count_all(struct gt_job_groups *groups, const struct gt_tree *tree, struct gt_process **process,
                      size_t gone, size_t total)
{
    qsort(process, gone, sizeof *process, gt_process_younger_first);
    for (size_t i = 0; i < total; i++) {
        struct gt_job_groups_member *member = &groups->member[process[i]->slot];
        const struct gt_process *parent = i < gone ? gt_tree_find(tree, process[i]->parent) : NULL;
        count(groups, member, process[i]);
        for (int k = 0; k < GT_ACCOUNTED && parent && parent != process[i]; k++)
            groups->member[parent->slot].counted[k] += member->counted[k];
    }
}

static int classify_all(struct gt_job_groups *groups, const struct gt_root *root, struct gt_process **living,
                        size_t count)
{
    if (!groups->is_begun && count)
        qsort(living, count, sizeof *living, busiest_first);
    for (size_t i = 0; i < count; i++) {
        int status = classify(groups, root, &groups->member[living[i]->slot]);
        if (status < 0)
            return status;
    }
    groups->is_begun = true;
    return 0;
}

int gt_job_groups_count(struct gt_job_groups *groups, const struct gt_sampler *sampler)
{
    const struct gt_tree *tree = &sampler->tree;
    struct gt_process **sorted = malloc((tree->count + 1) * sizeof *sorted);
    size_t gone = 0, living = 0;
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < tree->count; i++)
        gone += tree->process[i]->is_gone;
    for (size_t i = 0, ended = 0; i < tree->count; i++)
        sorted[tree->process[i]->is_gone ? ended++ : gone + living++] = tree->process[i];
    int status = renew_members(groups, tree);
    if (status >= 0)
        status = classify_all(groups, tree->root, sorted + gone, living);
    if (status >= 0)
        count_all(groups, tree, sorted, gone, gone + living);
    free(sorted);
    return status;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static struct gt_job_groups_group *group_of_process(const struct gt_job_groups *groups,
                                                    const struct gt_process *process)
{
    return process ? group_of_member(groups, &groups->member[process->slot]) : NULL;
}

static void add_processes(struct gt_job_groups *groups, const struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->tree.count; i++) {
        const struct gt_process *process = sampler->tree.process[i];
        struct gt_job_groups_group *group = group_of_process(groups, process);
        if (!group || process->is_zombie)
            continue;
        group->processes++;
        for (int id = 0; id < GT_PROCESS_METRICS; id++)
            if (gt_metric_is_summed(id))
                gt_add_known(&group->value[id], process->value[id]);
    }
}

static void add_gpus(struct gt_job_groups *groups, const struct gt_sampler *sampler,
                     const struct gt_attribution *attribution)
{
    const struct gt_snapshot *snapshot = &sampler->snapshot;
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        struct gt_job_groups_group *group = group_of_process(groups, gt_tree_find(&sampler->tree, share->pid));
        if (!group)
            continue;
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            if (gt_metric_has(id, GT_SCOPE_COMBINED) && gt_metrics[id].combine == GT_SUM)
                gt_add_known(&group->gpu[share->device][id], share->value[id]);
        group->energy[GPU_ENERGY] += attribution->share_joules[i];
    }
}

/* The kernel's own count for the whole job is complete, where there is one. */
static void read_cgroup(struct gt_job_groups_group *group)
{
    double figure[GT_CGROUP_FIGURES];
    if (!group->cgroup)
        return;
    gt_cgroup_read(group->cgroup, figure);
    group->value[GT_CGROUP_RAM] = figure[GT_CGROUP_FIGURE_MEMORY];
    group->value[GT_CGROUP_RAM_PEAK] = figure[GT_CGROUP_FIGURE_MEMORY_PEAK];
    double cpu = figure[GT_CGROUP_FIGURE_CPU], more = cpu - group->cgroup_cpu;
    if (isnan(cpu))
        return;
    group->total[0] = group->cpu_before + (more > 0 ? more : 0);
    group->cgroup_cpu = cpu;
}

/* Returns what a CPU second of the group drew in the last window. On packages of their own it depends on where it was used. */
static double rate_of(struct gt_job_groups_group *group, const struct gt_attribution *attribution)
{
    double joules = 0, seconds = 0;
    for (size_t i = 0; i < attribution->package_count; i++) {
        joules += attribution->package[i].cpu.joules_per_cpu_second * group->placed[i];
        seconds += group->placed[i];
        group->placed[i] = 0;
    }
    return seconds > 0 ? joules / seconds : attribution->joules_per_cpu_second;
}

static void show_counters(struct gt_job_groups_group *group, const struct gt_job_groups *groups,
                          const struct gt_snapshot *snapshot, const struct gt_attribution *attribution)
{
    for (int k = 0; k < GT_ACCOUNTED; k++)
        if (group->is_measured[k])
            group->value[gt_accounted[k]] = group->total[k];
    group->energy[CPU_ENERGY] += rate_of(group, attribution) * (group->total[0] - group->cpu_before);
    group->cpu_before = group->total[0];
    group->value[GT_CPU_UTILIZATION] = gt_rate_next(&group->rate, group->total[0], snapshot->monotonic_ns, 1,
                                                    groups->core_count);
    if (attribution->energy[GT_ENERGY_CPU].is_measured)
        group->value[GT_CPU_ENERGY] = group->energy[CPU_ENERGY];
    if (attribution->energy[GT_ENERGY_GPU].is_measured)
        group->value[GT_GPU_ENERGY] = group->energy[GPU_ENERGY];
}

void gt_job_groups_show(struct gt_job_groups *groups, const struct gt_sampler *sampler,
                        const struct gt_attribution *attribution)
{
    for (size_t i = 0; i <= groups->most; i++) {
        struct gt_job_groups_group *group = &groups->group[i];
        if (!group->is_used)
            continue;
        group->processes = 0;
        gt_values_clear(group->value);
        for (size_t k = 0; k < groups->device_count; k++)
            gt_values_clear(group->gpu[k]);
    }
    add_processes(groups, sampler);
    add_gpus(groups, sampler, attribution);
    for (size_t i = 0; i <= groups->most; i++) {
        struct gt_job_groups_group *group = &groups->group[i];
        if (!group->is_used)
            continue;
        group->last_ns = group->processes ? sampler->snapshot.monotonic_ns : group->last_ns;
        read_cgroup(group);
        show_counters(group, groups, &sampler->snapshot, attribution);
        group->value[GT_PROCESSES] = (double)group->processes;
        if (!group->is_other && sampler->snapshot.monotonic_ns - group->last_ns > GT_JOB_GROUPS_KEPT_NS)
            empty(group);
    }
}
