/* threads N MS: N threads beside the main one, all asleep for MS. */
#include <pthread.h>

#include "truth.h"

static const char usage[] = "N MS";

static void *rest(void *until)
{
    sleep_until(*(const double *)until);
    return NULL;
}

int main(int argc, char **argv)
{
    int count = (int)argument(argc, argv, 1, usage), created = 0;
    double ms = argument(argc, argv, 2, usage), until = now(CLOCK_MONOTONIC) + ms / 1e3;
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&detached, 65536);
    while (created < count && pthread_create(&thread, &detached, rest, &until) == 0)
        created++;
    sleep_until(until);
    printf("{\"threads\": %d}\n", created + 1);
    return created == count ? 0 : 1;
}
