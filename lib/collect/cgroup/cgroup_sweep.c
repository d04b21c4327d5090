#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "collect/cgroup/cgroup.h"

static bool is_left_behind(const char *name, const char *prefix)
{
    int64_t pid;
    size_t length = strlen(prefix);
    return !strncmp(name, prefix, length) && gt_number_i64(name + length, &pid) == 0 && pid > 0 && pid <= INT_MAX &&
           kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void sweep(const struct gt_root *root, const char *parent, const char *prefix)
{
    int fd = gt_root_open_directory(root, parent);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[PATH_MAX];
        if (is_left_behind(entry->d_name, prefix) &&
            snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) < (int)sizeof path)
            gt_root_remove_directory(root, path); /* fails when processes are still inside, and shall */
    }
    closedir(directory);
}

void gt_cgroup_sweep(const struct gt_root *root, const struct gt_cgroup_place *own, const char *prefix)
{
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
        char parent[PATH_MAX];
        snprintf(parent, sizeof parent, "%s", own->path[i]);
        char *slash = strrchr(parent, '/');
        if (!slash)
            continue;
        *slash = '\0';
        sweep(root, parent, prefix);
    }
}
