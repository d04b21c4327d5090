/* allocate MB MS [MB MS ...]: hold MB for MS milliseconds, give it back, go on with the next pair. */
#include "truth.h"

int main(int argc, char **argv)
{
    const char *usage = "MB MS [MB MS ...]";
    size_t peak = 0;
    double elapsed = 0;
    for (int i = 1; i < argc || i == 1; i += 2) {
        size_t size = megabytes(argument(argc, argv, i, usage));
        double ms = argument(argc, argv, i + 1, usage);
        double begin = now(CLOCK_MONOTONIC);
        char *memory = written(size, MAP_PRIVATE);
        sleep_ms(ms);
        munmap(memory, size);
        elapsed += now(CLOCK_MONOTONIC) - begin;
        peak = size > peak ? size : peak;
    }
    printf("{\"peak_bytes\": %zu, \"elapsed\": %.6f}\n", peak, elapsed);
    return 0;
}
