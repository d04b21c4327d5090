#include "base/rank_launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENVIRONMENT_SIZE = 1 << 17 };

static int read_stat(const struct gt_root *root, pid_t pid, pid_t *parent, unsigned long long *start)
{
    char text[1024];
    ssize_t length = gt_root_read_process(root, pid, "stat", text, sizeof text);
    const char *behind = length > 0 ? strrchr(text, ')') : NULL; /* the name before it may hold anything */
    int above;
    if (length < 0)
        return (int)length;
    if (!behind ||
        sscanf(behind + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &above,
               start) != 2)
        return -EINVAL;
    *parent = above;
    return 0;
}

static bool has_variable(const char *text, size_t length, const char *name)
{
    size_t size = strlen(name);
    for (const char *p = text; p < text + length; p += strlen(p) + 1)
        if (!strncmp(p, name, size) && p[size] == '=')
            return true;
    return false;
}

/* A process that nobody may look into, as the daemon of a scheduler, is none. */
static bool is_rank(const struct gt_root *root, pid_t pid, const char *variable, char *text)
{
    ssize_t length = gt_root_read_process(root, pid, "environ", text, ENVIRONMENT_SIZE);
    return length > 0 && has_variable(text, (size_t)length, variable);
}

int gt_rank_launch_find(struct gt_rank_launch *ret, const struct gt_root *root, pid_t pid, const char *variable)
{
    pid_t parent = 0;
    char *text = malloc(ENVIRONMENT_SIZE);
    int status = text ? read_stat(root, pid, &parent, &ret->start) : -ENOMEM;
    ret->pid = pid;
    for (bool is_found = false; status >= 0 && !is_found && parent > 0;) {
        is_found = !is_rank(root, parent, variable, text);
        ret->pid = parent;
        status = read_stat(root, ret->pid, &parent, &ret->start);
    }
    free(text);
    return status;
}
