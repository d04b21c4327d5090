#include "collect/process/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/system_calls.h"
#include "collect/process/pagemap.h"

int gt_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void survey_pidfd(struct gt_availability *ret)
{
    int fd = gt_pidfd_open(getpid());
    snprintf(ret->source, sizeof ret->source, "pidfd (Linux 5.3)");
    if (fd < 0)
        gt_unavailable(ret, errno == ENOSYS ? GT_ABSENT : GT_DENIED, NULL,
                       "%s: the end of a process that attach follows is seen at the next sample, not at once",
                       strerror(errno));
    else
        close(fd);
}

static void survey_scan(struct gt_availability *ret)
{
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    snprintf(ret->source, sizeof ret->source, "PAGEMAP_SCAN of /proc/PID/pagemap (Linux 6.7)");
    if (fd < 0 || !gt_pagemap_can_scan(fd))
        gt_unavailable(ret, GT_ABSENT, NULL,
                       "%s: page by page, shared memory of processes with sparse mappings is counted less often",
                       fd < 0 ? strerror(errno) : "not in this kernel");
    if (fd >= 0)
        close(fd);
}

void gt_kernel_survey(enum gt_kernel_interface interface, struct gt_availability *ret)
{
    *ret = (struct gt_availability){.state = GT_READY};
    switch (interface) {
    case GT_KERNEL_PIDFD: survey_pidfd(ret); break;
    case GT_KERNEL_SCAN: survey_scan(ret); break;
    case GT_KERNEL_INTERFACES: break;
    }
}
