/* Sub-tracking files, the pairing of what they hold, and what of it is counted. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blocks/block_event.h"
#include "blocks/block_progress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 4096 };

static void pair(struct gt_block_event *event, size_t count)
{
    struct gt_intervals intervals;
    size_t starts = 0;
    for (size_t i = 0; i < count; i++)
        starts += event[i].position == GT_START;
    if (gt_intervals_pair(&intervals, event, count) < 0)
        abort();
    if (intervals.count != starts || intervals.orphans > count - starts)
        abort();
    if (gt_intervals_close(&intervals, 0, NAN) < 0)
        abort();
    for (size_t i = 0; i < intervals.count; i++)
        if (intervals.interval[i].self < 0)
            abort();
    gt_intervals_release(&intervals);
}

static char folder[] = "/tmp/gpu-tracker-fuzz-XXXXXX";

static void remove_folder(void)
{
    rmdir(folder);
}

/* Half of the file, then all of it, as a process writes it. */
static void follow(const uint8_t *data, size_t size)
{
    static bool is_made;
    char path[PATH_MAX];
    if (!is_made && (!mkdtemp(folder) || atexit(remove_folder) != 0))
        abort();
    is_made = true;
    snprintf(path, sizeof path, "%s/1.csv", folder);
    FILE *file = fopen(path, "w");
    struct gt_block_progress *progress = gt_block_progress_open(folder);
    if (!file || !progress || fwrite(data, 1, size / 2, file) != size / 2 || fflush(file) != 0)
        abort();
    gt_block_progress_read(progress);
    if (fwrite(data + size / 2, 1, size - size / 2, file) != size - size / 2 || fclose(file) != 0)
        abort();
    gt_block_progress_read(progress);
    struct gt_progress now = gt_block_progress_at(progress, 1.7e9);
    if (now.left < 0 || now.done > now.total)
        abort();
    gt_block_progress_close(progress);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gt_block_event event[MOST];
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    struct gt_block_event_reader *reader;
    struct gt_strings names = {0};
    size_t count = 0;
    if (gt_block_event_open_as(&reader, fd, "input", NULL) == 0) {
        const char *name;
        int status;
        while (count < MOST &&
               ((status = gt_block_event_next(reader, &event[count], &name, NULL)) == 1 || status == -EBADMSG))
            if (status == 1)
                event[count++].name = (uint32_t)gt_strings_add(&names, name, strlen(name));
        gt_block_event_close(reader);
    }
    pair(event, count);
    gt_strings_release(&names);
    close(fd);
    follow(data, size);
    return 0;
}
