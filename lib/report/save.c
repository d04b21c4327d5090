#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

static int write_all(int fd, const char *data, size_t length)
{
    while (length) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

static int write_and_close(int fd, const struct gt_buffer *text)
{
    int status = write_all(fd, text->data, text->length);
    if (close(fd) < 0 && !status)
        status = -errno;
    return status;
}

/* Pipes, terminals and /dev/null cannot be replaced; they are written to. */
static int write_in_place(const char *path, const struct gt_buffer *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : write_and_close(fd, text);
}

static int write_beside(const char *path, const struct gt_buffer *text, const struct stat *old)
{
    char beside[PATH_MAX], folder[PATH_MAX], name[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(name, sizeof name, "%s", path);
    int length = snprintf(beside, sizeof beside, "%s/.%s.%ld", dirname(folder), basename(name), (long)getpid());
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    unlink(beside);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    if (old)
        fchmod(fd, old->st_mode & 07777);
    int status = write_and_close(fd, text);
    if (!status && rename(beside, path) < 0)
        status = -errno;
    if (status < 0)
        unlink(beside);
    return status;
}

static int save(const char *path, const struct gt_buffer *text)
{
    struct stat old;
    if (stat(path, &old) < 0)
        return errno == ENOENT ? write_beside(path, text, NULL) : -errno;
    if (S_ISDIR(old.st_mode))
        return -EISDIR;
    if (!S_ISREG(old.st_mode))
        return write_in_place(path, text);
    char *target = realpath(path, NULL); /* a link stays a link */
    if (!target)
        return -errno;
    int status = write_beside(target, text, &old);
    free(target);
    return status;
}

int gt_report_save(const struct gt_report *report, const char *format, const char *path, struct gt_error *error)
{
    struct gt_buffer text = {0};
    int status = gt_report_write(report, format, &text, error);
    if (status == 0) {
        bool to_stdout = !path || !strcmp(path, "-");
        status = to_stdout ? write_all(STDOUT_FILENO, text.data, text.length) : save(path, &text);
        if (status < 0)
            gt_error_system(error, -status, "%s", to_stdout ? "standard output" : path);
    }
    gt_buffer_release(&text);
    return status;
}
