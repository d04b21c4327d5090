/* Sub-tracking files that somebody asks for by their names: who makes, joins or replaces them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "blocks/block.h"
#include "blocks/block_family.h"
#include "blocks/block_process.h"

static const struct gt_block_writer *const writers[] = {&gt_block_csv, &gt_block_sqlite};

const struct gt_block_writer *gt_block_writer_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        size_t suffix = strlen(writers[i]->suffix);
        if (length > suffix && strcmp(path + length - suffix, writers[i]->suffix) == 0)
            return writers[i];
    }
    return NULL;
}

/* Under another name, or through a link. */
static struct gt_block_file *find_inode(struct gt_block_file *files, const struct stat *facts)
{
    while (files && (files->device != facts->st_dev || files->inode != facts->st_ino))
        files = files->next;
    return files;
}

/* The parents' file of this name. */
static struct gt_block_file *find_known(const char *path)
{
    struct gt_block_file *file = atomic_load(&gt_block_known);
    while (file && (!file->is_shared || strcmp(file->path, path) != 0))
        file = file->older;
    return file;
}

static int add(struct gt_block_file **ret, const char *path, bool is_new, struct gt_error *error)
{
    return gt_block_add_file(ret, gt_block_writer_of(path), path, path, is_new, error);
}

/* A file of that name is there. It is joined when it is this run's, or replaced when that is wanted. */
static int settle(struct gt_block_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    int made = gt_family_made(path);
    if (made > 0)
        return add(ret, path, false, error);
    if (!overwrite)
        return gt_error_set(error, EEXIST, "%s exists; it is replaced only when overwriting is asked for", path);
    if (made < 0 && gt_family_is_child())
        return gt_error_set(
            error, EEXIST,
            "%s exists; its file system does not tell whether this run of the program made it, so it is "
            "not replaced by a process that another one started",
            path);
    int status = gt_block_make(path, gt_block_writer_of(path), true, true, gt_family_sign, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add(ret, path, true, error);
}

/* A lock among all who make files in the folder, without which two would replace each other's. A descriptor to close, or
 * negative: not every file system has it, and nobody waits for ever. */
static int lock_folder(const char *path)
{
    char folder[PATH_MAX];
    const struct timespec pause = {.tv_nsec = 1000000};
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path + 1), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < 2000 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&pause, NULL);
    return fd;
}

static int open_anew(struct gt_block_file **ret, const char *path, bool overwrite, struct gt_error *error)
{
    struct stat facts;
    if (lstat(path, &facts) == 0)
        return settle(ret, path, overwrite, error);
    int status = gt_block_make(path, gt_block_writer_of(path), false, overwrite, gt_family_sign, error);
    if (status == -EEXIST)
        return settle(ret, path, overwrite, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add(ret, path, true, error);
}

static int open_file(struct gt_block_file **ret, struct gt_block_process *process, const char *path, bool overwrite,
                     struct gt_error *error)
{
    struct stat facts;
    *ret = gt_block_find_path(process->files, path);
    if (!*ret && stat(path, &facts) == 0)
        *ret = find_inode(process->files, &facts);
    if (*ret)
        return 0;
    const struct gt_block_file *parents = find_known(path);
    if (parents)
        return gt_block_join(ret, parents, error);
    int lock = lock_folder(path);
    int status = open_anew(ret, path, overwrite, error);
    if (lock >= 0) {
        flock(lock, LOCK_UN); /* closing is not enough when another thread has forked meanwhile */
        close(lock);
    }
    return status;
}

int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error)
{
    char origin[PATH_MAX];
    if (!gt_block_writer_of(path))
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    int status = gt_block_absolute_path(origin, path, error);
    if (status < 0)
        return status;
    struct gt_block_process *process = gt_block_process_begin();
    if (!process)
        return gt_error_system(error, ENOMEM, "%s", path);
    pthread_mutex_lock(&process->mutex);
    status = open_file(ret, process, origin, overwrite, error);
    pthread_mutex_unlock(&process->mutex);
    return status;
}
