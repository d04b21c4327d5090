#include "collect/cgroup/control_group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/process_file.h"

/* True when the list "cpu,cpuacct" has `name`. */
static bool list_has(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *item = list; item; item = strchr(item, ','), item += item != NULL)
        if (!strncmp(item, name, length) && (!item[length] || item[length] == ','))
            return true;
    return false;
}

static const char *const controller_names[GT_CONTROLLERS] = {"memory", "cpu"};

/* Lines "ID:CONTROLLERS:PATH"; version 2 is the one with number 0 and no controllers. */
static void parse_membership(char *line, struct gt_control_group group[GT_CONTROLLERS])
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *controllers++ = *path++ = '\0';
    int version = *controllers ? 1 : 2;
    for (int i = 0; i < GT_CONTROLLERS; i++) {
        if ((version == 1 && !list_has(controllers, controller_names[i])) || group[i].version == 1 ||
            strlen(path) >= sizeof group[i].path)
            continue;
        group[i].version = version;
        strcpy(group[i].path, path);
    }
}

struct mount {
    int version;
    const char *controllers; /* of version 1 */
    const char *group;       /* which group of the hierarchy is mounted */
    const char *point;
};

/* Lines "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS] - TYPE SOURCE SUPER-OPTIONS". */
static bool parse_mount(char *line, struct mount *ret)
{
    char *tail = strstr(line, " - "), *save, *field[6];
    if (!tail)
        return false;
    *tail = '\0';
    for (int i = 0; i < 6; i++)
        if (!(field[i] = strtok_r(i ? NULL : line, " ", &save)))
            return false;
    char *type = strtok_r(tail + 3, " ", &save), *source = strtok_r(NULL, " ", &save),
         *options = strtok_r(NULL, " ", &save);
    if (!type || !source || !options)
        return false;
    *ret = (struct mount){!strcmp(type, "cgroup") ? 1 : 2, options, field[3], field[4]};
    return ret->version == 1 || !strcmp(type, "cgroup2");
}

/* Only the part of the hierarchy below `mount->group` is visible, at the mount point. A group outside it cannot be reached; in
 * a container that sees its own group as the mount point, that is the group meant. */
static void place(struct gt_control_group *group, const struct mount *mount)
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
                      struct mount *mount)
{
    for (int i = 0; i < GT_CONTROLLERS; i++) {
        bool is_its = group[i].version == mount->version &&
                      (mount->version == 2 || list_has(mount->controllers, controller_names[i]));
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
    struct mount mount;
    struct gt_line_reader reader = {.fd = root->is_machine ? gt_root_open_file(root, "proc/self/mountinfo")
                                                           : gt_process_file_open(root, pid, "mountinfo"),
                                    .buffer = buffer,
                                    .size = sizeof buffer};
    while (reader.fd >= 0 && gt_line_reader_next(&reader, &line) > 0)
        if (parse_mount(line, &mount))
            place_all(group, is_placed, &mount);
    for (int i = 0; i < GT_CONTROLLERS; i++)
        if (!is_placed[i] || !*group[i].path)
            group[i].version = 0;
    if (reader.fd >= 0)
        close(reader.fd);
}

void gt_control_groups_find(const struct gt_root *root, pid_t pid, struct gt_control_group ret[GT_CONTROLLERS])
{
    char buffer[8192], *line;
    memset(ret, 0, GT_CONTROLLERS * sizeof *ret);
    struct gt_line_reader reader = {
        .fd = pid > 0 ? gt_process_file_open(root, pid, "cgroup") : -ENOENT, .buffer = buffer, .size = sizeof buffer};
    if (reader.fd < 0)
        return;
    while (gt_line_reader_next(&reader, &line) > 0)
        parse_membership(line, ret);
    close(reader.fd);
    find_places(root, pid, ret);
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
