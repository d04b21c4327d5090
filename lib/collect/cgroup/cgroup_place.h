/* A process lies in one group of each control group hierarchy: of version 2, of the version 1 hierarchies that account, or of both. */
#ifndef GT_COLLECT_CGROUP_CGROUP_PLACE_H
#define GT_COLLECT_CGROUP_CGROUP_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/root.h"

enum gt_cgroup_hierarchy {
    GT_CGROUP_UNIFIED, /* version 2 */
    GT_CGROUP_MEMORY,  /* version 1, each of them */
    GT_CGROUP_CPUACCT,
    GT_CGROUP_PIDS,
    GT_CGROUP_HIERARCHIES
};

enum { GT_CGROUP_PATH = 512 };

struct gt_cgroup_place {
    /* The group's directory below the machine's root, "sys/fs/cgroup/memory/a/b"; empty where there is none in reach. */
    char path[GT_CGROUP_HIERARCHIES][GT_CGROUP_PATH];
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

/* Where a mount shows a hierarchy. */
struct gt_cgroup_mount {
    bool is_unified;         /* version 2 */
    const char *controllers; /* of version 1, among other options */
    const char *group;       /* which group of the hierarchy is mounted, "/" for the top */
    const char *point;       /* where */
};

/* Read a line of /proc/PID/mountinfo, which is changed and kept. Returns false for anything but control groups. */
bool gt_cgroup_mount_read(struct gt_cgroup_mount *ret, char *line);

/* Find the groups by /proc/PID/cgroup and the mounts of /proc/self/mountinfo, or PID's on a stored machine, which has no "self". A
 * group outside of what is mounted, as from within a container, has no path. Returns -ENOENT where there is no such process, or no
 * control groups. */
int gt_cgroup_locate(struct gt_cgroup_place *ret, const struct gt_root *root, pid_t pid, struct gt_error *error);

#endif
