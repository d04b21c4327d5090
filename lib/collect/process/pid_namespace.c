#include "collect/process/pid_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const struct gt_pid_namespace_fault
    not_mounted = {ENOENT, "/proc is not mounted", "mount -t proc proc /proc"},
    is_foreign = {ENOTSUP, "/proc is that of another PID namespace, and shows other processes than this one has",
                  "mount its own: unshare -pf --mount-proc, or mount -t proc proc /proc"},
    is_partial = {ENOTSUP, "/proc shows processes alone (subset=pid), and nothing of the machine they run on",
                  "mount a whole one: mount -t proc proc /proc"},
    starts_no_threads = {ENOTSUP, "this process may start no threads, since its children go to another PID namespace",
                         "fork into that: unshare -pf --mount-proc"};

static bool is_mounted(const struct gt_root *root)
{
    struct statfs status;
    int fd = gt_root_open_directory(root, "proc");
    bool found = fd >= 0 && fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
    if (fd >= 0)
        close(fd);
    return found;
}

/* NSpid has this process's number in the namespace of /proc, then those in the namespaces below it down to its own: a second one
 * tells that /proc is not of its own, even where the first happens to be the same number. Kernels before 4.1, and those without
 * such namespaces, have no such line. https://man7.org/linux/man-pages/man5/proc_pid_status.5.html */
static bool has_second_number(const char *status)
{
    const char *line = strstr(status, "\nNSpid:");
    char *end = NULL;
    if (!line)
        return false;
    strtol(line + strlen("\nNSpid:"), &end, 10);
    return *end == '\t' || *end == ' ';
}

static ssize_t read_link(int directory, const char *name, char *text, size_t size)
{
    ssize_t length = readlinkat(directory, name, text, size - 1);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

/* The link tells nothing until the first child is there. https://man7.org/linux/man-pages/man7/pid_namespaces.7.html */
static bool leaves_children_elsewhere(const struct gt_root *root)
{
    char own[64], children[64];
    struct stat link;
    int directory = gt_root_open_directory(root, "proc/self/ns");
    if (directory < 0)
        return false;
    bool is_known = read_link(directory, "pid", own, sizeof own) > 0 &&
                    fstatat(directory, "pid_for_children", &link, AT_SYMLINK_NOFOLLOW) == 0;
    read_link(directory, "pid_for_children", children, sizeof children);
    close(directory);
    return is_known && strcmp(own, children) != 0;
}

/* Its inode number is PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h. */
bool gt_pid_namespace_is_initial(const struct gt_root *root)
{
    char link[64] = "";
    gt_root_readlink(root, "proc/self/ns/pid", link, sizeof link);
    return !strcmp(link, "pid:[4026531836]");
}

const struct gt_pid_namespace_fault *gt_pid_namespace_fault(const struct gt_root *root)
{
    char self[32] = "", status[4096];
    if (!root->is_machine)
        return NULL;
    ssize_t length = gt_root_readlink(root, "proc/self", self, sizeof self);
    bool is_forbidden = length == -EPERM || length == -ENOSYS, is_named = length > 0 || is_forbidden;
    bool is_told = gt_root_read(root, "proc/self/status", status, sizeof status) > 0;
    if (!is_named && !is_mounted(root))
        return &not_mounted;
    if (!is_named || (!is_forbidden && strtol(self, NULL, 10) != getpid()) || (is_told && has_second_number(status)))
        return &is_foreign;
    if (gt_root_access(root, "proc/stat", F_OK) == -ENOENT && gt_root_access(root, "proc/meminfo", F_OK) == -ENOENT)
        return &is_partial;
    return leaves_children_elsewhere(root) ? &starts_no_threads : NULL;
}

int gt_pid_namespace_check(const struct gt_root *root, struct gt_error *error)
{
    const struct gt_pid_namespace_fault *fault = gt_pid_namespace_fault(root);
    return fault ? gt_error_set(error, fault->code, "nothing can be tracked: %s; %s", fault->reason, fault->remedy) : 0;
}
