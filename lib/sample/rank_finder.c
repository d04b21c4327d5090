#include "sample/rank_finder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "collect/gpu/gpu.h"

/* Variables of a launcher further out were there before: one that lacks the nearer ones has lost them, or was read while it began. */
static bool is_below(const struct gt_rank_place *place, const struct gt_rank_place *around)
{
    return !around->launcher || place->distance < around->distance ||
           (place->distance == around->distance && place->rank != around->rank);
}

static struct gt_rank_group *add_group(struct gt_rank_finder *finder, const struct gt_rank_place *place,
                                       const struct gt_environment *environment)
{
    const char *visible = gt_environment_find(environment, "CUDA_VISIBLE_DEVICES");
    struct gt_rank_group **slot = GT_GROW_BY_ONE(finder->group, finder->count);
    struct gt_rank_group *group = slot ? calloc(1, sizeof *group) : NULL;
    if (!group)
        return NULL;
    *slot = group;
    finder->count++;
    group->figures = (struct gt_local_rank){
        .rank = (int)place->rank,
        .local = (int)place->local + 1,
        .size = (int)place->size,
        .pid = environment->pid,
        .ram_peak = NAN,
        .gpu_ram_peak = NAN,
        .gpu_utilization = NAN,
        .energy = {NAN, NAN, NAN},
    };
    snprintf(group->figures.launcher, sizeof group->figures.launcher, "%s", place->launcher);
    snprintf(group->visible, sizeof group->visible, "%s", visible ? visible : "");
    return group;
}

static struct gt_rank_group *find_group(struct gt_rank_finder *finder, const struct gt_rank_place *place)
{
    for (size_t i = 0; i < finder->count; i++)
        if (finder->group[i]->figures.rank == place->rank &&
            !strcmp(finder->group[i]->figures.launcher, place->launcher))
            return finder->group[i];
    return NULL;
}

static void join(struct gt_process *process, struct gt_rank_group *group)
{
    if (group && process->rank != group)
        group->figures.processes++;
    process->rank = group;
}

/* A program that executes another one, as env does, may have told nothing yet. */
static int look_at(struct gt_rank_finder *finder, const struct gt_tree *tree, struct gt_process *process,
                   struct gt_environment *environment)
{
    struct gt_rank_place place;
    const struct gt_process *parent = process->is_main ? NULL : gt_tree_find(tree, process->parent);
    memcpy(process->rank_name, process->name, sizeof process->rank_name);
    if (parent && parent->rank && !process->rank)
        join(process, parent->rank);
    if (process->is_forked && !process->is_main)
        return 0;
    environment->pid = process->pid;
    ssize_t length = gt_environment_read(environment);
    if (length == -ENOMEM)
        return -ENOMEM;
    if (length == 0) /* its variables may come after its name */
        process->rank_name[0] = '\0';
    if (length <= 0)
        return 0;
    gt_rank_place(&place, environment);
    if (!finder->has_base && process->is_main) {
        finder->has_base = true;
        finder->base = place;
    }
    if (!place.launcher || place.rank < 0 || process->is_main || !is_below(&place, &finder->base) ||
        !is_below(&place, &finder->own))
        return 0;
    struct gt_rank_group *group = find_group(finder, &place);
    if (!group)
        group = add_group(finder, &place, environment);
    join(process, group);
    return group ? 0 : -ENOMEM;
}

int gt_rank_finder_look(struct gt_rank_finder *finder, const struct gt_root *root, const struct gt_tree *tree)
{
    struct gt_environment environment = {.root = root};
    int status = 0;
    if (tree->tracker && !finder->has_own) /* the main process may not be read while its program is loaded */
        gt_rank_place(&finder->own, &(struct gt_environment){0});
    finder->has_own = true;
    for (size_t i = 0; i < tree->count && !status; i++) {
        struct gt_process *process = tree->process[i];
        bool has_executed = process->rank_was_forked && !process->is_forked;
        bool is_new = !process->rank_name[0];
        if (process->is_zombie || process->is_gone)
            continue;
        if (is_new || has_executed || strncmp(process->rank_name, process->name, sizeof process->rank_name) != 0)
            status = look_at(finder, tree, process, &environment);
        process->rank_was_forked = process->is_forked;
    }
    free(environment.text);
    return status;
}

/* ---- What they use ------------------------------------------------------------------------------------------------ */

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
        cpu += process->baseline.used[0];
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

void gt_rank_finder_add(const struct gt_rank_finder *finder, const struct gt_snapshot *snapshot,
                        const struct gt_tree *tree)
{
    for (size_t i = 0; i < finder->count; i++) {
        add_use(tree, finder->group[i]);
        add_gpus(snapshot, tree, finder->group[i]);
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
    return x->rank != y->rank ? GT_ORDER(x->rank, y->rank) : strcmp(x->launcher, y->launcher);
}

int gt_rank_finder_list(const struct gt_rank_finder *finder, const struct gt_snapshot *snapshot,
                        struct gt_local_rank **ret, size_t *count)
{
    *count = finder->count;
    *ret = *count ? calloc(*count, sizeof **ret) : NULL;
    if (*count && !*ret)
        return -ENOMEM;
    for (size_t i = 0; i < *count; i++) {
        const struct gt_rank_group *group = finder->group[i];
        struct gt_local_rank *figures = &(*ret)[i];
        *figures = group->figures;
        if (group->readings)
            figures->gpu_utilization = group->utilization / (double)group->readings;
        name_gpus(snapshot, group, figures);
    }
    if (*count)
        qsort(*ret, *count, sizeof **ret, by_rank);
    return 0;
}

void gt_rank_finder_close(struct gt_rank_finder *finder)
{
    for (size_t i = 0; i < finder->count; i++)
        free(finder->group[i]);
    free(finder->group);
    *finder = (struct gt_rank_finder){0};
}
