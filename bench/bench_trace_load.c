/* Load a trace into columns: bench_trace_load FILE THREADS prints events, seconds and the largest resident set in MB.
 * bench_trace_load FILE.gz only inflates, with each of the libraries. Without arguments it does nothing: bench_trace.py
 * calls it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "trace/input/inflate.h"
#include "trace/trace.h"

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A file of one gzip member; seconds, negative when it cannot be done. */
static double inflate_with(const struct gt_inflater *inflater, const char *path)
{
    static unsigned char in[256 * 1024], out[1024 * 1024];
    double begin = seconds();
    void *state = inflater->open();
    int fd = open(path, O_RDONLY | O_CLOEXEC), status = state && fd >= 0 ? 0 : -1;
    while (!status) {
        ssize_t got = read(fd, in, sizeof in);
        const unsigned char *from = in;
        size_t left = got > 0 ? (size_t)got : 0, room;
        if (!left)
            status = -1;
        while (!status && left) {
            unsigned char *to = out;
            room = sizeof out;
            status = inflater->inflate(state, &from, &left, &to, &room);
        }
    }
    close(fd);
    if (state)
        inflater->close(state);
    return status > 0 ? seconds() - begin : -1;
}

int main(int count, char **words)
{
    if (count == 2) {
        printf("zlib %.3f\n", inflate_with(&gt_inflate_zlib, words[1]));
        return 0;
    }
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
