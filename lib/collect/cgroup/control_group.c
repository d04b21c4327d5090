#include "collect/cgroup/control_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "collect/cgroup/cgroup_place.h"
#include "collect/process/process_file.h"

static const char *const controller_names[GT_CONTROLLERS] = {"memory", "cpu"};

static void take_line(struct gt_control_group group[GT_CONTROLLERS], const char *text)
{
    struct gt_cgroup_line line;
    if (!gt_cgroup_line_read(&line, text))
        return;
    int version = *line.controllers ? 1 : 2;
    for (int i = 0; i < GT_CONTROLLERS; i++) {
        if ((version == 1 && !gt_cgroup_lists(line.controllers, controller_names[i])) || group[i].version == 1 ||
            line.length >= sizeof group[i].path)
            continue;
        group[i].version = version;
        snprintf(group[i].path, sizeof group[i].path, "%.*s", (int)line.length, line.path);
    }
}

/* Only the part of the hierarchy below `mount->group` is visible, at the mount point. A group outside it cannot be reached; in
 * a container that sees its own group as the mount point, that is the group meant. */
static void place(struct gt_control_group *group, const struct gt_cgroup_mount *mount)
{
    char path[sizeof group->path];
    size_t length = strcmp(mount->group, "/") ? strlen(mount->group) : 0;
    bool is_below = !strncmp(group->path, mount->group, length) && (!group->path[length] || group->path[length] == '/');
    const char *rest = is_below ? group->path + length : "";
    if (!strncmp(rest, "/..", 3) || !strcmp(rest, "/"))
        rest = "";
    int written = snprintf(path, sizeof path, "%s%s", mount->point + 1, rest);
    bool fits = written >= 0 && (size_t)written < sizeof path;
    strcpy(group->path, fits ? path : "");
    group->mount_length = fits ? strlen(mount->point) - 1 : 0;
}

/* The first mount that shows a hierarchy counts. */
static void place_all(struct gt_control_group group[GT_CONTROLLERS], bool is_placed[GT_CONTROLLERS],
                      const struct gt_cgroup_mount *mount)
{
    for (int i = 0; i < GT_CONTROLLERS; i++) {
        bool is_its = group[i].version == (mount->is_unified ? 2 : 1) &&
                      (mount->is_unified || gt_cgroup_lists(mount->controllers, controller_names[i]));
        if (is_placed[i] || !is_its)
            continue;
        place(&group[i], mount);
        is_placed[i] = true;
    }
}

static void find_places(const struct gt_root *root, pid_t pid, struct gt_control_group group[GT_CONTROLLERS])
{
    char buffer[8192], *line;
    bool is_placed[GT_CONTROLLERS] = {false};
    struct gt_cgroup_mount mount;
    struct gt_line_reader reader = {.fd = root->is_machine ? gt_root_open_file(root, "proc/self/mountinfo")
                                                           : gt_process_file_open(root, pid, "mountinfo"),
                                    .buffer = buffer,
                                    .size = sizeof buffer};
    while (reader.fd >= 0 && gt_line_reader_next(&reader, &line) > 0)
        if (gt_cgroup_mount_read(&mount, line))
            place_all(group, is_placed, &mount);
    for (int i = 0; i < GT_CONTROLLERS; i++)
        if (!is_placed[i] || !*group[i].path)
            group[i].version = 0;
    if (reader.fd >= 0)
        close(reader.fd);
}

static uint64_t add_to_hash(uint64_t hash, const char *line)
{
    return hash * 31 + gt_hash(line, strlen(line));
}

uint64_t gt_control_groups_hash(char *text)
{
    uint64_t hash = 0;
    char *save;
    for (const char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        hash = add_to_hash(hash, line);
    return hash;
}

uint64_t gt_control_groups_find(const struct gt_root *root, pid_t pid, struct gt_control_group ret[GT_CONTROLLERS])
{
    char buffer[8192], *line;
    uint64_t hash = 0;
    memset(ret, 0, GT_CONTROLLERS * sizeof *ret);
    struct gt_line_reader reader = {
        .fd = pid > 0 ? gt_process_file_open(root, pid, "cgroup") : -ENOENT, .buffer = buffer, .size = sizeof buffer};
    if (reader.fd < 0)
        return 0;
    while (gt_line_reader_next(&reader, &line) > 0) {
        hash = add_to_hash(hash, line);
        take_line(ret, line);
    }
    close(reader.fd);
    find_places(root, pid, ret);
    return hash;
}

bool gt_control_group_up(struct gt_control_group *group)
{
    char *slash = strrchr(group->path, '/');
    if (!slash || (size_t)(slash - group->path) < group->mount_length)
        return false;
    *slash = '\0';
    return true;
}

bool gt_control_group_holds(const struct gt_control_group *group, const struct gt_control_group *below)
{
    size_t length = strlen(group->path);
    return !strncmp(group->path, below->path, length) && (!below->path[length] || below->path[length] == '/');
}

ssize_t gt_control_group_read(const struct gt_root *root, const struct gt_control_group *group, const char *name,
                              char *text, size_t size)
{
    char path[sizeof group->path + 64];
    snprintf(path, sizeof path, "%s/%s", group->path, name);
    return gt_root_read(root, path, text, size);
}
