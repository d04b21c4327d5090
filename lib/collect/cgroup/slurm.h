/* Find the tasks that srun started on this node for the job that is tracked. They are children of slurmstepd, not of srun, so no
 * search below srun finds them.
 *
 * Slurm keeps the processes of each step in control groups, job_N/step_S and below, in the hierarchy "freezer" of version 1 (below
 * slurm.../uid_U) or in system.slice/...slurmstepd.scope of version 2 (https://slurm.schedmd.com/cgroups.html, cgroup_v2.html).
 * srun hands its environment on to the tasks, so those of this tracker are told apart from those of others in the same job by
 * a mark that the tracker left there. */
#ifndef GT_COLLECT_CGROUP_SLURM_H
#define GT_COLLECT_CGROUP_SLURM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/os/root.h"
#include "gpu_tracker.h"

struct gt_slurm;

/* `job` is SLURM_JOB_ID, `user` is its owner, and only our tasks have `mark` in GT_RUN_ENVIRONMENT. Returns -ENOENT where Slurm keeps no
 * groups of that job on this machine. */
int gt_slurm_open(struct gt_slurm **ret, const struct gt_root *root, const char *job, uid_t user, const char *mark,
                  struct gt_error *error);
/* The caller hears of each task that it does not know. The results of `take` are added up; a negative one ends the search. */
struct gt_slurm_taker {
    bool (*knows)(void *context, pid_t pid);
    int (*take)(void *context, pid_t pid);
    void *context;
};

/* Look for processes with the mark, at most ten times a second. Returns the sum of what `take` returned, or negative errno. */
int gt_slurm_tasks(struct gt_slurm *slurm, int64_t now_ns, const struct gt_slurm_taker *taker);
void gt_slurm_close(struct gt_slurm *slurm);

#endif
