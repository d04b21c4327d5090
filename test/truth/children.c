/* children N MS_EACH [ignored]: N children one after the other, each using MS_EACH of CPU time; ignored: nobody waits for their ends.
 * `own_clock_seconds` is what the children saw of it, `children_seconds` what the kernel charged for them, start and end included. */
#include "truth.h"

int main(int argc, char **argv)
{
    const char *usage = "N MS_EACH [ignored]";
    int count = (int)argument(argc, argv, 1, usage);
    double each = argument(argc, argv, 2, usage) / 1e3;
    double *seen = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
    bool is_ignored = argc > 3 && !strcmp(argv[3], "ignored");
    if (is_ignored)
        signal(SIGCHLD, SIG_IGN);
    double begin = now(CLOCK_MONOTONIC);
    for (int i = 0; i < count; i++) {
        pid_t pid = start();
        if (pid == 0) {
            burn(each);
            *seen += now(CLOCK_PROCESS_CPUTIME_ID);
            _exit(0);
        }
        while (waitpid(pid, NULL, 0) < 0 && !is_ignored)
            fail("waitpid");
    }
    double elapsed = now(CLOCK_MONOTONIC) - begin;
    printf("{\"children\": %d, \"own_clock_seconds\": %.6f, \"children_seconds\": %.6f, \"cpu_seconds\": %.6f, "
           "\"elapsed\": %.6f}\n",
           count, *seen, used_cpu(RUSAGE_CHILDREN), used_cpu(RUSAGE_CHILDREN) + used_cpu(RUSAGE_SELF), elapsed);
    return 0;
}
