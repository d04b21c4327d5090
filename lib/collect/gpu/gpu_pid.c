#include "collect/gpu/gpu_pid.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/pid_namespace.h"

void gt_gpu_pids_open(struct gt_gpu_pids *map, const struct gt_root *root)
{
    *map = (struct gt_gpu_pids){.root = root, .is_initial = gt_pid_namespace_is_initial(root)};
}

static bool is_visible(const struct gt_root *root, unsigned pid)
{
    char path[32];
    snprintf(path, sizeof path, "proc/%u", pid);
    int fd = gt_root_open_directory(root, path);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

enum holds { HOLDS_NOT, HOLDS, HOLDS_UNKNOWN };

static enum holds holds_file(const struct gt_root *root, unsigned pid, const char *file)
{
    char path[48], link[64];
    snprintf(path, sizeof path, "proc/%u/fd", pid);
    DIR *directory = file ? gt_root_list(root, path) : NULL;
    if (!directory)
        return HOLDS_UNKNOWN;
    enum holds holds = HOLDS_NOT;
    for (struct dirent *entry; holds == HOLDS_NOT && (entry = readdir(directory));) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
        if (length > 0) {
            link[length] = '\0';
            holds = !strcmp(link, file) ? HOLDS : HOLDS_NOT;
        }
    }
    closedir(directory);
    return holds;
}

static pid_t find_same(const struct gt_gpu_pids *map, const char *file, unsigned driver_pid)
{
    if (!is_visible(map->root, driver_pid))
        return 0;
    if (!map->is_initial && holds_file(map->root, driver_pid, file) == HOLDS_NOT)
        return 0;
    return (pid_t)driver_pid;
}

/* Returns true where one of the numbers that a process has in the namespaces below the tracker's is `wanted`. The first number of the
 * line is the one in the tracker's own. */
static bool has_namespace_pid(const struct gt_root *root, pid_t pid, unsigned wanted)
{
    char text[4096];
    if (gt_root_read_process(root, pid, "status", text, sizeof text) < 0)
        return false;
    const char *at = strstr(text, "\nNSpid:");
    if (!at)
        return false;
    at += strlen("\nNSpid:");
    at += strspn(at, " \t");
    at += strspn(at, "0123456789");
    at += strspn(at, " \t");
    while (*at >= '0' && *at <= '9') {
        char *end;
        if (strtoul(at, &end, 10) == wanted)
            return true;
        at = end + strspn(end, " \t");
    }
    return false;
}

static pid_t find_in_namespaces(const struct gt_gpu_pids *map, const struct gt_frame *frame, unsigned driver_pid)
{
    pid_t found = 0;
    for (size_t i = 0; i < frame->process_count; i++)
        if (has_namespace_pid(map->root, frame->process[i]->pid, driver_pid)) {
            if (found)
                return 0;
            found = frame->process[i]->pid;
        }
    return found;
}

static bool is_placed(const struct gt_pid_entry *entries, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].pid == pid)
            return true;
    return false;
}

static pid_t find_only_holder(const struct gt_gpu_pids *map, const struct gt_frame *frame, const char *file,
                              const struct gt_pid_entry *entries, size_t count)
{
    pid_t found = 0;
    for (size_t i = 0; i < frame->process_count; i++) {
        pid_t pid = frame->process[i]->pid;
        if (holds_file(map->root, (unsigned)pid, file) == HOLDS && !is_placed(entries, count, pid)) {
            if (found)
                return 0;
            found = pid;
        }
    }
    return found;
}

static void place(struct gt_gpu_pids *map, struct gt_pid_entry *entry, pid_t pid, enum gt_pid_method method)
{
    entry->pid = pid;
    if (pid)
        map->methods |= method;
}

void gt_gpu_pids_resolve(struct gt_gpu_pids *map, const struct gt_frame *frame, const char *file,
                         struct gt_pid_entry *entries, size_t count)
{
    struct gt_pid_entry *left = NULL;
    map->unknown = 0;
    for (size_t i = 0; i < count; i++) {
        struct gt_pid_entry *entry = &entries[i];
        if (!entry->pid)
            place(map, entry, find_same(map, file, entry->driver_pid), GT_PID_SAME);
        if (!entry->pid)
            place(map, entry, find_in_namespaces(map, frame, entry->driver_pid), GT_PID_NAMESPACE);
        if (!entry->pid) {
            left = entry;
            map->unknown++;
        }
    }
    if (map->unknown == 1 && file && !map->is_initial) {
        place(map, left, find_only_holder(map, frame, file, entries, count), GT_PID_EXCLUSIVE);
        map->unknown = !left->pid;
    }
}

void gt_gpu_pids_describe(const struct gt_gpu_pids *map, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s", map->methods & GT_PID_SAME ? "process numbers as the driver gives them; " : "",
             map->methods & GT_PID_NAMESPACE ? "process numbers mapped by NSpid; " : "",
             map->methods & GT_PID_EXCLUSIVE ? "the only process of the job that holds the device; " : "",
             map->unknown ? "some process numbers belong to no visible process; " : "");
}
