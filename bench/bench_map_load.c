/* A program that maps memory all the time: bench_map_load SECONDS THREADS RESIDENT_MB holds memory, and each of its threads maps 64
 * pages, touches them and unmaps them, over and over. It prints how many times, and how long that took: the median, the 99th and
 * the 99.9th percentile, in microseconds, its CPU seconds, and how often its threads had to wait, for each line that it reads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 64, MOST_THREADS = 64, BUCKETS = 4000 }; /* of 0.25 us; longer ones of 1 / 16 of their length */

struct worker {
    pthread_t thread;
    uint64_t operations, bucket[BUCKETS];
};

static struct worker worker[MOST_THREADS];
static atomic_bool is_over;
static long page_size;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Up to 250 us in steps of 0.25 us, then eight to each doubling. */
static size_t bucket_of(uint64_t ns)
{
    size_t bucket = ns / 250, step = 1000;
    for (uint64_t width = 250000 / 8; bucket >= 1000 && step < BUCKETS - 9; width *= 2, step += 8)
        if (ns < width * 16)
            return step + (ns - width * 8) / width;
    return bucket < 1000 ? bucket : BUCKETS - 1;
}

static double microseconds_of(size_t bucket)
{
    if (bucket < 1000)
        return ((double)bucket + 0.5) / 4;
    double width = 250.0 / 8 * (double)(UINT64_C(1) << ((bucket - 1000) / 8));
    return width * (8.5 + (double)((bucket - 1000) % 8));
}

static void *map_and_unmap(void *opaque)
{
    struct worker *self = opaque;
    size_t size = (size_t)(PAGES * page_size);
    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        uint64_t begin = now_ns();
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            break;
        for (size_t at = 0; at < size; at += (size_t)page_size)
            memory[at] = 1;
        munmap(memory, size);
        self->bucket[bucket_of(now_ns() - begin)]++;
        self->operations++;
    }
    return NULL;
}

static double percentile(double share)
{
    uint64_t all = 0, sum = 0;
    size_t bucket = 0;
    for (size_t i = 0; i < MOST_THREADS; i++)
        all += worker[i].operations;
    for (; bucket < BUCKETS && (double)sum <= share * (double)all; bucket++)
        for (size_t i = 0; i < MOST_THREADS; i++)
            sum += worker[i].bucket[bucket];
    return microseconds_of(bucket ? bucket - 1 : 0);
}

/* One line for each line on standard input. */
static void measure(double seconds, int threads)
{
    struct rusage before, after;
    memset(worker, 0, sizeof worker);
    atomic_store(&is_over, false);
    getrusage(RUSAGE_SELF, &before);
    uint64_t begin = now_ns(), operations = 0;
    for (int i = 0; i < threads; i++)
        pthread_create(&worker[i].thread, NULL, map_and_unmap, &worker[i]);
    usleep((useconds_t)(seconds * 1e6));
    atomic_store(&is_over, true);
    for (int i = 0; i < threads; i++) {
        pthread_join(worker[i].thread, NULL);
        operations += worker[i].operations;
    }
    double elapsed = (double)(now_ns() - begin) / 1e9;
    getrusage(RUSAGE_SELF, &after);
    double cpu =
        (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
        (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec) /
            1e6;
    printf("%.0f %.2f %.2f %.2f %.3f %ld\n", (double)operations / elapsed, percentile(0.5), percentile(0.99),
           percentile(0.999), cpu / elapsed, after.ru_nvcsw - before.ru_nvcsw);
    fflush(stdout);
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "bench_map_load SECONDS THREADS RESIDENT_MB\n");
        return 2;
    }
    page_size = sysconf(_SC_PAGESIZE);
    double seconds = atof(arguments[1]);
    int threads = atoi(arguments[2]) < MOST_THREADS ? atoi(arguments[2]) : MOST_THREADS;
    size_t resident = (size_t)atol(arguments[3]) << 20;
    char *memory = resident ? malloc(resident) : NULL;
    if (resident && !memory)
        return 1;
    for (size_t at = 0; at < resident; at += (size_t)page_size)
        memory[at] = 1;
    printf("ready\n"); /* now it may be tracked */
    fflush(stdout);
    while (getchar() != EOF)
        measure(seconds, threads);
    free(memory);
    return 0;
}
