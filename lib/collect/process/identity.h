/* A process belongs to a user, executes a program, and may be in a job that its control group names. */
#ifndef GT_COLLECT_PROCESS_IDENTITY_H
#define GT_COLLECT_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/os/root.h"

enum gt_job_kind {
    GT_JOB_NONE,
    GT_JOB_UNIT,      /* of systemd: "ssh.service", "session-3.scope" */
    GT_JOB_CONTAINER, /* the first 12 digits of its number, as docker and podman show it */
    GT_JOB_SLURM      /* the job's number; Slurm's own name of it where the number is not shown to us */
};

struct gt_identity {
    uid_t uid;
    char command[32]; /* as ps shows it */
    enum gt_job_kind kind;
    char job[96]; /* "" without one */
};

/* Read /proc/PID/status and /proc/PID/cgroup; what is not UTF-8 in them becomes "?". Returns negative errno where the process has gone or
 * is not shown. */
int gt_identity_read(const struct gt_root *root, pid_t pid, struct gt_identity *ret);
/* Find the job in the text of /proc/PID/cgroup: that of Slurm before a container before a unit. Slurm's groups are
 * /system.slice/slurmstepd.scope/job_N/step_S (version 2; the scope may have the node's name before it) and
 * /slurm/uid_U/job_N/step_S (version 1); since Slurm 26.05 "s" with letters and digits in place of job_N:
 * https://slurm.schedmd.com/cgroup_v2.html and cgroups.html. */
void gt_identity_job(const char *cgroups, struct gt_identity *ret);
/* Write the name of a user, or the number where it has no name here. */
void gt_user_name(const struct gt_root *root, uid_t uid, char *text, size_t size);

#endif
