#include "record/kernel_watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "collect/process/process.h"

static const double LEAST_RAM = 0x1p20; /* below this a process is not asked again */
static const double MUCH = 0.5;         /* of a limit: what a process had at the last look before it met that */
enum { UNKNOWN = -3, NOT_WATCHED = -2, OWN = -1 };

/* ---- Which group a process is in --------------------------------------------------------------------------------- */

static void remember(struct gt_made_groups *groups, uint64_t hash, int group)
{
    if (groups->memberships == GT_MADE_MEMBERSHIPS)
        return;
    groups->membership[groups->memberships].hash = hash;
    groups->membership[groups->memberships++].group = group;
}

static void read_limit(const struct gt_made_groups *groups, struct gt_made_group *made, const struct gt_root *root)
{
    struct gt_limit limit;
    gt_limit_memory_apart(&limit, root, &made->group, &groups->own);
    if (!isnan(limit.value))
        made->limit = limit.value;
}

static int watch(struct gt_made_groups *groups, const struct gt_root *root, const struct gt_control_group *group)
{
    for (size_t i = 0; i < groups->count; i++) /* several processes may have come to it by different other groups */
        if (!groups->made[i].is_gone && !strcmp(groups->made[i].group.path, group->path))
            return (int)i;
    bool is_above = gt_control_group_holds(group, &groups->own);
    if (group->version == groups->own.version && is_above && gt_control_group_holds(&groups->own, group))
        return OWN;
    if (group->version != groups->own.version || is_above || groups->count == GT_MADE_GROUPS)
        return NOT_WATCHED;
    struct gt_made_group *made = GT_GROW_BY_ONE(groups->made, groups->count);
    if (!made)
        return NOT_WATCHED;
    *made = (struct gt_made_group){.group = *group, .begin = gt_group_oom_kills(root, group), .limit = NAN};
    made->is_below = group->version == 2 && gt_control_group_holds(&groups->own, group);
    made->oom_kills = made->begin - made->begin;
    read_limit(groups, made, root);
    return (int)groups->count++;
}

static int group_of(struct gt_made_groups *groups, const struct gt_process *process, const struct gt_root *root)
{
    char text[4096];
    struct gt_control_group group[GT_CONTROLLERS];
    ssize_t length = gt_process_read_text(process, "cgroup", text, sizeof text);
    if (length <= 0)
        return UNKNOWN;
    uint64_t hash = gt_hash(text, (size_t)length);
    size_t i = 0;
    while (i < groups->memberships && groups->membership[i].hash != hash)
        i++;
    int found = i < groups->memberships ? groups->membership[i].group : UNKNOWN;
    if (found != UNKNOWN && (found < 0 || !groups->made[found].is_gone))
        return found;
    gt_control_groups_find(root, process->pid, group);
    found = watch(groups, root, &group[GT_CONTROLLER_MEMORY]);
    remember(groups, hash, found);
    return found;
}

/* ---- What happens there ------------------------------------------------------------------------------------------ */

static void read_events(const struct gt_made_groups *groups, struct gt_made_group *made, const struct gt_root *root)
{
    double kills = gt_group_oom_kills(root, &made->group);
    made->is_gone = isnan(kills) && !isnan(made->begin);
    if (made->is_gone)
        return;
    made->oom_kills = kills - made->begin;
    read_limit(groups, made, root);
}

static void take_name(char ret[GT_LARGEST_NAME], const struct gt_process *process)
{
    ssize_t length = gt_process_read_text(process, "comm", ret, GT_LARGEST_NAME);
    if (length <= 0)
        snprintf(ret, GT_LARGEST_NAME, "%s", process->name);
    else if (ret[length - 1] == '\n')
        ret[length - 1] = '\0';
}

static void take_larger(struct gt_largest_process *largest, const struct gt_process *process)
{
    double ram = process->value[GT_RSS], peak = fmax(ram, process->value[GT_RAM_PEAK]);
    bool is_same = largest->pid == process->pid;
    if (is_same)
        largest->peak = fmax(largest->peak, peak);
    if (!(ram > largest->ram))
        return;
    largest->pid = process->pid;
    largest->ram = ram;
    largest->peak = is_same ? largest->peak : peak;
    largest->is_gone = false;
    take_name(largest->name, process);
}

static void ask(struct gt_made_groups *groups, struct gt_process *process, const struct gt_root *root)
{
    double ram = process->value[GT_RSS];
    bool has_grown = ram >= LEAST_RAM && !(ram < 2 * process->made.ram);
    bool is_other = process->made.was_forked != process->is_forked;
    if (process->made.was_asked && !has_grown && !is_other)
        return;
    int group = group_of(groups, process, root);
    process->made.was_asked = true;
    process->made.was_forked = process->is_forked;
    process->made.ram = ram;
    process->made.group = group < 0 ? 0 : group + 1;
    process->made.is_elsewhere = group >= 0 || group == NOT_WATCHED;
    if (group >= 0)
        read_limit(groups, &groups->made[group], root);
}

