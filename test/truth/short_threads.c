/* short_threads N: N threads one after the other, which use some CPU time each and do not ask for a clock, at which the scheduler would
 * count it. */
#include <pthread.h>

#include "truth.h"

static void *run(void *unused)
{
    for (volatile int i = 0; i < 3000000; i++)
        ;
    return unused;
}

int main(int argc, char **argv)
{
    int count = (int)argument(argc, argv, 1, "N");
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, NULL))
            fail("pthread_create");
        pthread_join(thread, NULL);
    }
    printf("{\"cpu_seconds\": %.6f}\n", used_cpu(RUSAGE_SELF));
    return 0;
}
