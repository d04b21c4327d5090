/* reuse N MS_EACH GAP_MS: N children one after the other, each using MS_EACH of CPU time, all with the same process number: root only. */
#include "truth.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

static pid_t start_as(pid_t number)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&number, .set_tid_size = 1};
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid < 0)
        fail("clone3");
    return pid;
}

int main(int argc, char **argv)
{
    const char *usage = "N MS_EACH GAP_MS";
    int count = (int)argument(argc, argv, 1, usage);
    double each = argument(argc, argv, 2, usage) / 1e3, gap_ms = argument(argc, argv, 3, usage);
    pid_t number = 0;
    for (int i = 0; i < count; i++) {
        pid_t pid = i ? start_as(number) : start();
        if (pid == 0) {
            burn(each);
            _exit(0);
        }
        number = pid;
        if (waitpid(pid, NULL, 0) < 0)
            fail("waitpid");
        sleep_ms(gap_ms);
    }
    printf("{\"children\": %d, \"number\": %d}\n", count, (int)number);
    return 0;
}
