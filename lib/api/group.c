#include "api/tracker.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/system_calls.h"
#include "collect/cgroup/cgroup.h"

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

/* struct clone_args of Linux 5.7, for headers of older kernels. */
struct clone_request {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

#define NAME_PREFIX "gpu-tracker-"
enum { FREE = 18 }; /* descriptors that a job and its tracking need more than a group of its own */

struct gt_group {
    struct gt_root root;
    struct gt_cgroup *cgroup;
};

int gt_group_create(struct gt_group **ret, struct gt_error *error)
{
    char name[64];
    struct gt_availability availability;
    *ret = NULL;
    struct gt_group *group = calloc(1, sizeof *group);
    if (!group)
        return gt_error_system(error, ENOMEM, "control group");
    snprintf(name, sizeof name, NAME_PREFIX "%d", (int)getpid());
    group->root.fd = -1;
    int status = gt_root_open(&group->root, NULL, error);
    if (status >= 0)
        status = gt_cgroup_create(&group->cgroup, &group->root, name, &availability, error);
    struct gt_reserve reserve;
    bool is_crowded = gt_reserve_take(&reserve, FREE) < FREE;
    gt_reserve_release(&reserve, 0);
    if (status < 0 || !group->cgroup || is_crowded) {
        gt_group_close(group);
        return status < 0 ? status : 0;
    }
    gt_cgroup_sweep(&group->root, gt_cgroup_place(group->cgroup), NAME_PREFIX);
    *ret = group;
    return 0;
}

pid_t gt_group_fork(const struct gt_group *group)
{
    int directory = group ? gt_cgroup_directory(group->cgroup) : -1;
    if (directory >= 0) {
        struct clone_request arguments = {
            .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)directory};
        long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
        if (pid >= 0)
            return (pid_t)pid;
    }
    return fork();
}

int gt_group_enter(const struct gt_group *group)
{
    return group ? gt_cgroup_enter_self(group->cgroup) : 0;
}

/* The kernel takes a moment to let go of a process that has been waited for. */
static void remove_directory(struct gt_cgroup *cgroup)
{
    const struct timespec moment = {0, 200000};
    for (int tries = 0; tries < 5 && gt_cgroup_remove(cgroup, NULL) == -EBUSY; tries++)
        nanosleep(&moment, NULL);
}

void gt_group_close(struct gt_group *group)
{
    if (!group)
        return;
    if (group->cgroup)
        remove_directory(group->cgroup);
    gt_cgroup_close(group->cgroup);
    gt_root_close(&group->root);
    free(group);
}

const struct gt_cgroup *gt_group_cgroup(const struct gt_group *group)
{
    return group ? group->cgroup : NULL;
}
