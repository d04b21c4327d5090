#include "sample/all_processes.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/process/process.h"

/* A number used again belongs to somebody else: what is known of the kernel's threads is forgotten now and then. */
static const int64_t FORGET_NS = 60 * GT_SECOND;

/* 1 of the kernel, 0 not, negative errno: it has gone. */
static int is_kernel_thread(const struct gt_root *root, pid_t pid)
{
    struct gt_process_stat stat;
    int status = gt_process_stat_of(root, pid, &stat);
    return status < 0 ? status : stat.is_kernel;
}

static int consider(struct gt_all_processes *processes, struct gt_tree *tree, pid_t pid)
{
    if (gt_tree_find(tree, pid) || gt_map_get(&processes->kernel, pid) != GT_MAP_ABSENT)
        return 0;
    int is_kernel = is_kernel_thread(tree->root, pid);
    if (is_kernel < 0)
        return 0;
    return is_kernel ? gt_map_put(&processes->kernel, pid, 0) : gt_tree_add(tree, pid);
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
