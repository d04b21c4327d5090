/* launch COUNT: the time that COUNT launches of an empty kernel take, of the clock and of the processor, in microseconds each. */
#include "kernel.h"

int main(int argc, char **argv)
{
    double count = argument(argc, argv, 1, "COUNT");
    struct kernel kernel = kernel_load("spin", cuda_open());
    kernel_start(&kernel, 0);
    cuda_check(cuda.wait(), "cuCtxSynchronize");
    double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    for (double i = 0; i < count; i++) {
        kernel_start(&kernel, 0);
        if (i + 1 >= count || (long)i % 1000 == 999)
            cuda_check(cuda.wait(), "cuCtxSynchronize");
    }
    double each = 1e6 / (count > 0 ? count : 1);
    printf("{\"clock_us\": %.5f, \"cpu_us\": %.5f}\n", (now(CLOCK_MONOTONIC) - begin) * each,
           (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) * each);
    return 0;
}
