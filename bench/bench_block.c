/* What marking a code block costs: bench_block CALLS THREADS [FILE] prints nanoseconds for each border, and those of CPU time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "blocks/block.h"
#include "gpu_tracker.h"

struct work {
    struct gt_block_file *file; /* NULL: the process's own */
    long calls;
};

static void *mark(void *argument)
{
    const struct work *work = argument;
    for (long i = 0; i < work->calls; i++) {
        struct gt_block block = work->file ? gt_block_begin_in(work->file, "inner block", 0)
                                           : gt_block_begin("inner block");
        gt_block_end(&block);
    }
    return NULL;
}

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    struct work work = {.calls = count > 1 ? atol(words[1]) : 0};
    struct gt_error error = {0};
    int threads = count > 2 ? atoi(words[2]) : 0;
    pthread_t thread[64];
    if (work.calls < 1 || threads < 1 || threads > 64)
        return fprintf(stderr, "bench_block CALLS THREADS [FILE]\n"), 2;
    if (count > 3 && gt_block_file_open(&work.file, words[3], 1, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    double begin = seconds(CLOCK_MONOTONIC), cpu_begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    double borders = 2.0 * (double)work.calls * threads;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, mark, &work) != 0)
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
    printf("%.0f %.0f\n", (seconds(CLOCK_MONOTONIC) - begin) / borders * 1e9, cpu / borders * 1e9);
    return gt_block_trouble() != NULL;
}
