/* The job gets a control group of its own, so that the kernel itself adds up what the job uses.
 *
 * The group is made below the groups the tracker lies in: limits set there go on to bind the job, and no other group is changed. Where a
 * hierarchy also shares out processor time (version 1 "cpu,cpuacct" mounted together, version 2 with "cpu" enabled) none is
 * made, since the job would be scheduled differently. In version 2 a group with processes cannot enable the memory
 * controller for those below it (cgroups(7), "no internal processes"), so there it tells processor time, and memory only
 * where the tracker's group was delegated to it alone (see cgroup.c):
 *     systemd-run --user --scope -p Delegate=yes gpu-tracker ...
 *
 * How a launcher uses it
 *   1. gt_cgroup_create (0.05 ms for each hierarchy).
 *   2. Start the child with clone3(CLONE_INTO_CGROUP) into gt_cgroup_directory when that is not negative, then in the child, before
 *      execve, gt_cgroup_enter_self: 0.03 ms for each hierarchy. A process that is moved from outside waits 7 to 15 ms for a
 *      grace period of the kernel.
 *   3. Hand it to the collectors in gt_collect_options.cgroup.
 *   4. gt_cgroup_remove when the job has ended, then gt_cgroup_close.
 *
 * Its memory includes the page cache the job filled and the kernel's own structures; a page is charged to the group that
 * touched it first. */
#ifndef GT_COLLECT_CGROUP_CGROUP_H
#define GT_COLLECT_CGROUP_CGROUP_H

#include <stddef.h>
#include <sys/types.h>

#include "collect/cgroup/control_group.h"
#include "collect/collector.h"

enum gt_cgroup_figure {
    GT_CGROUP_FIGURE_MEMORY,      /* bytes: v2 memory.current, v1 memory.usage_in_bytes */
    GT_CGROUP_FIGURE_MEMORY_PEAK, /* bytes: v2 memory.peak (Linux 5.19), v1 memory.max_usage_in_bytes */
    GT_CGROUP_FIGURE_CPU,         /* seconds: v1 cpuacct.usage, v2 cpu.stat usage_usec */
    GT_CGROUP_FIGURES
};

struct gt_cgroup;

/* Make the group `name` below each of the caller's groups where that can be done. Always fills *availability; *ret is NULL
 * unless it is GT_READY. Negative only for ENOMEM and the like. `root` must outlive it. */
int gt_cgroup_create(struct gt_cgroup **ret, const struct gt_root *root, const char *name,
                     struct gt_availability *availability, struct gt_error *error);
/* Open a group that is there, to read only: entering and removing it do nothing. */
int gt_cgroup_open(struct gt_cgroup **ret, const struct gt_root *root, const struct gt_cgroup_place *place,
                   struct gt_error *error);

/* Returns the version 2 directory for clone3, or a negative number. */
int gt_cgroup_directory(const struct gt_cgroup *cgroup);
/* Move the calling thread, which must be the only one of its process, into the version 1 groups. May be called between fork and
 * execve. Returns 0 or the negative errno of the first that failed. */
int gt_cgroup_enter_self(const struct gt_cgroup *cgroup);

/* Read all figures at once; NaN stands for what this group does not tell. */
void gt_cgroup_read(const struct gt_cgroup *cgroup, double ret[GT_CGROUP_FIGURES]);
/* Returns the file that a figure comes from ("memory.usage_in_bytes"), or NULL where the group does not tell it. */
const char *gt_cgroup_source(const struct gt_cgroup *cgroup, enum gt_cgroup_figure figure);

const struct gt_cgroup_place *gt_cgroup_place(const struct gt_cgroup *cgroup);
/* Remove the empty groups PREFIXpid beside the group at `own` whose processes are no more: killed trackers left them. */
void gt_cgroup_sweep(const struct gt_root *root, const struct gt_cgroup_place *own, const char *prefix);

/* Remove the directories that were made. Returns -EBUSY where processes are still inside; what is occupied stays. */
int gt_cgroup_remove(struct gt_cgroup *cgroup, struct gt_error *error);
void gt_cgroup_close(struct gt_cgroup *cgroup);

#endif
