/* orphan MB CHILD_MS MAIN_MS: the main process ends after MAIN_MS; its child holds MB until CHILD_MS, and prints the truth. */
#include "truth.h"

int main(int argc, char **argv)
{
    const char *usage = "MB CHILD_MS MAIN_MS";
    double size = argument(argc, argv, 1, usage), child_ms = argument(argc, argv, 2, usage);
    double main_ms = argument(argc, argv, 3, usage), begin = now(CLOCK_MONOTONIC);
    pid_t main_pid = getpid();
    if (start() == 0) {
        written(megabytes(size), MAP_PRIVATE);
        sleep_until(begin + child_ms / 1e3);
        printf("{\"main_pid\": %d, \"child_pid\": %d, \"bytes\": %zu, \"main_ended\": %s}\n", main_pid, getpid(),
               megabytes(size), getppid() != main_pid ? "true" : "false");
        return 0;
    }
    sleep_until(begin + main_ms / 1e3);
    return 0;
}
