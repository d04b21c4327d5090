/* Every process of the machine that this user may see; the kernel's own threads are none. */
#ifndef GT_SAMPLE_ALL_PROCESSES_H
#define GT_SAMPLE_ALL_PROCESSES_H

#include "base/map.h"
#include "sample/tree.h"

/* All zero before the first search. */
struct gt_all_processes {
    struct gt_map kernel; /* threads of the kernel, not to be looked at again for a while */
    int64_t renewed_ns;
};

/* Add to the tree what has come up since the last search. 0, -ENOMEM, or why /proc cannot be listed. */
int gt_all_processes_find(struct gt_all_processes *processes, struct gt_tree *tree, int64_t now_ns);
void gt_all_processes_release(struct gt_all_processes *processes);

#endif
