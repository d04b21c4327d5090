#include "blocks/block_notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "gpu_tracker.h"

enum { LINE = 2000 };

static const char begin[] = "gpu-tracker "; /* of each line */

static void add_line(const char *path, const char *line, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    off_t end = lseek(fd, 0, SEEK_END);
    if (write(fd, line, length) != (ssize_t)length && ftruncate(fd, end) < 0)
        unlink(path); /* the disk is full: half a line would be misread */
    close(fd);
}

void gt_block_note(const char *format, ...)
{
    char path[PATH_MAX], line[LINE + 1];
    const char *folder = secure_getenv(GT_BLOCKS_ENVIRONMENT);
    int code = errno, length = (int)strlen(begin);
    if (!folder || !*folder ||
        snprintf(path, sizeof path, "%s/%d%s", folder, (int)getpid(), GT_BLOCK_NOTES_SUFFIX) >= (int)sizeof path)
        return;
    va_list arguments;
    memcpy(line, begin, (size_t)length);
    va_start(arguments, format);
    length += vsnprintf(line + length, LINE - (size_t)length, format, arguments);
    va_end(arguments);
    length = length < LINE ? length : LINE - 1;
    for (int i = 0; i < length; i++)
        line[i] = line[i] == '\n' ? ' ' : line[i];
    line[length++] = '\n';
    add_line(path, line, (size_t)length);
    errno = code;
}

bool gt_block_notes_are(int fd)
{
    char text[sizeof begin - 1];
    ssize_t length = pread(fd, text, sizeof text, 0);
    return length == 0 || (length == sizeof text && memcmp(text, begin, sizeof text) == 0);
}

int gt_block_notes_read(const char *folder, void (*take)(void *context, pid_t process, const char *line), void *context)
{
    DIR *listing = opendir(folder);
    char *line = NULL;
    size_t capacity = 0;
    if (!listing)
        return -errno;
    for (struct dirent *entry; (entry = readdir(listing));) {
        char *end;
        long process = strtol(entry->d_name, &end, 10);
        if (end == entry->d_name || strcmp(end, GT_BLOCK_NOTES_SUFFIX) != 0)
            continue;
        int fd = openat(dirfd(listing), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
        for (ssize_t length; file && (length = getline(&line, &capacity, file)) > 0;) {
            bool is_whole = line[length - 1] == '\n';
            line[length - 1] = '\0';
            if (is_whole && strncmp(line, begin, strlen(begin)) == 0)
                take(context, (pid_t)process, line + strlen(begin));
        }
        if (file)
            fclose(file);
        else
            gt_close_fd(fd);
    }
    free(line);
    closedir(listing);
    return 0;
}
