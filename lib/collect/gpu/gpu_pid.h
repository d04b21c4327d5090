/* Process numbers that a GPU driver gives are translated to the tracker's own PID namespace.
 *
 * A driver may give numbers of the host, of the process' own namespace or of the caller's, by version and by function. So:
 * outside of containers a number that is visible is taken as it is; inside, it is when that process holds the device open;
 * else it is looked for among the namespace numbers (NSpid) of the job; and when one number is left and one process of the
 * job holds the device open without having been found, they belong together. */
#ifndef GT_COLLECT_GPU_GPU_PID_H
#define GT_COLLECT_GPU_GPU_PID_H

#include "collect/collector.h"

enum gt_pid_method { GT_PID_SAME = 1, GT_PID_NAMESPACE = 2, GT_PID_EXCLUSIVE = 4 };

struct gt_gpu_pids {
    const struct gt_root *root;
    bool is_initial;  /* the tracker is in the machine's first PID namespace */
    unsigned methods; /* enum gt_pid_method, those that were needed so far */
    unsigned unknown; /* numbers that could not be placed in the last list */
};

struct gt_pid_entry {
    unsigned driver_pid;
    pid_t pid; /* 0: not known (yet) */
};

void gt_gpu_pids_open(struct gt_gpu_pids *map, const struct gt_root *root);
/* Fill in `pid` of the entries that have none. `file` is the device's, "/dev/nvidia0"; NULL when it is not known. */
void gt_gpu_pids_resolve(struct gt_gpu_pids *map, const struct gt_frame *frame, const char *file,
                         struct gt_pid_entry *entries, size_t count);
/* Write the methods that were needed: "as they are visible", "by NSpid", ... */
void gt_gpu_pids_describe(const struct gt_gpu_pids *map, char *text, size_t size);

#endif
