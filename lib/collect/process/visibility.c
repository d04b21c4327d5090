#include "collect/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/os/file.h"
#include "collect/collector.h"
#include "collect/process/events.h"

static const struct gt_pid_namespace_fault
    not_mounted = {ENOENT, "/proc is not mounted", "mount -t proc proc /proc"},
    is_foreign = {ENOTSUP, "/proc is that of another PID namespace, and shows other processes than this one has",
                  "mount its own: unshare -pf --mount-proc, or mount -t proc proc /proc"},
    is_partial = {ENOTSUP, "/proc shows processes alone (subset=pid), and nothing of the machine they run on",
                  "mount a whole one: mount -t proc proc /proc"},
    starts_no_threads = {ENOTSUP, "this process may start no threads, since its children go to another PID namespace",
                         "fork into that: unshare -pf --mount-proc"};

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
    if (!is_named) {
        struct statfs mount;
        int fd = gt_root_open_directory(root, "proc");
        bool is_mounted = fd >= 0 && fstatfs(fd, &mount) == 0 && mount.f_type == PROC_SUPER_MAGIC;
        gt_close_fd(fd);
        return is_mounted ? &is_foreign : &not_mounted;
    }
    if ((!is_forbidden && strtol(self, NULL, 10) != getpid()) || (is_told && has_second_number(status)))
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

/* Records of processes, and processes of other users, that this user may not read. */

static bool are_records_denied(struct gt_rights *access)
{
    return !gt_access_has(access, GT_CAPABILITY_NET_ADMIN) &&
           !(access->root->is_machine && gt_events_has_early(GT_EVENTS_RECORDS));
}

static bool are_others_denied(struct gt_rights *access)
{
    return !gt_access_has(access, GT_CAPABILITY_SYS_PTRACE);
}

static bool is_member(gid_t gid)
{
    gid_t groups[256];
    int count = getgroups(sizeof groups / sizeof *groups, groups);
    bool is = getegid() == gid;
    for (int i = 0; i < count; i++)
        is |= groups[i] == gid;
    return is;
}

/* Returns what hidepid= says of /proc, or NULL where it hides nothing; and where the group of the mount is told. */
static const char *find_hidepid(const char *text, const char **group)
{
    const char *line = !strncmp(text, "proc /proc proc ", 16) ? text : NULL;
    for (const char *next = text; (next = strstr(next, "\nproc /proc proc ")); next++)
        line = next; /* the last one lies on top */
    size_t length = line ? strcspn(line + 1, "\n") + 1 : 0;
    const char *hidden = line ? memmem(line, length, "hidepid=", 8) : NULL;
    *group = line ? memmem(line, length, ",gid=", 5) : NULL;
    return hidden && hidden[8] != '0' && strncmp(hidden + 8, "off", 3) != 0 ? hidden + 8 : NULL;
}

/* The kernel answers for a process that /proc does not show. */
int gt_process_missing(const struct gt_root *root, pid_t pid, struct gt_error *error)
{
    const char *group;
    bool is_there = root->is_machine && (kill(pid, 0) == 0 || errno == EPERM);
    if (!is_there)
        return gt_error_set(error, ESRCH, "process %d does not exist", (int)pid);
    char *mounts = gt_root_text(root, "proc/mounts");
    bool is_known = mounts && find_hidepid(mounts, &group);
    free(mounts);
    return gt_error_set(error, EACCES, "process %d is there, but /proc does not show it to this user%s", (int)pid,
                        is_known ? ": it is mounted with hidepid" : "");
}

/* proc(5): who is in the group of the mount sees all processes, but with hidepid=ptraceable. */
static bool is_proc_hidden(struct gt_rights *access, bool *has_group)
{
    const char *group;
    *has_group = false;
    char *mounts = gt_access_has(access, GT_CAPABILITY_SYS_PTRACE) ? NULL : gt_root_text(access->root, "proc/mounts");
    const char *hidden = mounts ? find_hidepid(mounts, &group) : NULL;
    bool by_ptrace = hidden && (hidden[0] == '4' || !strncmp(hidden, "ptraceable", 10));
    *has_group = hidden && group && !by_ptrace;
    bool is_hidden = hidden && (!*has_group || !is_member((gid_t)strtoul(group + 5, NULL, 10)));
    free(mounts);
    return is_hidden;
}

static bool is_proc_hidden_from_all(struct gt_rights *access)
{
    bool has_group;
    return is_proc_hidden(access, &has_group) && !has_group;
}

static bool is_proc_hidden_but_for_a_group(struct gt_rights *access)
{
    bool has_group;
    return is_proc_hidden(access, &has_group) && has_group;
}

const struct gt_remedy gt_process_remedies[] = {
    {are_records_denied, "what processes used that ended between two samples (taskstats)", NULL,
     "what all processes used when they ended, to whoever executes gpu-tracker",
     "the capability is far wider than its use here: until it is given up, a fault in gpu-tracker could change the network",
     GT_CAPABILITY_NET_ADMIN},
    {are_others_denied, "memory and bytes of other users' processes, for serve --all (for attach: as root)",
     "sudo mkdir -p /etc/systemd/system/gpu-tracker-serve.service.d\n"
     "printf '[Service]\\nAmbientCapabilities=CAP_SYS_PTRACE\\nCapabilityBoundingSet=CAP_SYS_PTRACE\\n' | "
     "sudo tee /etc/systemd/system/gpu-tracker-serve.service.d/others.conf\n"
     "sudo systemctl daemon-reload\n"
     "sudo systemctl enable --now gpu-tracker-serve.service",
     "every other process, its memory included, to the service, which shows sums of it to whoever may ask it",
     "a fault in the service could read other users' data; a file capability would be given up before it is of use",
     GT_NO_CAPABILITY},
    {is_proc_hidden_from_all, "other users' processes, which /proc hides (hidepid; for serve --all)",
     "sudo groupadd --system --force proc\n"
     "sudo usermod -aG proc \"$USER\"\n"
     "sudo mount -o remount,hidepid=invisible,gid=\"$(getent group proc | cut -d: -f3)\" /proc",
     "names, command lines and use of all processes, to every program of the members of the group proc, until the next start "
     "(in /etc/fstab for good)",
     "command lines may hold passwords; without it other users and their GPU shares are missing", GT_NO_CAPABILITY},
    {is_proc_hidden_but_for_a_group,
     "other users' processes, which /proc shows to one group (hidepid; for serve --all)",
     "sudo usermod -aG \"$(grep -m1 ' /proc proc ' /proc/mounts | grep -o 'gid=[0-9]*' | cut -d= -f2)\" \"$USER\"",
     "names, command lines and use of all processes, to every program of this user",
     "command lines may hold passwords; without it other users and their GPU shares are missing", GT_NO_CAPABILITY},
    {0},
};
