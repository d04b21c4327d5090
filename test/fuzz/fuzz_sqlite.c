/* SQLite files: Nsight Systems' exports, recordings and sub-tracking files. Whatever the bytes, reading ends. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blocks/block_event.h"
#include "store/store.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_recording(const char *path)
{
    struct gt_recording *recording;
    const struct gt_sample *sample;
    int status;
    if (gt_recording_open(&recording, path, NULL) < 0)
        return;
    gt_recording_detail(recording, true);
    while ((status = gt_recording_next(recording, &sample, NULL)) == 1 || status == -EBADMSG)
        for (size_t row = 0; status == 1 && row < sample->row_count; row++)
            for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
                if (isinf(sample->row[row].value[metric]))
                    abort();
    gt_recording_close(recording);
}

static void read_trace(const char *path)
{
    struct gt_trace *trace = NULL;
    struct gt_trace_options options = GT_TRACE_OPTIONS;
    if (gt_trace_load(&trace, &path, 1, &options, NULL) < 0)
        return;
    for (size_t i = 0; i < trace->events.count; i++)
        if (gt_trace_duration(&trace->events, i) < 0 || trace->events.track[i] >= trace->track_count ||
            trace->events.name[i] >= trace->strings.count)
            abort();
    gt_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], target[64];
    struct gt_block_event_list list = {.skip_bad = true};
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/tmp/gpu-tracker-fuzz-%d.sqlite", (int)getpid());
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    unlink(path);
    if (symlink(target, path) < 0)
        abort();
    read_recording(path);
    gt_block_event_list_add(&list, path, NULL);
    gt_block_event_list_release(&list);
    read_trace(path);
    unlink(path);
    close(fd);
    return 0;
}
