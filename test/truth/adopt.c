/* adopt subreaper|namespace N MS_EACH PAUSE_MS: N processes use MS_EACH of CPU time and read 1 MB each, then sleep for twice PAUSE_MS.
 * Their parent ends after PAUSE_MS, so a process above adopts them: a subreaper, or the first process of a PID namespace (root
 * only). A process between the two outlives them. */
#include "truth.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>

enum { BYTES_EACH = 1000000 };

static void work(double seconds, double pause_ms, int done)
{
    static char bytes[BYTES_EACH];
    int zero = open("/dev/zero", O_RDONLY);
    if (read(zero, bytes, sizeof bytes) != (ssize_t)sizeof bytes)
        fail("read");
    burn(seconds);
    if (write(done, "", 1) != 1)
        fail("write");
    sleep_ms(2 * pause_ms);
    _exit(0);
}

static void start_workers(int count, double seconds, double pause_ms)
{
    int done[2];
    char byte;
    if (pipe(done) < 0)
        fail("pipe");
    for (int i = 0; i < count; i++)
        if (start() == 0)
            work(seconds, pause_ms, done[1]);
    for (int i = 0; i < count; i++)
        if (read(done[0], &byte, 1) != 1)
            fail("read");
    sleep_ms(pause_ms);
    _exit(0);
}

static void wait_for_all(void)
{
    while (wait(NULL) > 0)
        ;
}

static void adopt(int count, double seconds, double pause_ms)
{
    if (start() == 0) {
        if (start() == 0)
            start_workers(count, seconds, pause_ms);
        wait_for_all();
        sleep_ms(2 * pause_ms);
        _exit(0);
    }
    wait_for_all();
}

int main(int argc, char **argv)
{
    const char *usage = "subreaper|namespace N MS_EACH PAUSE_MS";
    int count = (int)argument(argc, argv, 2, usage);
    double seconds = argument(argc, argv, 3, usage) / 1e3, pause_ms = argument(argc, argv, 4, usage);
    if (!strcmp(argv[1], "namespace")) {
        if (unshare(CLONE_NEWPID) < 0)
            fail("unshare");
        if (start() == 0) {
            adopt(count, seconds, pause_ms);
            _exit(0);
        }
        wait_for_all();
    } else {
        if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
            fail("prctl");
        adopt(count, seconds, pause_ms);
    }
    printf("{\"workers\": %d, \"read_characters\": %d, \"cpu_seconds\": %.6f}\n", count, count * BYTES_EACH,
           used_cpu(RUSAGE_CHILDREN) + used_cpu(RUSAGE_SELF));
    return 0;
}
