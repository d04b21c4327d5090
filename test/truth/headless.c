/* headless MB HOLD_MS [exec]: the first thread starts another one and ends; that one writes MB, holds it and ends the process, or
 * executes this program anew, which has one thread, and holds as much again. */
#include <pthread.h>
#include <sys/syscall.h>

#include "truth.h"

static double each, hold;
static char **next; /* the words of the program to execute; NULL: none */

static void *go_on(void *unused)
{
    written(megabytes(each), MAP_PRIVATE);
    printf("{\"bytes\": %zu, \"seconds\": %f, \"processes\": 1}\n", megabytes(each), hold / 1e3);
    fflush(stdout);
    sleep_ms(hold);
    if (next)
        execv(next[0], next);
    exit(next != NULL);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    each = argument(argc, argv, 1, "MB HOLD_MS [exec]");
    hold = argument(argc, argv, 2, "MB HOLD_MS [exec]");
    if (argc > 3 && !strcmp(argv[3], "again")) {
        written(megabytes(each), MAP_PRIVATE);
        sleep_ms(hold);
        return 0;
    }
    if (argc > 3)
        argv[3] = "again", next = argv;
    if (pthread_create(&other, NULL, go_on, NULL) != 0)
        fail("pthread_create");
    syscall(SYS_exit, 0);
}
