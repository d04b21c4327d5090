/* Enabling controllers below a version 2 group that was given to the tracker alone.
 *
 * A version 2 group with processes cannot enable controllers for the groups below it. Where systemd marks the tracker's group as
 * delegated (xattr user.delegate, from systemd 251, or trusted.delegate; systemd.resource-control(5) Delegate=) and nobody but
 * the tracker is in it, the tracker moves into a leaf below and enables memory and pids for the job's group beside that
 * leaf. This is what delegation is for, and all of it is undone at the end. */
#ifndef GT_COLLECT_CGROUP_DELEGATION_H
#define GT_COLLECT_CGROUP_DELEGATION_H

#include <stdbool.h>

#include "base/root.h"
#include "collect/cgroup/cgroup_place.h"

struct gt_cgroup_delegation {
    const struct gt_root *root;
    bool is_open;
    char group[GT_CGROUP_PATH]; /* the delegated group */
    char leaf[GT_CGROUP_PATH];  /* where the tracker lies meanwhile */
};

/* `group` is the caller's own. 0: done; 1: not needed or not delegated; negative errno: refused, and undone. */
int gt_cgroup_delegation_open(struct gt_cgroup_delegation *delegation, const struct gt_root *root, const char *group,
                              const char *leaf);
/* Disable the controllers, and move back. The job's group must be gone. */
void gt_cgroup_delegation_close(struct gt_cgroup_delegation *delegation);

#endif
