/* CSV recordings: whatever the bytes, reading ends, and what is read is a number or missing. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name with the suffix for a file without one. */
static void link_to(const char *name, int fd)
{
    char target[64];
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    unlink(name);
    if (symlink(target, name) < 0)
        abort();
}

static void check_records(const struct gt_process_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        if (strlen(records->record[i].name) >= sizeof records->record[i].name || records->record[i].pid < 0 ||
            (i && records->record[i].number <= records->record[i - 1].number))
            abort();
}

static void read_all(const char *path)
{
    struct gt_recording *recording;
    if (gt_recording_open(&recording, path, NULL) < 0)
        return;
    check_records(gt_recording_process_records(recording));
    gt_recording_detail(recording, true);
    const struct gt_sample *sample;
    int status;
    while ((status = gt_recording_next(recording, &sample, NULL)) == 1 || status == -EBADMSG)
        for (size_t row = 0; status == 1 && row < sample->row_count; row++)
            for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
                if (isinf(sample->row[row].value[metric]))
                    abort();
    gt_recording_close(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], processes[64], list[64];
    snprintf(path, sizeof path, "/tmp/gpu-tracker-fuzz-%d.csv", (int)getpid());
    snprintf(processes, sizeof processes, "/tmp/gpu-tracker-fuzz-%d.processes.csv", (int)getpid());
    snprintf(list, sizeof list, "/tmp/gpu-tracker-fuzz-%d.process_list.csv", (int)getpid());
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    link_to(path, fd);
    link_to(processes, fd); /* the same bytes as a table of details */
    read_all(path);
    link_to(list, fd); /* and as the list of processes */
    read_all(path);
    unlink(list);
    unlink(path);
    unlink(processes);
    close(fd);
    return 0;
}
