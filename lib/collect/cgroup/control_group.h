/* Find the control groups of a process in the file system, for both versions of the interface, also inside containers.
 * Sources: cgroups(7), proc_pid_mountinfo(5), Documentation/admin-guide/cgroup-v2.rst in the kernel's sources. */
#ifndef GT_COLLECT_CONTROL_GROUP_H
#define GT_COLLECT_CONTROL_GROUP_H

#include "base/root.h"

struct gt_control_group {
    int version;         /* 1 or 2 */
    char path[1024];     /* "sys/fs/cgroup/memory/job", below the machine's root */
    size_t mount_length; /* the part of it that is the mount point, where the hierarchy ends */
};

/* Find the group of `pid` through which `controller` ("memory", "cpu") acts: version 1 where it is mounted so, else version 2.
 * Returns 0, or -ENOENT where none is mounted or visible. */
int gt_control_group_find(const struct gt_root *root, pid_t pid, const char *controller, struct gt_control_group *ret);
/* Go to the group above. Returns false at the top. */
bool gt_control_group_up(struct gt_control_group *group);
/* Read the file `name` of the group. Returns its length or negative errno. */
ssize_t gt_control_group_read(const struct gt_root *root, const struct gt_control_group *group, const char *name,
                              char *text, size_t size);

#endif
