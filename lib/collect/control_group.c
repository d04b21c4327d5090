#include "collect/control_group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int gt_control_group_find(const struct gt_root *root, pid_t pid, enum gt_cgroup_hierarchy controller,
                          struct gt_control_group *ret)
{
    struct gt_cgroup_place place;
    int status = gt_cgroup_locate(&place, root, pid, NULL);
    if (status < 0)
        return status;
    enum gt_cgroup_hierarchy hierarchy = *place.path[controller] ? controller : GT_CGROUP_UNIFIED;
    if (!*place.path[hierarchy])
        return -ENOENT;
    *ret = (struct gt_control_group){.version = hierarchy == GT_CGROUP_UNIFIED ? 2 : 1,
                                     .mount_length = place.mount_length[hierarchy]};
    strcpy(ret->path, place.path[hierarchy]);
    return 0;
}

bool gt_control_group_up(struct gt_control_group *group)
{
    char *slash = strrchr(group->path, '/');
    if (!slash || (size_t)(slash - group->path) < group->mount_length)
        return false;
    *slash = '\0';
    return true;
}

ssize_t gt_control_group_read(const struct gt_root *root, const struct gt_control_group *group, const char *name,
                              char *text, size_t size)
{
    char path[sizeof group->path + 64];
    snprintf(path, sizeof path, "%s/%s", group->path, name);
    return gt_root_read(root, path, text, size);
}
