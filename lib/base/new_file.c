#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* ".gpu-tracker-PID-N.part" beside `path`. */
static int hidden_name(char *ret, const char *path)
{
    static atomic_uint number;
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    int length = snprintf(ret, PATH_MAX, "%.*s.gpu-tracker-%d-%u.part", folder, path, (int)getpid(),
                          atomic_fetch_add(&number, 1));
    return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Without permissions for others until it has those of the file that it replaces. The owner may always write: the caller does. */
static int open_hidden(const char *path, const struct stat *predecessor)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, predecessor ? 0600 : 0666);
    int code = fd < 0 || (predecessor && fchmod(fd, (predecessor->st_mode & 0777) | 0600) < 0) ? errno : 0;
    if (code && fd >= 0) {
        unlink(path);
        close(fd);
    }
    return code ? -code : fd;
}

int gt_new_file_begin(struct gt_new_file *file, const char *path)
{
    struct stat facts;
    file->path = path;
    file->fd = -EEXIST;
    file->has_predecessor = lstat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    for (int i = 0; file->fd == -EEXIST && i < 100; i++) { /* one may lie there that a killed process left */
        int status = hidden_name(file->hidden, path);
        if (status < 0)
            return status;
        file->fd = open_hidden(file->hidden, file->has_predecessor ? &facts : NULL);
    }
    return file->fd < 0 ? file->fd : 0;
}

/* Where the file system knows no renaming that replaces nothing, or the system forbids it, the name is taken first. */
static int place_anew(const struct gt_new_file *file)
{
    if (renameat2(AT_FDCWD, file->hidden, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EPERM)
        return -errno;
    int fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    close(fd);
    return rename(file->hidden, file->path) < 0 ? -errno : 0;
}

static int place_instead(const struct gt_new_file *file)
{
    /* What cannot be synced (a FUSE file system without it) is no less whole. */
    if (file->has_predecessor && fsync(file->fd) < 0 && errno != EINVAL && errno != ENOSYS)
        return -errno;
    return rename(file->hidden, file->path) < 0 ? -errno : 0;
}

int gt_new_file_place(struct gt_new_file *file, bool replace)
{
    int status = replace ? place_instead(file) : place_anew(file);
    if (status < 0)
        gt_new_file_drop(file);
    return status;
}

void gt_new_file_drop(struct gt_new_file *file)
{
    unlink(file->hidden);
    close(file->fd);
}

int gt_new_file_write(const char *path, const void *bytes, size_t length)
{
    struct gt_new_file file;
    int status = gt_new_file_begin(&file, path);
    if (status < 0)
        return status;
    status = gt_file_write_all(file.fd, bytes, length);
    if (status < 0)
        gt_new_file_drop(&file);
    else
        status = gt_new_file_place(&file, true);
    if (status < 0)
        return status;
    return close(file.fd) < 0 ? -errno : 0;
}
