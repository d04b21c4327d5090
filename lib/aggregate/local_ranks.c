#include "aggregate/local_ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "collect/gpu/gpu.h"

static bool belongs(const struct gt_process *process, const struct gt_rank_group *group)
{
    return process && process->rank == group;
}

static void add_use(const struct gt_tree *tree, struct gt_rank_group *group)
{
    double rss = NAN, cpu = group->ended_cpu;
    struct gt_local_rank *figures = &group->figures;
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_process *process = tree->process[i];
        if (!belongs(process, group))
            continue;
        cpu += gt_account_used(process, 0);
        if (process->is_zombie)
            continue;
        rss = isnan(rss) ? process->value[GT_RSS] : rss + fmax(0, process->value[GT_RSS]);
        if (!process->is_forked)
            figures->ram_peak = fmax(figures->ram_peak, process->value[GT_RAM_PEAK]);
    }
    figures->ram_peak = fmax(figures->ram_peak, rss);
    figures->cpu_time = fmax(figures->cpu_time, cpu);
}

static void add_gpus(const struct gt_snapshot *snapshot, const struct gt_tree *tree, struct gt_rank_group *group)
{
    double bytes = NAN, utilization = NAN;
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        if (!belongs(gt_tree_find(tree, share->pid), group))
            continue;
        gt_add_known(&bytes, share->value[GT_GPU_RAM]);
        gt_add_known(&utilization, share->value[GT_GPU_UTILIZATION]);
        if (share->value[GT_GPU_RAM] > 0 && share->device < 64)
            group->devices |= UINT64_C(1) << share->device;
    }
    group->figures.gpu_ram_peak = fmax(group->figures.gpu_ram_peak, bytes);
    if (isnan(utilization))
        return;
    group->utilization += utilization;
    group->readings++;
}

void gt_local_ranks_draw(const struct gt_process *process, enum gt_energy_device device, double joules)
{
    struct gt_local_rank *figures = &process->rank->figures;
    double *const sums[GT_ENERGY_DEVICES] = {&figures->cpu_energy, &figures->dram_energy, &figures->gpu_energy};
    gt_add_known(sums[device], joules);
}

void gt_local_ranks_add(const struct gt_sampler *sampler)
{
    for (size_t i = 0; i < sampler->ranks.count; i++) {
        add_use(&sampler->tree, sampler->ranks.group[i]);
        add_gpus(&sampler->snapshot, &sampler->tree, sampler->ranks.group[i]);
    }
}

/* GPUs on which its processes have had memory, else those that are visible to it. */
static void name_gpus(const struct gt_snapshot *snapshot, const struct gt_rank_group *group, struct gt_local_rank *ret)
{
    uint64_t devices = group->devices;
    size_t length = 0;
    ret->gpus_are_told = !devices && *group->visible && gt_devices_named(snapshot, group->visible, &devices) == 0;
    for (size_t i = 0; i < snapshot->device_count && i < 64; i++)
        if (devices >> i & 1 && length < sizeof ret->gpus)
            length += (size_t)snprintf(ret->gpus + length, sizeof ret->gpus - length, "%s%s", length ? "," : "",
                                       snapshot->device[i].uuid);
}

static int by_rank(const void *a, const void *b)
{
    const struct gt_local_rank *x = a, *y = b;
    int by_launcher = strcmp(x->launcher, y->launcher);
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : by_launcher;
}

int gt_local_ranks_list(const struct gt_sampler *sampler, struct gt_local_rank **ret, size_t *count)
{
    *count = sampler->ranks.count;
    *ret = *count ? calloc(*count, sizeof **ret) : NULL;
    if (*count && !*ret)
        return -ENOMEM;
    for (size_t i = 0; i < *count; i++) {
        const struct gt_rank_group *group = sampler->ranks.group[i];
        struct gt_local_rank *figures = &(*ret)[i];
        *figures = group->figures;
        if (group->readings)
            figures->gpu_utilization = group->utilization / (double)group->readings;
        name_gpus(&sampler->snapshot, group, figures);
    }
    if (*count)
        qsort(*ret, *count, sizeof **ret, by_rank);
    return 0;
}
