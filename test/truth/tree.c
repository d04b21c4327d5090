/* tree DEPTH WIDTH HOLD_MS MB_EACH: a full tree of processes, each with MB_EACH of its own. When all of them are there the
 * root holds for HOLD_MS, then all end. */
#include <stdatomic.h>

#include "truth.h"

static const char usage[] = "DEPTH WIDTH HOLD_MS MB_EACH";
static atomic_int *ready;
static int end_of_hold[2]; /* the root alone keeps the writing end; the others read its closing */

static void grow(int depth, int width, double each)
{
    for (int i = 0; depth > 0 && i < width; i++) {
        if (start() > 0)
            continue;
        close(end_of_hold[1]);
        end_of_hold[1] = -1;
        grow(depth - 1, width, each);
        written(megabytes(each), MAP_PRIVATE);
        atomic_fetch_add(ready, 1);
        char byte;
        while (read(end_of_hold[0], &byte, 1) < 0 && errno == EINTR)
            ;
        while (wait(NULL) > 0)
            ;
        _exit(0);
    }
}

int main(int argc, char **argv)
{
    int depth = (int)argument(argc, argv, 1, usage), width = (int)argument(argc, argv, 2, usage);
    double hold = argument(argc, argv, 3, usage), each = argument(argc, argv, 4, usage);
    int processes = 1;
    for (int level = 1, count = width; level <= depth; level++, count *= width)
        processes += count;
    ready = map(PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
    if (pipe(end_of_hold) < 0)
        fail("pipe");
    grow(depth, width, each);
    written(megabytes(each), MAP_PRIVATE);
    while (atomic_load(ready) < processes - 1)
        sleep_ms(1);
    sleep_ms(hold);
    printf("{\"processes\": %d, \"bytes_each\": %zu, \"bytes\": %zu}\n", processes, megabytes(each),
           megabytes(each) * (size_t)processes);
    close(end_of_hold[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
