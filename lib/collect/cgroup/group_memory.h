/* Memory that the kernel charges to the control group in which a job runs. Every user may read it.
 *
 * The counters count each page once, also pages that forked processes copied when they wrote to them. Sources: memory.stat of both versions
 * (Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst in the kernel's sources), and the two counters beside it. */
#ifndef GT_COLLECT_CGROUP_GROUP_MEMORY_H
#define GT_COLLECT_CGROUP_GROUP_MEMORY_H

#include <stdint.h>

#include "collect/cgroup/control_group.h"

/* Bytes; NaN: not known. */
struct gt_group_reading {
    double anonymous;
    double mapped; /* of files and shared memory, as far as a process maps it */
    double shmem;  /* shared memory, memfd and tmpfs, also where no process maps it: the kernel cannot give it up */
    double usage, peak; /* all that is charged, page cache and kernel memory included: now, and its largest value */
};

/* All zero is one that has not been opened. */
struct gt_group_memory {
    const struct gt_root *root;
    struct gt_control_group group;
    int stat, usage, peak; /* descriptors of its files, negative: cannot be opened */
    bool is_open;
    bool is_own; /* the group was made for the job */
};

/* Take the group of `pid`. `own_path` is the group that was made for the job, or empty. */
void gt_group_memory_open(struct gt_group_memory *memory, const struct gt_root *root, pid_t pid, const char *own_path);
void gt_group_memory_close(struct gt_group_memory *memory);
/* Read the counters. `usage` and `peak` are read if the group was made for the job. */
struct gt_group_reading gt_group_memory_read(const struct gt_group_memory *memory);

#endif
