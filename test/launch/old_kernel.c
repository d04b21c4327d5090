/* old_kernel COMMAND [ARGUMENT...]: run it as Linux 4.18 would, that of RHEL 8, and older: what came later fails as it does there. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From 424 on the numbers are the same on every architecture. statx is of Linux 4.11: RHEL 7 has none. */
enum { FIRST_UNKNOWN = 424 };

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define FAIL_WITH(code) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define SKIP_UNLESS(comparison, value, count) BPF_JUMP(BPF_JMP | (comparison) | BPF_K, value, 0, count)

static int install(void)
{
    struct sock_filter code[] = {
        LOAD(nr),          SKIP_UNLESS(BPF_JGE, FIRST_UNKNOWN, 1),
        FAIL_WITH(ENOSYS), SKIP_UNLESS(BPF_JEQ, SYS_statx, 1),
        FAIL_WITH(ENOSYS), ALLOW,
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || install() < 0) {
        perror("old_kernel COMMAND");
        return 125;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
