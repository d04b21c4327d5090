/* Control groups of processes: find them in the file system, for both versions of the interface, also inside containers, and read the
 * memory of a group. Sources: cgroups(7), proc_pid_mountinfo(5), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst in the
 * kernel's sources. */
#ifndef GT_COLLECT_CGROUP_CONTROL_GROUP_H
#define GT_COLLECT_CGROUP_CONTROL_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/os/root.h"

/* ---- The place of a process -------------------------------------------------------------------------------------- */

/* A process lies in one group of each control group hierarchy: of version 2, of the version 1 hierarchies that account, or of both. */

enum gt_cgroup_hierarchy {
    GT_CGROUP_UNIFIED, /* version 2 */
    GT_CGROUP_MEMORY,  /* version 1, each of them */
    GT_CGROUP_CPUACCT,
    GT_CGROUP_CPU,
    GT_CGROUP_HIERARCHIES
};

enum { GT_CGROUP_PATH = 1024 };

struct gt_cgroup_place {
    /* The group's directory below the machine's root, "sys/fs/cgroup/memory/a/b"; empty where there is none in reach. */
    char path[GT_CGROUP_HIERARCHIES][GT_CGROUP_PATH];
    size_t mount_length[GT_CGROUP_HIERARCHIES]; /* the part of it that is the mount point */
    bool is_outside[GT_CGROUP_HIERARCHIES];     /* the group is none of those below the mount point */
    /* The hierarchy also shares out processor time, so that a group of its own would change how the job is scheduled. */
    bool schedules[GT_CGROUP_HIERARCHIES];
};

/* A line of /proc/PID/cgroup: "4:cpu,cpuacct:/a/b", version 2 "0::/a/b". */
struct gt_cgroup_line {
    char controllers[256]; /* of version 1; empty: version 2 */
    const char *path;      /* in the line */
    size_t length;         /* of the path */
};

/* Read the line that `text` begins with. Returns false where it tells no group. */
bool gt_cgroup_line_read(struct gt_cgroup_line *ret, const char *text);
/* Returns true where the list "cpu,cpuacct" has the controller. */
bool gt_cgroup_lists(const char *list, const char *controller);

/* Find the groups by /proc/PID/cgroup and the mounts of /proc/self/mountinfo, or PID's on a stored machine, which has no "self". A
 * group outside of what is mounted, as from within a container, has no path. Returns -ENOENT where there is no such process, or no
 * control groups. */
int gt_cgroup_locate(struct gt_cgroup_place *ret, const struct gt_root *root, pid_t pid, struct gt_error *error);

/* ---- The group that limits a process ------------------------------------------------------------------------------ */

struct gt_control_group {
    int version;               /* 1 or 2 */
    char path[GT_CGROUP_PATH]; /* "sys/fs/cgroup/memory/job", below the machine's root */
    size_t mount_length;       /* the part of it that is the mount point, where the hierarchy ends */
};

enum { GT_CONTROLLER_MEMORY, GT_CONTROLLER_CPU, GT_CONTROLLERS };

/* Find the groups of `pid` through which these controllers act: version 1 where it is mounted so, else version 2. Version 0: none
 * is mounted or visible, or `pid` is 0. Returns the hash of the text of /proc/PID/cgroup, 0 where it cannot be read. */
uint64_t gt_control_groups_find(const struct gt_root *root, pid_t pid, struct gt_control_group ret[GT_CONTROLLERS]);
/* Go to the group above. Returns false at the top. */
bool gt_control_group_up(struct gt_control_group *group);
/* `below` is `group` or lies below it; both are of one hierarchy. */
bool gt_control_group_holds(const struct gt_control_group *group, const struct gt_control_group *below);
/* Read the file `name` of the group. Returns its length or negative errno. */
ssize_t gt_control_group_read(const struct gt_root *root, const struct gt_control_group *group, const char *name,
                              char *text, size_t size);

/* ---- The memory of a group ---------------------------------------------------------------------------------------- */

/* Memory that the kernel charges to the control group in which a job runs. Every user may read it.
 *
 * The counters count each page once, also pages that forked processes copied when they wrote to them. Sources: memory.stat of both versions
 * (Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst in the kernel's sources), and the two counters beside it. */

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

/* This tells what a job may use and what the kernel did to it for using more: limits and events of its control groups and of all above,
 * for both versions of the interface. Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and scheduler/sched-bwc.rst in
 * the kernel's sources. */

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
