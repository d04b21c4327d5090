#include "sample/rank_finder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

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
        .cpu_energy = NAN,
        .dram_energy = NAN,
        .gpu_energy = NAN,
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

void gt_rank_finder_close(struct gt_rank_finder *finder)
{
    for (size_t i = 0; i < finder->count; i++)
        free(finder->group[i]);
    free(finder->group);
    *finder = (struct gt_rank_finder){0};
}