static bool has_ended(const struct gt_tree *tree, pid_t pid)
{
    const struct gt_process *process = gt_tree_find(tree, pid);
    return !process || process->is_zombie || process->is_gone;
}

/* The group may be taken away soon after its last process. */
static void look_for_end(const struct gt_made_groups *groups, struct gt_made_group *made, const struct gt_tree *tree)
{
    if (!made->largest.pid || made->largest.is_gone)
        return;
    made->largest.is_gone = has_ended(tree, made->largest.pid);
    if (!made->largest.is_gone)
        return;
    read_events(groups, made, tree->root);
    if (made->oom_kills == 0 && !made->is_gone)
        made->largest.ram = 0; /* it ended by itself, and the next may be smaller */
}

/* Of a group that was taken away it can only be told from what its largest process had. */
static bool had_kill(const struct gt_made_group *made, double kills)
{
    return made->oom_kills > 0 || (made->is_gone && kills > 0 && made->largest.peak >= MUCH * made->limit);
}

/* Read them all again. `own` and `above` are the kills that the job's group counted, and those above. Returns the group in which the kernel
 * killed a process for memory, that of the largest, or NULL. */
static const struct gt_made_group *made_groups_end(struct gt_made_groups *groups, const struct gt_tree *tree,
                                                   double own, double above)
{
    const struct gt_made_group *ret = NULL;
    for (size_t i = 0; i < groups->count; i++) {
        struct gt_made_group *made = &groups->made[i];
        look_for_end(groups, made, tree);
        if (!made->is_gone)
            read_events(groups, made, tree->root);
        if (had_kill(made, made->is_below ? own : above) && (!ret || made->largest.peak > ret->largest.peak))
            ret = made;
    }
    return ret;
}

/* ---- The watch --------------------------------------------------------------------------------------------------- */

void gt_kernel_watch_begin(struct gt_kernel_watch *watch, const struct gt_root *root)
{
    watch->made = (struct gt_made_groups){.own = watch->groups[GT_CONTROLLER_MEMORY]};
    if (watch->lines_hash)
        remember(&watch->made, watch->lines_hash, OWN);
    gt_group_events_read(watch->groups, root, &watch->begin);
}

void gt_kernel_watch_release(struct gt_kernel_watch *watch)
{
    free(watch->made.made);
    watch->made = (struct gt_made_groups){0};
}

void gt_kernel_watch_look(struct gt_kernel_watch *watch, const struct gt_tree *tree)
{
    struct gt_made_groups *groups = &watch->made;
    for (size_t i = 0; i < groups->count; i++)
        look_for_end(groups, &groups->made[i], tree);
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_process *process = tree->process[i];
        if (process->is_zombie || process->is_gone)
            continue;
        take_larger(&watch->largest, process);
        if (!groups->own.version)
            continue;
        ask(groups, process, tree->root);
        struct gt_made_group *made = process->made.group ? &groups->made[process->made.group - 1] : NULL;
        /* A killed process stays the largest: later ones may have more, and live. */
        if (made && !(made->largest.is_gone && made->oom_kills > 0))
            take_larger(&made->largest, process);
    }
}

static void show_largest(const struct gt_largest_process *largest, struct gt_kernel_events *ret)
{
    ret->largest_pid = largest->pid;
    ret->largest_ram = largest->peak;
    ret->largest_is_gone = largest->is_gone;
    memcpy(ret->largest_name, largest->name, sizeof ret->largest_name);
}

void gt_kernel_watch_read(struct gt_kernel_watch *watch, const struct gt_tree *tree, struct gt_kernel_events *ret)
{
    struct gt_group_events end;
    gt_group_events_read(watch->groups, tree->root, &end);
    *ret = (struct gt_kernel_events){
        .oom_kills = end.oom_kills - watch->begin.oom_kills,
        .oom_kills_above = end.oom_kills_above - watch->begin.oom_kills_above,
        .throttled = end.throttled - watch->begin.throttled,
        .throttled_periods = (end.throttled_periods - watch->begin.throttled_periods) /
                             (end.periods - watch->begin.periods),
        .largest_ram = NAN,
        .limit_met = NAN,
    };
    if (watch->largest.pid) {
        watch->largest.is_gone = has_ended(tree, watch->largest.pid);
        show_largest(&watch->largest, ret);
    }
    const struct gt_made_group *made = made_groups_end(&watch->made, tree, ret->oom_kills, ret->oom_kills_above);
    if (!made)
        return;
    if (!made->is_below && made->oom_kills > 0)
        ret->oom_kills = made->oom_kills + (ret->oom_kills > 0 ? ret->oom_kills : 0);
    ret->limit_met = made->limit;
    show_largest(&made->largest, ret);
}
