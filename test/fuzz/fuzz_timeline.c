/* Timelines and system metrics: whatever the bytes, reading ends, and does not depend on blocks and threads. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <stdio.h>
#include <unistd.h>

#include "trace/input/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct gt_trace *load(const char *path, size_t block, int threads)
{
    struct gt_trace *trace = NULL;
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    static const char *const arguments[] = {"a", "bytes", NULL};
    options.arguments = arguments;
    options.block = block;
    options.threads = threads;
    options.ceiling = 64 << 20;
    return gt_trace_load(&trace, &path, 1, &options, NULL) < 0 ? NULL : trace;
}

static void compare(const struct gt_trace *a, const struct gt_trace *b)
{
    const struct gt_trace_events *x = &a->events, *y = &b->events;
    if (x->count != y->count || a->samples.count != b->samples.count || a->argument_count != b->argument_count ||
        a->file[0].damage.bad_events != b->file[0].damage.bad_events ||
        a->file[0].damage.lost_bytes != b->file[0].damage.lost_bytes)
        abort();
    for (size_t i = 0; i < x->count; i++)
        if (x->start[i] != y->start[i] || gt_trace_duration(x, i) != gt_trace_duration(y, i) ||
            x->phase[i] != y->phase[i] || strcmp(gt_trace_text(a, x->name[i]), gt_trace_text(b, y->name[i])) != 0)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[64]; /* a name the reader may open again */
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct gt_trace *whole = load(path, 0, 1), *pieces = load(path, 67, size % 16 ? 1 : 2);
    if (!whole != !pieces)
        abort();
    if (whole)
        compare(whole, pieces);
    gt_trace_close(whole);
    gt_trace_close(pieces);
    close(fd);
    return 0;
}
