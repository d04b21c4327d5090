#include "collect/process/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/process.h"
#include "collect/process/process_file.h"

/* "Shared_Clean:   0 kB" and the like. Lines of hugetlb are separate and are not resident memory to the kernel. */
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
        {"Private_Clean:", &smaps->private_clean},
        {"Private_Dirty:", &smaps->private_bytes},
        {"Swap:", &smaps->swap},
        {"Anonymous:", &smaps->anonymous},
        {"Pss_File:", &smaps->pss_files},
        {"Pss_Shmem:", &smaps->pss_shmem},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t length = strlen(fields[i].name);
        if (!strncmp(line, fields[i].name, length))
            *fields[i].sum += 1024.0 * (double)strtoull(line + length, NULL, 10);
    }
}

/* Private pages of files are clean ones. Of the rest a page that others map adds at most half of itself to the PSS: what the PSS has more
 * is of dirty private pages of shared memory. Before Linux 5.4 that is not known. */
static double private_anonymous(const struct gt_smaps *smaps)
{
    double files = smaps->private_clean, pss = smaps->pss_files + smaps->pss_shmem;
    double most = pss > 0 ? fmin(smaps->anonymous, smaps->pss - pss) : smaps->anonymous;
    files += fmax(0, 2 * (pss - files) - (smaps->rss - smaps->anonymous - files));
    return fmin(fmax(smaps->private_bytes - files, 0), most);
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
    ret->private_anonymous = private_anonymous(ret);
    ret->file_bytes = fmax(0, ret->rss - ret->anonymous);
    return result < 0 || lines ? result : -ESRCH;
}

int gt_smaps_read(const struct gt_root *root, pid_t pid, uint64_t start, struct gt_smaps *ret)
{
    struct gt_process_stat stat;
    int fd = gt_process_file_open(root, pid, "smaps_rollup");
    if (fd == -ENOENT)
        fd = gt_process_file_open(root, pid, "smaps");
    if (fd < 0)
        return fd;
    int status = gt_process_stat_of(root, pid, &stat); /* the descriptor stays with the process it was opened for */
    bool is_same = start ? status == 0 && stat.start == start : status == 0 || status == -EINVAL;
    int result = is_same ? add_up(fd, ret) : -ESRCH;
    close(fd);
    if (result >= 0)
        ret->faults = status == 0 ? stat.minor_faults : NAN;
    return result;
}

static const struct {
    const char *label, *source;
} methods[] = {
    [GT_MEMORY_GROUP] = {"control group of the job", "memory.stat of the job's control group, /proc/PID/statm"},
    [GT_MEMORY_FAULTS] = {"resident sets and page faults", "/proc/PID/{statm,stat,smaps_rollup}"},
    [GT_MEMORY_RSS] = {"sum of resident sets", "/proc/PID/statm"},
};

static const struct {
    const char *name;
    enum gt_memory_method best;
} names[] = {{"auto", GT_MEMORY_GROUP}, {"pss", GT_MEMORY_FAULTS}, {"rss", GT_MEMORY_RSS}};

const char *gt_memory_method_name(size_t index)
{
    return index < sizeof names / sizeof *names ? names[index].name : NULL;
}

int gt_memory_method_find(const char *name, struct gt_error *error)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!name || !strcmp(names[i].name, name))
            return (int)names[i].best;
    return gt_error_set(error, EINVAL, "\"%s\" is not a memory method; choose one of auto, pss, rss%s", name,
                        strcmp(name, "unique") ? "" : " (\"auto\" replaces \"unique\")");
}

const char *gt_memory_method_label(enum gt_memory_method method)
{
    return methods[method].label;
}

const char *gt_memory_method_source(enum gt_memory_method method)
{
    return methods[method].source;
}
