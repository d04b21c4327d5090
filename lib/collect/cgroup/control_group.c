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

/* Lines "ID:CONTROLLERS:PATH"; version 2 is the one with number 0 and no controllers. */
static bool parse_membership(char *line, const char *controller, struct gt_control_group *ret)
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    *controllers++ = *path++ = '\0';
    int version = *controllers ? 1 : 2;
    if ((version == 1 && !list_has(controllers, controller)) || ret->version == 1 || strlen(path) >= sizeof ret->path)
        return false;
    ret->version = version;
    strcpy(ret->path, path);
    return true;
}

struct mount {
    char *group; /* which group of the hierarchy is mounted */
    char *point;
};

/* Lines "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS] - TYPE SOURCE SUPER-OPTIONS". */
static bool parse_mount(char *line, int version, const char *controller, struct mount *ret)
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
    *ret = (struct mount){field[3], field[4]};
    if (!type || !source || !options)
        return false;
    return version == 2 ? !strcmp(type, "cgroup2") : !strcmp(type, "cgroup") && list_has(options, controller);
}

/* Only the part of the hierarchy below `mount->group` is visible, at the mount point. A group outside it cannot be reached; in
 * a container that sees its own group as the mount point, that is the group meant. */
static int place(struct gt_control_group *group, const struct mount *mount)
{
    char path[sizeof group->path];
    size_t length = strcmp(mount->group, "/") ? strlen(mount->group) : 0;
    bool is_below = !strncmp(group->path, mount->group, length) && (!group->path[length] || group->path[length] == '/');
    const char *rest = is_below ? group->path + length : "";
    if (!strncmp(rest, "/..", 3) || !strcmp(rest, "/"))
        rest = "";
    int written = snprintf(path, sizeof path, "%s%s", mount->point + 1, rest);
    if (written < 0 || (size_t)written >= sizeof path)
        return -ENAMETOOLONG;
    strcpy(group->path, path);
    group->mount_length = strlen(mount->point) - 1;
    return 0;
}

int gt_control_group_find(const struct gt_root *root, pid_t pid, const char *controller, struct gt_control_group *ret)
{
    char buffer[8192], *line;
    *ret = (struct gt_control_group){0};
    struct gt_line_reader reader = {
        .fd = gt_process_file_open(root, pid, "cgroup"), .buffer = buffer, .size = sizeof buffer};
    if (reader.fd < 0)
        return reader.fd;
    while (gt_line_reader_next(&reader, &line) > 0)
        parse_membership(line, controller, ret);
    close(reader.fd);
    int fd = root->is_machine ? gt_root_open_file(root, "proc/self/mountinfo")
                              : gt_process_file_open(root, pid, "mountinfo");
    int result = -ENOENT;
    struct mount mount;
    reader = (struct gt_line_reader){.fd = fd, .buffer = buffer, .size = sizeof buffer};
    while (ret->version && result < 0 && fd >= 0 && gt_line_reader_next(&reader, &line) > 0)
        if (parse_mount(line, ret->version, controller, &mount))
            result = place(ret, &mount);
    if (fd >= 0)
        close(fd);
    return result;
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
