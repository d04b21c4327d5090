#include "collect/process/smaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/process_file.h"

/* "Shared_Clean:   0 kB" and the like; hugetlb figures are separate lines and are not resident memory to the kernel. */
static void add_field(struct gt_smaps *smaps, const char *line)
{
    const struct {
        const char *name;
        double *sum;
    } fields[] = {
        {"Rss:", &smaps->rss},
        {"Pss:", &smaps->pss},
        {"Shared_Clean:", &smaps->shared_bytes},
        {"Shared_Dirty:", &smaps->shared_bytes},
        {"Private_Clean:", &smaps->private_bytes},
        {"Private_Dirty:", &smaps->private_bytes},
        {"Swap:", &smaps->swap},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t length = strlen(fields[i].name);
        if (!strncmp(line, fields[i].name, length))
            *fields[i].sum += 1024.0 * (double)strtoull(line + length, NULL, 10);
    }
}

static int add_up(int fd, struct gt_smaps *ret)
{
    char buffer[8192], *line;
    struct gt_line_reader reader = {.fd = fd, .buffer = buffer, .size = sizeof buffer};
    int result, lines = 0;
    *ret = (struct gt_smaps){0};
    while ((result = gt_line_reader_next(&reader, &line)) > 0) {
        add_field(ret, line);
        lines = 1;
    }
    return result < 0 || lines ? result : -ESRCH;
}

int gt_smaps_read(const struct gt_root *root, pid_t pid, uint64_t start, struct gt_smaps *ret)
{
    int fd = gt_process_file_open(root, pid, "smaps_rollup");
    if (fd == -ENOENT)
        fd = gt_process_file_open(root, pid, "smaps");
    if (fd < 0)
        return fd;
    double faults;
    int result = gt_process_file_is_of(root, pid, start, 0, &faults) ? add_up(fd, ret) : -ESRCH;
    close(fd);
    ret->faults = faults;
    return result;
}
