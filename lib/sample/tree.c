#include "sample/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "collect/process/placement.h"
#include "collect/process/process.h"

static const int64_t CHECK_PAUSE_NS = 10 * GT_SECOND;

struct gt_process *gt_tree_find(const struct gt_tree *tree, pid_t pid)
{
    uint32_t place = gt_map_get(&tree->places, pid);
    return place == GT_MAP_ABSENT ? NULL : tree->process[place];
}

static int append(struct gt_tree *tree, pid_t pid)
{
    struct gt_process *process;
    int status = GT_GROW_TO(tree->process, tree->capacity, tree->count + 1);
    if (status >= 0)
        status = GT_GROW_TO(tree->free_slot, tree->free_capacity, tree->slots + 1);
    if (status < 0 || (status = gt_process_open(&process, tree->root, pid)) < 0)
        return status;
    if ((status = gt_map_put(&tree->places, pid, (uint32_t)tree->count)) < 0) {
        gt_process_close(process);
        return status;
    }
    process->is_main = pid == tree->main && tree->count == 0;
    process->slot = tree->free_slots ? tree->free_slot[--tree->free_slots] : tree->slots++;
    tree->process[tree->count++] = process;
    tree->started++;
    return 1;
}

static uint32_t low_bits(uint64_t start)
{
    return (uint32_t)start & 0x7fffffff;
}

/* The number may be another process's by now. */
bool gt_tree_was_left_out(struct gt_tree *tree, pid_t pid)
{
    struct gt_process_stat stat;
    if (gt_map_get(&tree->left_out, pid) == GT_MAP_ABSENT)
        return false;
    if (gt_process_stat_of(tree->root, pid, &stat) < 0)
        return true;
    bool is_same = gt_map_get(&tree->left_out, pid) == low_bits(stat.start);
    if (!is_same)
        gt_map_remove(&tree->left_out, pid);
    return is_same;
}

int gt_tree_add(struct gt_tree *tree, pid_t pid)
{
    if (gt_tree_find(tree, pid) || pid == tree->own || gt_tree_was_left_out(tree, pid))
        return 0;
    int status = append(tree, pid);
    return status == -ENOMEM ? status : status > 0;
}

int gt_tree_open(struct gt_tree *tree, const struct gt_root *root, pid_t main, bool adopts_orphans,
                 struct gt_error *error)
{
    *tree = (struct gt_tree){.root = root, .main = main, .has_children_files = true};
    tree->own = root->is_machine ? getpid() : 0;
    int status = append(tree, main);
    if (status == -ESRCH)
        status = gt_process_missing(root, main, error);
    else if (status < 0)
        gt_error_system(error, -status, "process %d cannot be followed", (int)main);
    if (status >= 0 && adopts_orphans)
        status = gt_process_open(&tree->tracker, root, getpid());
    if (status < 0) {
        gt_tree_close(tree);
        return status;
    }
    tree->follows_session = !adopts_orphans && tree->process[0]->session == main;
    return 0;
}

void gt_tree_close(struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        gt_process_close(tree->process[i]);
    gt_process_close(tree->tracker);
    free(tree->process);
    free(tree->free_slot);
    gt_map_release(&tree->places);
    free(tree->found);
    gt_map_release(&tree->left_out);
    *tree = (struct gt_tree){0};
}

/* Where forks are heard of, only who has run since is asked again, but for the tracker: it is given orphans while it sleeps. */
static int add_children(struct gt_tree *tree, struct gt_process *parent, bool thorough)
{
    int count;
    if (tree->hears_forks && parent != tree->tracker && !gt_process_may_have_forked(parent))
        return 0;
    for (;;) {
        count = gt_process_children(parent, thorough, tree->found, 0, tree->found_capacity);
        if (count < (int)tree->found_capacity)
            break;
        if (GT_GROW_TO(tree->found, tree->found_capacity, tree->found_capacity + 256) < 0)
            return -ENOMEM;
    }
    if (count == -ENOENT)
        tree->has_children_files = false;
    for (int i = 0; i < count; i++) {
        int status = gt_tree_add(tree, tree->found[i]);
        if (status < 0)
            return status;
    }
    return 0;
}

static bool belongs(const struct gt_tree *tree, const struct gt_process_stat *stat)
{
    return gt_tree_find(tree, stat->parent) || (tree->tracker && stat->parent == tree->tracker->pid) ||
           (tree->follows_session && stat->session == tree->main);
}

/* One pass over all processes; several are needed for generations found in the wrong order, so repeat while it finds any. */
static int search_once(struct gt_tree *tree)
{
    DIR *proc = gt_root_list(tree->root, "proc");
    int added = 0;
    if (!proc)
        return -errno;
    for (struct dirent *entry; (entry = readdir(proc)) && added >= 0;) {
        struct gt_process_stat stat;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
            gt_process_stat_of(tree->root, (pid_t)atoi(entry->d_name), &stat) < 0)
            continue;
        if (!gt_tree_find(tree, stat.pid) && belongs(tree, &stat)) {
            int status = gt_tree_add(tree, stat.pid);
            added = status < 0 ? status : added + status;
        }
    }
    closedir(proc);
    return added;
}

