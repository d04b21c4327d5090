#include "confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "message.h"

#if defined(__x86_64__)
static const unsigned ARCHITECTURE = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static const unsigned ARCHITECTURE = AUDIT_ARCH_AARCH64;
#else
static const unsigned ARCHITECTURE = 0; /* not known */
#endif

int confine_find(struct confine *confine, const char *user)
{
    *confine = (struct confine){0};
    if (!user && geteuid() != 0)
        return 0;
    const struct passwd *found = getpwnam(user ? user : "gpu-tracker");
    if (!found && !user)
        found = getpwnam("nobody");
    if (!found)
        return say_usage("--user %s: there is no such user", user ? user : "nobody");
    if (found->pw_uid == 0)
        return say_usage("--user %s: the relay does not stay root", found->pw_name);
    *confine = (struct confine){.has_user = true, .uid = found->pw_uid, .gid = found->pw_gid};
    return 0;
}

int confine_find_group(gid_t *ret, const char *group)
{
    const struct group *found = getgrnam(group);
    if (!found)
        return say_usage("--group %s: there is no such group", group);
    *ret = found->gr_gid;
    return 0;
}

static int fail(const char *what)
{
    say("%s: %s", what, strerror(errno));
    return EXIT_TRACKER;
}

static int become(const struct confine *confine)
{
    if (!confine->has_user || (geteuid() == confine->uid && getuid() == confine->uid))
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(confine->gid, confine->gid, confine->gid) < 0 ||
        setresuid(confine->uid, confine->uid, confine->uid) < 0)
        return fail("becoming another user");
    return 0;
}

/* The bounding set can be emptied only by who still has CAP_SETPCAP; without a capability there is nothing it could bound. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &header, none) < 0)
        return fail("dropping capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fail("giving up new privileges");
    return 0;
}

/* What the loop, the C library and an orderly end take; everything else is refused with EPERM. */
static const unsigned allowed[] = {
    SYS_read,     SYS_pread64,    SYS_write,           SYS_close,        SYS_ppoll,          SYS_accept4,
    SYS_recvfrom, SYS_recvmsg,    SYS_sendto,          SYS_sendmsg,      SYS_getsockopt,     SYS_clock_gettime,
    SYS_exit,     SYS_exit_group, SYS_rt_sigreturn,    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_restart_syscall,
    SYS_brk,      SYS_mmap,       SYS_munmap,          SYS_mremap,       SYS_madvise,        SYS_futex,
    SYS_unlinkat, SYS_getrandom,  SYS_clock_nanosleep, SYS_fcntl,        SYS_newfstatat,     SYS_lseek,
#ifdef SYS_poll
    SYS_poll,     SYS_unlink,
#endif
};
enum { ALLOWED = sizeof allowed / sizeof *allowed };

static int filter_calls(void)
{
    struct sock_filter code[ALLOWED + 6];
    unsigned short length = 0;
    if (!ARCHITECTURE) {
        say("system calls cannot be filtered on this processor, and the relay does not run without");
        return EXIT_TRACKER;
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < ALLOWED; i++)
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
                                                      (unsigned char)(ALLOWED - i), 0);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = length, .filter = code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return fail(
            "system calls cannot be filtered, and the relay does not run without"); /* EINVAL: a kernel that cannot */
    return 0;
}

int confine_for_good(const struct confine *confine)
{
    for (int capability = 0; geteuid() == 0 && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    int status = become(confine);
    if (!status)
        status = drop_capabilities();
    return status ? status : filter_calls();
}
