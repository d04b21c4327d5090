/* This tells what a job may use and what the kernel did to it for using more: limits and events of its control groups and of all above,
 * for both versions of the interface. Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and scheduler/sched-bwc.rst in
 * the kernel's sources. */
#ifndef GT_COLLECT_CGROUP_LIMITS_H
#define GT_COLLECT_CGROUP_LIMITS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/root.h"
#include "collect/cgroup/control_group.h"

/* A limit, and what says so: "memory.max", "SLURM_MEM_PER_NODE". */
struct gt_limit {
    double value;
    char source[64];
};

/* These take the groups of a job, which gt_control_groups_find found while it lived; they may be read after its end, too. A limit that is
 * not there is NaN. */

/* Bytes: the smallest limit of the groups. */
void gt_limit_memory(struct gt_limit *ret, const struct gt_root *root,
                     const struct gt_control_group groups[GT_CONTROLLERS]);
/* The same of `group` and of those above it, but for those that `apart` lies in, too. */
void gt_limit_memory_apart(struct gt_limit *ret, const struct gt_root *root, const struct gt_control_group *group,
                           const struct gt_control_group *apart);
/* Returns the bytes that a job can have: the memory of the machine, or the smallest limit of the groups where that is smaller, which *ret
 * then has. NaN: neither can be read. */
double gt_limit_capacity(struct gt_limit *ret, const struct gt_root *root,
                         const struct gt_control_group groups[GT_CONTROLLERS]);
/* Cores: the smallest quota, or the CPUs that `pid` may run on where they are fewer than `cores`. */
void gt_limit_cores(struct gt_limit *ret, const struct gt_root *root,
                    const struct gt_control_group groups[GT_CONTROLLERS], pid_t pid, int cores);

/* Counters that only grow. NaN: not told. */
struct gt_group_events {
    /* Processes of the group itself that the kernel killed for memory, in version 2 also of those below. */
    double oom_kills;
    double oom_kills_above; /* the same of the groups above and of the whole machine: perhaps others' */
    double throttled;       /* seconds for which threads of the group had to wait for a new period of its quota */
    double periods, throttled_periods;
};

/* These read one group alone. */
double gt_group_oom_kills(const struct gt_root *root, const struct gt_control_group *group);
void gt_group_events_read(const struct gt_control_group groups[GT_CONTROLLERS], const struct gt_root *root,
                          struct gt_group_events *ret);

#endif
