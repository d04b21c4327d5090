/* Sub-tracking files of this process: where they lie, and who makes, joins or replaces them. */
#include "blocks/block_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/new_file.h"
#include "blocks/block_family.h"

static const struct gt_block_writer *const writers[] = {&gt_block_csv, &gt_block_sqlite};

/* The newest of all files that this process or one that it was forked from has opened. Survives fork. */
static _Atomic(struct gt_block_file *) known;

static const struct gt_block_writer *writer_of(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        size_t suffix = strlen(writers[i]->suffix);
        if (length > suffix && strcmp(path + length - suffix, writers[i]->suffix) == 0)
            return writers[i];
    }
    return NULL;
}

static int absolute_path(char *ret, const char *path, struct gt_error *error)
{
    char folder[PATH_MAX] = "";
    if (*path != '/' && !getcwd(folder, sizeof folder))
        return gt_error_system(error, errno, "the current folder");
    int length = snprintf(ret, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", path);
    return length < PATH_MAX ? 0 : gt_error_set(error, ENAMETOOLONG, "%s: the path is too long", path);
}

/* ---- making ---- */

/* A new file with what it begins with. -EEXIST without `replace`; -ENOTEMPTY: files of others lie beside it, see `error`. */
static int make(const char *path, bool replace, bool may_clear, bool is_shared, struct gt_error *error)
{
    struct gt_new_file file;
    const struct gt_block_writer *writer = writer_of(path);
    int status = gt_new_file_begin(&file, path);
    if (status < 0)
        return status;
    status = writer->make(file.fd, file.hidden, NULL); /* errors are about the name that was asked for */
    if (status < 0) {
        gt_new_file_drop(&file);
        return status;
    }
    if (is_shared)
        gt_family_sign(file.fd);
    if (writer->clear && (replace || access(path, F_OK) < 0) && writer->clear(path, may_clear, error) < 0) {
        gt_new_file_drop(&file);
        return -ENOTEMPTY;
    }
    status = gt_new_file_place(&file, replace);
    if (status == 0)
        close(file.fd);
    return status;
}

/* Make "STEM.csv", or "STEM-2.csv" and so on when that is taken. */
static int make_numbered(char *ret, const char *stem, const char *suffix, struct gt_error *error)
{
    int status = -EEXIST;
    for (int number = 1; status == -EEXIST && number < 10000; number++) {
        int length = number == 1 ? snprintf(ret, PATH_MAX, "%s%s", stem, suffix)
                                 : snprintf(ret, PATH_MAX, "%s-%d%s", stem, number, suffix);
        status = length >= PATH_MAX       ? -ENAMETOOLONG
                 : access(ret, F_OK) == 0 ? -EEXIST
                                          : make(ret, false, false, false, error);
    }
    return status < 0 ? gt_error_system(error, -status, "%s", ret) : 0;
}

/* ---- opening ---- */

/* Caller holds the mutex; the file exists. */
static int add_file(struct gt_block_file **ret, struct gt_block_process *process, const char *origin, const char *path,
                    bool is_new, struct gt_error *error)
{
    struct stat facts;
    struct gt_block_file *file = calloc(1, sizeof *file);
    int status = !file ? -ENOMEM : stat(path, &facts) < 0 ? -errno : 0;
    if (status == 0) {
        file->identity = atomic_load(&process->identity);
        file->is_shared = *origin;
        file->is_new = is_new;
        file->device = facts.st_dev;
        file->inode = facts.st_ino;
        file->writer = writer_of(path);
        snprintf(file->origin, sizeof file->origin, "%s", origin);
        snprintf(file->path, sizeof file->path, "%s", path);
        status = file->writer->open(file, error);
    }
    if (status < 0) {
        free(file);
        return gt_error_system(error, -status, "%s", path);
    }
    file->next = process->files;
    process->files = file;
    file->older = atomic_load(&known);
    atomic_store(&known, file);
    *ret = file;
    return 0;
}

static struct gt_block_file *find_path(struct gt_block_file *files, const char *path)
{
    while (files && strcmp(files->path, path) != 0)
        files = files->next;
    return files;
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
    struct gt_block_file *file = atomic_load(&known);
    while (file && (!file->is_shared || strcmp(file->path, path) != 0))
        file = file->older;
    return file;
}

/* The file that a parent has opened. */
static int join_known(struct gt_block_file **ret, struct gt_block_process *process, const struct gt_block_file *parents,
                      struct gt_error *error)
{
    struct stat facts;
    const char *path = parents->path;
    if (parents->failed)
        return gt_error_system(error, -parents->failed, "%s", path);
    if (stat(path, &facts) < 0 || facts.st_dev != parents->device || facts.st_ino != parents->inode)
        return gt_error_system(error, ENOENT, "%s", path);
    return add_file(ret, process, parents->origin, path, false, error);
}

/* A file of that name is there. It is joined when it is this run's, or replaced when that is wanted. */
static int settle(struct gt_block_file **ret, struct gt_block_process *process, const char *path, bool overwrite,
                  struct gt_error *error)
{
    int made = gt_family_made(path);
    if (made > 0)
        return add_file(ret, process, path, path, false, error);
    if (!overwrite)
        return gt_error_set(error, EEXIST, "%s exists; it is replaced only when overwriting is asked for", path);
    if (made < 0 && gt_family_is_child())
        return gt_error_set(
            error, EEXIST,
            "%s exists; its file system does not tell whether this run of the program made it, so it is "
            "not replaced by a process that another one started",
            path);
    int status = make(path, true, true, true, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add_file(ret, process, path, path, true, error);
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

static int open_anew(struct gt_block_file **ret, struct gt_block_process *process, const char *path, bool overwrite,
                     struct gt_error *error)
{
    struct stat facts;
    if (lstat(path, &facts) == 0)
        return settle(ret, process, path, overwrite, error);
    int status = make(path, false, overwrite, true, error);
    if (status == -EEXIST)
        return settle(ret, process, path, overwrite, error);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    return add_file(ret, process, path, path, true, error);
}

static int open_file(struct gt_block_file **ret, struct gt_block_process *process, const char *path, bool overwrite,
                     struct gt_error *error)
{
    struct stat facts;
    *ret = find_path(process->files, path);
    if (!*ret && stat(path, &facts) == 0)
        *ret = find_inode(process->files, &facts);
    if (*ret)
        return 0;
    const struct gt_block_file *parents = find_known(path);
    if (parents)
        return join_known(ret, process, parents, error);
    int lock = lock_folder(path);
    int status = open_anew(ret, process, path, overwrite, error);
    if (lock >= 0) {
        flock(lock, LOCK_UN); /* closing is not enough when another thread has forked meanwhile */
        close(lock);
    }
    return status;
}

int gt_block_file_open(struct gt_block_file **ret, const char *path, int overwrite, struct gt_error *error)
{
    char origin[PATH_MAX];
    if (!writer_of(path))
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    int status = absolute_path(origin, path, error);
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

void gt_block_parent(pid_t pid)
{
    gt_family_declare_parent(pid);
}

/* ---- the process's own file ---- */

static struct gt_block_file *open_standard(struct gt_block_process *process)
{
    char name[PATH_MAX], stem[PATH_MAX], path[PATH_MAX];
    struct gt_error *error = &process->trouble;
    const char *folder = secure_getenv(GT_BLOCKS_ENVIRONMENT);
    bool has_folder = folder && *folder;
    int length = snprintf(name, sizeof name, "%s%s%d", has_folder ? folder : "", has_folder ? "/" : "",
                          (int)process->pid);
    if (length >= (int)sizeof name || absolute_path(stem, name, error) < 0 ||
        snprintf(path, sizeof path, "%s%s", stem, gt_block_csv.suffix) >= (int)sizeof path)
        return NULL;
    struct gt_block_file *file = find_path(process->files, path); /* opened by its name before */
    if (!file && make_numbered(path, stem, gt_block_csv.suffix, error) == 0)
        add_file(&file, process, "", path, true, error);
    return file;
}

struct gt_block_file *gt_block_file_standard(struct gt_block_process *process)
{
    struct gt_block_file *file = atomic_load_explicit(&process->standard, memory_order_acquire);
    if (file)
        return file;
    pthread_mutex_lock(&process->mutex);
    file = atomic_load(&process->standard);
    if (!file && !process->tried_standard) { /* what failed once is not tried at every block */
        process->tried_standard = true;
        file = open_standard(process);
        atomic_store_explicit(&process->standard, file, memory_order_release);
    }
    pthread_mutex_unlock(&process->mutex);
    return file;
}

/* ---- after fork ---- */

static struct gt_block_file *open_heir(struct gt_block_process *process, struct gt_block_file *parents)
{
    struct gt_block_file *file = find_path(process->files, parents->path);
    int status = parents->failed; /* in this process: its parent's memory is its own */
    if (!file && !status) {
        status = join_known(&file, process, parents, &process->trouble);
        parents->failed = status < 0 ? status : 0;
    }
    return file;
}

struct gt_block_file *gt_block_file_heir(struct gt_block_process *process, struct gt_block_file *file)
{
    if (!file->is_shared)
        return gt_block_file_standard(process);
    uint64_t identity = atomic_load_explicit(&process->identity, memory_order_relaxed);
    struct gt_block_file *heir = atomic_load_explicit(&file->heir, memory_order_acquire);
    if (heir && heir->identity == identity)
        return heir;
    pthread_mutex_lock(&process->mutex);
    heir = open_heir(process, file);
    atomic_store_explicit(&file->heir, heir, memory_order_release);
    pthread_mutex_unlock(&process->mutex);
    return heir;
}

void gt_block_file_disown_all(void)
{
    for (struct gt_block_file *file = atomic_load(&known); file; file = file->older) {
        int status = file->writer->disown(file);
        file->failed = status < 0 ? status : 0;
    }
}

/* ---- what became of a file ---- */

static const struct gt_block_file *current_of(const struct gt_block_file *file)
{
    struct gt_block_process *process = gt_block_process_begin();
    if (!process)
        return NULL;
    if (!file)
        return gt_block_file_standard(process);
    /* The heir is remembered in the file, which is the library's to change. */
    return file->identity == atomic_load(&process->identity)
               ? file
               : gt_block_file_heir(process, (struct gt_block_file *)file);
}

const char *gt_block_file_path(const struct gt_block_file *file)
{
    file = current_of(file);
    return file ? file->path : NULL;
}

/* Asking does not make a file. */
int gt_block_file_status(const struct gt_block_file *file, struct gt_error *error)
{
    struct gt_block_process *process = gt_block_process_begin();
    const struct gt_block_file *now = file ? current_of(file) : process ? atomic_load(&process->standard) : NULL;
    now = now ? now : file;
    int status = now ? now->failed : !process || process->tried_standard ? -EIO : 0;
    const char *path = now ? now->path : "code blocks";
    if (status == -ENOENT)
        return gt_error_set(error, ENOENT, "The file %s was removed in the middle of writing data to it", path);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}
