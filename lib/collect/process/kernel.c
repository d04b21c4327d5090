#include "collect/process/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system_calls.h"

int gt_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

void gt_pidfd_survey(struct gt_availability *ret)
{
    *ret = (struct gt_availability){.state = GT_READY};
    int fd = gt_pidfd_open(getpid());
    snprintf(ret->source, sizeof ret->source, "pidfd (Linux 5.3)");
    if (fd < 0)
        gt_unavailable(ret, errno == ENOSYS ? GT_ABSENT : GT_DENIED, NULL,
                       "%s: the end of a process that attach follows is seen at the next sample, not at once",
                       strerror(errno));
    else
        close(fd);
}
