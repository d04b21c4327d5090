#include "privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu_tracker.h"
#include "message.h"

bool privilege_is_raised(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Inheritable capabilities were the user's before, and the program that is executed may count on them. */
static int clear_capabilities(bool executes)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].effective = data[i].permitted = 0;
        data[i].inheritable = executes ? data[i].inheritable : 0;
    }
    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* The bounding set can be emptied only with CAP_SETPCAP; where that is missing no_new_privs has the same effect. */
static int drop(bool executes)
{
    for (int number = 0; !executes && prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++)
        prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
    if (setresgid(getgid(), getgid(), getgid()) < 0 || setresuid(getuid(), getuid(), getuid()) < 0)
        return -errno;
    int status = clear_capabilities(executes);
    if (status < 0)
        return status;
    if (!executes && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return 0;
}

int privilege_drop(bool follows_processes, bool executes)
{
    if (!gt_privileged_open(follows_processes))
        return 0;
    int status = drop(executes);
    if (status == 0)
        return 0;
    say("the privileges of this program cannot be given up: %s", strerror(-status));
    return EXIT_TRACKER;
}

void privilege_seal(void)
{
    if (privilege_is_raised())
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
