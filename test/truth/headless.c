/* headless MB HOLD_MS: the first thread starts another one and ends; that one writes MB, holds it and ends the process. */
#include <pthread.h>
#include <sys/syscall.h>

#include "truth.h"

static double each, hold;

static void *go_on(void *unused)
{
    written(megabytes(each), MAP_PRIVATE);
    printf("{\"bytes\": %zu, \"seconds\": %f, \"processes\": 1}\n", megabytes(each), hold / 1e3);
    fflush(stdout);
    sleep_ms(hold);
    exit(0);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    each = argument(argc, argv, 1, "MB HOLD_MS");
    hold = argument(argc, argv, 2, "MB HOLD_MS");
    if (pthread_create(&other, NULL, go_on, NULL) != 0)
        fail("pthread_create");
    syscall(SYS_exit, 0);
}
