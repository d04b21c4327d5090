#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 65536 };

/* Where the ceiling is reached, one byte more tells a file of that size from a longer one. */
static int read_some(int fd, struct gt_buffer *text)
{
    char more;
    bool is_full = text->ceiling && text->length == text->ceiling;
    size_t left = text->ceiling ? text->ceiling - text->length : BLOCK, room = left < BLOCK ? left : BLOCK;
    if (gt_buffer_reserve(text, room) < 0)
        return text->failed;
    ssize_t got = read(fd, is_full ? &more : text->data + text->length, is_full ? 1 : room);
    if (got < 0)
        return errno == EINTR ? 1 : -errno;
    if (is_full && got > 0)
        return text->failed = -EFBIG;
    text->length += (size_t)got;
    text->data[text->length] = '\0';
    return got > 0;
}

int gt_file_read_all(int fd, struct gt_buffer *text)
{
    int status;
    do
        status = read_some(fd, text);
    while (status > 0);
    return status;
}

int gt_file_line(FILE *file, struct gt_buffer *line, size_t most)
{
    int c;
    gt_buffer_clear(line);
    while ((c = getc_unlocked(file)) != EOF) {
        if (line->length == most)
            return -EFBIG;
        if (gt_buffer_char(line, (char)c) < 0)
            return line->failed;
        if (c == '\n')
            return 1;
    }
    return ferror(file) ? -EIO : line->length > 0;
}

/* A negative offset: where the descriptor stands. */
static int write_all(int fd, const char *at, size_t length, off_t offset)
{
    while (length) {
        ssize_t written = offset < 0 ? write(fd, at, length) : pwrite(fd, at, length, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        at += written;
        offset += offset < 0 ? 0 : written;
        length -= (size_t)written;
    }
    return 0;
}

int gt_file_write_all(int fd, const void *bytes, size_t length)
{
    return write_all(fd, bytes, length, -1);
}

int gt_file_write_all_at(int fd, const void *bytes, size_t length, off_t offset)
{
    return write_all(fd, bytes, length, offset);
}

/* ---- Paths ---------------------------------------------------------------------------------------------------- */

static int absolute_path(const char *path, char ret[PATH_MAX])
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return -errno;
    if (*path != '/' && !getcwd(ret, PATH_MAX))
        return -errno;
    size_t length = *path == '/' ? 0 : strlen(ret);
    int more = snprintf(ret + length, PATH_MAX - length, "%s%s", length ? "/" : "", path);
    return more < (int)(PATH_MAX - length) ? 0 : -ENAMETOOLONG;
}

int gt_file_real_path(const char *path, char ret[PATH_MAX])
{
    if (realpath(path, ret))
        return 0;
    return errno == EPERM || errno == ENOSYS ? absolute_path(path, ret) : -errno;
}
