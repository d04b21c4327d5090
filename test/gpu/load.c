/* load KERNEL PERCENT PERIOD_MS SECONDS: keep the GPU busy (KERNEL: spin with one thread, work with all) for that share of each
 * period. "busy" is the share of the time in which a kernel really ran, as the host saw it. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const char *usage = "spin|work PERCENT PERIOD_MS SECONDS";
    double share = argument(argc, argv, 2, usage) / 100, period = argument(argc, argv, 3, usage) / 1e3;
    double seconds = argument(argc, argv, 4, usage), busy = 0;
    struct kernel kernel = kernel_load(argv[1], cuda_open());
    double offset = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
    double begin = now(CLOCK_MONOTONIC), next = begin, end = begin;
    for (; next < begin + seconds; next += period) {
        sleep_until(next);
        double launched = now(CLOCK_MONOTONIC);
        if (share > 0) {
            kernel_start(&kernel, (unsigned long long)(share * period * 1e9));
            cuda_check(cuda.wait(), "cuCtxSynchronize");
        }
        end = now(CLOCK_MONOTONIC);
        busy += end - launched;
    }
    sleep_until(next);
    end = next > end ? next : end;
    printf("{\"pid\": %d, \"busy\": %.4f, \"begin\": %.6f, \"end\": %.6f}\n", getpid(), busy / (end - begin),
           begin + offset, end + offset);
    return 0;
}
