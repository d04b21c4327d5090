/* Load a trace into columns: bench_trace_load FILE THREADS prints events, seconds and the largest resident set in MB.
 * Without arguments it does nothing: bench_trace.py calls it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "trace/trace.h"

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    if (count < 3)
        return 0;
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    struct gt_trace *trace = NULL;
    struct gt_error error = {0};
    struct rusage usage;
    const char *path = words[1];
    options.threads = atoi(words[2]);
    double begin = seconds();
    if (gt_trace_load(&trace, &path, 1, &options, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    double taken = seconds() - begin;
    getrusage(RUSAGE_SELF, &usage);
    printf("%zu %.3f %ld\n", trace->events.count, taken, usage.ru_maxrss / 1024);
    gt_trace_close(trace);
    return 0;
}
