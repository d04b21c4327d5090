#include "collect/cgroup/cgroup_delegation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static int write_text(const struct gt_root *root, const char *group, const char *file, const char *text)
{
    char path[GT_CGROUP_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", group, file);
    int fd = gt_root_open_to_write(root, path);
    if (fd < 0)
        return fd;
    int result = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return result;
}

static int enter(const struct gt_root *root, const char *group)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)getpid());
    return write_text(root, group, "cgroup.procs", number);
}

static bool is_delegated(const struct gt_root *root, const char *group)
{
    char value[4] = "";
    int fd = gt_root_open_directory(root, group);
    if (fd < 0)
        return false;
    bool marked = fgetxattr(fd, "user.delegate", value, sizeof value) > 0 ||
                  fgetxattr(fd, "trusted.delegate", value, sizeof value) > 0;
    close(fd);
    return marked && *value == '1';
}

static bool is_alone(const struct gt_root *root, const char *group)
{
    char path[GT_CGROUP_PATH + 32], text[64];
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    if (gt_root_read(root, path, text, sizeof text) <= 0)
        return false;
    char *end;
    return strtol(text, &end, 10) == getpid() && !strcmp(end, "\n");
}

static bool lists(const struct gt_root *root, const char *group, const char *file, const char *controller)
{
    char path[GT_CGROUP_PATH + 32], text[512];
    snprintf(path, sizeof path, "%s/%s", group, file);
    if (gt_root_read(root, path, text, sizeof text) <= 0)
        return false;
    for (char *rest = text, *word; (word = strsep(&rest, " \n"));)
        if (!strcmp(word, controller))
            return true;
    return false;
}

int gt_cgroup_delegation_open(struct gt_cgroup_delegation *delegation, const struct gt_root *root, const char *group,
                              const char *leaf)
{
    *delegation = (struct gt_cgroup_delegation){.root = root};
    if (!lists(root, group, "cgroup.controllers", "memory") || lists(root, group, "cgroup.subtree_control", "memory") ||
        !is_delegated(root, group) || !is_alone(root, group))
        return 1;
    if (strlen(group) + 1 + strlen(leaf) >= GT_CGROUP_PATH)
        return -ENAMETOOLONG;
    snprintf(delegation->group, GT_CGROUP_PATH, "%s", group);
    snprintf(delegation->leaf, GT_CGROUP_PATH, "%.*s/%s", (int)strlen(group), group, leaf);
    int result = gt_root_make_directory(root, delegation->leaf);
    if (result < 0 && result != -EEXIST)
        return result;
    result = enter(root, delegation->leaf);
    if (result == 0)
        result = write_text(root, group, "cgroup.subtree_control", "+memory");
    delegation->is_open = true;
    if (result < 0)
        gt_cgroup_delegation_close(delegation);
    else if (lists(root, group, "cgroup.controllers", "pids"))
        write_text(root, group, "cgroup.subtree_control", "+pids");
    return result;
}

void gt_cgroup_delegation_close(struct gt_cgroup_delegation *delegation)
{
    if (!delegation->is_open)
        return;
    write_text(delegation->root, delegation->group, "cgroup.subtree_control", "-memory");
    write_text(delegation->root, delegation->group, "cgroup.subtree_control", "-pids");
    enter(delegation->root, delegation->group);
    gt_root_remove_directory(delegation->root, delegation->leaf);
    delegation->is_open = false;
}
