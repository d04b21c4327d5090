/* daemonize MB BURN_S [MAIN_MS [MAIN_MB]]: a double fork with a session of its own. The daemon holds MB while it burns BURN_S of CPU
 * time, and prints the truth; the main process lives MAIN_MS (default 0), and has MAIN_MB (default 0) since before the fork. */
#include "truth.h"

int main(int argc, char **argv)
{
    const char *usage = "MB BURN_S [MAIN_MS [MAIN_MB]]";
    double size = argument(argc, argv, 1, usage), seconds = argument(argc, argv, 2, usage);
    double main_ms = argc > 3 ? argument(argc, argv, 3, usage) : 0;
    if (argc > 4)
        written(megabytes(argument(argc, argv, 4, usage)), MAP_PRIVATE);
    pid_t between = start();
    if (between == 0) {
        setsid();
        if (start() == 0) {
            written(megabytes(size), MAP_PRIVATE);
            burn(seconds);
            printf("{\"daemon_pid\": %d, \"bytes\": %zu, \"cpu_seconds\": %.6f}\n", getpid(), megabytes(size),
                   now(CLOCK_PROCESS_CPUTIME_ID));
            fflush(stdout);
        }
        _exit(0);
    }
    waitpid(between, NULL, 0);
    sleep_ms(main_ms);
    return 0;
}
