/* All processes of a machine are divided into a bounded number of groups: those of one user, job and program; or Slurm's jobs.
 *
 * Counters never fall while a group lives: what a process used stays with the group in which it was used, also when the
 * process ends, and when it becomes another program or moves to another job. What children used that came and went
 * between two readings is charged to the group of the parent that waited for them. A group without processes is kept for
 * GT_JOB_GROUPS_KEPT_NS, so that its last figures are seen.
 *
 * There are at most `most` groups. Then processes go to one further group, "other", and those that are there stay there:
 * a counter that changed its group could not be told from one that was set back. When counting begins, the groups whose
 * processes have used most CPU time come first. */
#ifndef GT_AGGREGATE_JOB_GROUPS_H
#define GT_AGGREGATE_JOB_GROUPS_H

#include "aggregate/attribute.h"
#include "aggregate/combine.h"
#include "collect/cgroup/cgroup.h"
#include "collect/process/identity.h"
#include "sample/sampler.h"

#define GT_JOB_GROUPS_KEPT_NS (300 * GT_SECOND)

struct gt_job_groups_group {
    bool is_used, is_other;
    bool is_root; /* no other user's process was seen in it */
    char user[64];
    char job[96];
    char command[32]; /* "" where groups are jobs */
    size_t processes; /* living */
    int64_t last_ns;  /* when it last had a process */
    double total[GT_ACCOUNTED];
    bool is_measured[GT_ACCOUNTED];
    double cpu_before;            /* total CPU time at the last reading */
    double placed[GT_PACKAGES];   /* CPU seconds of its processes since then, by package */
    double energy[2];             /* joules: CPU, GPU */
    struct gt_cgroup *cgroup;     /* of a Slurm job, NULL otherwise */
    double ram_limit, core_limit; /* of a Slurm job, NaN: none is known */
    double cgroup_cpu;            /* its CPU time at the last reading, NaN: none yet */
    struct gt_rate rate;
    double value[GT_METRIC_COUNT];
    double (*gpu)[GT_METRIC_COUNT]; /* of each device of the snapshot */
};

struct gt_job_groups_member;

struct gt_job_groups {
    bool by_slurm;
    size_t most;
    int core_count;
    struct gt_job_groups_group *group; /* most + 1; the last is "other" */
    size_t device_count;
    struct gt_job_groups_member *member; /* by slot */
    size_t member_capacity;
    bool is_begun;
};

/* `device_count`: of the sampler's snapshot. -ENOMEM. */
int gt_job_groups_init(struct gt_job_groups *groups, bool by_slurm, size_t most, int core_count, size_t device_count);
void gt_job_groups_release(struct gt_job_groups *groups);

/* After gt_sampler_read_machine, before gt_sampler_settle_machine. -ENOMEM. */
int gt_job_groups_count(struct gt_job_groups *groups, const struct gt_sampler *sampler);
/* After that: the groups' values, energy as `attribution` has divided it over the same reading. */
void gt_job_groups_show(struct gt_job_groups *groups, const struct gt_sampler *sampler,
                        const struct gt_attribution *attribution);

#endif
