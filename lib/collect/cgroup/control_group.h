/* Find the control groups of a process in the file system, for both versions of the interface, also inside containers.
 * Sources: cgroups(7), proc_pid_mountinfo(5), Documentation/admin-guide/cgroup-v2.rst in the kernel's sources. */
#ifndef GT_COLLECT_CGROUP_CONTROL_GROUP_H
#define GT_COLLECT_CGROUP_CONTROL_GROUP_H

#include "base/root.h"

struct gt_control_group {
    int version;         /* 1 or 2 */
    char path[1024];     /* "sys/fs/cgroup/memory/job", below the machine's root */
    size_t mount_length; /* the part of it that is the mount point, where the hierarchy ends */
};

enum { GT_CONTROLLER_MEMORY, GT_CONTROLLER_CPU, GT_CONTROLLERS };

/* Find the groups of `pid` through which these controllers act: version 1 where it is mounted so, else version 2. Version 0: none
 * is mounted or visible, or `pid` is 0. Returns the hash of the lines of /proc/PID/cgroup, 0 where they cannot be read. */
uint64_t gt_control_groups_find(const struct gt_root *root, pid_t pid, struct gt_control_group ret[GT_CONTROLLERS]);
/* Returns the hash of the lines of this text, which it takes apart. */
uint64_t gt_control_groups_hash(char *text);
/* Go to the group above. Returns false at the top. */
bool gt_control_group_up(struct gt_control_group *group);
/* `below` is `group` or lies below it; both are of one hierarchy. */
bool gt_control_group_holds(const struct gt_control_group *group, const struct gt_control_group *below);
/* Read the file `name` of the group. Returns its length or negative errno. */
ssize_t gt_control_group_read(const struct gt_root *root, const struct gt_control_group *group, const char *name,
                              char *text, size_t size);

#endif
