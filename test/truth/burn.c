/* burn SECONDS DUTY PERIOD_MS: use the share DUTY (0..1) of one core, in bursts, one at the start of each period. */
#include "truth.h"

int main(int argc, char **argv)
{
    const char *usage = "SECONDS DUTY PERIOD_MS";
    double seconds = argument(argc, argv, 1, usage);
    double duty = argument(argc, argv, 2, usage);
    double period = argument(argc, argv, 3, usage) / 1e3;
    double begin = now(CLOCK_MONOTONIC), end = begin + seconds;
    for (double next = begin; next < end; next += period) {
        double until = next + period < end ? next + period : end;
        burn((until - next) * duty);
        sleep_until(until);
    }
    printf("{\"cpu_seconds\": %.6f, \"elapsed\": %.6f, \"duty\": %.6f}\n", now(CLOCK_PROCESS_CPUTIME_ID),
           now(CLOCK_MONOTONIC) - begin, duty);
    return 0;
}