static int search(struct gt_tree *tree, int64_t now_ns)
{
    int added;
    int64_t pause = tree->hears_forks && tree->has_children_files ? CHECK_PAUSE_NS : GT_SECOND;
    if (tree->searched_ns && now_ns - tree->searched_ns < pause)
        return 0;
    tree->searched_ns = now_ns;
    do
        added = search_once(tree);
    while (added > 0);
    return added == -ENOMEM ? added : 0;
}

int gt_tree_discover(struct gt_tree *tree, bool thorough, int64_t now_ns)
{
    int status = 0;
    if (tree->has_children_files) {
        for (size_t i = 0; i < tree->count && status >= 0; i++) /* grows while it runs: grandchildren are found, too */
            status = add_children(tree, tree->process[i], thorough);
        size_t adopted = tree->count;
        if (tree->tracker && status >= 0)
            status = add_children(tree, tree->tracker, thorough);
        for (size_t i = adopted; i < tree->count && status >= 0; i++)
            status = add_children(tree, tree->process[i], true);
    }
    if (status >= 0 && (!tree->has_children_files || (tree->follows_session && thorough)))
        status = search(tree, now_ns);
    return status;
}

static void keep_split(struct gt_tree *tree, const struct gt_placement *placement)
{
    for (int i = 0; placement && placement->is_known && i < GT_PACKAGES; i++) {
        tree->left_on[i] += placement->split[i];
        tree->left_bound[i] += placement->bound_split[i];
    }
}

void gt_tree_leave_out(struct gt_tree *tree, struct gt_process *process)
{
    gt_map_put(&tree->left_out, process->pid, low_bits(process->start)); /* without memory it is found again */
    if (tree->peak && process->peak != GT_PEAK_NONE)
        gt_job_peak_drop(tree->peak, process->peak);
    process->peak = GT_PEAK_NONE;
    process->is_gone = true;
    tree->started--;
    tree->has_left_out = true;
    gt_tree_drop_gone(tree);
}

void gt_tree_keep_out(struct gt_tree *tree, pid_t pid)
{
    struct gt_process_stat stat;
    if (gt_process_stat_of(tree->root, pid, &stat) >= 0)
        gt_map_put(&tree->left_out, pid, low_bits(stat.start)); /* without memory it counts as an orphan of the job */
}

void gt_tree_drop_gone(struct gt_tree *tree)
{
    size_t kept = 0;
    for (size_t i = 0; i < tree->count; i++) {
        if (!tree->process[i]->is_gone) {
            tree->process[kept++] = tree->process[i];
            continue;
        }
        keep_split(tree, tree->process[i]->placement);
        if (tree->peak && tree->process[i]->peak != GT_PEAK_NONE)
            gt_job_peak_settle(tree->peak, tree->process[i]->peak, false);
        tree->free_slot[tree->free_slots++] = tree->process[i]->slot;
        gt_process_close(tree->process[i]);
    }
    if (kept == tree->count)
        return;
    tree->count = kept;
    gt_map_clear(&tree->places);
    for (size_t i = 0; i < kept; i++)
        gt_map_put(&tree->places, tree->process[i]->pid, (uint32_t)i); /* finds room: they were all there */
}

int gt_process_younger_first(const void *a, const void *b)
{
    const struct gt_process *p = *(struct gt_process *const *)a, *q = *(struct gt_process *const *)b;
    return p->start < q->start ? 1 : p->start > q->start ? -1 : GT_ORDER(q->pid, p->pid);
}

/* ---- All processes of a machine ------------------------------------------------------------------------------------ */

/* A number used again belongs to somebody else: what is known of the kernel's threads is forgotten now and then. */
static const int64_t FORGET_NS = 60 * GT_SECOND;

static int consider(struct gt_all_processes *processes, struct gt_tree *tree, pid_t pid)
{
    struct gt_process_stat stat;
    if (gt_tree_find(tree, pid) || gt_map_get(&processes->kernel, pid) != GT_MAP_ABSENT ||
        gt_process_stat_of(tree->root, pid, &stat) < 0)
        return 0;
    return stat.is_kernel ? gt_map_put(&processes->kernel, pid, 0) : gt_tree_add(tree, pid);
}

int gt_all_processes_find(struct gt_all_processes *processes, struct gt_tree *tree, int64_t now_ns)
{
    DIR *proc = gt_root_list(tree->root, "proc");
    int status = 0;
    if (!proc)
        return -errno;
    if (now_ns - processes->renewed_ns > FORGET_NS) {
        gt_map_clear(&processes->kernel);
        processes->renewed_ns = now_ns;
    }
    for (struct dirent *entry; status >= 0 && (entry = readdir(proc));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            status = consider(processes, tree, (pid_t)strtol(entry->d_name, NULL, 10));
    closedir(proc);
    return status < 0 ? status : 0;
}

void gt_all_processes_release(struct gt_all_processes *processes)
{
    gt_map_release(&processes->kernel);
}
