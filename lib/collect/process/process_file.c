#include "collect/process/process_file.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/process.h"

/* What shows the memory of a process: its number, or, when its first thread has ended, that of another. */
static pid_t task_with_memory(const struct gt_root *root, pid_t pid)
{
    char path[64], text[128];
    struct gt_process_stat stat;
    snprintf(path, sizeof path, "proc/%d/statm", (int)pid);
    if (gt_root_read(root, path, text, sizeof text) <= 0 || *text != '0' || gt_process_stat_of(root, pid, &stat) < 0 ||
        !gt_process_stat_leader_exited(&stat))
        return pid;
    snprintf(path, sizeof path, "proc/%d/task", (int)pid);
    DIR *tasks = gt_root_list(root, path);
    pid_t found = pid;
    for (struct dirent *entry; tasks && found == pid && (entry = readdir(tasks));) {
        snprintf(path, sizeof path, "proc/%d/task/%.20s/statm", (int)pid, entry->d_name);
        if (gt_root_read(root, path, text, sizeof text) > 0 && *text != '0')
            found = (pid_t)atoi(entry->d_name);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

int gt_process_file_open(const struct gt_root *root, pid_t pid, const char *name)
{
    char path[96];
    pid_t task = task_with_memory(root, pid);
    snprintf(path, sizeof path, "proc/%d/%s", (int)pid, name);
    if (task != pid)
        snprintf(path, sizeof path, "proc/%d/task/%d/%s", (int)pid, (int)task, name);
    struct gt_process_stat stat;
    int fd = gt_root_open_file(root, path);
    return fd == -ENOENT && gt_process_stat_of(root, pid, &stat) < 0 ? -ESRCH : fd;
}

static int fill(struct gt_line_reader *reader)
{
    memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
    reader->end -= reader->begin;
    reader->begin = 0;
    ssize_t got;
    do
        got = read(reader->fd, reader->buffer + reader->end, reader->size - 1 - reader->end);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    reader->end += (size_t)got;
    return got > 0;
}

int gt_line_reader_next(struct gt_line_reader *reader, char **ret)
{
    for (;;) {
        char *line = reader->buffer + reader->begin;
        char *line_end = memchr(line, '\n', reader->end - reader->begin);
        if (line_end) {
            *line_end = '\0';
            reader->begin = (size_t)(line_end + 1 - reader->buffer);
            *ret = line;
            return 1;
        }
        bool is_full = reader->end - reader->begin >= reader->size - 1;
        int filled = is_full ? 0 : fill(reader);
        if (filled > 0)
            continue;
        if (filled < 0 || reader->begin == reader->end)
            return filled;
        reader->buffer[reader->end] = '\0';
        *ret = reader->buffer + reader->begin;
        reader->begin = reader->end;
        return 1;
    }
}
