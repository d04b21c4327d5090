#include "collect/cgroup/cgroup_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const controllers[GT_CGROUP_HIERARCHIES] = {[GT_CGROUP_UNIFIED] = "",
                                                               [GT_CGROUP_MEMORY] = "memory",
                                                               [GT_CGROUP_CPUACCT] = "cpuacct",
                                                               [GT_CGROUP_PIDS] = "pids"};

/* "memory" is in "rw,memory" and in "cpu,memory", not in "memory_recursiveprot". */
bool gt_cgroup_lists(const char *list, const char *controller)
{
    size_t length = strlen(controller);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, controller, length) && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* Spaces and the like stand in mountinfo as backslash and three octal digits. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++, to++) {
        unsigned code;
        if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 3;
        } else {
            *to = *from;
        }
    }
    *to = '\0';
}

/* Returns what follows `root` in `group` ("/docker/x" and "/docker/x/y": "/y"); NULL when it does not lie below. */
static const char *below(const char *root, const char *group)
{
    size_t length = strlen(root);
    if (length == 1 && *root == '/')
        return group;
    if (strncmp(group, root, length) || (group[length] && group[length] != '/'))
        return NULL;
    return group + length;
}

static bool leaves_view(const char *group)
{
    const char *suffix = strstr(group, " (deleted)");
    return !strncmp(group, "/..", 3) || (suffix && !suffix[10]);
}

/* The line is "31 23 0:28 ROOT POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS". */
bool gt_cgroup_mount_read(struct gt_cgroup_mount *ret, char *line)
{
    char *field[5], *rest = line;
    for (size_t i = 0; i < 5; i++) {
        field[i] = strsep(&rest, " ");
        if (!rest)
            return false;
    }
    char *source = strstr(rest, " - ");
    if (!source)
        return false;
    source += 3;
    const char *type = strsep(&source, " ");
    bool is_unified = !strcmp(type, "cgroup2");
    if (!source || (!is_unified && strcmp(type, "cgroup") != 0))
        return false;
    const char *options = source + strcspn(source, " ");
    *ret = (struct gt_cgroup_mount){is_unified, options + (*options == ' '), field[3], field[4]};
    unescape(field[3]);
    unescape(field[4]);
    return true;
}

static void place_group(struct gt_cgroup_place *place, enum gt_cgroup_hierarchy hierarchy,
                        const struct gt_cgroup_mount *mount, const char *group)
{
    const char *rest = leaves_view(group) ? NULL : below(mount->group, group);
    char *path = place->path[hierarchy];
    if (!rest || *path)
        return;
    int length = snprintf(path, GT_CGROUP_PATH, "%s%s", mount->point + 1, rest);
    if (length >= GT_CGROUP_PATH)
        *path = '\0';
    else if (length > 0 && path[length - 1] == '/')
        path[length - 1] = '\0';
}

bool gt_cgroup_line_read(struct gt_cgroup_line *ret, const char *text)
{
    size_t length = strcspn(text, "\n");
    const char *list = memchr(text, ':', length);
    const char *path = list ? memchr(list + 1, ':', length - (size_t)(list + 1 - text)) : NULL;
    if (!path || path[1] != '/' || (size_t)(path - list) > sizeof ret->controllers)
        return false;
    snprintf(ret->controllers, sizeof ret->controllers, "%.*s", (int)(path - list - 1), list + 1);
    ret->path = path + 1;
    ret->length = length - (size_t)(path + 1 - text);
    return true;
}

/* The group of a hierarchy in the text of /proc/PID/cgroup, into `group`. */
static bool find_group(const char *text, enum gt_cgroup_hierarchy hierarchy, char *group, size_t size, bool *schedules)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        struct gt_cgroup_line line;
        if (!gt_cgroup_line_read(&line, at) || line.length >= size)
            continue;
        if (hierarchy == GT_CGROUP_UNIFIED ? *line.controllers
                                           : !gt_cgroup_lists(line.controllers, controllers[hierarchy]))
            continue;
        snprintf(group, size, "%.*s", (int)line.length, line.path);
        *schedules = gt_cgroup_lists(line.controllers, "cpu");
        return true;
    }
    return false;
}

static void place_all(struct gt_cgroup_place *place, char *mounts, const char *groups)
{
    for (char *line; (line = strsep(&mounts, "\n"));) {
        struct gt_cgroup_mount mount;
        if (!gt_cgroup_mount_read(&mount, line))
            continue;
        for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
            char group[GT_CGROUP_PATH];
            bool shown = i == GT_CGROUP_UNIFIED
                             ? mount.is_unified
                             : !mount.is_unified && gt_cgroup_lists(mount.controllers, controllers[i]);
            if (shown && find_group(groups, (enum gt_cgroup_hierarchy)i, group, sizeof group, &place->schedules[i]))
                place_group(place, (enum gt_cgroup_hierarchy)i, &mount, group);
        }
    }
}

/* A whole file of unknown length, at most 1 MB; the caller frees. */
static int read_all(const struct gt_root *root, const char *path, char **ret)
{
    enum { LARGEST = 1 << 20 };
    for (size_t size = 16384;; size *= 4) {
        char *text = malloc(size);
        ssize_t length = text ? gt_root_read(root, path, text, size) : -ENOMEM;
        if (length >= 0 && ((size_t)length + 1 < size || size >= LARGEST)) {
            *ret = text;
            return 0;
        }
        free(text);
        if (length < 0)
            return (int)length;
    }
}

int gt_cgroup_locate(struct gt_cgroup_place *ret, const struct gt_root *root, pid_t pid, struct gt_error *error)
{
    char path[64], groups[4096];
    char *mounts = NULL;
    memset(ret, 0, sizeof *ret);
    snprintf(path, sizeof path, "proc/%d/cgroup", (int)pid);
    ssize_t length = gt_root_read(root, path, groups, sizeof groups);
    if (length < 0)
        return gt_error_system(error, (int)-length, "/%s", path);
    int result = read_all(root, "proc/self/mountinfo", &mounts);
    if (result == -ENOENT) {
        snprintf(path, sizeof path, "proc/%d/mountinfo", (int)pid);
        result = read_all(root, path, &mounts);
    }
    if (result < 0)
        return gt_error_system(error, -result, "mounts of control groups");
    place_all(ret, mounts, groups);
    free(mounts);
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++)
        if (*ret->path[i])
            return 0;
    return gt_error_set(error, ENOENT, "process %d has no control group in reach", (int)pid);
}
