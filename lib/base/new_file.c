#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

int gt_new_file_begin(struct gt_new_file *file, const char *path)
{
    file->path = path;
    file->fd = -EEXIST;
    for (int i = 0; file->fd == -EEXIST && i < 100; i++) { /* one may lie there that a killed process left */
        int status = hidden_name(file->hidden, path);
        if (status < 0)
            return status;
        file->fd = open(file->hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file->fd < 0)
            file->fd = -errno;
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

int gt_new_file_place(struct gt_new_file *file, bool replace)
{
    int status = !replace ? place_anew(file) : rename(file->hidden, file->path) < 0 ? -errno : 0;
    if (status < 0)
        gt_new_file_drop(file);
    return status;
}

void gt_new_file_drop(struct gt_new_file *file)
{
    unlink(file->hidden);
    close(file->fd);
}
