#include "record/kernel_watch.h"

#include <math.h>
#include <string.h>

void gt_kernel_watch_begin(struct gt_kernel_watch *watch, const struct gt_root *root)
{
    gt_made_groups_begin(&watch->made, watch->groups, watch->lines_hash);
    gt_group_events_read(watch->groups, root, &watch->begin);
}

void gt_kernel_watch_release(struct gt_kernel_watch *watch)
{
    gt_made_groups_release(&watch->made);
}

static void read_name(struct gt_kernel_watch *watch, const struct gt_root *root)
{
    ssize_t length = gt_root_read_process(root, watch->largest_pid, "comm", watch->largest_name,
                                          sizeof watch->largest_name);
    if (length > 0 && watch->largest_name[length - 1] == '\n')
        watch->largest_name[length - 1] = '\0';
}

void gt_kernel_watch_look(struct gt_kernel_watch *watch, const struct gt_tree *tree)
{
    double before = watch->largest_ram;
    gt_made_groups_look(&watch->made, tree);
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_process *process = tree->process[i];
        double ram = process->value[GT_RSS];
        if (process->is_zombie || process->is_gone || !(ram > watch->largest_ram))
            continue;
        watch->largest_ram = ram;
        watch->largest_pid = process->pid;
        watch->largest_peak = ram;
    }
    const struct gt_process *largest = watch->largest_pid ? gt_tree_find(tree, watch->largest_pid) : NULL;
    if (largest)
        watch->largest_peak = fmax(watch->largest_peak, largest->value[GT_RAM_PEAK]);
    if (watch->largest_ram > before)
        read_name(watch, tree->root);
}

/* Tells the limit of a group that the job made, and who was killed there. */
static void name_made(const struct gt_made_group *made, struct gt_kernel_events *ret)
{
    if (!made->is_below && made->oom_kills > 0)
        ret->oom_kills = made->oom_kills + (ret->oom_kills > 0 ? ret->oom_kills : 0);
    ret->limit_met = made->limit;
    ret->largest_pid = made->largest.pid;
    ret->largest_ram = made->largest.peak;
    ret->largest_is_gone = made->largest.is_gone;
    memcpy(ret->largest_name, made->largest_name, sizeof ret->largest_name);
}

void gt_kernel_watch_read(struct gt_kernel_watch *watch, const struct gt_tree *tree, struct gt_kernel_events *ret)
{
    struct gt_group_events end;
    gt_group_events_read(watch->groups, tree->root, &end);
    const struct gt_process *largest = watch->largest_pid ? gt_tree_find(tree, watch->largest_pid) : NULL;
    *ret = (struct gt_kernel_events){
        .oom_kills = end.oom_kills - watch->begin.oom_kills,
        .oom_kills_above = end.oom_kills_above - watch->begin.oom_kills_above,
        .throttled = end.throttled - watch->begin.throttled,
        .throttled_periods = (end.throttled_periods - watch->begin.throttled_periods) /
                             (end.periods - watch->begin.periods),
        .largest_pid = watch->largest_pid,
        .largest_ram = watch->largest_pid ? watch->largest_peak : NAN,
        .largest_is_gone = watch->largest_pid && (!largest || largest->is_zombie || largest->is_gone),
        .limit_met = NAN,
    };
    memcpy(ret->largest_name, watch->largest_name, sizeof ret->largest_name);
    const struct gt_made_group *made = gt_made_groups_end(
        &watch->made, tree, &(struct gt_made_kills){ret->oom_kills, ret->oom_kills_above});
    if (made)
        name_made(made, ret);
}
