#include "base/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Older container runtimes answer EPERM to system calls they do not know; faccessat2 is of Linux 5.8. The older one asks for the
 * real user and group. */
int gt_access(int folder, const char *path, int mode)
{
    if (faccessat(folder, path, mode, AT_EACCESS) == 0)
        return 0;
    int code = errno;
    bool is_same = getuid() == geteuid() && getgid() == getegid();
    if (code != EPERM || !is_same)
        return -code;
    return syscall(SYS_faccessat, folder, path, mode) < 0 ? -errno : 0; /* the C library's would ask the newer one */
}
