/* Records of processes, and processes of other users, that this user may not read. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/events.h"
#include "collect/process/process.h"
#include "collect/remedy.h"

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
