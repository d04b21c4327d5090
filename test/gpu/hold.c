/* hold MB MS: hold MB of GPU memory for MS milliseconds; 0 MB: only what the context takes. */
#include "cuda.h"

int main(int argc, char **argv)
{
    const char *usage = "MB MS";
    size_t bytes = (size_t)(argument(argc, argv, 1, usage) * 1e6);
    double ms = argument(argc, argv, 2, usage);
    unsigned long long address = 0;
    cuda_open();
    if (bytes)
        cuda_check(cuda.allocate(&address, bytes), "cuMemAlloc");
    double begin = now(CLOCK_REALTIME);
    sleep_ms(ms);
    double end = now(CLOCK_REALTIME);
    if (bytes)
        cuda_check(cuda.give_back(address), "cuMemFree");
    printf("{\"pid\": %d, \"bytes\": %zu, \"begin\": %.6f, \"end\": %.6f}\n", getpid(), bytes, begin, end);
    return 0;
}
